/* sh_front.c - an intake on the network: its lifetime, and what is to be done next. */
#include "sh_front.h"

#include <assert.h>
#include <stdlib.h>

#include "sh_databases.h"
#include "sh_front_private.h"

#define TICK_MS 1000

_Noreturn void sh_front_fatal(const struct cm_err *err)
{
	cm_log(CM_LOG_ERROR, "stopping: nothing more can be acknowledged", CM_S("reason", err->msg));
	/* Not exit(): a worker thread may be inside the store. */
	_Exit(cm_exit_code(err->code));
}

size_t sh_front_count(const struct sh_front *f)
{
	size_t n = 0;

	for (const struct peer *p = f->peers; p; p = p->next)
		n += p->link != NULL;
	return n;
}

const char *sh_front_not_ready(struct sh_front *f)
{
	uint32_t number;

	if (f->stopping)
		return "going down";
	const char *expired = lk_metrics_expired(f->shared);
	if (expired)
		return expired;
	if (!f->head_ready)
		return "the head is away";
	return sh_databases_lost(sh_front_database, f, &number) ? "the session with the database has ended"
								: NULL;
}

static void watch_databases(struct sh_front *f, int64_t mono_ms)
{
	struct cm_err err = { 0 };
	uint32_t number;

	if (mono_ms - f->looked_ms < TICK_MS / 2)
		return;
	f->looked_ms = mono_ms;
	if (!sh_databases_lost(sh_front_database, f, &number))
		return;
	sh_databases_say(number, &err);
	sh_front_fatal(&err);
}

/* ---- The pump ---- */

static void on_timer(uv_timer_t *timer)
{
	sh_front_pump(timer->data);
}

static void set_timer(struct sh_front *f, int64_t mono_ms)
{
	int64_t wait = TICK_MS, batch = sh_front_batch_wait_ms(f, cm_clock_wall_ms());
	const int64_t at[] = { f->ask_at_ms, f->head ? 0 : f->dial_at_ms };

	if (batch >= 0 && batch < wait)
		wait = batch;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		if (at[i] > 0 && at[i] - mono_ms < wait)
			wait = at[i] > mono_ms ? at[i] - mono_ms : 0;
	for (const struct peer *p = f->peers; p; p = p->next) {
		int64_t over = p->over && p->holder ? sh_quota_wait_ms(f->quota, p->holder, mono_ms) : -1;
		if (over >= 0 && over < wait)
			wait = over;
	}
	(void)uv_timer_start(&f->timer, on_timer, (uint64_t)wait, 0);
}

static void finish_stop(struct sh_front *f)
{
	if (f->task_under_way || f->asked)
		return;
	f->stopped = true;
	sh_front_give_up(f, "this intake is going down");
	if (f->head)
		lk_close(f->head, NULL);
	lk_server_close(f->server, true);
	f->server = NULL;
	uv_close((uv_handle_t *)&f->timer, NULL);
	f->on_stopped(f->stopped_user);
}

void sh_front_pump(struct sh_front *f)
{
	/* Sending may close a link, whose callback pumps: the outer pump sees it. */
	if (f->pumping || f->stopped)
		return;
	f->pumping = true;
	int64_t mono_ms = cm_clock_mono_ms();
	watch_databases(f, mono_ms);
	sh_front_dial(f, mono_ms);
	sh_front_replace(f);
	if (!f->stopping)
		sh_front_batch(f, cm_clock_wall_ms());
	f->paused = f->gathering.receipts >= PR_RECEIPTS_MAX / 2 ||
		    (f->at == SHARE_OPEN && sh_intake_bytes(&f->share->intake) >= f->conf.max_bytes / 2);
	for (struct peer *p = f->peers, *next; p; p = next) {
		next = p->next;
		sh_front_flow(p);
	}
	if (f->stopping)
		finish_stop(f);
	if (!f->stopped)
		set_timer(f, mono_ms);
	f->pumping = false;
}

/* ---- Lifetime ---- */

static void answers_init(struct answers *a)
{
	*a = (struct answers){ .end = &a->first };
}

static void front_free(struct sh_front *f)
{
	sh_front_metrics_free(f);
	sh_quota_free(f->quota);
	sh_share_free(f->share);
	sh_share_free(f->next);
	free(f);
}

static void free_unserved(uv_handle_t *timer)
{
	front_free(timer->data);
}

static enum cm_rc listen_on(struct sh_front *f, struct cm_err *err)
{
	const struct lk_server_conf server = {
		.address = f->conf.listen,
		.passed = f->conf.passed,
		.tls = f->conf.tls,
		.limits = f->conf.limits,
		.max_clients = f->conf.max_clients,
		.of_one = f->conf.links_of_one,
		.handler = { .on_ready = sh_front_on_ready,
			.on_frame = sh_front_on_frame,
			.on_drain = sh_front_on_drain,
			.on_close = sh_front_on_close,
			.counts = lk_metrics_counts(f->shared) },
		.user = &f->unknown,
	};

	return lk_server_new(f->loop, &server, &f->server, err);
}

enum cm_rc sh_front_new(
	uv_loop_t *loop, const struct sh_front_conf *conf, struct sh_front **out, struct cm_err *err)
{
	struct sh_front *f = calloc(1, sizeof *f);

	if (!f)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->unknown.front = f;
	f->conf = *conf;
	f->loop = loop;
	answers_init(&f->gathering);
	answers_init(&f->flying);
	f->quota = sh_quota_new(&conf->quota);
	enum cm_rc rc = f->quota ? sh_front_metrics_new(f, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && uv_timer_init(loop, &f->timer) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot make a timer");
	if (rc != CM_OK) {
		front_free(f);
		return rc;
	}
	f->timer.data = f;
	rc = listen_on(f, err);
	if (rc != CM_OK) {
		uv_close((uv_handle_t *)&f->timer, free_unserved);
		return rc;
	}
	*out = f;
	sh_front_pump(f);
	return CM_OK;
}

int sh_front_port(const struct sh_front *f)
{
	return lk_server_port(f->server);
}

void sh_front_reload(struct sh_front *f, struct nt_tls_ctx *tls, struct nt_tls_ctx *up)
{
	struct cm_err why;

	f->conf.tls = tls;
	f->conf.up = up;
	if (f->server)
		lk_server_reload(f->server, tls);
	(void)cm_fail(&why, CM_EUNAVAIL, "certificates were reloaded");
	if (f->head)
		lk_close(f->head, &why);
}

void sh_front_stop(struct sh_front *f, void (*on_stopped)(void *user), void *user)
{
	if (f->stopping)
		return;
	f->stopping = true;
	f->on_stopped = on_stopped;
	f->stopped_user = user;
	sh_front_pump(f);
}

void sh_front_free(struct sh_front *f)
{
	assert(!f || !f->peers);
	if (f)
		front_free(f);
}
