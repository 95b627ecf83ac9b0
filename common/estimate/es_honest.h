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

/* Set the item whose honest estimate is in [least, most] and normal with at most this standard deviation.
 * joint: number of items for which the joint intervals hold together. */
void es_honest_normal(double least, double most, double sd, size_t joint, struct es_honest *out);
/* Set the item of which only the range is known. */
void es_honest_undefined(double low, double high, struct es_honest *out);
