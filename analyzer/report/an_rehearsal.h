/* an_rehearsal.h - prints a rehearsal: what the shuffler and each client would do with a plan, and whether
 * its rounds can reach min_reports. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_ledger_files.h"
#include "an_rehearse.h"

/* Print the rehearsal as tables.  `plan` was read from `file`, whose lines are named. */
void an_rehearsal_print(
	const struct an_rehearsal *r, const struct pl_plan *plan, const char *file, FILE *out);
/* The JSON "tombola.rehearsal/1"; NULL: out of memory.  Free with json_decref. */
json_t *an_rehearsal_json(const struct an_rehearsal *r, const struct pl_plan *plan);
