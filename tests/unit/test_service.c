/* test_service.c - the socket that a service manager passes, and what is refused as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nt_service.h"

enum kind { LISTENING, NOT_LISTENING, DATAGRAM, LOCAL, NO_SOCKET, CLOSED };

struct passed {
	enum kind kind;
	const char *count, *pid; /* pid NULL: ours */
	enum cm_rc rc;
	int fd;
};

/* What the manager would leave as descriptor 3. */
static int make(enum kind kind)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	int fd;

	switch (kind) {
	case NO_SOCKET:
		return open("/dev/null", O_RDONLY);
	case DATAGRAM:
		return socket(AF_INET, SOCK_DGRAM, 0);
	case LOCAL:
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		(void)snprintf(
			local.sun_path + 1, sizeof local.sun_path - 1, "tombola-service-%ld", (long)getpid());
		return bind(fd, (struct sockaddr *)&local, sizeof local) == 0 && listen(fd, 1) == 0 ? fd : -1;
	case LISTENING:
	case NOT_LISTENING:
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&any, sizeof any) != 0)
			return -1;
		return kind == NOT_LISTENING || listen(fd, 1) == 0 ? fd : -1;
	case CLOSED:
		break;
	}
	return STDIN_FILENO;
}

/* In a process of its own, since descriptor 3 may be the test's.  Exit code 0: as expected. */
static int child(const struct passed *p)
{
	struct cm_err err = { 0 };
	int made = fcntl(make(p->kind), F_DUPFD, 10), fd = -1;
	char ours[32];

	if (made < 0)
		return 90;
	(void)close(3);
	if (p->kind != CLOSED && dup2(made, 3) != 3)
		return 91;
	(void)snprintf(ours, sizeof ours, "%ld", (long)getpid());
	if (setenv("LISTEN_PID", p->pid ? p->pid : ours, 1) != 0 ||
		(p->count && setenv("LISTEN_FDS", p->count, 1) != 0))
		return 92;
	if (nt_service_socket(&fd, &err) != p->rc)
		return 1;
	if (fd != p->fd)
		return 2;
	if (p->rc == CM_OK && (getenv("LISTEN_FDS") || getenv("LISTEN_PID")))
		return 3;
	if (fd == 3 && (fcntl(3, F_GETFD) & FD_CLOEXEC) == 0)
		return 4;
	if (p->rc == CM_OK && (nt_service_socket(&fd, &err) != CM_OK || fd != 0))
		return 5;
	return p->rc != CM_OK && err.msg[0] == '\0' ? 6 : 0;
}

static void a_passed_socket_is_taken_once_and_nothing_else_is(void **state)
{
	static const struct passed cases[] = {
		{ LISTENING, "1", NULL, CM_OK, 3 },
		{ LISTENING, NULL, NULL, CM_OK, 0 },
		{ LISTENING, "0", NULL, CM_OK, 0 },
		{ LISTENING, "1", "1", CM_OK, 0 },
		{ LISTENING, "1", "", CM_OK, 0 },
		{ LISTENING, "2", NULL, CM_ECONFIG, 0 },
		{ LISTENING, "-1", NULL, CM_ECONFIG, 0 },
		{ LISTENING, "1x", NULL, CM_ECONFIG, 0 },
		{ LISTENING, "99999999999999999999", NULL, CM_ECONFIG, 0 },
		{ NOT_LISTENING, "1", NULL, CM_ECONFIG, 0 },
		{ DATAGRAM, "1", NULL, CM_ECONFIG, 0 },
		{ LOCAL, "1", NULL, CM_ECONFIG, 0 },
		{ NO_SOCKET, "1", NULL, CM_ECONFIG, 0 },
		{ CLOSED, "1", NULL, CM_ECONFIG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(child(&cases[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("case %zu: status %d", i, WEXITSTATUS(status));
	}
}

static void the_watchdog_period_is_halved_and_nonsense_is_none(void **state)
{
	(void)state;
	(void)unsetenv("WATCHDOG_PID");
	(void)unsetenv("WATCHDOG_USEC");
	assert_int_equal(nt_service_watchdog_ms(), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
	assert_int_equal(nt_service_watchdog_ms(), 15000);
	assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
	assert_int_equal(nt_service_watchdog_ms(), 0);
	(void)unsetenv("WATCHDOG_PID");
	static const char *const bad[] = { "", "0", "1999", "-30000000", "30s", "99999999999999999999" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(setenv("WATCHDOG_USEC", bad[i], 1), 0);
		assert_int_equal(nt_service_watchdog_ms(), 0);
	}
	(void)unsetenv("WATCHDOG_USEC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_passed_socket_is_taken_once_and_nothing_else_is),
		cmocka_unit_test(the_watchdog_period_is_halved_and_nonsense_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
