/* nt_loop.c - a daemon's loop: signals, the watchdog, and its status. */
#include "nt_loop.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cm_log.h"
#include "cm_text.h"
#include "nt_service.h"
#include "nt_watch.h"

#define STATUS_MS       1000
#define STATUS_MAX      200
#define WATCHES         3
#define WATCH_SETTLE_MS 500
#define WATCH_POLL_MS   15000

enum { TERM, INT, HUP, N_SIGNALS };

struct nt_loop {
	uv_signal_t signal[N_SIGNALS];
	uv_timer_t watchdog, status;
	struct nt_watch *watch[WATCHES];
	size_t watches;
	int open_handles;
	struct nt_loop_handler handler;
	void *user;
	bool stopping, told_stopping;
	char told[STATUS_MAX]; /* the last status that was sent */
};

/* When nt_loop_deaf was called, which is before the daemon reads its files; by the clock of file systems. */
static struct timespec begun;

static void on_closed(uv_handle_t *h)
{
	struct nt_loop *l = h->data;

	if (--l->open_handles == 0)
		free(l);
}

static void on_stop_signal(uv_signal_t *s, int number)
{
	struct nt_loop *l = s->data;

	if (l->stopping)
		_exit(128 +
			number); /* second signal: the operator does not want to wait for an orderly stop */
	l->stopping = true;
	nt_loop_stopping(l);
	if (l->handler.on_stop)
		l->handler.on_stop(l->user);
}

static void on_hup(uv_signal_t *s, int number)
{
	struct nt_loop *l = s->data;

	(void)number;
	if (l->stopping || !l->handler.on_reload)
		return;
	cm_log_flush(); /* who sent the signal wants to see what it did, also if that was logged before */
	nt_service_reloading();
	l->handler.on_reload(l->user);
	nt_service_notify("READY=1");
}

static void on_watchdog(uv_timer_t *t)
{
	(void)t;
	nt_service_notify("WATCHDOG=1");
}

/* Sends the status, with `before` in front of it; an unchanged status is not sent again. */
static void tell_status(struct nt_loop *l, const char *before)
{
	char now[STATUS_MAX] = "", clean[STATUS_MAX], text[STATUS_MAX + 32];

	if (l->handler.status)
		l->handler.status(l->user, now, sizeof now);
	cm_text_copy(clean, sizeof clean, now);
	if (*before == '\0' && strcmp(clean, l->told) == 0)
		return;
	(void)snprintf(text, sizeof text, "%s%s%s", before, *clean != '\0' ? "STATUS=" : "", clean);
	nt_service_notify(text);
	memcpy(l->told, clean, sizeof clean);
}

static void on_status(uv_timer_t *t)
{
	tell_status(t->data, "");
}

static int start_signals(struct nt_loop *l, uv_loop_t *loop)
{
	static const int number[N_SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

	for (int i = 0; i < N_SIGNALS; i++) {
		int rc = uv_signal_init(loop, &l->signal[i]);

		if (rc < 0)
			return rc;
		l->signal[i].data = l;
		l->open_handles++;
		rc = uv_signal_start(&l->signal[i], i == HUP ? on_hup : on_stop_signal, number[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void nt_loop_deaf(void)
{
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (begun.tv_sec == 0)
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &begun);
}

enum cm_rc nt_loop_new(uv_loop_t *loop, const struct nt_loop_handler *h, void *user, struct nt_loop **out,
	struct cm_err *err)
{
	struct nt_loop *l = calloc(1, sizeof *l);
	uint64_t every = nt_service_watchdog_ms();
	int rc;

	*out = NULL;
	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	l->handler = *h;
	l->user = user;
	(void)uv_timer_init(loop, &l->watchdog); /* cannot fail */
	(void)uv_timer_init(loop, &l->status);
	l->watchdog.data = l->status.data = l;
	l->open_handles = 2;
	rc = start_signals(l, loop);
	if (rc < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		nt_loop_free(l);
		return cm_fail(
			err, CM_EINTERNAL, "cannot handle signals: %s", rc < 0 ? uv_strerror(rc) : "refused");
	}
	if (every > 0) {
		(void)uv_timer_start(&l->watchdog, on_watchdog, every, every);
		uv_unref((uv_handle_t *)&l->watchdog);
	}
	*out = l;
	return CM_OK;
}

void nt_loop_ready(struct nt_loop *l)
{
	if (!nt_service_listens())
		return;
	tell_status(l, "READY=1\n");
	if (!l->handler.status)
		return;
	(void)uv_timer_start(&l->status, on_status, STATUS_MS, STATUS_MS);
	uv_unref((uv_handle_t *)&l->status);
}

enum cm_rc nt_loop_watch(
	struct nt_loop *l, const char *const *path, size_t n, void (*fn)(void *user), struct cm_err *err)
{
	const struct nt_watch_conf conf = { .path = path,
		.n = n,
		.settle_ms = WATCH_SETTLE_MS,
		.poll_ms = WATCH_POLL_MS,
		.since = begun,
		.on_change = fn,
		.user = l->user };
	enum cm_rc rc = l->watches == WATCHES
				? cm_fail(err, CM_EINTERNAL, "a loop has at most %d watches", WATCHES)
				: nt_watch_new(l->signal[TERM].loop, &conf, &l->watch[l->watches], err);

	l->watches += rc == CM_OK;
	return rc;
}

enum cm_rc nt_loop_watch_tls(struct nt_loop *l, const struct cr_files *files, const char *key,
	void (*fn)(void *user), struct cm_err *err)
{
	const char *path[CR_FILES + 1];

	memcpy(path, files->path, sizeof files->path);
	path[CR_FILES] = key;
	return nt_loop_watch(l, path, CR_FILES + 1, fn, err);
}

static void end_watches(struct nt_loop *l)
{
	while (l->watches > 0)
		nt_watch_close(l->watch[--l->watches]);
}

void nt_loop_stopping(struct nt_loop *l)
{
	if (l->told_stopping)
		return;
	l->told_stopping = true;
	end_watches(l);
	(void)uv_timer_stop(&l->status);
	nt_service_notify("STOPPING=1\nSTATUS=stopping");
}

void nt_loop_free(struct nt_loop *l)
{
	int started;

	if (!l)
		return;
	end_watches(l);
	started = l->open_handles - 2;
	for (int i = 0; i < started; i++)
		uv_close((uv_handle_t *)&l->signal[i], on_closed);
	nt_loop_deaf();
	uv_close((uv_handle_t *)&l->watchdog, on_closed);
	uv_close((uv_handle_t *)&l->status, on_closed);
}
