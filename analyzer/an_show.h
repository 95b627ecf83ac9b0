/* an_show.h - what the ledger says, as tables and JSON. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_books.h"
#include "an_budget.h"

/* The table of rounds.  Totals are as recorded when each round was decided: upper bounds. */
void an_rounds_print(const struct an_books *b, FILE *out);
/* Rounds [from, to) of that table as they come to their end; the plan and the head go before the first. */
void an_rounds_print_some(const struct an_books *b, size_t from, size_t to, FILE *out);
/* "tombola.rounds/1"; NULL and err when it cannot be made.  In an adaptive mode the rounds that hold budget
 * have a "share" of it, so the account is asked: not while another thread does.  Free with json_decref. */
json_t *an_rounds_json(const struct an_books *b, struct cm_err *err);
json_t *an_round_json(const struct an_round_state *r);

/* In a line for the service manager: the round at hand (NULL: none), and what is spent. */
void an_say(const struct an_books *b, const struct an_round_state *current, bool through, char *text,
	size_t room);

CM_CHECK enum cm_rc an_budget_print(const struct an_books *b, FILE *out, struct cm_err *err);
/* "tombola.budget/1". */
CM_CHECK enum cm_rc an_budget_json(const struct an_books *b, json_t **out, struct cm_err *err);
/* "tombola.explanation/1". */
json_t *an_explanation_json(const struct an_state *s, const struct an_explanation *e);

/* The ledger as JSON lines, a record each, "tombola.ledger/2": with the exact parts of what every reserved
 * and charged round costs, and the same as SPECs of tombola-accountant, so that an auditor can compute the
 * total again. */
CM_CHECK enum cm_rc an_ledger_export(const struct an_books *b, FILE *out, struct cm_err *err);
