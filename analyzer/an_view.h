/* an_view.h - the books as the dashboard shows them: what `round list`, `budget` and `budget explain` print
 * as JSON, made as those verbs make it.
 *
 * A view is made from a reading of plan, ledger and results of its own, and shares nothing with a running
 * daemon but the files, so that a thread may make it while the daemon's books change.  It is of one point of
 * the ledger, which it names. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>

#include "an_conf.h"
#include "rd_record.h"

/* Sums over the settled rounds whose results are there. */
struct an_pipeline {
	uint64_t rounds, participants, messages, opened, duplicates, bad;
};

/* A result of more items or counts than these is shown briefly: without its counts, and of more than
 * AN_VIEW_ITEMS items the AN_VIEW_BRIEF largest, or the first of numbers. */
#define AN_VIEW_ITEMS  4096u
#define AN_VIEW_COUNTS 16384u
#define AN_VIEW_BRIEF  1000u

struct an_view {
	/* One line of JSON each, owned: "tombola.rounds/1", "tombola.budget/1". */
	char *rounds, *budget;
	struct rd_chain chain; /* the ledger's last record */
	struct an_pipeline pipeline;
	/* Of each round of the plan the brief result, with "items_left_out", or NULL where the whole one is
	 * shown.  The array is owned, the texts live as long as the memo. */
	const char **brief;
	size_t plan_rounds;
};

/* What is kept from one view for the next: the counts of rounds that have ended.  One thread at a time. */
struct an_view_memo;
struct an_view_memo *an_view_memo_new(void); /* NULL out of memory */
void an_view_memo_free(struct an_view_memo *m);

/* Costs a reading of the ledger, a composition, and once per settled round its result.  *stop is looked at in
 * between: CM_ELATER when it is set.  The faults of an_books_open and the accountant otherwise, and *out is
 * empty then. */
CM_CHECK enum cm_rc an_view_make(const struct an_conf *conf, struct an_view_memo *memo,
	const atomic_bool *stop, struct an_view *out, struct cm_err *err);
void an_view_fini(struct an_view *v);

/* Round `number` of the plan explained: "tombola.explanation/1", and as "text" the words of `budget explain`.
 * Costs a reading of the ledger and an an_budget_explain; *stop as above.  Free with json_decref. */
CM_CHECK enum cm_rc an_view_explain(const struct an_conf *conf, uint32_t number, const atomic_bool *stop,
	json_t **out, struct cm_err *err);
