/* rd_randomizer.h - inside of rd_descriptor.h: the exact randomizer of a descriptor, from the wire and to it.
 */
#pragma once

#include "pr_msg.h"
#include "rd_descriptor.h"

/* A peer's randomizer to d->protocol and d->params, for the query that was read before.  CM_EPROTO names the
 * field. */
CM_CHECK enum cm_rc rd_randomizer_read(
	const Tombola__V1__Randomizer *m, struct rd_descriptor *d, struct cm_err *err);

/* As protobuf-c wants it for encoding; borrows from the parameters, and is not to be moved. */
struct rd_randomizer_wire {
	Tombola__V1__Randomizer m;
	Tombola__V1__Slot slot[PT_SLOTS_MAX], *slots[PT_SLOTS_MAX];
};
void rd_randomizer_wire(const struct pt_params *p, struct rd_randomizer_wire *out);
