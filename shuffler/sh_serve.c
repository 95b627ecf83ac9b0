/* sh_serve.c - the shuffler on the network: links, the core, one task at a time on a worker thread. */
#include "sh_serve.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sh_blanket.h"
#include "sh_serve_private.h"

#define TICK_MS 1000 /* the wall clock may step: look at it at least so often */
/* Answers to one client that wait for a commit: repeats take no other room that is counted. */
#define HELD_MAX 64u

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
	struct cm_rng rng;

	if (t->kind == SH_TASK_SEAL) {
		t->rc = sh_round_roots(t->round, &t->buckets, &t->err);
		return;
	}
	t->rc = cm_rng_system(&rng, &t->err);
	if (t->rc == CM_OK && t->kind == SH_TASK_ROUTE)
		t->rc = sh_route_step(t->round, &rng, &t->err);
	else if (t->rc == CM_OK && t->kind == SH_TASK_BLANKET)
		t->rc = sh_blanket_commit(t->round, t->dummies, &rng, &t->err);
	else if (t->rc == CM_OK)
		t->rc = sh_vault_commit(&t->round->vault, &t->batch, &rng, &t->err);
}

static void log_sealed(const struct sh_serve *s, uint64_t sequence, uint64_t participants)
{
	const struct sh_round *r = NULL;

	for (size_t i = 0; (r = sh_core_round(s->conf.core, i)) != NULL && r->d.sequence != sequence;)
		i++;
	sh_metrics_event(s->conf.metrics, r ? SH_EVENT_SEALED : SH_EVENT_VOID, 1);
	cm_log(CM_LOG_INFO, r ? "round sealed" : "round void: its messages are destroyed",
		CM_I("round", sequence), CM_I("participants", participants));
}

static void finish_seal(struct sh_serve *s, struct sh_round *r, struct rd_bucket *buckets)
{
	uint64_t sequence = r->d.sequence, participants = r->intake.participants;
	struct cm_err err = { 0 };

	if (sh_core_sealed(s->conf.core, buckets, &err) != CM_OK)
		sh_serve_fatal(&err);
	log_sealed(s, sequence, participants);
}

static void task_done(uv_work_t *work, int status)
{
	struct task *t = work->data;
	struct sh_serve *s = t->serve;

	(void)status; /* never cancelled */
	s->task_under_way = false;
	if (t->rc != CM_OK)
		sh_serve_fatal(&t->err);
	double seconds = (double)(uv_hrtime() - t->began_ns) / 1e9;
	if (t->kind == SH_TASK_SEAL) {
		sh_metrics_sealed(s->conf.metrics, seconds);
		finish_seal(s, t->round, t->buckets);
	} else if (t->kind == SH_TASK_BLANKET) {
		sh_metrics_dummies(s->conf.metrics, t->dummies);
		sh_blanket_committed(t->round, t->dummies);
	} else if (t->kind == SH_TASK_COMMIT) {
		sh_metrics_committed(s->conf.metrics, sh_batch_submissions(&t->batch),
			sh_batch_messages(&t->batch), seconds);
		cm_log(CM_LOG_DEBUG, "committed", CM_I("submissions", sh_batch_submissions(&t->batch)),
			CM_I("messages", sh_batch_messages(&t->batch)));
		sh_batch_fini(&t->batch);
		sh_intake_committed(&t->round->intake);
		sh_serve_release_answers(s);
	}
	sh_serve_pump(s);
}

static void task_start(struct sh_serve *s, enum sh_task kind)
{
	struct sh_round *r = sh_core_collecting(s->conf.core);
	struct task *t = &s->task;
	struct cm_err err = { 0 };

	*t = (struct task){ .serve = s, .kind = kind, .round = r, .began_ns = uv_hrtime() };
	t->work.data = t;
	if (kind == SH_TASK_SEAL) {
		r->intake.closed = true;
		if (!sh_round_enough(r) || r->cancelled) {
			finish_seal(s, r, NULL);
			return;
		}
	} else if (kind == SH_TASK_ROUTE) {
		r->intake.closed = true;
	} else if (kind == SH_TASK_BLANKET) {
		r->intake.closed = true;
		t->dummies = sh_blanket_next(r);
	} else {
		sh_intake_take(&r->intake, &t->batch);
		s->flying = s->gathering;
		if (!s->flying.first)
			sh_answers_init(&s->flying);
		sh_answers_init(&s->gathering);
	}
	s->task_under_way = true;
	int status = uv_queue_work(s->loop, &t->work, task_run, task_done);
	if (status != 0) {
		(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(status));
		sh_serve_fatal(&err);
	}
}

/* ---- The pump ---- */

static void on_timer(uv_timer_t *timer)
{
	sh_serve_pump(timer->data);
}

static void set_timer(struct sh_serve *s, int64_t now_ms, int64_t mono_ms)
{
	int64_t wait = s->task_under_way ? -1 : sh_core_wait_ms(s->conf.core, now_ms);

	for (const struct peer *p = s->peers; p; p = p->next) {
		if (p->poll == POLL_NONE)
			continue;
		int64_t left = p->poll_until_ms > mono_ms ? p->poll_until_ms - mono_ms : 0;
		if (wait < 0 || left < wait)
			wait = left;
	}
	if (wait < 0) {
		(void)uv_timer_stop(&s->timer);
		return;
	}
	/* uv_timer_start fails only for a closing handle or no callback. */
	(void)uv_timer_start(&s->timer, on_timer, (uint64_t)(wait < TICK_MS ? wait : TICK_MS), 0);
}

void sh_serve_flow(struct peer *p)
{
	bool stop = p->serve->paused || p->held >= HELD_MAX;

	if (!p->link || p->who.role != CM_ROLE_CLIENT || p->paused == stop)
		return;
	p->paused = stop;
	if (stop)
		lk_pause(p->link);
	else
		lk_resume(p->link);
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
	if (s->stopped || s->task_under_way || s->flying.first || s->gathering.first)
		return;
	s->stopped = true;
	lk_server_close(s->server, true);
	s->server = NULL;
	uv_close((uv_handle_t *)&s->timer, NULL);
	s->on_stopped(s->stopped_user);
}

static void run_tasks(struct sh_serve *s, int64_t now_ms)
{
	while (!s->task_under_way) {
		enum sh_task kind = sh_core_task(s->conf.core, s->stopping || s->paused, now_ms);
		if (kind == SH_TASK_NONE || (kind != SH_TASK_COMMIT && s->stopping))
			return;
		task_start(s, kind);
	}
}

void sh_serve_pump(struct sh_serve *s)
{
	/* Sending may close a link, whose callback pumps: the outer pump sees it. */
	if (s->pumping || s->stopped)
		return;
	s->pumping = true;
	int64_t now_ms = cm_clock_wall_ms(), mono_ms = cm_clock_mono_ms();
	do {
		run_tasks(s, now_ms);
		for (struct peer *p = s->peers, *next; p; p = next) {
			next = p->next;
			if (p->link && p->poll != POLL_NONE)
				sh_serve_poll(p, now_ms, mono_ms);
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
	struct sh_serve *s = user;
	struct peer *p = calloc(1, sizeof *p);
	struct cm_err why;

	if (!p) {
		(void)cm_fail(&why, CM_EINTERNAL, "out of memory");
		lk_close(l, &why);
		return;
	}
	*p = (struct peer){ .serve = s, .link = l, .who = *lk_peer(l), .next = s->peers };
	s->peers = p;
	lk_set_user(l, p);
	cm_log(CM_LOG_DEBUG, "peer connected", CM_S("role", cm_role_name(p->who.role)),
		CM_S("peer", lk_address(l)));
	sh_serve_flow(p);
}

static void on_drain(struct lk_link *l, void *user)
{
	struct peer *p = user;

	/* Analyzer only: clients are paused and resumed by sh_serve_flow. */
	if (p->paused && p->who.role != CM_ROLE_CLIENT) {
		p->paused = false;
		lk_resume(l);
	}
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = NULL;
	struct sh_serve *s = *(struct sh_serve **)user;

	/* A link that was never ready has no peer. */
	for (p = s->peers; p && p->link != l; p = p->next)
		;
	/* A peer that was served may be cut off too: its certificate was taken back, or its CA. */
	cm_log(why->code == CM_OK || (p && why->code != CM_EPERM) ? CM_LOG_DEBUG : CM_LOG_WARN,
		p ? "peer disconnected" : "connection refused", CM_S("peer", lk_address(l)),
		CM_S("reason", why->code == CM_OK ? "orderly end" : why->msg));
	if (!p)
		return;
	p->link = NULL;
	p->poll = POLL_NONE;
	sh_serve_drop_peer(p);
	sh_serve_pump(s);
}

/* ---- Lifetime ---- */

static void free_unserved(uv_handle_t *timer)
{
	free(timer->data);
}

enum cm_rc sh_serve_new(
	uv_loop_t *loop, const struct sh_serve_conf *conf, struct sh_serve **out, struct cm_err *err)
{
	struct sh_serve *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->self = s;
	s->conf = *conf;
	s->loop = loop;
	s->started_ms = cm_clock_wall_ms();
	sh_answers_init(&s->gathering);
	sh_answers_init(&s->flying);
	struct lk_server_conf server = {
		.address = conf->listen,
		.passed = conf->passed,
		.tls = conf->tls,
		.limits = conf->limits,
		.handler = { .on_ready = on_ready,
			.on_frame = sh_serve_on_frame,
			.on_drain = on_drain,
			.on_close = on_close,
			.counts = lk_metrics_counts(sh_metrics_shared(conf->metrics)) },
		.user = s,
	};
	enum cm_rc rc = cm_rng_system(&s->rng, err);
	if (rc == CM_OK && uv_timer_init(loop, &s->timer) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot make a timer");
	if (rc != CM_OK) {
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
	*out = s;
	return CM_OK;
}

int sh_serve_port(const struct sh_serve *s)
{
	return lk_server_port(s->server);
}

void sh_serve_reload(struct sh_serve *s, struct cm_tls_ctx *tls)
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
	s->on_stopped = on_stopped;
	s->stopped_user = user;
	sh_serve_pump(s);
}

bool sh_serve_stopping(const struct sh_serve *s)
{
	return s->stopping;
}

void sh_serve_free(struct sh_serve *s)
{
	assert(!s || !s->peers);
	free(s);
}
