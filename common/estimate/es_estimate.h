/* es_estimate.h - answers with their intervals: what every estimator makes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qy_query.h"

/* One answer with its interval.  Counts for a histogram, the quantity itself for a mean. */
struct qy_item {
	const char *label; /* borrowed from the query, or from the estimate's names */
	double value;      /* raw unbiased estimate; NAN: undefined, the interval is all that is known */
	double variance;
	double lower, upper;             /* 95 % for this item alone */
	double joint_lower, joint_upper; /* 95 % for all items together */
	double projected;                /* consistent with the others and the domain; biased */
	double bias; /* most that `value` may be off by, whatever was answered; the intervals allow for it */
	bool below_noise; /* the interval does not exclude "nothing there" */
	bool none; /* counts devices without a reading, of the query's field or of one column at least: shown
		      apart from the answer, whatever the label */
};
struct es_estimate {
	struct qy_item *item; /* n items */
	size_t n;
	double noise_floor; /* smallest count told apart from none, jointly at 95 % */
	uint64_t reports;   /* participants */
	char *names;        /* memory of labels that the query does not have; NULL if it has them; owned */
};
void es_estimate_fini(struct es_estimate *e);
/* An item that nothing is known of but its range: label, none, bias and below_noise are not touched. */
void es_item_undefined(double low, double high, struct qy_item *item);
