/* an_tables.h - prints the ledger's contents as tables and JSON. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_budget.h"
#include "an_ledger_files.h"

/* Print the table of rounds, with when each opened and ended.  Totals are upper bounds, recorded when each
 * round was decided. */
void an_rounds_print(const struct an_ledger_files *b, int64_t now_ms, FILE *out);
/* Print rows [from, to) of that table without times, as rounds end; before the first row also the plan and
 * the heading. */
void an_rounds_print_some(const struct an_ledger_files *b, size_t from, size_t to, int64_t now_ms, FILE *out);
/* The JSON "tombola.rounds/1"; NULL with err: it cannot be made.  In an adaptive mode it gives each round's
 * "share" of the budget from the account, so no other thread may use the account meanwhile.  Free with
 * json_decref. */
json_t *an_rounds_json(const struct an_ledger_files *b, int64_t now_ms, struct cm_err *err);
json_t *an_round_json(const struct an_round_state *r, int64_t now_ms);

/* One line for the service manager: the current round (NULL: none), otherwise the one that opens next (NULL:
 * none), and the spent budget. */
void an_say(const struct an_ledger_files *b, const struct an_round_state *current,
	const struct an_round_state *next, bool through, char *text, size_t room);

CM_CHECK enum cm_rc an_budget_print(const struct an_ledger_files *b, FILE *out, struct cm_err *err);
/* The JSON "tombola.budget/3". */
CM_CHECK enum cm_rc an_budget_json(const struct an_ledger_files *b, json_t **out, struct cm_err *err);
/* The JSON "tombola.explanation/1". */
json_t *an_explanation_json(const struct an_state *s, const struct an_explanation *e);
