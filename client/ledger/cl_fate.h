/* cl_fate.h - what became of the newest round that this client has seen, for `check`. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

struct cl_db;

enum cl_fate {
	CL_FATE_NONE,    /* it has seen none */
	CL_FATE_OPEN,    /* it is under way */
	CL_FATE_OVER,    /* this client took part; note: its counts (cl_counts_read) */
	CL_FATE_REFUSED, /* note: why */
	CL_FATE_MISSED,  /* the deadline passed, and this client neither took part nor refused */
};
struct cl_newest {
	enum cl_fate fate;
	uint64_t sequence, target;
	char query[65], note[321];
};
CM_CHECK enum cm_rc cl_ledger_fate(
	struct cl_db *db, int64_t now_ms, struct cl_newest *out, struct cm_err *err);
