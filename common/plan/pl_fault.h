/* pl_fault.h - private to common/plan: reports the faults of a plan file while it is read. */
#pragma once

#include "cf_conf.h"
#include "pl_plan.h"
#include "pl_wish.h"

/* Receives the faults while one plan is checked. */
struct pl_checker {
	struct cf_file *file;
	const char *name;
	const char *kept; /* file that keeps what "auto" chose (pl_kept.h); NULL: none */
	/* The wishes of a plan that is to be optimised: rounds with a wish get no randomizer, and nothing is
	 * chosen or composed.  NULL: every round must have its numbers. */
	const struct pl_wishes *open;
	FILE *faults;
	struct cm_err *first;
	size_t found;
};

/* Report a fault on a line of the file. */
void pl_fault(struct pl_checker *c, int line, const char *fmt, ...) CM_PRINTF(3, 4);
/* Report a fault of a round on the line of this key of it. */
void pl_refuse(struct pl_checker *c, const struct pl_round *r, const char *key, const char *fmt, ...)
	CM_PRINTF(4, 5);
/* Report a fault that a callee found; out of memory stays CM_EINTERNAL, since it is no fault of the
 * plan. */
void pl_fault_of(struct pl_checker *c, int line, const struct cm_err *e);
/* Line on which a key of this round is written; the line of the round if the key is absent. */
int pl_round_line(const struct pl_checker *c, const struct pl_round *r, const char *key);
/* Does the file give this key for the round? */
bool pl_round_says(const struct pl_checker *c, const struct pl_round *r, const char *key);
/* Copy a name, which becomes part of file names, tables and signed documents. */
void pl_take_name(struct pl_checker *c, int line, const char *key, const char *text, char *out, size_t room);
