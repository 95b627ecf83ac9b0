/* cl_loop.h - takes part in rounds until told to stop: the loop behind `run`, `send` and `encode`. */
#pragma once

#include "cl_links.h"
#include "cl_prepare.h"
#include "cl_programs.h"
#include "cl_reports.h"

/* The result of one round for this client. */
struct cl_summary {
	uint64_t sequence;
	char query[65], protocol[32];
	bool resumed;
	enum cm_rc refused; /* CM_OK, or the reason why this client did not take part */
	char reason[320];
	const char *key; /* the setting that refused, as in cm_err; NULL if none did */
	struct cl_rows rows;
	struct cl_counts counts;
	uint64_t target;                               /* the target of the round */
	uint32_t messages;                             /* sealed messages per device */
	size_t sealed_len;                             /* bytes of each sealed message */
	double epsilon0, epsilon_round, epsilon_total; /* computed by this client; total: all slices */
	struct cl_plan_view plan;                      /* its number is 0 if it is not pinned */
	uint32_t entry, attempt;                       /* both 0 in adaptive modes */
	/* most dummies of the shuffler on which epsilon relies; 0 if it relies on none */
	uint64_t shuffler_dummies;
};

/* A round and its plan as the shuffler sent them. */
struct cl_fetched {
	struct cm_buf descriptor, plan; /* owned; free with cl_fetched_fini */
	uint8_t signature[PR_SIGNATURE_LEN], plan_signature[PR_SIGNATURE_LEN];
};
void cl_fetched_init(struct cl_fetched *f);
void cl_fetched_fini(struct cl_fetched *f);

struct cl_loop_conf {
	const struct cl_setup *setup;
	/* The policy in setup, which is replaced when its file is read again (SIGHUP); NULL: it is the same
	 * to the end. */
	struct cl_policy *policy;
	const struct cl_input *input;
	struct cl_programs *programs; /* running, and borrowed; NULL if the client runs no programs */
	bool mqtt;                    /* readings arrive as the mqtt group of setup says, not from `input` */
	uint64_t rounds;              /* the run ends after this many rounds; 0: it ends at SIGTERM */
	int64_t wait_ms;              /* longest wait for a round to open; 0 means no limit */
	/* end at a refusal, unreadable input or a refused connection (verb `send`); otherwise these are
	 * logged */
	bool stop_on_fault;
	bool proofs_only; /* only request the due proofs, then end (verb `proofs`) */
	bool progress;    /* print progress on stderr */
	bool quiet;       /* log errors only */
	void (*on_round)(void *user, const struct cl_summary *s);
	void *user;
};

/* Run the loop.  CM_OK: `rounds` rounds are done, or SIGTERM ended it (*stopped).  CM_ELATER: no round
 * opened within wait_ms.  CM_EUNAVAIL: the shuffler cannot be reached.  With stop_on_fault the first fault
 * ends the loop and is returned.  A fault of the client's own storage always ends it. */
CM_CHECK enum cm_rc cl_loop_run(const struct cl_loop_conf *conf, bool *stopped, struct cm_err *err);

/* Fetch the first round that the shuffler offers, and its plan, without judging them.  The plan is empty if
 * the shuffler has none. */
CM_CHECK enum cm_rc cl_loop_fetch(
	const struct cl_setup *setup, int64_t wait_ms, struct cl_fetched *out, struct cm_err *err);
