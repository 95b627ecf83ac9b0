/* cl_run.h - takes part in rounds until told to stop: the loop behind `run`, `send` and `encode`. */
#pragma once

#include "cl_links.h"
#include "cl_prepare.h"
#include "cl_programs.h"
#include "cl_store.h"

/* The result of one round for this client. */
struct cl_summary {
	uint64_t sequence;
	char query[65], protocol[32];
	bool resumed;
	enum cm_rc refused; /* CM_OK, or why this client did not take part */
	char reason[320];
	const char *key; /* setting that refused, as in cm_err; NULL: none did */
	struct cl_rows rows;
	struct cl_counts counts;
	uint64_t target;                               /* of the round */
	uint32_t messages;                             /* sealed messages per device */
	size_t sealed_len;                             /* bytes of each sealed message */
	double epsilon0, epsilon_round, epsilon_total; /* computed by this client; total: all slices */
	struct cl_plan_view plan;                      /* number 0: not pinned */
	uint32_t entry, attempt;                       /* both 0 in adaptive modes */
	uint64_t shuffler_dummies; /* dummies of the shuffler that epsilon relies on, at most; 0: it relies on
				    * none */
};

/* A round and its plan as the shuffler sent them. */
struct cl_fetched {
	struct cm_buf descriptor, plan; /* owned; free with cl_fetched_fini */
	uint8_t signature[PR_SIGNATURE_LEN], plan_signature[PR_SIGNATURE_LEN];
};
void cl_fetched_init(struct cl_fetched *f);
void cl_fetched_fini(struct cl_fetched *f);

struct cl_run_conf {
	const struct cl_setup *setup;
	const struct cl_input *input;
	struct cl_programs *programs; /* started, or NULL: none; borrowed */
	bool mqtt;                    /* readings arrive as setup's mqtt group says, not from `input` */
	uint64_t rounds;              /* end after so many; 0: at SIGTERM */
	int64_t wait_ms;              /* longest wait for a round to open; 0: no limit */
	bool stop_on_fault; /* end at a refusal, unreadable input or a refused connection (send); otherwise
			     * these are logged */
	bool proofs_only;   /* request the due proofs, take part in no round, then end: see cl_run_proofs */
	bool progress;      /* print progress on stderr */
	bool quiet;         /* log errors only */
	void (*on_round)(void *user, const struct cl_summary *s);
	void *user;
};

/* Run the loop.  CM_OK: `rounds` rounds are done, or SIGTERM ended it (*stopped).  CM_ELATER: no round within
 * wait_ms.  CM_EUNAVAIL: no shuffler.  With stop_on_fault, the first fault.  A fault of the client's own
 * storage always ends it. */
CM_CHECK enum cm_rc cl_run(const struct cl_run_conf *conf, bool *stopped, struct cm_err *err);

/* Fetch the first round that the shuffler offers, and its plan, without judging them.  plan is empty if the
 * shuffler has none. */
CM_CHECK enum cm_rc cl_run_fetch(
	const struct cl_setup *setup, int64_t wait_ms, struct cl_fetched *out, struct cm_err *err);
