/* an_books.h - plan, ledger and the state that follows from them, opened together. */
#pragma once

#include "an_conf.h"
#include "an_ledger.h"
#include "an_state.h"

struct an_books {
	struct pl_plan plan;
	struct an_ledger *ledger;
	struct an_state state;
	const char *state_dir; /* borrowed from the configuration */
	size_t torn;           /* bytes of a torn last record: cut when writing, ignored when reading */
};

/* Read the plan, verify the ledger, fold it.  write: take the state directory's lock (CM_ELATER when another
 * process has it), make what is missing.  Otherwise nothing is changed and a running daemon is not disturbed.
 * Close with an_books_close in either case. */
CM_CHECK enum cm_rc an_books_open(
	const struct an_conf *conf, bool write, struct an_books *b, struct cm_err *err);
void an_books_close(struct an_books *b);

/* Append a record durably and take it into the state.  time_ms is set from now_ms. */
CM_CHECK enum cm_rc an_books_append(
	struct an_books *b, struct rd_record *r, int64_t now_ms, struct cm_err *err);

/* Write down what an_budget_decide said of a planned round: the ledger is opened if it is new; to take it,
 * its key is made and RESERVE is durable, else REFUSE is. */
CM_CHECK enum cm_rc an_books_decide(struct an_books *b, const struct pl_round *r,
	const struct rd_verdict *verdict, bool take, const struct cm_rng *rng, int64_t now_ms,
	struct cm_err *err);
