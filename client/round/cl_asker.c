/* cl_asker.c - asks the shuffler for rounds, over a connection that comes and goes. */
#include "cl_asker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"

struct cl_asker {
	struct cl_asker_conf conf;
	const struct cl_context *context;
	/* `again` runs until the next request; `limit` ends the wait for a round */
	uv_timer_t again, limit;
	bool asking; /* a round is wanted */
	bool asked;  /* a request waits for its answer: */
	enum cl_ask ask;
	bool rehearses; /* the request may be answered with a rehearsal */
	bool waited;    /* the limit for waiting passed while this client was taking part in a round */
	bool ever_up;   /* a connection was up at some time */
};

enum cm_rc cl_asker_new(const struct cl_asker_conf *conf, struct cl_asker **out, struct cm_err *err)
{
	struct cl_asker *a = calloc(1, sizeof *a);

	if (!a)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = a;
	a->conf = *conf;
	a->context = conf->context;
	a->asking = true;
	(void)uv_timer_init((uv_loop_t *)&a->context->loop, &a->again);
	(void)uv_timer_init((uv_loop_t *)&a->context->loop, &a->limit);
	a->again.data = a->limit.data = a;
	return CM_OK;
}

void cl_asker_close(struct cl_asker *a)
{
	if (!a || uv_is_closing((uv_handle_t *)&a->again))
		return;
	a->asking = false;
	uv_close((uv_handle_t *)&a->again, NULL);
	uv_close((uv_handle_t *)&a->limit, NULL);
}

void cl_asker_free(struct cl_asker *a)
{
	free(a);
}

/* ---- the wait limit ---- */

static void give_up(struct cl_asker *a)
{
	int64_t wait_s = a->context->run->wait_ms / 1000;
	struct cm_err err;

	if (a->ever_up && a->context->run->proofs_only)
		(void)cm_fail(&err, CM_ELATER, "no answer within %" PRId64 " s", wait_s);
	else if (a->ever_up)
		(void)cm_fail(&err, CM_ELATER, "no round to take part in within %" PRId64 " s", wait_s);
	else
		(void)cl_links_faults(a->conf.links, &err);
	a->conf.on_over(a->conf.user, &err);
}

static void on_limit(uv_timer_t *t)
{
	struct cl_asker *a = t->data;

	/* A round may take as long as it states; only waiting for one is limited. */
	if (a->asking)
		give_up(a);
	else
		a->waited = true;
}

void cl_asker_wait(struct cl_asker *a)
{
	a->waited = false;
	if (a->context->run->wait_ms > 0)
		(void)uv_timer_start(&a->limit, on_limit, (uint64_t)a->context->run->wait_ms, 0);
}

/* ---- requests ---- */

static void fault(struct cl_asker *a, const char *msg, const struct cm_err *why)
{
	a->conf.on_fault(a->conf.user, msg, why);
}

static void fill(struct cl_asker *a, Tombola__V1__GetRound *get, Tombola__V1__Frame *frame)
{
	get->population = a->context->setup->conf.population;
	a->conf.request(a->conf.user, get);
	frame->kind_case = TOMBOLA__V1__FRAME__KIND_GET_ROUND;
	frame->get_round = get;
}

static void ask(struct cl_asker *a)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetRound get = TOMBOLA__V1__GET_ROUND__INIT;
	union cl_plans_wire wire;
	struct cm_err err;

	if (!a->asking || a->asked || a->context->run->proofs_only ||
		uv_is_active((uv_handle_t *)&a->again) || !cl_links_up(a->conf.links, 0))
		return;
	fill(a, &get, &frame);
	a->ask = cl_plans_next(a->conf.plans);
	if (a->ask != CL_ASK_ROUND && cl_plans_frame(a->conf.plans, a->ask, &frame, &wire, &err) != CM_OK) {
		fault(a, "ledger", &err);
		return;
	}
	a->asked = true;
	a->rehearses = a->ask == CL_ASK_ROUND && get.rehearses;
	if (cl_links_send(a->conf.links, 0, &frame, &err) != CM_OK)
		cl_links_drop(a->conf.links, 0, 0, &err);
}

static void on_again(uv_timer_t *t)
{
	ask(t->data);
}

void cl_asker_begin(struct cl_asker *a, uint32_t later_ms)
{
	a->asking = true;
	a->asked = false;
	if (a->waited)
		give_up(a);
	else
		(void)uv_timer_start(&a->again, on_again, later_ms, 0);
}

void cl_asker_rest(struct cl_asker *a)
{
	a->asking = false;
}

void cl_asker_tell(struct cl_asker *a)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetRound get = TOMBOLA__V1__GET_ROUND__INIT;
	struct cm_err err;

	if (a->asked || !cl_links_up(a->conf.links, 0))
		return;
	fill(a, &get, &frame);
	get.wait_ms = 0;
	get.rehearses = 0;
	if (cl_links_send(a->conf.links, 0, &frame, &err) != CM_OK)
		cl_links_drop(a->conf.links, 0, 0, &err);
}

bool cl_asker_awaits(const struct cl_asker *a, enum cl_ask ask)
{
	return a->asked && a->ask == ask;
}

/* ---- answers ---- */

static void take_no_round(struct cl_asker *a, const Tombola__V1__Error *e)
{
	char *away = a->conf.plans->away;
	struct cm_err err;

	(void)pr_error(e, &err);
	*away = '\0';
	if (a->conf.on_none(a->conf.user, e))
		return;
	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
	case TOMBOLA__V1__ERROR_CODE__ERROR_BUSY:
	case TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE:
	case TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED:
		/* The peer chooses retry_after; a long poll is repeated soon in any case. */
		cl_asker_begin(a, e->retry_after_ms < CL_PAUSE_MS && e->retry_after_ms > 0 ? e->retry_after_ms
											   : CL_ASK_AGAIN_MS);
		break;
	default:
		(void)snprintf(away, sizeof a->conf.plans->away, "the shuffler refuses: %.300s", err.msg);
		fault(a, "the shuffler refuses", &err);
	}
}

/* Process the answer to a request for a standing, plan, manifest or payload. */
static void take_answer(struct cl_asker *a, const Tombola__V1__Frame *frame)
{
	struct cl_plans *plans = a->conf.plans;
	bool lost = false, round_in_hand = a->ask != CL_ASK_STANDING;
	struct cm_err err;
	enum cm_rc rc = cl_plans_answer(plans, a->ask, frame, cm_clock_wall_ms(), &lost, &err);

	if (lost)
		cl_say(a->context, CM_LOG_ERROR, "this client's ledger was restored, cloned or lost", &err);
	if (rc == CM_OK && round_in_hand) {
		a->conf.on_answer(a->conf.user);
	} else if (rc == CM_OK || rc == CM_EMORE) {
		cl_asker_begin(a, 0);
	} else if (rc == CM_ELATER && a->ask == CL_ASK_PAYLOAD) {
		cl_asker_begin(a, CL_ASK_AGAIN_MS);
	} else if (rc == CM_ELATER) {
		cl_plans_begin(plans);
		cl_asker_begin(a, CL_PAUSE_MS);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		cl_plans_begin(plans);
		fault(a, "the shuffler refuses", &err);
	} else if (a->ask == CL_ASK_STANDING && *plans->foreign) {
		fault(a, "the shuffler's standing is not this client's", &err);
	} else if (rc == CM_EPROTO || rc == CM_EPERM) {
		cl_plans_begin(plans);
		cl_links_drop(a->conf.links, 0, CL_PAUSE_MS, &err);
	} else {
		fault(a, "ledger", &err);
	}
}

void cl_asker_frame(struct cl_asker *a, unsigned i, const Tombola__V1__Frame *frame)
{
	bool answer = i == 0 && a->asked;
	struct cm_err err;

	if (!a->asking)
		return;
	if (answer && a->ask != CL_ASK_ROUND) {
		a->asked = false;
		take_answer(a, frame);
	} else if (answer && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ROUND) {
		a->asked = false;
		*a->conf.plans->away = '\0';
		a->conf.on_round(a->conf.user, frame->round);
	} else if (answer && a->rehearses && frame->kind_case == TOMBOLA__V1__FRAME__KIND_REHEARSE) {
		/* Ask again only after a pause, so that a shuffler which has nothing else to say keeps no
		 * client busy. */
		cl_asker_begin(a, CL_ASK_AGAIN_MS);
		a->conf.on_rehearse(a->conf.user, frame->rehearse);
	} else if (answer && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		a->asked = false;
		take_no_round(a, frame->error);
	} else if (frame->kind_case != TOMBOLA__V1__FRAME__KIND_RECEIPT) {
		/* A receipt may arrive late, for a round whose deadline has passed. */
		(void)cm_fail(&err, CM_EPROTO, "%s instead of a round", pr_kind_name(frame));
		cl_links_drop(a->conf.links, i, CL_PAUSE_MS, &err);
	}
}

/* ---- connections ---- */

void cl_asker_up(struct cl_asker *a, unsigned i)
{
	if (i == 0)
		cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	if (i == 0 && !a->context->run->quiet)
		cm_log(CM_LOG_INFO, "connected", CM_S("shuffler", cl_links_address(a->conf.links, i)),
			CM_S("tls_group", cl_links_group(a->conf.links, i)));
	a->ever_up = true;
	*a->conf.plans->away = '\0';
	ask(a);
}

void cl_asker_down(struct cl_asker *a, unsigned i, bool was_up, const struct cm_err *why)
{
	if (i == 0) {
		a->asked = false;
		cl_plans_down(a->conf.plans);
	}
	if (i == 0 && why->code != CM_OK)
		cl_say(a->context, CM_LOG_WARN, was_up ? "connection lost" : "no connection", why);
	if (i == 0 && why->code != CM_OK)
		(void)snprintf(a->conf.plans->away, sizeof a->conf.plans->away,
			"not connected to the shuffler: %.300s", why->msg);
	/* A certificate or role that is refused now will be refused later; the network may recover. */
	if (a->context->run->stop_on_fault && a->asking && cl_links_refused(a->conf.links))
		a->conf.on_over(a->conf.user, why);
}
