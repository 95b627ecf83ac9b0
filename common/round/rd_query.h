/* rd_query.h - private to rd_descriptor*.c: decodes and encodes the query of a descriptor. */
#pragma once

#include "pr_msg.h"
#include "qy_query.h"

/* Decode a peer's query into *out, to be freed with qy_query_fini whatever the result.  CM_EPROTO names the
 * field. */
CM_CHECK enum cm_rc rd_query_read(const Tombola__V1__Query *m, struct qy_query *out, struct cm_err *err);

/* The query as protobuf-c encodes it; borrows from the query. */
struct rd_query_wire {
	Tombola__V1__Query m;
	Tombola__V1__Column *column;
	Tombola__V1__Column **columns;
};
/* Free with rd_query_wire_fini whatever the result.  CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc rd_query_wire(const struct qy_query *q, struct rd_query_wire *out, struct cm_err *err);
void rd_query_wire_fini(struct rd_query_wire *w);
