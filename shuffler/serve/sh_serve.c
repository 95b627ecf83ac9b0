/* sh_serve.c - the shuffler on the network: links, the core, one task at a time on a worker thread. */
#include "sh_serve.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "sh_databases.h"
#include "sh_serve_private.h"

#define TICK_MS 1000 /* the wall clock may step: look at it at least so often */

_Noreturn void sh_serve_fatal(const struct cm_err *err)
{
	cm_log(CM_LOG_ERROR, "stopping: nothing more can be acknowledged", CM_S("reason", err->msg));
	/* Not exit(): a worker thread may be inside the store. */
	_Exit(cm_exit_code(err->code));
}

/* ---- Tasks ---- */

/* On the worker thread. */
static void task_run(uv_work_t *work)
{
	struct task *t = work->data;

	sh_core_task_run(&t->what, NULL);
}

/* Metrics, log, and the answers that waited. */
static void task_tell(struct sh_serve *s, const struct sh_task_done *done, bool slow, double seconds)
{
	struct sh_metrics *m = s->conf.metrics;

	switch (done->kind) {
	case SH_TASK_COMMIT:
		sh_metrics_committed(m, done->submissions, done->messages, seconds);
		cm_log(CM_LOG_DEBUG, "committed", CM_I("submissions", done->submissions),
			CM_I("messages", done->messages));
		sh_serve_release_answers(s);
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

static void task_finish(struct sh_serve *s)
{
	struct task *t = &s->task;
	struct sh_task_done done;
	struct cm_err err = { 0 };

	double seconds = (double)(uv_hrtime() - t->began_ns) / 1e9;
	if (sh_core_task_end(s->conf.core, &t->what, &done, &err) != CM_OK)
		sh_serve_fatal(&err);
	/* Told first: no commit begins while answers to this one are left, whoever pumps meanwhile. */
	task_tell(s, &done, t->what.slow, seconds);
	s->task_under_way = false;
}

static void task_done(uv_work_t *work, int status)
{
	struct task *t = work->data;
	struct sh_serve *s = t->serve;

	(void)status; /* never cancelled */
	task_finish(s);
	sh_serve_pump(s);
}

/* Begin what is to be done; false: there is nothing. */
static bool task_start(struct sh_serve *s, enum sh_pace pace, int64_t now_ms)
{
	struct task *t = &s->task;
	struct cm_err err = { 0 };

	*t = (struct task){ .serve = s, .began_ns = uv_hrtime() };
	t->work.data = t;
	if (sh_core_task_begin(s->conf.core, pace, now_ms, &t->what) == SH_TASK_NONE)
		return false;
	s->task_under_way = true;
	if (t->what.kind == SH_TASK_COMMIT)
		sh_serve_answers_fly(s);
	if (!t->what.slow) {
		task_finish(s);
		return true;
	}
	int status = uv_queue_work(s->loop, &t->work, task_run, task_done);
	if (status != 0) {
		(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(status));
		sh_serve_fatal(&err);
	}
	return true;
}

/* ---- The pump ---- */

static void on_timer(uv_timer_t *timer)
{
	sh_serve_pump(timer->data);
}

static void set_timer(struct sh_serve *s, int64_t now_ms, int64_t mono_ms)
{
	int64_t wait = s->task_under_way ? -1 : sh_core_wait_ms(s->conf.core, now_ms);

	for (struct peer *p = s->peers, *next; p; p = next) {
		int64_t over_ms = sh_serve_over_ms(p, mono_ms), silent_ms = sh_serve_watch_intake(p, mono_ms);

		next = p->next;
		if (over_ms >= 0 && (wait < 0 || over_ms < wait))
			wait = over_ms;
		if (silent_ms >= 0 && (wait < 0 || silent_ms < wait))
			wait = silent_ms;
		if (p->poll == POLL_NONE)
			continue;
		int64_t left = p->poll_until_ms > mono_ms ? p->poll_until_ms - mono_ms : 0;
		if (wait < 0 || left < wait)
			wait = left;
	}
	if (s->conf.store->database && wait < 0)
		wait = TICK_MS;
	if (wait < 0) {
		(void)uv_timer_stop(&s->timer);
		return;
	}
	/* uv_timer_start fails only for a closing handle or no callback. */
	(void)uv_timer_start(&s->timer, on_timer, (uint64_t)(wait < TICK_MS ? wait : TICK_MS), 0);
}

/* Stop reading from clients while too much waits to be durable; true when that changed. */
static bool set_pressure(struct sh_serve *s)
{
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	bool high = r && sh_intake_bytes(&r->intake) >= s->conf.high_water;

	if (high == s->paused)
		return false;
	s->paused = high;
	for (struct peer *p = s->peers; p; p = p->next)
		sh_serve_flow(p);
	return true;
}

static void finish_stop(struct sh_serve *s)
{
	if (s->stopped || s->task_under_way || s->job.under_way || s->composing.under_way || s->signing ||
		s->flying.first || s->gathering.first)
		return;
	s->stopped = true;
	lk_server_close(s->server, true);
	s->server = NULL;
	uv_close((uv_handle_t *)&s->timer, NULL);
	s->on_stopped(s->stopped_user);
}

static void run_tasks(struct sh_serve *s, int64_t now_ms)
{
	enum sh_pace pace = s->stopping ? SH_PACE_STOP : s->paused ? SH_PACE_FLUSH : SH_PACE_GATHER;
	struct cm_err err = { 0 };

	if (sh_core_expire(s->conf.core, now_ms, &err) != CM_OK)
		sh_serve_fatal(&err);
	while (!s->task_under_way && task_start(s, pace, now_ms))
		;
}

#define LATE_LOOK_MS 1000 /* how often the clock is looked at while an end waits */

/* Whether the end of this round waits: see sh_serve_now. */
static bool is_late_start(struct sh_serve *s, const struct sh_round *r)
{
	int64_t over_ms = r && !s->late.decided ? cm_clock_wall_ms() - r->d.deadline_ms : -1;
	bool begun, waits;

	waits = sh_late_waits(
		&s->late, over_ms, over_ms >= 0 && sh_route_enough(r), cm_clock_mono_ms(), &begun);
	if (begun)
		cm_log(CM_LOG_WARN,
			"the open round was over before this start, by our clock: its end waits, in case the "
			"clock is wrong",
			CM_I("round", r->d.sequence), CM_I("seconds", over_ms / 1000),
			CM_I("wait_seconds", SH_LATE_WAIT_MS / 1000));
	return waits;
}

int64_t sh_serve_now(struct sh_serve *s)
{
	const struct sh_round *r = sh_core_collecting(s->conf.core);

	if (is_late_start(s, r))
		return r->d.deadline_ms - LATE_LOOK_MS;
	if (!r || !s->clock_held)
		cm_steady_begin(&s->clock, r ? r->d.opens_ms - RD_CLOCK_SLACK_MS : 0);
	s->clock_held = r;
	if (r)
		cm_steady_watch(&s->clock);
	return cm_steady_ms(&s->clock);
}

/* A session that has ended took its locks with it: another process may have the state now. */
static void watch_databases(struct sh_serve *s, int64_t mono_ms)
{
	const struct sh_store *store = s->conf.store;
	struct cm_err err = { 0 };
	uint32_t number;

	if (!store->database || mono_ms - s->looked_ms < TICK_MS / 2)
		return;
	s->looked_ms = mono_ms;
	if (!sh_databases_lost(store->database, store->ctx, &number))
		return;
	sh_databases_say(number, &err);
	sh_serve_fatal(&err);
}

#define KEEPS_MS 5000

/* What a database promises can be changed while it runs.  Each commit asks (sh_pg_keeps); this is for a round
 * in which none comes. */
static void watch_store(struct sh_serve *s, int64_t mono_ms)
{
	struct cm_err err = { 0 };

	if (mono_ms - s->asked_ms < KEEPS_MS)
		return;
	s->asked_ms = mono_ms;
	if (sh_core_keeps(s->conf.core, &err) != CM_OK)
		sh_serve_fatal(&err);
}

void sh_serve_pump(struct sh_serve *s)
{
	/* Sending may close a link, whose callback pumps: the outer pump sees it. */
	if (s->pumping || s->stopped)
		return;
	s->pumping = true;
	int64_t now_ms = sh_serve_now(s), mono_ms = cm_clock_mono_ms();
	watch_databases(s, mono_ms);
	watch_store(s, mono_ms);
	do {
		run_tasks(s, now_ms);
		sh_serve_compose(s);
		sh_serve_jobs(s);
		for (struct peer *p = s->peers, *next; p; p = next) {
			next = p->next;
			if (p->link && p->poll != POLL_NONE)
				sh_serve_poll(p, now_ms, mono_ms);
			if (p->over)
				sh_serve_flow(p);
		}
	} while (set_pressure(s));
	if (s->stopping)
		finish_stop(s);
	if (!s->stopped)
		set_timer(s, now_ms, mono_ms);
	s->pumping = false;
}

/* ---- Links ---- */

static void on_ready(struct lk_link *l, void *user)
{
	struct sh_serve *s = ((struct peer *)user)->serve;
	struct peer *p = calloc(1, sizeof *p);
	struct cm_err why;

	if (!p) {
		(void)cm_fail(&why, CM_EINTERNAL, "out of memory");
		lk_close(l, &why);
		return;
	}
	*p = (struct peer){ .serve = s, .link = l, .who = *lk_peer(l), .next = s->peers };
	if (!sh_serve_join(p)) {
		free(p);
		(void)cm_fail(&why, CM_EINTERNAL, "out of memory");
		lk_close(l, &why);
		return;
	}
	s->peers = p;
	lk_set_user(l, p);
	cm_log(CM_LOG_DEBUG, "peer connected", CM_S("role", cr_role_name(p->who.role)),
		CM_S("peer", lk_address(l)));
	sh_serve_flow(p);
}

static void on_drain(struct lk_link *l, void *user)
{
	struct peer *p = user;

	/* Analyzer only: clients are paused and resumed by sh_serve_flow. */
	if (p->paused && p->poll == POLL_NONE && p->who.role != CR_ROLE_CLIENT) {
		p->paused = false;
		lk_resume(l);
	}
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = user;
	struct sh_serve *s = p->serve;
	bool served = p != &s->unknown;

	/* A peer that was served may be cut off too: its certificate was taken back, or its CA. */
	cm_log(why->code == CM_OK || (served && why->code != CM_EPERM) ? CM_LOG_DEBUG : CM_LOG_WARN,
		served ? "peer disconnected" : "connection refused", CM_S("peer", lk_address(l)),
		CM_S("reason", why->code == CM_OK ? "orderly end" : why->msg));
	if (!served)
		return;
	p->link = NULL;
	p->poll = POLL_NONE;
	sh_serve_intake_gone(p);
	sh_serve_drop_peer(p);
	sh_serve_pump(s);
}

/* ---- Lifetime ---- */

static void free_unserved(uv_handle_t *timer)
{
	struct sh_serve *s = timer->data;

	sh_quota_free(s->quota);
	free(s);
}

enum cm_rc sh_serve_new(
	uv_loop_t *loop, const struct sh_serve_conf *conf, struct sh_serve **out, struct cm_err *err)
{
	struct sh_serve *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->unknown.serve = s;
	s->conf = *conf;
	s->loop = loop;
	s->started_ms = cm_clock_wall_ms();
	sh_answers_init(&s->gathering);
	sh_answers_init(&s->flying);
	cm_buf_init(&s->proof, PR_FRAME_MAX);
	struct lk_server_conf server = {
		.address = conf->listen,
		.passed = conf->passed,
		.tls = conf->tls,
		.limits = conf->limits,
		.max_clients = conf->max_clients,
		.of_one = conf->links_of_one,
		.handler = { .on_ready = on_ready,
			.on_frame = sh_serve_on_frame,
			.on_drain = on_drain,
			.on_close = on_close,
			.counts = lk_metrics_counts(sh_metrics_shared(conf->metrics)) },
		.user = &s->unknown,
	};
	sh_serve_allow_files(conf->limits.max_connections);
	enum cm_rc rc = cr_rng_system(&s->rng, err);
	s->quota = sh_quota_new(&conf->quota);
	if (rc == CM_OK && !s->quota)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && uv_timer_init(loop, &s->timer) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot make a timer");
	if (rc != CM_OK) {
		sh_quota_free(s->quota);
		free(s);
		return rc;
	}
	s->timer.data = s;
	rc = lk_server_new(loop, &server, &s->server, err);
	if (rc != CM_OK) {
		/* The loop holds other handles too: the caller runs it to its end. */
		uv_close((uv_handle_t *)&s->timer, free_unserved);
		return rc;
	}
	sh_serve_pump(s); /* a round may be due since before the restart */
	sh_serve_say_stated(
		conf->core, sh_core_hearing(conf->core).waits ? SH_STATED_COUNTED : SH_STATED_NOTHING);
	*out = s;
	return CM_OK;
}

int sh_serve_port(const struct sh_serve *s)
{
	return lk_server_port(s->server);
}

void sh_serve_reload(struct sh_serve *s, struct nt_tls_ctx *tls)
{
	if (s->server)
		lk_server_reload(s->server, tls);
	s->conf.tls = tls;
}

void sh_serve_stop(struct sh_serve *s, void (*on_stopped)(void *user), void *user)
{
	if (s->stopping)
		return;
	s->stopping = true;
	atomic_store(&s->composing.stop, true);
	s->on_stopped = on_stopped;
	s->stopped_user = user;
	sh_serve_pump(s);
}

const char *sh_serve_not_ready(const struct sh_serve *s)
{
	const struct sh_store *store = s->conf.store;
	uint32_t number;

	if (s->stopping)
		return "going down";
	const char *expired = lk_metrics_expired(sh_metrics_shared(s->conf.metrics));
	if (expired)
		return expired;
	return store->database && sh_databases_lost(store->database, store->ctx, &number)
		       ? "the session with the database has ended"
		       : NULL;
}

void sh_serve_free(struct sh_serve *s)
{
	assert(!s || !s->peers);
	if (s) {
		sh_quota_free(s->quota);
		cm_buf_fini(&s->proof);
	}
	free(s);
}
