/* cl_run.h - takes part in rounds until told to stop: the loop behind `run`, `send` and `encode`. */
#pragma once

#include "cl_links.h"
#include "cl_prepare.h"
#include "cl_store.h"

/* One round as it went for this client. */
struct cl_summary {
	uint64_t sequence;
	char query[65], protocol[32];
	bool resumed;
	enum cm_rc refused; /* CM_OK, or why this client did not take part */
	char reason[320];
	struct cl_rows rows;
	struct cl_counts counts;
	uint32_t messages;                             /* sealed messages per device */
	size_t sealed_len;                             /* bytes of each */
	double epsilon0, epsilon_round, epsilon_total; /* central ones by this client's own account */
	uint64_t shuffler_dummies; /* the most that they count on; 0: they rest on no such */
};

struct cl_run_conf {
	const struct cl_setup *setup;
	const struct cl_input *input;
	bool mqtt;          /* readings come as the setup's mqtt says, not from `input` */
	uint64_t rounds;    /* then end; 0: until SIGTERM */
	int64_t wait_ms;    /* for a round to open; 0: for ever */
	bool stop_on_fault; /* a refusal, unreadable input or a refused connection ends it (send); else logged
			     */
	bool fetch_only;    /* end with the first round offered, taking no part: see cl_run_fetch */
	bool progress;      /* on stderr */
	bool quiet;         /* no log lines but errors */
	void (*on_round)(void *user, const struct cl_summary *s);
	void *user;
};

/* CM_OK: `rounds` rounds done, or stopped by SIGTERM (*stopped).  CM_ELATER: no round within wait_ms;
 * CM_EUNAVAIL: no shuffler; with stop_on_fault the reason of the first fault.  A fault of our own storage
 * always ends it. */
CM_CHECK enum cm_rc cl_run(const struct cl_run_conf *conf, bool *stopped, struct cm_err *err);

/* The first round the shuffler offers, unjudged: descriptor appended, signature of PR_SIGNATURE_LEN. */
CM_CHECK enum cm_rc cl_run_fetch(const struct cl_setup *setup, int64_t wait_ms, struct cm_buf *descriptor,
	uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
