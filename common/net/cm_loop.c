/* cm_loop.c - a daemon's loop: signals, the watchdog, and sd_notify. */
#include "cm_loop.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TERM, INT, HUP, N_SIGNALS };

struct cm_loop {
	uv_signal_t signal[N_SIGNALS];
	uv_timer_t watchdog;
	int open_handles;
	struct cm_loop_handler handler;
	void *user;
	bool stopping;
};

static void on_closed(uv_handle_t *h)
{
	struct cm_loop *l = h->data;

	if (--l->open_handles == 0)
		free(l);
}

static void on_stop_signal(uv_signal_t *s, int number)
{
	struct cm_loop *l = s->data;

	if (l->stopping)
		_exit(128 + number); /* asked twice: the operator does not want to wait for the drain */
	l->stopping = true;
	if (l->handler.on_stop != NULL)
		l->handler.on_stop(l->user);
}

static void on_hup(uv_signal_t *s, int number)
{
	struct cm_loop *l = s->data;

	(void)number;
	if (!l->stopping && l->handler.on_reload != NULL)
		l->handler.on_reload(l->user);
}

static void on_watchdog(uv_timer_t *t)
{
	(void)t;
	cm_loop_notify("WATCHDOG=1");
}

/* Half of $WATCHDOG_USEC in milliseconds; 0: systemd does not watch this process (sd_watchdog_enabled(3)). */
static uint64_t watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	char *end;
	unsigned long long n;

	if (usec == NULL || *usec < '0' || *usec > '9')
		return 0;
	if (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid())
		return 0;
	n = strtoull(usec, &end, 10);
	return *end != '\0' || n < 2000 ? 0 : n / 2000;
}

static int start_signals(struct cm_loop *l, uv_loop_t *loop)
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

enum cm_rc cm_loop_new(uv_loop_t *loop, const struct cm_loop_handler *h, void *user, struct cm_loop **out,
	struct cm_err *err)
{
	struct cm_loop *l = calloc(1, sizeof *l);
	uint64_t every = watchdog_ms();
	int rc;

	*out = NULL;
	if (l == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	l->handler = *h;
	l->user = user;
	(void)uv_timer_init(loop, &l->watchdog); /* cannot fail */
	l->watchdog.data = l;
	l->open_handles = 1;
	rc = start_signals(l, loop);
	if (rc < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		cm_loop_free(l);
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

void cm_loop_free(struct cm_loop *l)
{
	int started;

	if (l == NULL)
		return;
	started = l->open_handles - 1;
	for (int i = 0; i < started; i++)
		uv_close((uv_handle_t *)&l->signal[i], on_closed);
	uv_close((uv_handle_t *)&l->watchdog, on_closed);
}

void cm_loop_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len = path == NULL ? 0 : strlen(path);
	int fd;

	if (len < 2 || len >= sizeof sa.sun_path || (*path != '/' && *path != '@'))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	memcpy(sa.sun_path, path, len);
	if (*path == '@') /* an abstract name starts with a zero byte (unix(7)) */
		sa.sun_path[0] = '\0';
	/* Nobody to tell it to when telling fails: systemd notices by its own timeout. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sa,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)close(fd);
}
