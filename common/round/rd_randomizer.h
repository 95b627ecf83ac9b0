/* rd_randomizer.h - private to rd_descriptor*.c and rd_plan*.c: decodes and encodes the exact randomizer of a
 * descriptor. */
#pragma once

#include "pr_msg.h"
#include "rd_descriptor.h"

/* Decode a peer's randomizer for this query.  CM_EPROTO names the field. */
CM_CHECK enum cm_rc rd_randomizer_read(const Tombola__V1__Randomizer *m, const struct qy_query *query,
	struct pt_randomizer *out, struct cm_err *err);

/* Two checks that a descriptor and a plan's entry share: of a peer's batch sizes for this randomizer, and of
 * the ranges of a peer's honest fraction and colluders.  CM_EPROTO names the field. */
CM_CHECK enum cm_rc rd_batch_check(
	uint64_t least, uint64_t target, const struct pt_randomizer *p, struct cm_err *err);
CM_CHECK enum cm_rc rd_honest_check(double honest_fraction, uint64_t colluders, struct cm_err *err);

/* The message that protobuf-c encodes.  It borrows from the randomizer and points into itself: do not move
 * it. */
struct rd_randomizer_wire {
	Tombola__V1__Randomizer m;
	Tombola__V1__ShufflerPart shuffler;
	uint8_t parameters[PT_PARAMETERS_MAX];
};
void rd_randomizer_wire(const struct pt_randomizer *p, struct rd_randomizer_wire *out);
