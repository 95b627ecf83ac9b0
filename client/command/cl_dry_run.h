/* cl_dry_run.h - shows what would leave the machine, and sends nothing. */
#pragma once

#include <stdio.h>

#include "cl_run.h"

/* `encode --dry-run`: judges a round with a copy of the ledger, then prints the first `limit` devices of the
 * input with their value, its randomized records and their sealed lengths.  It sends nothing and charges
 * nothing. */
struct cl_dry_run {
	const struct cl_setup *setup;
	const struct cl_input *input;
	struct cl_programs *programs;   /* NULL: none; borrowed, like all of it */
	const struct cl_fetched *round; /* its plan may be empty if the ledger holds the plan */
	bool json;
};
CM_CHECK enum cm_rc cl_dry_run(const struct cl_dry_run *what, FILE *out, struct cm_err *err);
