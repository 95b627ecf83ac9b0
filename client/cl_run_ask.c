/* cl_run_ask.c - asks the shuffler for rounds, over connections that come and go. */
#include <inttypes.h>

#include "cl_run_private.h"
#include "cm_clock.h"

static void ask(struct cl_run *run);
static void give_up(struct cl_run *run);

static void on_ask_timer(uv_timer_t *t)
{
	ask(t->data);
}

void cl_run_begin_asking(struct cl_run *run, uint32_t later_ms)
{
	run->phase = ASKING;
	run->asked = false;
	if (run->waited) {
		give_up(run);
		return;
	}
	(void)uv_timer_start(&run->ask_timer, on_ask_timer, later_ms, 0);
}

/* The round after which the next is wanted.  The last one again, if it was late by a clock that has been set
 * back since: it is judged anew, as after a restart, and nothing of it was charged. */
static uint64_t done_with(const struct cl_run *run)
{
	bool again = run->late > 0 && run->late == run->after && cm_clock_wall_ms() < run->late_until;

	return again ? run->after - 1 : run->after;
}

static void ask(struct cl_run *run)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetRound get = TOMBOLA__V1__GET_ROUND__INIT;
	struct cm_err err;

	if (run->phase != ASKING || run->asked || uv_is_active((uv_handle_t *)&run->ask_timer) ||
		!cl_links_up(run->links, 0))
		return;
	get.population = run->setup->conf.population;
	/* A round under way is asked for by number, to see that it is still the same. */
	get.after = run->active.sequence > 0 ? run->active.sequence - 1
		    : run->confirming        ? run->prepared.j.d.sequence - 1
					     : done_with(run);
	get.wait_ms = run->active.sequence > 0 || run->confirming ? 0 : PR_WAIT_MAX_MS;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_ROUND;
	frame.get_round = &get;
	run->asked = true;
	if (cl_links_send(run->links, 0, &frame, &err) != CM_OK)
		cl_links_drop(run->links, 0, 0, &err);
}

static void take_no_round(struct cl_run *run, const Tombola__V1__Error *e)
{
	struct cm_err err;

	(void)lk_error(e, &err);
	if (run->active.sequence > 0) {
		cl_run_start_stored(run);
		return;
	}
	if (run->confirming && (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ||
				       e->code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED)) {
		cl_run_gone(run);
		return;
	}
	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
	case TOMBOLA__V1__ERROR_CODE__ERROR_BUSY:
	case TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE:
	case TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED:
		/* retry_after is the peer's; a long poll is asked again soon, whatever it says. */
		cl_run_begin_asking(run, e->retry_after_ms < CL_PAUSE_MS && e->retry_after_ms > 0
						 ? e->retry_after_ms
						 : CL_ASK_AGAIN_MS);
		break;
	default:
		cl_run_forget_judged(run);
		cl_run_fault(run, "the shuffler refuses", &err);
	}
}

void cl_run_on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame)
{
	struct cl_run *run = user;
	struct cm_err err;

	if (run->phase == UPLOADING && run->round != NULL) {
		cl_round_frame(run->round, i, frame);
		return;
	}
	if (run->phase != ASKING)
		return;
	if (i == 0 && run->asked && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ROUND) {
		run->asked = false;
		cl_run_take_round(run, frame->round);
	} else if (i == 0 && run->asked && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		run->asked = false;
		take_no_round(run, frame->error);
	} else if (frame->kind_case != TOMBOLA__V1__FRAME__KIND_RECEIPT) {
		/* A receipt may come late, for a round whose deadline has passed. */
		(void)cm_fail(&err, CM_EPROTO, "%s instead of a round", pr_kind_name(frame));
		cl_links_drop(run->links, i, CL_PAUSE_MS, &err);
	}
}

void cl_run_on_up(void *user, unsigned i)
{
	struct cl_run *run = user;

	if (i == 0)
		cm_log_flush(); /* a fault to come is another one */
	if (i == 0 && !run->conf.quiet)
		cm_log(CM_LOG_INFO, "connected", CM_S("shuffler", run->setup->conf.shuffler));
	run->ever_up = true;
	if (run->round != NULL)
		cl_round_up(run->round, i);
	ask(run);
}

void cl_run_on_down(void *user, unsigned i, bool was_up, const struct cm_err *why)
{
	struct cl_run *run = user;

	if (run->phase == ENDING)
		return;
	run->down = *why;
	if (i == 0)
		run->asked = false;
	if (i == 0 && why->code != CM_OK)
		cl_run_say(run, CM_LOG_WARN, was_up ? "connection lost" : "no connection", why);
	if (run->round != NULL)
		cl_round_down(run->round, i);
	/* A certificate or role refused now is refused later; the network may come back. */
	if (run->conf.stop_on_fault && run->round == NULL && run->phase == ASKING &&
		(why->code == CM_EPERM || why->code == CM_EPROTO))
		cl_run_finish(run, why);
}

/* No round was taken part in within the limit. */
static void give_up(struct cl_run *run)
{
	struct cm_err err;

	if (run->ever_up)
		(void)cm_fail(&err, CM_ELATER, "no round to take part in within %" PRId64 " s",
			run->conf.wait_ms / 1000);
	else if (run->down.code != CM_OK &&
		 strncmp(run->down.msg, run->setup->conf.shuffler, strlen(run->setup->conf.shuffler)) == 0)
		(void)cm_fail(&err, CM_EUNAVAIL, "%s", run->down.msg);
	else
		(void)cm_fail(&err, CM_EUNAVAIL, "%s: %.200s", run->setup->conf.shuffler,
			run->down.code != CM_OK ? run->down.msg : "no answer");
	cl_run_finish(run, &err);
}

static void on_wait_over(uv_timer_t *t)
{
	struct cl_run *run = t->data;

	/* A round may take as long as it says; only the wait for one is limited. */
	if (run->phase == ASKING)
		give_up(run);
	else
		run->waited = true;
}

void cl_run_begin_waiting(struct cl_run *run)
{
	run->waited = false;
	if (run->conf.wait_ms > 0)
		(void)uv_timer_start(&run->wait_timer, on_wait_over, (uint64_t)run->conf.wait_ms, 0);
}
