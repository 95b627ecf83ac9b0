/* es_estimate.h - the answer with its intervals that every estimator makes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qy_query.h"

/* One answer with its interval.  Counts for a histogram, the quantity itself for a mean. */
struct qy_item {
	const char *label; /* borrowed from the query, or from the estimate's names */
	double value;      /* raw unbiased estimate; NAN: it is undefined, and only the interval is known */
	double variance;
	double lower, upper;             /* 95 % for this item alone */
	double joint_lower, joint_upper; /* 95 % for all items together */
	double projected;                /* consistent with the others and the domain; biased */
	double bias; /* upper bound on the bias of `value`, whatever was answered; the intervals include it */
	bool below_noise; /* the interval does not exclude "nothing there" */
	bool none; /* the item counts devices that have no reading of the query's field, or of at least one of
		      its columns; it is shown apart from the answer, whatever its label */
};
struct es_estimate {
	struct qy_item *item; /* n items */
	size_t n;
	/* smallest count that is significantly above 0, for all items together at 95 % */
	double noise_floor;
	uint64_t reports; /* number of participants */
	/* owned memory of labels that are not the query's; NULL: all labels are the query's */
	char *names;
};
void es_estimate_fini(struct es_estimate *e);
/* Make an item undefined: only its range is known.  Leaves label, none, bias and below_noise as they are. */
void es_item_undefined(double low, double high, struct qy_item *item);
