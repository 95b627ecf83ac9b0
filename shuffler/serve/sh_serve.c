/* sh_serve.c - the shuffler on the network: its lifetime, and what is due next. */
#include <sys/resource.h>

#include "sh_serve_rehearse.h"

#define FILES_BESIDE 512u /* files for other purposes: connections that end, HTTP, the store */
#define KEEPS_MS     5000

/* ---- What is to be done ---- */

/* Settings of a database can be changed while it runs.  Each commit asks (sh_pg_keeps); this is for a round
 * without commits. */
static void watch_store(struct sh_serve *s, int64_t mono_ms)
{
	struct cm_err err = { 0 };

	if (mono_ms - s->asked_ms < KEEPS_MS)
		return;
	s->asked_ms = mono_ms;
	if (sh_core_keeps(s->conf.core, &err) != CM_OK)
		sh_gate_fatal(&err);
}

/* Milliseconds until something is due for a round, a peer or the clock. */
static int64_t wait_of(struct sh_serve *s, int64_t now_ms, int64_t mono_ms)
{
	int64_t wait = s->tasking.under_way ? -1 : sh_core_wait_ms(s->conf.core, now_ms);

	for (struct peer *p = first_peer(s), *next; p; p = next) {
		int64_t silent_ms = sh_serve_watch_intake(p, mono_ms);

		next = next_peer(p);
		if (silent_ms >= 0 && (wait < 0 || silent_ms < wait))
			wait = silent_ms;
		if (p->poll == POLL_NONE)
			continue;
		int64_t left = p->poll_until_ms > mono_ms ? p->poll_until_ms - mono_ms : 0;
		if (wait < 0 || left < wait)
			wait = left;
	}
	return s->conf.store->database && wait < 0 ? SH_GATE_TICK_MS : wait;
}

/* Stop reading from clients while too many bytes wait to be durable; true if that changed. */
static bool set_pressure(struct sh_serve *s)
{
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	bool high = r && sh_intake_bytes(&r->intake) >= s->conf.high_water;

	if (high == s->gate.paused)
		return false;
	s->gate.paused = high;
	for (struct peer *p = first_peer(s); p; p = next_peer(p))
		sh_gate_flow(&p->base);
	return true;
}

static bool is_idle(const struct sh_serve *s)
{
	return !s->tasking.under_way && !s->working.under_way && !s->composing.under_way && !s->signing &&
	       !s->gate.flying.first && !s->gate.gathering.first;
}

static int64_t step(void *of, int64_t mono_ms)
{
	struct sh_serve *s = of;
	int64_t now_ms = now_of(s);
	struct cm_err err = { 0 };

	watch_store(s, mono_ms);
	do {
		if (sh_core_expire(s->conf.core, now_ms, &err) != CM_OK)
			sh_gate_fatal(&err);
		sh_serve_tasks(s, now_ms);
		sh_serve_compose(s);
		sh_serve_jobs(s);
		for (struct peer *p = first_peer(s), *next; p; p = next) {
			next = next_peer(p);
			if (p->base.link && p->poll != POLL_NONE)
				sh_serve_poll(p, now_ms, mono_ms);
			if (p->base.over)
				sh_gate_flow(&p->base);
		}
	} while (set_pressure(s));
	if (s->gate.stopping && is_idle(s))
		sh_gate_finish(&s->gate);
	return s->gate.stopped ? -1 : wait_of(s, now_ms, mono_ms);
}

static bool database(void *of, size_t i, uint32_t *number, bool *up)
{
	const struct sh_store *store = ((const struct sh_serve *)of)->conf.store;

	return store->database && store->database(store->ctx, i, number, up);
}

/* ---- Links ---- */

static void on_ready(struct lk_link *l, void *user)
{
	struct sh_gate *g = ((struct sh_peer *)user)->gate;
	struct peer *p = (struct peer *)sh_gate_admit(g, l, sizeof *p);

	if (!p)
		return;
	p->serve = g->server.of;
	sh_gate_flow(&p->base);
}

static void on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct sh_gate *g = p->base.gate;

	(void)l;
	sh_serve_frame(p, frame);
	sh_gate_pump(g);
}

static void on_drain(struct lk_link *l, void *user)
{
	struct peer *p = user;

	if (&p->base == &p->base.gate->unknown)
		return;
	if (p->drafting) {
		sh_serve_draft_read(p);
		sh_gate_pump(p->base.gate);
	}
	/* Only for the analyzer: sh_gate_flow pauses and resumes clients. */
	if (p->base.paused && p->poll == POLL_NONE && p->base.who.role != CR_ROLE_CLIENT) {
		p->base.paused = false;
		lk_resume(l);
	}
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = user;
	struct sh_gate *g = p->base.gate;

	if (!sh_gate_left(l, &p->base, why))
		return;
	sh_serve_rehearsal_gone(p);
	p->poll = POLL_NONE;
	sh_serve_intake_gone(p);
	sh_gate_drop(&p->base);
	sh_gate_pump(g);
}

/* ---- Lifetime ---- */

/* Raise the limit of open files for so many connections, as far as the system permits. */
static void allow_files(uint32_t connections)
{
	rlim_t need = (rlim_t)connections + FILES_BESIDE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < need)
		cm_log(CM_LOG_WARN, "fewer files may be open than limits.connections need",
			CM_I("allowed", (int64_t)limit.rlim_cur), CM_I("needed", (int64_t)need));
}

enum cm_rc sh_serve_new(
	uv_loop_t *loop, const struct sh_serve_conf *conf, struct sh_serve **out, struct cm_err *err)
{
	struct sh_serve *s = calloc(1, sizeof *s);
	const struct sh_gate_server server = { .links = { .on_ready = on_ready,
						       .on_frame = on_frame,
						       .on_drain = on_drain,
						       .on_close = on_close },
		.metrics = sh_metrics_shared(conf->metrics),
		.step = step,
		.database = database,
		.of = s };

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->conf = *conf;
	s->started_ms = cm_clock_wall_ms();
	cm_buf_init(&s->proof, PR_FRAME_MAX);
	allow_files(conf->gate.limits.max_connections);
	enum cm_rc rc = cr_rng_system(&s->rng, err);
	if (rc == CM_OK)
		rc = sh_gate_open(&s->gate, loop, &conf->gate, &server, err);
	if (rc != CM_OK) {
		free(s);
		return rc;
	}
	sh_gate_pump(&s->gate); /* a round may have been due since before the restart */
	sh_serve_say_stated(
		conf->core, sh_core_hearing(conf->core).waits ? SH_STATED_COUNTED : SH_STATED_NOTHING);
	*out = s;
	return CM_OK;
}

int sh_serve_port(const struct sh_serve *s)
{
	return sh_gate_port(&s->gate);
}

void sh_serve_reload(struct sh_serve *s, struct nt_tls_ctx *tls)
{
	sh_gate_reload(&s->gate, tls);
}

void sh_serve_reconsider(struct sh_serve *s, struct sh_policy *old)
{
	sh_core_reconsider(s->conf.core);
	if (s->composing.under_way && !s->keeps_old) {
		s->old = *old;
		s->keeps_old = true;
		atomic_store(&s->compose_stop, true);
	} else {
		sh_policy_fini(old);
	}
	sh_gate_pump(&s->gate);
}

void sh_serve_stop(struct sh_serve *s, void (*on_stopped)(void *user), void *user)
{
	atomic_store(&s->compose_stop, true);
	sh_gate_stop(&s->gate, on_stopped, user);
}

const char *sh_serve_not_ready(const struct sh_serve *s)
{
	return sh_gate_not_ready(&s->gate);
}

void sh_serve_free(struct sh_serve *s)
{
	if (!s)
		return;
	sh_gate_fini(&s->gate);
	cm_buf_fini(&s->proof);
	free(s);
}
