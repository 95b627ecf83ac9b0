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
 * CM_EDATA when a ledger was opened here (cm_begun.h) and is missing or empty.  Close with an_books_close in
 * either case. */
CM_CHECK enum cm_rc an_books_open(
	const struct an_conf *conf, bool write, struct an_books *b, struct cm_err *err);
void an_books_close(struct an_books *b);

/* Append a record durably and take it into the state.  time_ms is set from now_ms. */
CM_CHECK enum cm_rc an_books_append(
	struct an_books *b, struct rd_record *r, int64_t now_ms, struct cm_err *err);

/* What is decided of a planned round.  Borrowed. */
struct an_decision {
	const struct rd_verdict *verdict; /* an_budget_decide's */
	bool take;
	const char *refusal;          /* why it is not taken, if that is not the budget; NULL */
	const struct pt_query *query; /* what is asked, if not what the plan says; NULL */
};
/* Write it down: the ledger is opened if it is new; to take the round, its key is made and RESERVE is
 * durable, else REFUSE is. */
CM_CHECK enum cm_rc an_books_decide(struct an_books *b, const struct pl_round *r,
	const struct an_decision *decision, const struct cm_rng *rng, int64_t now_ms, struct cm_err *err);
