/* an_ledger_files.h - opens plan and ledger together and computes the state that follows from them. */
#pragma once

#include "an_conf.h"
#include "an_ledger.h"
#include "an_payload.h"
#include "an_state.h"
#include "cr_sign.h"

struct an_ledger_files {
	struct pl_plan plan;
	struct an_ledger *ledger;
	struct an_state state;
	const char *state_dir; /* borrowed from the configuration */
	/* budget of the population, from the configuration; 0 means the first plan's slice */
	double epsilon, delta;
	size_t torn; /* bytes of a torn last record, which is cut when writing and ignored when
		      * reading */
};

/* Read the plan file; what protocol "auto" chose for it is taken from the state directory, if a run kept it
 * there.  Nothing is written. */
CM_CHECK enum cm_rc an_plan_load(
	const struct an_conf *conf, FILE *faults, struct pl_plan *out, struct cm_err *err);
/* Read the plan, verify the ledger, compute the state.  write: take the lock of the state directory
 * (CM_ELATER: another process has it) and create missing files.  Without write nothing changes and a running
 * daemon is not disturbed.  CM_EDATA: a ledger was opened here before (cm_marker.h) and is missing or empty.
 * Call an_ledger_files_close on success and on failure. */
CM_CHECK enum cm_rc an_ledger_files_open(
	const struct an_conf *conf, bool write, struct an_ledger_files *b, struct cm_err *err);
void an_ledger_files_close(struct an_ledger_files *b);

/* Append a record durably and apply it to the state.  time_ms is set from now_ms. */
CM_CHECK enum cm_rc an_ledger_files_append(
	struct an_ledger_files *b, struct rd_record *r, int64_t now_ms, struct cm_err *err);

/* The population's budget: from the ledger, or for a new ledger the one it will record. */
struct rd_slices an_ledger_files_budget(const struct an_ledger_files *b);
/* Check that the plan file's slice fits beside those of earlier plans.  CM_EBUDGET with the reason. */
CM_CHECK enum cm_rc an_ledger_files_slice(const struct an_ledger_files *b, struct cm_err *err);
/* Pin the plan file: sign these bytes (from pl_plan_make) and store them in a PLAN record, durable on return.
 * Its slice is spent then.  Writes the OPEN record first if the ledger is new.  CM_EBUDGET: the slice does
 * not fit, and nothing is written. */
CM_CHECK enum cm_rc an_ledger_files_pin(struct an_ledger_files *b, const struct cm_buf *plan,
	const struct cr_signer *signer, int64_t now_ms, struct cm_err *err);
/* Append the bytes of the plan file's plan as it would be pinned next.  Composes each round; another thread
 * may set *stop, as in pl_plan_make.  CM_EBUDGET as above. */
CM_CHECK enum cm_rc an_ledger_files_draft(
	const struct an_ledger_files *b, const atomic_bool *stop, struct cm_buf *plan, struct cm_err *err);
/* For files opened without write: take these bytes into the state as pinning would. */
CM_CHECK enum cm_rc an_ledger_files_show(
	struct an_ledger_files *b, const struct cm_buf *plan, struct cm_err *err);
/* For files opened without write: decide the plan file's rounds in memory as pinning would.  Does nothing if
 * the plan is pinned.  CM_EBUDGET as above. */
CM_CHECK enum cm_rc an_ledger_files_preview(
	struct an_ledger_files *b, const atomic_bool *stop, struct cm_err *err);

/* The decision about a planned round.  Borrowed. */
struct an_decision {
	const struct rd_verdict *verdict; /* from an_budget_decide */
	bool take;
	const char *refusal;          /* reason for refusing other than the budget; NULL if there is none */
	const struct qy_query *query; /* the question, if it differs from the plan's; otherwise NULL */
	struct an_payload payload;    /* the checked payload, if the round has one */
};
/* Record the decision about a round of the pinned plan file.  To take it: freeze its payload, create its key,
 * then write RESERVE durably.  Otherwise write REFUSE. */
CM_CHECK enum cm_rc an_ledger_files_decide(struct an_ledger_files *b, const struct an_round_state *r,
	const struct an_decision *decision, const struct cr_rng *rng, int64_t now_ms, struct cm_err *err);
