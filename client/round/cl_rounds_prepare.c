/* cl_rounds_prepare.c - what comes before the upload of a round: its judgement, its payload, its readings. */
#include "cl_gather.h"
#include "cl_rounds_private.h"

/* Continue after preparation: the round is judged, and its readings are read or could not be. */
static void prepared(struct cl_rounds *r)
{
	const struct cm_err *err = &r->prep.err;

	if (err->code != CM_OK && r->active.sequence > 0) {
		cl_say(r->context, CM_LOG_WARN, "only what is stored is sent for the round under way", err);
		cl_rounds_start_stored(r);
		return;
	}
	if (err->code != CM_OK) {
		cl_rounds_refused(r, err);
		return;
	}
	cl_rounds_start(r);
}

static void on_drawn(void *user)
{
	struct cl_rounds *r = user;

	cl_gather_drawn(r->conf.gather);
	if (r->phase == CL_ENDING) {
		cl_rounds_tell_closed(r);
		return;
	}
	r->phase = CL_ASKING;
	prepared(r);
}

void cl_rounds_draw(struct cl_rounds *r)
{
	struct cl_preparation *p = &r->prep;
	struct cm_err err;

	cl_rounds_enter(r, CL_PREPARING);
	if (cl_gather_draw(r->conf.gather, &p->prepared.j.d, &p->input, &p->from, &err) != CM_OK ||
		cl_preparation_draw(p, on_drawn, r, &err) != CM_OK)
		cl_rounds_end(r, &err);
}

void cl_rounds_due(struct cl_rounds *r)
{
	if (r->prep.prepared.j.resumed) {
		cl_rounds_draw(r);
		return;
	}
	/* Other devices may have filled the round meanwhile; a closed round must not be charged. */
	r->confirming = true;
	cl_rounds_ask(r, 0);
}

/* Fetch the payload of the judged round.  When the time for that is over, the round is judged again, with the
 * payload or without. */
static void fetch(struct cl_rounds *r)
{
	const struct cl_need need = r->prep.prepared.j.need;
	struct cm_err err;

	if (cl_await_begin(&r->await, &r->prep.prepared.j.d, &err) != CM_OK) {
		cl_rounds_end(r, &err);
		return;
	}
	cl_preparation_forget(&r->prep);
	if (r->conf.plans->payload.state == CL_PAYLOAD_WANTED) {
		r->conf.plans->need = need;
		cl_rounds_ask(r, 0);
	} else {
		cl_rounds_judge(r);
	}
}

void cl_rounds_fetched(void *user)
{
	struct cl_rounds *r = user;
	struct cl_payload *p = &r->conf.plans->payload;
	bool awaited = false;
	struct cm_err why;

	/* Being judged, it comes back to fetch(). */
	if (r->phase == CL_ENDING || r->prep.works || r->round)
		return;
	(void)cm_fail(&why, CM_ELATER, "the payload did not come in time");
	/* An answer that is on its way would pass for one to another request. */
	for (int ask = CL_ASK_ROUND; ask <= CL_ASK_PAYLOAD; ask++)
		awaited = awaited || cl_asker_awaits(r->asker, (enum cl_ask)ask);
	if (awaited)
		cl_links_drop(r->conf.links, 0, 0, &why);
	cl_payload_give_up(p, why.msg);
	cl_plans_begin(r->conf.plans);
	if (p->state == CL_PAYLOAD_ABSENT) {
		(void)cm_fail(&why, CM_ELATER, "%s", p->why);
		cl_say(r->context, CM_LOG_WARN,
			"without the round's payload devices take part as without readings", &why);
	}
	cl_rounds_judge(r);
}

static void on_prepared(void *user)
{
	struct cl_rounds *r = user;
	struct cl_judgement *j = &r->prep.prepared.j;

	if (r->phase == CL_ENDING) {
		cl_rounds_tell_closed(r);
		return;
	}
	r->phase = CL_ASKING;
	if (r->prep.err.code == CM_EMORE && j->need.kind == CL_NEED_PAYLOAD) {
		fetch(r);
		return;
	}
	if (r->prep.err.code == CM_EMORE) {
		r->conf.plans->need = j->need;
		cl_preparation_forget(&r->prep);
		cl_rounds_ask(r, 0);
		return;
	}
	if (r->conf.gather && r->prep.err.code == CM_OK && !(j->resumed && r->active.whole)) {
		cl_rounds_enter(r, CL_PREPARING);
		cl_gather_begin(r->conf.gather, &j->d, j->resumed);
	} else {
		prepared(r);
	}
}

void cl_rounds_judge(void *user)
{
	struct cl_rounds *r = user;
	const struct cl_input *input = !r->conf.gather ? r->context->run->input : NULL;
	struct cm_err err;

	cl_rounds_enter(r, CL_PREPARING);
	/* The payload came, or cannot be had; the moment of that must not show. */
	if (cl_await_waits(&r->await))
		return;
	if (cl_preparation_judge(&r->prep, input, cl_await_until(&r->await), on_prepared, r, &err) != CM_OK)
		cl_rounds_end(r, &err);
}
