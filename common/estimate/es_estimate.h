/* es_estimate.h - the answer with its intervals that every estimator makes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qy_query.h"

/* One answer with its interval.  Counts for a histogram, the quantity itself for a mean. */
struct qy_item {
	const char *label; /* borrowed from the query, or from the estimate's names */
	double value;      /* raw unbiased estimate; NAN: undefined, only the interval is known */
	double variance;
	/* the ends of an interval that contains the truth with 95 %, for this item alone */
	double lower, upper;
	/* the ends of an interval such that those of all items together hold with 95 % */
	double joint_lower, joint_upper;
	/* an estimate that is consistent with the others and with what is possible, such as no count below
	 * 0; it is biased */
	double projected;
	double bias; /* upper bound on the bias of `value`, whatever was answered; the intervals include it */
	bool below_noise; /* the interval contains 0, or what else stands for "nothing there" */
	bool none; /* the item counts devices that have no reading of the query's field, or of at least one of
		      its columns; it is shown apart from the answer, whatever its label */
};
struct es_estimate {
	struct qy_item *item; /* the answer, of n items */
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
