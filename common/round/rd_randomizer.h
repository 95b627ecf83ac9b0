/* rd_randomizer.h - inside of rd_descriptor.h: the exact randomizer of a descriptor, from the wire and to
 * it. */
#pragma once

#include "pr_msg.h"
#include "rd_descriptor.h"

/* A peer's randomizer to d->randomizer, for the query that was read before.  CM_EPROTO names the
 * field. */
CM_CHECK enum cm_rc rd_randomizer_read(
	const Tombola__V1__Randomizer *m, struct rd_descriptor *d, struct cm_err *err);

/* A peer's batches to d->min_reports and d->target, for the randomizer that was read before; and may it
 * assume that so many are honest?  A descriptor and a plan's entry are read alike.  CM_EPROTO names the
 * field. */
CM_CHECK enum cm_rc rd_batch_read(
	uint64_t least, uint64_t target, struct rd_descriptor *d, struct cm_err *err);
CM_CHECK enum cm_rc rd_honest_check(double honest_fraction, uint64_t colluders, struct cm_err *err);

/* As protobuf-c wants it for encoding; borrows from the randomizer, and is not to be moved. */
struct rd_randomizer_wire {
	Tombola__V1__Randomizer m;
	Tombola__V1__ShufflerPart shuffler;
	uint8_t parameters[PT_PARAMETERS_MAX];
};
void rd_randomizer_wire(const struct pt_randomizer *p, struct rd_randomizer_wire *out);
