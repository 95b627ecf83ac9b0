/* an_daemon_private.h - what the files of the daemon share. */
#pragma once

#include "an_books.h"
#include "an_budget.h"
#include "an_daemon.h"
#include "an_extend.h"
#include "an_metrics.h"
#include "an_open.h"
#include "an_round.h"
#include "an_view.h"
#include "cm_http.h"
#include "cm_loop.h"
#include "lk_link.h"

#define AN_EXPLAINED 8u /* refused rounds, the last of the plan; every one has its reason in the ledger */

struct an_refusal {
	uint32_t number; /* of the round; 0: free */
	size_t voids;    /* rounds that were void then */
	json_t *doc;     /* NULL: none could be made */
};

struct an_daemon {
	const struct an_daemon_conf *run;
	const struct an_conf *conf;
	struct an_books books;
	struct cm_rng rng;
	struct cm_signer *signer;
	struct cm_verifier *shuffler;

	uv_loop_t loop;
	struct cm_loop *signals;
	struct cm_http *http;
	struct an_metrics *metrics;
	struct cm_tls_ctx *tls;

	/* The link, an_daemon_link.c. */
	struct lk_link *link; /* dialling or up; NULL: none */
	bool ready;           /* the shuffler has said Hello */
	unsigned refusals;    /* dials in a row that TLS ended */
	int64_t backoff_ms, away_since_ms;
	int64_t seen_ms;           /* unix time of the shuffler's last frame, 0: none yet */
	char away[320];            /* why it cannot be reached; "" */
	uv_timer_t redial, answer; /* answer: the shuffler owes one */
	unsigned timers;           /* open timer handles */

	/* The round that is judged next, an_daemon_plan.c. */
	struct {
		struct an_round_state *round;
		struct rd_verdict verdict;
		struct an_explanation explanation;
		bool explained; /* it was refused, and somebody looks on */
		bool extends;   /* it asks what an earlier answer leaves to ask */
		struct an_extension extension;
	} judging;

	/* The round at hand, an_daemon_round.c. */
	struct an_round *dialogue;
	struct an_round_state *current;
	bool swept; /* keys that the ledger does not know: a shuffler has seen this ledger */
	struct an_open *open;
	uv_timer_t pause;
	uv_work_t work; /* opening one bucket, or judging the next round */
	bool working;
	uint64_t work_ns; /* that it has taken */
	const uint8_t *sealed;
	size_t messages;
	struct cm_err work_err;
	enum cm_rc work_rc;

	/* What the dashboard shows, an_daemon_view.c and an_daemon_page.c. */
	struct {
		struct an_view view;       /* the newest there is */
		struct an_view fresh;      /* being made */
		struct an_view_memo *memo; /* the making thread's */
		uv_work_t work, explain;
		bool making;
		struct an_refusal *explaining; /* is the explaining thread's; NULL: nothing to do */
		atomic_bool stop;
		int64_t tried_ms, asked_ms; /* when the last making began; when somebody asked */
		enum cm_rc rc;
		struct cm_err err;
		char fault[320]; /* why the last could not be made; "" */
		struct an_refusal refusal[AN_EXPLAINED];
		int64_t started_ms;
		int64_t certificate_ms, not_after; /* read last, unix seconds; 0: no certificate */
		char certificate_fault[320];
	} page;

	bool idle;     /* nothing left to do */
	size_t shown;  /* rounds of the plan that stand in run->table */
	bool stopping; /* for result */
	enum cm_rc result;
	struct cm_err err;
};

/* End the run with this result; the first call counts. */
void an_stop(struct an_daemon *d, enum cm_rc rc, const struct cm_err *why);

/* Dial unless a link is there or a wait is running. */
void an_link_want(struct an_daemon *d);
/* Close the link; a new one is dialled if `again`. */
void an_link_drop(struct an_daemon *d, const struct cm_err *why);
void an_link_send(struct an_daemon *d, const Tombola__V1__Frame *frame);
/* The shuffler has answered, or nothing is asked of it. */
void an_link_answered(struct an_daemon *d);
CM_CHECK enum cm_rc an_link_init(struct an_daemon *d, struct cm_err *err);
void an_link_close(struct an_daemon *d);
/* New certificates: a fresh context and a fresh link. */
void an_link_reload(struct an_daemon *d);

/* an_daemon_plan.c: start what is next in the plan, or finish; show the rounds that have ended since. */
void an_plan_next(struct an_daemon *d);
void an_plan_show(struct an_daemon *d);

/* an_daemon_page.c */
#define AN_PAGE_ROUTES 8u
extern const struct cm_http_route an_page_routes[AN_PAGE_ROUTES];
/* GET /status as JSON. */
char *an_page_status(void *user);

/* an_daemon_metrics.c: GET /metrics. */
int an_metrics_answer(void *user, const char *path, struct cm_http_reply *out);

/* an_daemon_view.c: init and close on the loop, free after it. */
CM_CHECK enum cm_rc an_view_init(struct an_daemon *d, struct cm_err *err);
void an_view_close(struct an_daemon *d);
void an_view_free(struct an_daemon *d);
/* Somebody looks on: have what is missing made. */
void an_view_want(struct an_daemon *d);
/* Is page.view of the ledger as it stands? */
bool an_view_is_current(const struct an_daemon *d);
/* "tombola.refusals/1": the explanations there are, owned by the caller; NULL out of memory.  And how many.
 */
char *an_view_refusals(struct an_daemon *d);
unsigned an_view_explained(const struct an_daemon *d);

/* an_daemon_round.c: go on with a round from its stage. */
void an_work_begin(struct an_daemon *d, struct an_round_state *r);
void an_work_connected(struct an_daemon *d);
void an_work_frame(struct an_daemon *d, const Tombola__V1__Frame *frame);
CM_CHECK enum cm_rc an_work_init(struct an_daemon *d, struct cm_err *err);
void an_work_close(struct an_daemon *d);
