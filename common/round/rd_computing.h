/* rd_computing.h - private to rd_descriptor*.c: decodes and encodes what a device computes, and the largest
 * payload that it reads. */
#pragma once

#include "pr_msg.h"
#include "qy_computing.h"

/* Decode a peer's Computing; m NULL: devices compute nothing.  payload_max: most bytes of the payload;
 * CM_EPROTO if it is above 0 and nothing reads a payload.  CM_EPROTO names the field. */
CM_CHECK enum cm_rc rd_computing_read(
	const Tombola__V1__Computing *m, uint64_t payload_max, struct qy_computing *out, struct cm_err *err);

/* The message that protobuf-c encodes.  It borrows from the computing and points into itself: do not move
 * it. */
struct rd_computing_wire {
	Tombola__V1__Computing m;
	char *field[PR_COMPUTING_FIELDS];
};
/* Fill *out, and return its message; NULL if nothing is computed. */
Tombola__V1__Computing *rd_computing_wire(const struct qy_computing *c, struct rd_computing_wire *out);
