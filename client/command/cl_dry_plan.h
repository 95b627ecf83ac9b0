/* cl_dry_plan.h - judges readings against every round of a plan, before anything is deployed or spent. */
#pragma once

#include <stdio.h>

#include "cl_prepare.h"

/* `encode --dry-run --plan`: reads the input once for each question of the plan file, and prints how many
 * devices would be taken, clamped or NONE, what is wrong with file and line, and what to do.  It needs no
 * shuffler, no ledger and no signature; it sends nothing and charges nothing. */
struct cl_dry_plan {
	const struct cl_setup *setup;
	const struct cl_input *input;
	const char *plan; /* path of the plan file; borrowed, like all pointers here */
	uint64_t others;  /* devices that take part through other clients */
	uint64_t show;    /* for how many devices to print what they hold and what they would send */
	bool each;        /* print a line for each device of each round */
	bool json;
};
/* CM_EDATA: something is wrong, and was printed.  Faults of the plan file are those of pl_plan_load. */
CM_CHECK enum cm_rc cl_dry_plan(const struct cl_dry_plan *what, FILE *out, struct cm_err *err);
