/* rd_computing.h - inside of rd_descriptor.h: what a device computes, and how large the payload of it may be,
 * from the wire and to it. */
#pragma once

#include "pr_msg.h"
#include "qy_computing.h"

/* A peer's computing (NULL: nothing is computed) and the most bytes of its payload.  A payload that nothing
 * reads is refused.  CM_EPROTO names the field. */
CM_CHECK enum cm_rc rd_computing_read(
	const Tombola__V1__Computing *m, uint64_t payload_max, struct qy_computing *out, struct cm_err *err);

/* As protobuf-c wants it for encoding; borrows from the computing, and is not to be moved. */
struct rd_computing_wire {
	Tombola__V1__Computing m;
	char *field[PR_COMPUTING_FIELDS];
};
/* NULL if nothing is computed. */
Tombola__V1__Computing *rd_computing_wire(const struct qy_computing *c, struct rd_computing_wire *out);
