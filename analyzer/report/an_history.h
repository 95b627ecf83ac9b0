/* an_history.h - prints all answers to one query, over recurrences and plans in order of time, and the gaps
 * between them. */
#pragma once

#include <stdio.h>

#include "an_ledger_files.h"

enum an_history_form { AN_HISTORY_TABLE, AN_HISTORY_CSV, AN_HISTORY_JSON };

struct an_history {
	const char *query; /* name of the query, without "#7" */
	/* leave out rounds that opened or were due before this time; INT64_MIN: leave out none */
	int64_t since_ms;
	int64_t now_ms; /* leave out rounds due after this time */
	enum an_history_form form;
	bool all; /* print every item of a long list */
};

/* Print the history.  CM_EUSAGE: no plan has this query.  CM_EDATA: a result differs from the one recorded
 * in the ledger.  Without an answer it prints only a heading or an empty list. */
CM_CHECK enum cm_rc an_history_print(
	const struct an_ledger_files *b, const struct an_history *h, FILE *out, struct cm_err *err);
