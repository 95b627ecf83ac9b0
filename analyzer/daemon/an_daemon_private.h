/* an_daemon_private.h - the state of the daemon, shared by the files an_daemon*.c. */
#pragma once

#include "an_budget.h"
#include "an_daemon.h"
#include "an_extend.h"
#include "an_ledger_files.h"
#include "an_metrics.h"
#include "an_open.h"
#include "an_round.h"
#include "an_view.h"
#include "lk_link.h"
#include "nt_http.h"
#include "nt_loop.h"

/* How many refused rounds the daemon explains, the latest of the plan; the ledger has the reason of each. */
#define AN_EXPLAINED 8u

struct an_refusal {
	uint32_t number; /* number of the round; 0: this slot is free */
	size_t voids;    /* rounds that were void when the explanation was made */
	json_t *doc;     /* the explanation; NULL: it could not be made */
};

struct an_daemon {
	const struct an_daemon_conf *run;
	const struct an_conf *conf;
	struct an_ledger_files files;
	struct cr_rng rng;
	struct cr_signer *signer;
	struct cr_verifier *shuffler;

	uv_loop_t loop;
	struct nt_loop *signals;
	struct nt_http *http;
	struct an_metrics *metrics;
	struct nt_tls_ctx *tls;

	/* The link to the shuffler: an_daemon_link.c. */
	struct lk_link *link; /* dialling or up; NULL: none */
	bool ready;           /* the shuffler's Hello has arrived */
	unsigned refusals;    /* dials in a row that failed in TLS */
	int64_t backoff_ms, away_since_ms;
	int64_t seen_ms;           /* unix time of the shuffler's last frame, 0: none yet */
	char away[320];            /* why the shuffler cannot be reached; "": it can */
	uv_timer_t redial, answer; /* answer: deadline of an expected answer */
	unsigned timers;           /* open timer handles, which must close before the loop ends */

	/* The plan being made (an_daemon_pin.c), and the refusals that this run has explained. */
	struct {
		struct cm_buf bytes;
		uint64_t number;
		uint8_t previous[PR_HASH_LEN];
		atomic_bool stop;
		struct an_explanation explanation[AN_EXPLAINED]; /* explanations of refused rounds */
		size_t explanations;
	} making;
	/* Does the plan fit the shuffler's policy?  Asked before it is pinned, an_daemon_fit.c. */
	struct {
		uv_timer_t again;
		bool asks, pinned;   /* pinned: asked of a plan that is */
		struct rd_plan made; /* what is to be pinned */
		char why[320];       /* the first fault, while the plan waits; "" */
	} fit;
	/* Waiting for the next scheduled round: an_daemon_sleep.c. */
	struct {
		uv_timer_t timer;
		const struct an_round_state *next; /* the round waited for; NULL: the run does not wait */
		bool *missed;                      /* per round of the plan file: its miss was logged;
						    * owned */
	} sleep;
	struct {
		unsigned pass;  /* number of the current pass, from 1; each pass tries every open round
				 * once */
		unsigned *last; /* per round of the plan file: the pass that tried it last; owned */
		bool *barred;   /* per round of the plan file: the shuffler refused it; owned */
	} tries;

	/* The next round being judged: an_daemon_plan.c. */
	struct {
		struct an_round_state *round;
		struct rd_verdict verdict;
		struct an_explanation explanation;
		bool explained; /* the round was refused and people are watching, so it is explained */
		bool extends;   /* the round's question follows from an earlier answer */
		struct an_extension extension;
	} judging;

	/* The current round: an_daemon_round.c. */
	struct an_round *dialogue;
	struct an_round_state *current;
	bool announced_durable; /* the file `announced` names this round, durably */
	bool keys_swept; /* keys that the ledger does not know were destroyed; done once the shuffler has
			  * confirmed this ledger */
	struct an_open *open;
	uv_timer_t pause;
	uv_work_t work; /* on a worker thread: opening one bucket, or judging the next round */
	bool working;
	uint64_t work_ns; /* how long the work took */
	const uint8_t *sealed;
	size_t messages;
	struct cm_err work_err;
	enum cm_rc work_rc;

	/* The dashboard: an_daemon_view.c and an_daemon_page.c. */
	struct {
		struct an_view view;       /* the newest finished view */
		struct an_view fresh;      /* the view being made */
		struct an_view_memo *memo; /* used only by the thread that makes the view */
		uv_work_t work, explain;
		bool making;
		struct an_refusal *explaining; /* the refusal being explained, owned by that thread; NULL:
						* none */
		atomic_bool stop;
		int64_t tried_ms, asked_ms; /* when the last view was started; when a page was last
					     * requested */
		enum cm_rc rc;
		struct cm_err err;
		char fault[320]; /* why the last view could not be made; "" */
		struct an_refusal refusal[AN_EXPLAINED];
		int64_t started_ms;
		int64_t certificate_ms, not_after; /* when the certificate was last read; its end in unix
						    * seconds, 0: no certificate */
		char certificate_fault[320];
	} page;

	bool idle;     /* no round is left to run */
	size_t shown;  /* rounds of the plan printed to run->table so far */
	bool stopping; /* the run is ending, with `result` */
	enum cm_rc result;
	struct cm_err err;
};

/* End the run with this result; later calls change nothing. */
void an_stop(struct an_daemon *d, enum cm_rc rc, const struct cm_err *why);

/* Dial the shuffler, unless a link exists or a pause before dialling is running. */
void an_link_want(struct an_daemon *d);
/* Close the link; a new one is dialled later. */
void an_link_drop(struct an_daemon *d, const struct cm_err *why);
void an_link_send(struct an_daemon *d, const Tombola__V1__Frame *frame);
/* Stop the timer for an answer: it has arrived, or none is expected. */
void an_link_answered(struct an_daemon *d);
CM_CHECK enum cm_rc an_link_init(struct an_daemon *d, struct cm_err *err);
void an_link_close(struct an_daemon *d);
/* Load the new certificates into a fresh TLS context and open a fresh link. */
void an_link_reload(struct an_daemon *d);

/* an_daemon_pin.c: make the plan of the plan file, check that it fits the shuffler's policy, sign and pin it,
 * then call an_plan_next. */
void an_pin_begin(struct an_daemon *d);
void an_pin_go_on(struct an_daemon *d); /* it fits */

/* an_daemon_fit.c: ask the shuffler for its policy, and an_pin_go_on when the plan fits it; a run that only
 * checks ends.  pinned: the plan's slice is taken already. */
void an_fit_begin(struct an_daemon *d, bool pinned);
void an_fit_connected(struct an_daemon *d);
/* Was the frame an answer to that? */
bool an_fit_frame(struct an_daemon *d, const Tombola__V1__Frame *frame);
CM_CHECK enum cm_rc an_fit_init(struct an_daemon *d, struct cm_err *err);
void an_fit_close(struct an_daemon *d);

/* an_daemon_plan.c: start the next round of the plan, or finish; print the rounds that have ended. */
void an_plan_next(struct an_daemon *d);
/* Continue after the dialogue of a round has ended. */
void an_plan_ended(struct an_daemon *d, const struct an_round_state *r);
void an_plan_show(struct an_daemon *d);

/* an_daemon_page.c */
#define AN_PAGE_ROUTES 8u
extern const struct nt_http_route an_page_routes[AN_PAGE_ROUTES];
/* Answer GET /status as JSON. */
char *an_page_status(void *user);

/* an_daemon_metrics.c: answer GET /metrics. */
int an_metrics_answer(void *user, const char *path, struct nt_http_reply *out);

/* an_daemon_view.c: call init and close while the loop runs, free after it. */
CM_CHECK enum cm_rc an_view_init(struct an_daemon *d, struct cm_err *err);
void an_view_close(struct an_daemon *d);
void an_view_free(struct an_daemon *d);
/* A page was requested: start making a new view or explanation if one is missing. */
void an_view_want(struct an_daemon *d);
/* Whether page.view shows the ledger's last record. */
bool an_view_is_current(const struct an_daemon *d);
/* The explanations made so far, as "tombola.refusals/1"; owned by the caller; NULL: out of memory.  And their
 * number. */
char *an_view_refusals(struct an_daemon *d);
unsigned an_view_explained(const struct an_daemon *d);

/* an_daemon_sleep.c: wait for the next scheduled round.  False if the run does not stay up or no round is
 * scheduled. */
bool an_sleep_begin(struct an_daemon *d);
void an_sleep_end(struct an_daemon *d);
/* Log the missed recurrences that were not logged yet.  say_later: at the end of a run, log the rounds that
 * are not due. */
void an_sleep_say_missed(struct an_daemon *d);
void an_sleep_say_later(const struct an_daemon *d);
CM_CHECK enum cm_rc an_sleep_init(struct an_daemon *d, struct cm_err *err);
void an_sleep_close(struct an_daemon *d);

/* an_daemon_round.c: continue a round from its stage. */
void an_work_begin(struct an_daemon *d, struct an_round_state *r);
void an_work_connected(struct an_daemon *d);
void an_work_frame(struct an_daemon *d, const Tombola__V1__Frame *frame);
CM_CHECK enum cm_rc an_work_init(struct an_daemon *d, struct cm_err *err);
void an_work_close(struct an_daemon *d);
