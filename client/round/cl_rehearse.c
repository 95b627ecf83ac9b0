/* cl_rehearse.c - answers rehearsals from the policy, the pins and the length of the list of devices. */
#include "cl_rehearse.h"

#include <stdlib.h>
#include <string.h>

#include "cl_judge.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "rd_rehearsal.h"
#include "rd_wire.h"

#define COMPOSE_MS 5000u /* a composition is stopped after this time, between two entries */
#define REST_TIMES 4     /* after a composition the next one waits this many times as long as that took */

struct cl_rehearse {
	const struct cl_context *context;
	struct cl_links *links;
	uv_timer_t limit;
	uv_work_t work;
	bool works, closed;
	bool wanted; /* the connection that asked is still there, and no round began meanwhile */
	bool cut;    /* a round began, so the composition was ended */
	atomic_bool stop;
	int64_t began_ms, rests_until_ms; /* both in the time of the monotonic clock */
	/* The policy when the composition began: a copy, whose texts are those of the setup or of `old`. */
	struct cl_policy policy;
	struct cl_policy old; /* the policy before the one in force, if keeps_old */
	bool keeps_old;
	/* The question that is being composed, and its answer. */
	struct rd_plan plan;
	struct cl_draft draft;
	size_t devices;
	int64_t off_ms; /* our clock minus the analyzer's, when it asked */
	struct rd_faults faults;
	enum cm_rc rc;
};

enum cm_rc cl_rehearse_new(const struct cl_context *context, struct cl_links *links, struct cl_rehearse **out,
	struct cm_err *err)
{
	struct cl_rehearse *r = calloc(1, sizeof *r);

	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = r;
	r->context = context;
	r->links = links;
	atomic_init(&r->stop, false);
	(void)uv_timer_init((uv_loop_t *)&context->loop, &r->limit);
	r->limit.data = r->work.data = r;
	return CM_OK;
}

void cl_rehearse_close(struct cl_rehearse *r)
{
	if (!r || r->closed)
		return;
	r->closed = true;
	atomic_store(&r->stop, true);
	uv_close((uv_handle_t *)&r->limit, NULL);
}

void cl_rehearse_free(struct cl_rehearse *r)
{
	if (r)
		rd_plan_fini(&r->plan);
	free(r);
}

void cl_rehearse_cut(struct cl_rehearse *r)
{
	r->cut = CM_CHECKED("client.rehearse.cut");
	r->wanted = r->wanted && !r->cut;
	atomic_store(&r->stop, true);
}

void cl_rehearse_down(struct cl_rehearse *r)
{
	if (!r)
		return;
	r->wanted = false;
	atomic_store(&r->stop, true);
}

/* ---- the answer ---- */

static void send_answer(
	struct cl_rehearse *r, const uint8_t hash[PR_HASH_LEN], Tombola__V1__RehearsalAnswer *answer)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	struct cm_err err;

	answer->draft_hash = rd_wire_bytes(hash, PR_HASH_LEN);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_REHEARSAL_ANSWER;
	frame.rehearsal_answer = answer;
	if (cl_links_send(r->links, 0, &frame, &err) != CM_OK)
		cl_links_drop(r->links, 0, 0, &err);
}

static void decline(struct cl_rehearse *r, const Tombola__V1__Rehearse *question)
{
	Tombola__V1__RehearsalAnswer answer = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;
	uint8_t hash[PR_HASH_LEN];

	cr_sha256(question->draft.data, question->draft.len, hash);
	answer.declined = true;
	if (!r->context->run->quiet)
		cm_log_plain(CM_LOG_INFO, "a rehearsal was declined: the policy has rehearse = false");
	send_answer(r, hash, &answer);
}

/* The entries of the draft that this client would pin.  An adaptive plan has no entries; it is shown as one
 * entry. */
static struct rd_pin taken(const struct cl_rehearse *r)
{
	struct rd_pin pin = r->draft.pin.pin;

	if (rd_plan_is_adaptive(&r->plan)) {
		pin.entries = 1;
		pin.taken[0] = r->rc == CM_OK;
	}
	return pin;
}

static void say(const struct cl_rehearse *r, const struct rd_pin *pin)
{
	if (r->context->run->quiet)
		return;
	cm_log(CM_LOG_INFO, "a rehearsal was answered; nothing is pinned", CM_S("plan", r->plan.name),
		CM_I("number", (int64_t)r->plan.number), CM_I("entries", (int64_t)r->plan.entries),
		CM_I("would_answer", (int64_t)rd_pin_count(pin)), CM_I("unfinished", r->rc == CM_ELATER),
		CM_S("reason", r->faults.n > 0 ? r->faults.fault[0].text : ""));
}

static void answer(struct cl_rehearse *r)
{
	Tombola__V1__RehearsalAnswer answer = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;
	struct rd_pin pin = taken(r);
	struct rd_faults_wire wire;

	rd_faults_add_clock(&r->faults, "client", r->off_ms);
	cl_policy_places(&r->policy, &r->faults);
	rd_faults_wire(&r->faults, &wire);
	answer.devices = r->devices;
	answer.taken = rd_wire_bytes(pin.taken, rd_taken_len(&pin));
	answer.unfinished = r->rc == CM_ELATER;
	answer.n_faults = r->faults.n;
	answer.faults = wire.at;
	say(r, &pin);
	send_answer(r, r->plan.hash, &answer);
}

/* ---- composing ---- */

static void compose(uv_work_t *w)
{
	struct cl_rehearse *r = w->data;

	r->rc = cl_draft_judge(&r->policy, &r->draft, &r->stop, &r->faults);
}

static void composed(uv_work_t *w, int status)
{
	struct cl_rehearse *r = w->data;
	int64_t now = cm_clock_mono_ms();

	r->works = false;
	if (!r->cut)
		r->rests_until_ms = now + REST_TIMES * (now - r->began_ms);
	if (!r->closed) {
		(void)uv_timer_stop(&r->limit);
		if (status == 0 && r->wanted)
			answer(r);
		rd_plan_fini(&r->plan);
	}
	if (r->keeps_old)
		cl_policy_free(&r->old);
	r->keeps_old = false;
}

void cl_rehearse_reconsider(struct cl_rehearse *r, struct cl_policy *old)
{
	if (!r->works || r->keeps_old) {
		cl_policy_free(old);
		return;
	}
	r->old = *old;
	r->keeps_old = true;
}

static void on_limit(uv_timer_t *t)
{
	atomic_store(&((struct cl_rehearse *)t->data)->stop, true);
}

/* Answer "later", because another rehearsal is being composed or was composed a moment ago. */
static void answer_later(struct cl_rehearse *r, const struct rd_plan *plan)
{
	Tombola__V1__RehearsalAnswer answer = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;
	struct rd_faults faults = { .n = 0 };
	struct rd_faults_wire wire;

	rd_faults_add(&faults, 0, "this client composed another rehearsal a moment ago: ask again");
	rd_faults_wire(&faults, &wire);
	answer.unfinished = true;
	answer.devices = cl_devices_n(r->context->devices);
	answer.n_faults = faults.n;
	answer.faults = wire.at;
	send_answer(r, plan->hash, &answer);
}

static void begin(struct cl_rehearse *r, struct rd_plan *plan, int64_t asked_ms)
{
	struct cm_err err;

	rd_plan_fini(&r->plan);
	r->plan = *plan;
	*plan = (struct rd_plan){ .entry = NULL };
	r->faults = (struct rd_faults){ .n = 0 };
	r->policy = r->context->setup->policy;
	r->devices = cl_devices_n(r->context->devices);
	r->began_ms = cm_clock_mono_ms();
	r->off_ms = cm_clock_wall_ms() - asked_ms;
	r->wanted = true;
	r->cut = false;
	atomic_store(&r->stop, false);
	if (cl_draft_read(r->context->db, &r->plan, &r->draft, &err) != CM_OK) {
		cl_say(r->context, CM_LOG_ERROR, "a rehearsal is not answered", &err);
		return;
	}
	r->works = uv_queue_work((uv_loop_t *)&r->context->loop, &r->work, compose, composed) == 0;
	if (r->works)
		(void)uv_timer_start(&r->limit, on_limit, COMPOSE_MS, 0);
}

void cl_rehearse_asked(struct cl_rehearse *r, const Tombola__V1__Rehearse *question)
{
	const struct cl_setup *setup = r->context->setup;
	struct rd_plan plan;
	struct cm_err err;

	if (r->closed)
		return;
	if (CM_CHECKED("client.rehearse") && !setup->policy.rehearse) {
		decline(r, question);
		return;
	}
	if (rd_rehearsal_verify(question, setup->analyzer, setup->conf.population, cm_clock_wall_ms(), &plan,
		    &err) != CM_OK)
		cl_say(r->context, CM_LOG_WARN,
			"a rehearsal is not answered (check `analyzer_key` of client.conf)", &err);
	else if (r->works || cm_clock_mono_ms() < r->rests_until_ms)
		answer_later(r, &plan);
	else
		begin(r, &plan, question->asked_ms);
	rd_plan_fini(&plan);
}
