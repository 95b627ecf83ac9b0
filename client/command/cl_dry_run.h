/* cl_dry_run.h - shows what would leave the machine, and sends nothing. */
#pragma once

#include <stdio.h>

#include "cl_loop.h"

/* `encode --dry-run`: judges a round with a copy of the ledger, then prints the first `limit` devices of the
 * input with their value, its randomized records and their sealed lengths.  It sends nothing and charges
 * nothing. */
struct cl_dry_run {
	const struct cl_setup *setup;
	const struct cl_input *input;
	/* NULL if the client runs no programs; borrowed, like all pointers here */
	struct cl_programs *programs;
	/* the fetched round; its plan may be empty if the ledger holds the plan */
	const struct cl_fetched *round;
	bool json;
};
CM_CHECK enum cm_rc cl_dry_run(const struct cl_dry_run *what, FILE *out, struct cm_err *err);

#define CL_DRY_VALUE 160
#define CL_DRY_SENT  512
/* Write the texts of what one device of a round holds and of what it would send, drawn anew at each call:
 * its records as the analyzer reads them, with "
 *  " between them.  d has a key for sealing, and no payload. */
CM_CHECK enum cm_rc cl_dry_run_device(const struct rd_descriptor *d, const struct cl_entry *entry,
	const struct cr_rng *rng, char value[CL_DRY_VALUE], char sent[CL_DRY_SENT], struct cm_err *err);
