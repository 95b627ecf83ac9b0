/* an_rehearsal.h - prints a rehearsal: what the shuffler and each client would do with a plan, and whether
 * its rounds can reach min_reports. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_ledger_files.h"
#include "an_rehearse.h"

/* Print why rounds of the plan file are not in the plan that would be signed, a line each, which of them have
 * nobody to hide among, and which are over at now_ms (0: the plan is pinned).  CM_EBUDGET: no round is in it,
 * so there is nothing to sign; CM_ECONFIG: rounds are over.  Call an_ledger_files_show or _preview before. */
CM_CHECK enum cm_rc an_rehearsal_fit(
	const struct an_ledger_files *b, const char *file, int64_t now_ms, FILE *out, struct cm_err *err);
/* Print the rehearsal as tables.  `plan` was read from `file`, whose lines are named. */
void an_rehearsal_print(
	const struct an_rehearsal *r, const struct pl_plan *plan, const char *file, FILE *out);
/* The JSON "tombola.rehearsal/1"; NULL: out of memory.  Free with json_decref. */
json_t *an_rehearsal_json(const struct an_rehearsal *r, const struct pl_plan *plan);
