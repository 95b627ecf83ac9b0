/* test_loop.c - signals, the watchdog, and what systemd is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nt_loop.h"
#include "nt_service.h"

struct world {
	uv_loop_t loop;
	struct nt_loop *l;
	int stops, reloads;
	const char *doing;
};

static void on_stop(void *user)
{
	struct world *w = user;

	w->stops++;
	uv_stop(&w->loop);
}

static void on_reload(void *user)
{
	struct world *w = user;

	w->reloads++;
	uv_stop(&w->loop);
}

static void say_status(void *user, char *text, size_t room)
{
	const struct world *w = user;

	(void)snprintf(text, room, "%s", w->doing);
}

static void world_init(struct world *w)
{
	static const struct nt_loop_handler handler = { on_stop, on_reload, say_status };
	struct cm_err err;

	memset(w, 0, sizeof *w);
	w->doing = "round 1";
	assert_int_equal(uv_loop_init(&w->loop), 0);
	if (nt_loop_new(&w->loop, &handler, w, &w->l, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void world_fini(struct world *w)
{
	nt_loop_free(w->l);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	/* The leak checker of a sanitizer build must be able to trace this process. */
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
}

static void term_and_int_stop_and_hup_reloads(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT };
	struct world w;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		world_init(&w);
		assert_int_equal(raise(SIGHUP), 0);
		(void)uv_run(&w.loop, UV_RUN_DEFAULT);
		assert_int_equal(w.reloads, 1);
		assert_int_equal(w.stops, 0);
		assert_int_equal(raise(signals[i]), 0);
		(void)uv_run(&w.loop, UV_RUN_DEFAULT);
		assert_int_equal(w.stops, 1);
		world_fini(&w);
	}
}

static void a_second_stop_ends_the_process_at_once(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		static const struct nt_loop_handler none = { 0 };
		struct nt_loop *l;
		uv_loop_t loop;
		struct cm_err err;

		(void)alarm(120);
		if (uv_loop_init(&loop) != 0 || nt_loop_new(&loop, &none, NULL, &l, &err) != CM_OK)
			_exit(1);
		(void)raise(SIGTERM);
		(void)uv_run(&loop, UV_RUN_ONCE);
		(void)raise(SIGTERM);
		(void)uv_run(&loop, UV_RUN_DEFAULT);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

/* After the loop has ended SIGHUP does not end the process, however late it comes.  This runs in a child,
 * since the setting stays. */
static void after_the_loop_nothing_is_reloaded_and_nothing_ends(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct world w;

		(void)alarm(120);
		(void)signal(SIGHUP, SIG_DFL);
		world_init(&w);
		world_fini(&w);
		(void)raise(SIGHUP);
		_exit(w.reloads);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_broken_pipe_does_not_kill_and_no_core_is_left(void **state)
{
	struct world w;
	int fd[2];

	(void)state;
	world_init(&w);
	assert_int_equal(pipe(fd), 0);
	(void)close(fd[0]);
	assert_int_equal(write(fd[1], "x", 1), -1);
	(void)close(fd[1]);
	assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
	world_fini(&w);
}

/* ---- sd_notify(3), spoken to a socket of ours ---- */

static int listen_at(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(path);

	assert_true(fd >= 0 && len < sizeof sa.sun_path);
	memcpy(sa.sun_path, path, len);
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		0);
	return fd;
}

static void assert_told(int fd, const char *text)
{
	char got[256];
	ssize_t n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);

	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, text);
}

static void systemd_is_told_through_a_path_and_an_abstract_name(void **state)
{
	char path[2][80];

	(void)state;
	(void)snprintf(path[0], sizeof path[0], "/tmp/tombola-notify-%ld", (long)getpid());
	(void)snprintf(path[1], sizeof path[1], "@tombola-notify-%ld", (long)getpid());
	for (size_t i = 0; i < 2; i++) {
		int fd = listen_at(path[i]);

		assert_int_equal(setenv("NOTIFY_SOCKET", path[i], 1), 0);
		nt_service_notify("READY=1\nSTATUS=round 3");
		assert_told(fd, "READY=1\nSTATUS=round 3");
		(void)close(fd);
	}
	(void)unlink(path[0]);
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
}

static void no_or_a_useless_socket_is_no_fault(void **state)
{
	static const char *const bad[] = { "", "/", "relative", "/nowhere/at/all",
		"@nobody-is-there-tombola" };
	char longer[300];

	(void)state;
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	nt_service_notify("READY=1");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(setenv("NOTIFY_SOCKET", bad[i], 1), 0);
		nt_service_notify("READY=1");
	}
	memset(longer, '/', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
	nt_service_notify("READY=1");
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
}

static void the_watchdog_is_fed_twice_per_period_when_it_is_for_us(void **state)
{
	char path[80], pid[32];
	struct world w;
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "@tombola-watchdog-%ld", (long)getpid());
	(void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
	fd = listen_at(path);
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "40000", 1), 0);
	assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
	world_init(&w);
	for (int i = 0; i < 2; i++) {
		(void)uv_run(&w.loop, UV_RUN_ONCE);
		assert_told(fd, "WATCHDOG=1");
	}
	world_fini(&w);
	assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
	world_init(&w);
	(void)usleep(60000);
	(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	assert_int_equal(recv(fd, path, sizeof path, MSG_DONTWAIT), -1);
	world_fini(&w);
	(void)close(fd);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

static void readiness_reload_status_and_stop_are_told_in_order(void **state)
{
	char path[80], got[256];
	static const char began[] = "RELOADING=1\nMONOTONIC_USEC=";
	char *end;
	struct world w;
	ssize_t n;
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "@tombola-told-%ld", (long)getpid());
	fd = listen_at(path);
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
	world_init(&w);
	assert_int_equal(recv(fd, got, sizeof got, MSG_DONTWAIT), -1);
	nt_loop_ready(w.l);
	assert_told(fd, "READY=1\nSTATUS=round 1");
	assert_int_equal(raise(SIGHUP), 0);
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(w.reloads, 1);
	n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	got[n] = '\0';
	assert_int_equal(strncmp(got, began, strlen(began)), 0);
	assert_true(strtoull(got + strlen(began), &end, 10) > 0 && *end == '\0');
	assert_told(fd, "READY=1");
	/* Only changes are sent, and only as a line of text. */
	(void)usleep(1100 * 1000);
	w.doing = "round 2\nREADY=1";
	assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
	assert_told(fd, "STATUS=round 2?READY=1");
	(void)usleep(1100 * 1000);
	assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
	assert_int_equal(recv(fd, got, sizeof got, MSG_DONTWAIT), -1);
	assert_int_equal(raise(SIGTERM), 0);
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_told(fd, "STOPPING=1\nSTATUS=stopping");
	nt_loop_stopping(w.l);
	assert_int_equal(recv(fd, got, sizeof got, MSG_DONTWAIT), -1);
	world_fini(&w);
	(void)close(fd);
	(void)unsetenv("NOTIFY_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(term_and_int_stop_and_hup_reloads),
		cmocka_unit_test(a_second_stop_ends_the_process_at_once),
		cmocka_unit_test(a_broken_pipe_does_not_kill_and_no_core_is_left),
		cmocka_unit_test(after_the_loop_nothing_is_reloaded_and_nothing_ends),
		cmocka_unit_test(systemd_is_told_through_a_path_and_an_abstract_name),
		cmocka_unit_test(no_or_a_useless_socket_is_no_fault),
		cmocka_unit_test(readiness_reload_status_and_stop_are_told_in_order),
		cmocka_unit_test(the_watchdog_is_fed_twice_per_period_when_it_is_for_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
