/* cl_show.h - what people read: the summary of rounds, what would leave the machine, the ledger. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "cl_run.h"

/* "round 3 (state, grr): 58000 devices: 58000 accepted; ..." */
void cl_show_summary(const struct cl_summary *s, FILE *out);
/* An object of schema tombola.send/1's "rounds"; NULL out of memory. */
json_t *cl_summary_json(const struct cl_summary *s);
/* A double in full; JSON has no infinity, so "inf". */
json_t *cl_json_number(double v);
/* Rows that were left out, one line each reason, on `out`; nothing when none were. */
void cl_show_rows(const struct cl_rows *rows, FILE *out);

/* `encode --dry-run`: descriptor, judged without recording anything, and the first `limit` devices of the
 * input with their value, its randomized records and their sealed lengths.  Nothing is sent and nothing is
 * charged. */
struct cl_dry_run {
	const struct cl_setup *setup;
	const struct cl_input *input;
	const uint8_t *descriptor, *signature;
	size_t descriptor_len;
	bool json;
};
CM_CHECK enum cm_rc cl_dry_run(const struct cl_dry_run *what, FILE *out, struct cm_err *err);

/* `status`: the ledger's rounds and the round under way. */
CM_CHECK enum cm_rc cl_show_status(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err);
