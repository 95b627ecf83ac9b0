/* sh_serve_work.c (sh_serve_private.h) - runs slow work of the core.
 *
 * One task, one job and one composition at a time, beside each other on worker threads. */
#include <stdio.h>

#include "sh_serve_private.h"

static double seconds_since(uint64_t began_ns)
{
	return (double)(uv_hrtime() - began_ns) / 1e9;
}

/* ---- What a round did not take ---- */

/* The setting that left them out, with its values. */
static void cause(const struct sh_round *r, unsigned why, char *out, size_t size)
{
	unsigned long long most = sh_round_most_of_one(r), target = r->d.target;

	if (why == TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_MAX_SHARE)
		(void)snprintf(out, size, "max_share is %g: one certificate may have %llu of the target %llu",
			r->max_share, most, target);
	else if (why == TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_FULL)
		(void)snprintf(out, size, "the plan's target is %llu", target);
	else
		(void)snprintf(out, size, "%s", rd_left_out_words(why));
}

/* Log and count what was left out since this was said last: a line for each reason. */
static void say_left_out(struct sh_serve *s, struct sh_round *r)
{
	struct rd_left_out news;
	char says[120];

	sh_left_out_news(&r->left_out, &news);
	for (unsigned why = 1; why < RD_LEFT_OUT; why++) {
		const struct sh_left_most *most = &r->left_out.most[why];

		if (news.devices[why] == 0)
			continue;
		sh_metrics_left_out(s->conf.metrics, why, news.devices[why]);
		cause(r, why, says, sizeof says);
		/* A target below the number of devices may be meant. */
		cm_log(why == TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_FULL ? CM_LOG_INFO : CM_LOG_WARN,
			"devices of a round were not taken", CM_I("round", r->d.sequence),
			CM_S("query", r->d.query.name), CM_S("key", rd_left_out_name(why)),
			CM_I("devices", news.devices[why]), CM_S("most_of", most->name),
			CM_I("of_it", most->devices), CM_S("reason", says));
	}
}

/* ---- Tasks ---- */

static void task_run(void *of)
{
	struct sh_serve *s = of;

	sh_core_task_run(&s->task, NULL);
}

/* Update metrics, log, and send the answers that waited. */
static void task_tell(struct sh_serve *s, const struct sh_task_done *done, bool slow, double seconds)
{
	struct sh_metrics *m = s->conf.metrics;

	switch (done->kind) {
	case SH_TASK_COMMIT:
		sh_metrics_committed(m, done->submissions, done->messages, seconds);
		cm_log(CM_LOG_DEBUG, "committed", CM_I("submissions", done->submissions),
			CM_I("messages", done->messages));
		sh_gate_land(&s->gate);
		break;
	case SH_TASK_BLANKET:
		sh_metrics_dummies(m, done->dummies);
		break;
	case SH_TASK_SEAL:
		if (done->damage.code != CM_OK) {
			sh_metrics_event(m, SH_EVENT_LOST, 1);
			cm_log(CM_LOG_ERROR,
				"round lost: somebody with an intake's rights, or its database, damaged what is "
				"stored; its entry is spent",
				CM_I("round", done->sequence), CM_S("query", done->query),
				CM_S("reason", done->damage.msg));
			break;
		}
		if (slow)
			sh_metrics_sealed(m, seconds);
		sh_metrics_event(m, done->is_void ? SH_EVENT_VOID : SH_EVENT_SEALED, 1);
		cm_log(CM_LOG_INFO, done->is_void ? "round void: its messages are destroyed" : "round sealed",
			CM_I("round", done->sequence), CM_I("participants", done->participants));
		say_left_out(s, done->round);
		break;
	case SH_TASK_EPOCH:
	case SH_TASK_CLOSE:
		sh_serve_shares(s);
		break;
	case SH_TASK_ROUTE:
	case SH_TASK_NONE:
		break;
	}
}

static void task_done(void *of)
{
	struct sh_serve *s = of;
	struct sh_task_done done;
	struct cm_err err = { 0 };

	double seconds = seconds_since(s->task_began_ns);
	if (sh_core_task_end(s->conf.core, &s->task, &done, &err) != CM_OK)
		sh_gate_fatal(&err);
	task_tell(s, &done, s->task.slow, seconds);
}

void sh_serve_tasks(struct sh_serve *s, int64_t now_ms)
{
	enum sh_pace pace = s->gate.stopping ? SH_PACE_STOP : s->gate.paused ? SH_PACE_FLUSH : SH_PACE_GATHER;

	while (!s->tasking.under_way) {
		s->task_began_ns = uv_hrtime();
		if (sh_core_task_begin(s->conf.core, pace, now_ms, &s->task) == SH_TASK_NONE)
			return;
		if (s->task.kind == SH_TASK_COMMIT)
			sh_gate_fly(&s->gate);
		if (s->task.slow)
			sh_gate_work(&s->gate, &s->tasking, task_run, task_done, s);
		else
			task_done(s);
	}
}

/* ---- Jobs ---- */

static void job_run(void *of)
{
	struct sh_serve *s = of;

	sh_job_run(&s->job);
}

static void job_done(void *of)
{
	struct sh_serve *s = of;
	struct sh_round *r = s->job.round;
	bool erased = s->job.kind == SH_JOB_ERASE && r->state == SH_ERASED;
	bool read = s->job.kind == SH_JOB_READ;
	uint64_t number = r->d.sequence;
	struct cm_err err = { 0 };

	/* Those that came after it was sealed. */
	if (s->job.kind == SH_JOB_ERASE)
		say_left_out(s, r);
	if (sh_core_job_end(s->conf.core, &s->job, &err) != CM_OK)
		sh_gate_fatal(&err);
	if (read && r->damage.code != CM_OK)
		cm_log(CM_LOG_ERROR, "a round that is being released is damaged; all others go on",
			CM_I("round", number), CM_S("query", r->d.query.name), CM_S("reason", r->damage.msg));
	if (erased) {
		sh_metrics_event(s->conf.metrics, SH_EVENT_ERASED, 1);
		cm_log(CM_LOG_INFO, "round erased", CM_I("round", number));
	}
}

void sh_serve_jobs(struct sh_serve *s)
{
	if (!s->working.under_way &&
		sh_core_job_begin(s->conf.core, s->gate.stopping, &s->job) != SH_JOB_NONE)
		sh_gate_work(&s->gate, &s->working, job_run, job_done, s);
}

/* ---- Composing plans, and judging adaptive rounds ---- */

static void compose_run(void *of)
{
	struct sh_serve *s = of;

	sh_compose_run(s->compose, &s->compose_stop);
}

static void log_pin(const struct sh_compose *w, double seconds)
{
	const struct sh_plan *plan = w->plan;

	const char *said = plan->state == SH_PIN_TAKEN   ? "plan pinned"
			   : plan->state == SH_PIN_WAITS ? "plan not composed, trying again"
							 : "plan not taken";

	cm_log(plan->state == SH_PIN_TAKEN ? CM_LOG_INFO : CM_LOG_WARN, said, CM_I("plan", plan->number),
		CM_S("name", plan->name), CM_S("state", sh_pin_state_name(plan->state)),
		CM_I("entries", plan->entries), CM_I("taken", plan->pin ? rd_pin_count(plan->pin) : 0),
		CM_D("epsilon", plan->epsilon), CM_D("delta", plan->delta), CM_D("seconds", seconds),
		CM_S("reason", w->rc == CM_OK ? "" : w->err.msg));
}

static void compose_done(void *of)
{
	struct sh_serve *s = of;
	struct cm_err err = { 0 };

	if (sh_core_composed(s->conf.core, s->compose, &err) != CM_OK)
		sh_gate_fatal(&err);
	if (!s->compose->judges && !s->compose->drafts && s->compose->rc != CM_ELATER)
		log_pin(s->compose, seconds_since(s->compose_began_ns));
	sh_compose_free(s->compose);
	s->compose = NULL;
	if (s->keeps_old)
		sh_policy_fini(&s->old);
	s->keeps_old = false;
}

void sh_serve_compose(struct sh_serve *s)
{
	struct cm_err err = { 0 };

	if (s->composing.under_way || s->gate.stopping) {
		/* Nothing waits for a draft: it ends between two of its entries. */
		if (s->compose && s->compose->drafts &&
			(sh_core_compose_waits(s->conf.core) ||
				sh_rehearse_outlived(sh_core_rehearse(s->conf.core))))
			atomic_store(&s->compose_stop, true);
		return;
	}
	atomic_store(&s->compose_stop, false);
	if (sh_core_compose(s->conf.core, &s->compose, &err) != CM_OK)
		sh_gate_fatal(&err);
	s->compose_began_ns = uv_hrtime();
	if (s->compose)
		sh_gate_work(&s->gate, &s->composing, compose_run, compose_done, s);
}
