/* cl_run_ask.c - requests rounds from the shuffler, over connections that come and go. */
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
	run->phase = CL_ASKING;
	run->asked = false;
	if (run->waited) {
		give_up(run);
		return;
	}
	(void)uv_timer_start(&run->ask_timer, on_ask_timer, later_ms, 0);
}

/* Whether the newest round was passed over by our clock. */
static bool passed_over(const struct cl_run *run)
{
	return run->by_clock.sequence > 0 && run->by_clock.sequence == run->after;
}

/* The round after which the next one is requested.  If the last round was passed over by a clock that has
 * been set right since, the result is the number before it: the round is judged again, as after a restart,
 * and was not charged. */
static uint64_t done_with(const struct cl_run *run)
{
	struct cm_err unused;
	bool again = passed_over(run) && rd_in_time(run->by_clock.opens_ms, run->by_clock.deadline_ms,
						 cm_clock_wall_ms(), &unused) == CM_OK;

	return again ? run->after - 1 : run->after;
}

static void ask(struct cl_run *run)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetRound get = TOMBOLA__V1__GET_ROUND__INIT;
	union cl_plans_wire wire;
	struct cm_err err;

	if (run->phase != CL_ASKING || run->asked || run->conf.proofs_only ||
		uv_is_active((uv_handle_t *)&run->ask_timer) || !cl_links_up(run->links, 0))
		return;
	get.population = run->setup->conf.population;
	/* Request the active round by its number, to check that it is unchanged. */
	get.after = run->active.sequence > 0 ? run->active.sequence - 1
		    : run->confirming        ? run->prepared.j.d.sequence - 1
					     : done_with(run);
	get.wait_ms = run->active.sequence > 0 || run->confirming ? 0
		      : passed_over(run)                          ? CL_PAUSE_MS
								  : PR_WAIT_MAX_MS;
	get.passed_over = passed_over(run) ? run->by_clock.sequence : 0;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_ROUND;
	frame.get_round = &get;
	run->ask = cl_plans_next(&run->plans);
	if (run->ask != CL_ASK_ROUND && cl_plans_frame(&run->plans, run->ask, &frame, &wire, &err) != CM_OK) {
		cl_run_fault(run, "ledger", &err);
		return;
	}
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
		/* retry_after is the peer's choice; a long poll is repeated soon in any case. */
		cl_run_begin_asking(run, e->retry_after_ms < CL_PAUSE_MS && e->retry_after_ms > 0
						 ? e->retry_after_ms
						 : CL_ASK_AGAIN_MS);
		break;
	default:
		cl_run_forget_judged(run);
		cl_run_fault(run, "the shuffler refuses", &err);
	}
}

/* Process the answer to a request for a standing, plan or manifest. */
static void take_answer(struct cl_run *run, const Tombola__V1__Frame *frame)
{
	bool lost = false, round_in_hand = run->ask != CL_ASK_STANDING;
	struct cm_err err;
	enum cm_rc rc = cl_plans_answer(&run->plans, run->ask, frame, cm_clock_wall_ms(), &lost, &err);

	if (lost)
		cl_run_say(run, CM_LOG_ERROR, "this client's ledger was restored, cloned or lost", &err);
	if (rc == CM_OK && round_in_hand) {
		cl_run_judge_again(run);
	} else if (rc == CM_OK) {
		cl_run_begin_asking(run, 0);
	} else if (rc == CM_ELATER) {
		cl_plans_begin(&run->plans);
		cl_run_begin_asking(run, CL_PAUSE_MS);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		cl_plans_begin(&run->plans);
		cl_run_fault(run, "the shuffler refuses", &err);
	} else if (rc == CM_EPROTO || rc == CM_EPERM) {
		cl_plans_begin(&run->plans);
		cl_links_drop(run->links, 0, CL_PAUSE_MS, &err);
	} else {
		cl_run_fault(run, "ledger", &err);
	}
}

void cl_run_on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame)
{
	struct cl_run *run = user;
	struct cm_err err;

	if (cl_run_proof_frame(run, i, frame))
		return;
	if (run->phase == CL_UPLOADING && run->round != NULL) {
		cl_round_frame(run->round, i, frame);
		return;
	}
	if (run->phase != CL_ASKING)
		return;
	if (i == 0 && run->asked && run->ask != CL_ASK_ROUND) {
		run->asked = false;
		take_answer(run, frame);
	} else if (i == 0 && run->asked && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ROUND) {
		run->asked = false;
		cl_run_take_round(run, frame->round);
	} else if (i == 0 && run->asked && frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		run->asked = false;
		take_no_round(run, frame->error);
	} else if (frame->kind_case != TOMBOLA__V1__FRAME__KIND_RECEIPT) {
		/* A receipt may arrive late, for a round whose deadline has passed. */
		(void)cm_fail(&err, CM_EPROTO, "%s instead of a round", pr_kind_name(frame));
		cl_links_drop(run->links, i, CL_PAUSE_MS, &err);
	}
}

void cl_run_on_up(void *user, unsigned i)
{
	struct cl_run *run = user;

	if (i == 0)
		cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	if (i == 0 && !run->conf.quiet)
		cm_log(CM_LOG_INFO, "connected", CM_S("shuffler", run->setup->conf.shuffler),
			CM_S("tls_group", cl_links_group(run->links, i)));
	run->ever_up = true;
	if (run->round != NULL)
		cl_round_up(run->round, i);
	ask(run);
}

void cl_run_on_down(void *user, unsigned i, bool was_up, const struct cm_err *why)
{
	struct cl_run *run = user;

	if (run->phase == CL_ENDING)
		return;
	run->down = *why;
	if (i == 0) {
		run->asked = false;
		cl_plans_down(&run->plans);
		cl_run_proof_down(run);
	}
	if (i == 0 && why->code != CM_OK)
		cl_run_say(run, CM_LOG_WARN, was_up ? "connection lost" : "no connection", why);
	if (run->round != NULL)
		cl_round_down(run->round, i);
	/* A certificate or role that is refused now will be refused later; the network may recover. */
	if (run->conf.stop_on_fault && run->round == NULL && run->phase == CL_ASKING &&
		(why->code == CM_EPERM || why->code == CM_EPROTO))
		cl_run_finish(run, why);
}

/* The wait limit passed without a round. */
static void give_up(struct cl_run *run)
{
	struct cm_err err;

	if (run->ever_up && run->conf.proofs_only)
		(void)cm_fail(&err, CM_ELATER, "no answer within %" PRId64 " s", run->conf.wait_ms / 1000);
	else if (run->ever_up)
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

	/* A round may take as long as it states; only waiting for one is limited. */
	if (run->phase == CL_ASKING)
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
