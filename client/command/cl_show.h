/* cl_show.h - prints the client's results for people: summaries of rounds, proofs, the ledger. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "cl_loop.h"

/* Print "round 3 (state, grr): 58000 devices: 58000 accepted; ...".  readings: also print how many readings
 * were used, which reveals something about them. */
void cl_show_summary(const struct cl_summary *s, bool readings, FILE *out);
/* Make one object of "rounds" in schema tombola.send/2, with "rows" if `readings` is set.  NULL: out of
 * memory. */
json_t *cl_summary_json(const struct cl_summary *s, bool readings);
/* A JSON number with all digits of the double, or the string "inf" for infinity, which JSON lacks. */
json_t *cl_json_number(double v);
/* Print how many rows were left out, one line for each reason; print nothing if none were. */
void cl_show_rows(const struct cl_rows *rows, FILE *out);

/* `proofs`: print how many watched messages the manifests include, lack, or leave unproved because the
 * shuffler did not answer. */
CM_CHECK enum cm_rc cl_show_proofs(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err);
/* `proofs --save`: write the signed manifest of a round as a file of evidence. */
CM_CHECK enum cm_rc cl_save_manifest(
	const struct cl_setup *setup, uint64_t sequence, const char *path, struct cm_err *err);

/* `status`: print the ledger's rounds, the pinned plans, losses of the ledger, and the active round. */
CM_CHECK enum cm_rc cl_show_status(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err);
