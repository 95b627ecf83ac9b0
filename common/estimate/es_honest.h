/* es_honest.h - what is known of the honest devices' answer when some devices may have lied.
 *
 * Of n devices m lied: they may have sent any messages, chosen after seeing everybody's.  The other n - m
 * kept to the round's law.  Their counts are those that came, less the liars', which nobody knows.  So the
 * honest devices' answer has as interval the hull of the intervals that the estimator gives, over all counts
 * that may be theirs.  It holds as often as the estimator's own interval does for honest devices, whatever
 * the liars send: one of those counts is the true one.  Joint intervals hold together for the same reason.
 * doc/liars.md has the proof for each row, and where the hull ends. */
#pragma once

#include <stddef.h>

#include "es_estimate.h"

/* One item of an answer, of the honest devices alone: how many of them hold it, or their mean. */
struct es_honest {
	double least, most; /* the least and the largest estimate that the honest messages alone can give */
	/* the ends of an interval that contains the truth with 95 %, for this item alone */
	double lower, upper;
	/* the same for all items together */
	double joint_lower, joint_upper;
};

/* Some counts have a law that no reading changes, such as the messages of each group of coordinates.  What
 * exceeds a low quantile of that law may be the liars'.  The chance that honest devices are below the
 * quantile is taken from the 5 % with which an interval may miss: ES_KNOWN is the part that is left of these,
 * and es_known_tail the chance of one of `joint` such quantiles.  Together an interval and all quantiles miss
 * with at most 5 %, and so do all joint intervals (doc/liars.md, "Known laws"). */
#define ES_KNOWN 0.95
double es_known_tail(size_t joint);

/* Set the item whose honest estimate is in [least, most] and normal with at most this standard deviation.
 * joint: number of items for which the joint intervals hold together; part: of the 5 %, 1 or ES_KNOWN. */
void es_honest_normal(double least, double most, double sd, size_t joint, double part, struct es_honest *out);
/* Set the item of which only the range is known. */
void es_honest_undefined(double low, double high, struct es_honest *out);
