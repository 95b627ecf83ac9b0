/* rd_query.h - inside of rd_descriptor.h: the question of a descriptor, from the wire and to it. */
#pragma once

#include "pr_msg.h"
#include "pt_query.h"

/* A peer's query to *out, which pt_query_fini frees in either case.  CM_EPROTO names the field. */
CM_CHECK enum cm_rc rd_query_read(const Tombola__V1__Query *m, struct pt_query *out, struct cm_err *err);

/* As protobuf-c wants it for encoding; borrows from the query. */
struct rd_query_wire {
	Tombola__V1__Query m;
	Tombola__V1__Column *column;
	Tombola__V1__Column **columns;
};
/* Free with rd_query_wire_fini in either case.  CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc rd_query_wire(const struct pt_query *q, struct rd_query_wire *out, struct cm_err *err);
void rd_query_wire_fini(struct rd_query_wire *w);
