/* an_dashboard.h - makes the JSON that the dashboard shows, the same that `round list`, `budget` and `budget
 * explain` print.
 *
 * A view is made from its own reading of plan, ledger and results.  It shares only the files with a running
 * daemon, so a thread may make it while the daemon appends to the ledger.  It describes one point of the
 * ledger, which it names. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>

#include "an_conf.h"
#include "rd_record.h"

/* Sums over the settled rounds whose results are readable. */
struct an_pipeline {
	uint64_t rounds, participants, messages, opened, duplicates, bad;
};

/* A result with more items or counts than these is abridged: no counts, and of more than AN_VIEW_ITEMS items
 * only the AN_VIEW_BRIEF largest, or the first if they are numbers. */
#define AN_VIEW_ITEMS  4096u
#define AN_VIEW_COUNTS 16384u
#define AN_VIEW_BRIEF  1000u

struct an_dashboard {
	/* Each is one line of JSON, owned: "tombola.rounds/1", "tombola.budget/3". */
	char *rounds, *budget;
	struct rd_chain chain; /* the ledger's last record */
	struct an_pipeline pipeline;
	/* For each round of the plan the abridged result, with "items_left_out", or NULL if the whole one is
	 * shown.  The array is owned; the texts live as long as the memo. */
	const char **brief;
	size_t plan_rounds;
};

/* Cache from one view to the next: the counts of rounds that have ended.  One thread at a time. */
struct an_dashboard_memo;
struct an_dashboard_memo *an_dashboard_memo_new(void); /* Returns NULL if memory is short */
void an_dashboard_memo_free(struct an_dashboard_memo *m);

/* Make a view.  Costs one reading of the ledger, one composition, and one reading of each settled round's
 * result, the first time.  CM_ELATER: *stop was set, which is checked in between.  Otherwise the faults of
 * an_ledger_files_open and of the accountant.  *out is empty after a fault. */
CM_CHECK enum cm_rc an_dashboard_make(const struct an_conf *conf, struct an_dashboard_memo *memo,
	const atomic_bool *stop, struct an_dashboard *out, struct cm_err *err);
void an_dashboard_fini(struct an_dashboard *v);

/* Explain round `number` of the plan: "tombola.explanation/1", with the text of `budget explain` as "text".
 * Costs one reading of the ledger and an an_budget_explain; *stop as above.  Free with json_decref. */
CM_CHECK enum cm_rc an_dashboard_explain(const struct an_conf *conf, uint32_t number, const atomic_bool *stop,
	json_t **out, struct cm_err *err);
