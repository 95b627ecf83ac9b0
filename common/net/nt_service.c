/* nt_service.c - takes sockets from the service manager and sends it notifications. */
#include "nt_service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cm_clock.h"

#define FIRST_FD 3 /* the SD_LISTEN_FDS_START of systemd */

/* Fill in the address in $NOTIFY_SOCKET; 0: there is none that can be used. */
static socklen_t notify_address(struct sockaddr_un *sa)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = !path ? 0 : strlen(path);

	if (len < 2 || len >= sizeof sa->sun_path || (*path != '/' && *path != '@'))
		return 0;
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(sa->sun_path, path, len);
	if (*path == '@') /* an abstract name starts with a zero byte (unix(7)) */
		sa->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

bool nt_service_listens(void)
{
	struct sockaddr_un sa;

	return notify_address(&sa) > 0;
}

void nt_service_notify(const char *state)
{
	struct sockaddr_un sa;
	socklen_t len = notify_address(&sa);
	int fd;

	if (len == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* A failed send cannot be reported; the manager notices by its own timeout. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sa, len);
	(void)close(fd);
}

void nt_service_reloading(void)
{
	char text[80];

	/* In microseconds: the manager ignores a time before its own, to which rounding might lead. */
	(void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, cm_clock_mono_ns() / 1000);
	nt_service_notify(text);
}

/* Read a decimal number without any other character. */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0 && *out <= max;
}

/* Is the variable's value our process id? */
static bool for_us(const char *variable)
{
	uint64_t pid;

	return read_number(getenv(variable), INT32_MAX, &pid) && pid == (uint64_t)getpid();
}

uint64_t nt_service_watchdog_ms(void)
{
	uint64_t usec;

	if (!read_number(getenv("WATCHDOG_USEC"), UINT64_MAX, &usec) || usec < 2000)
		return 0;
	return getenv("WATCHDOG_PID") && !for_us("WATCHDOG_PID") ? 0 : usec / 2000;
}

static bool is_tcp_listener(int fd)
{
	int listening = 0, type = 0, domain = 0;
	socklen_t len = sizeof listening;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == 0 && listening != 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       (domain == AF_INET || domain == AF_INET6);
}

enum cm_rc nt_service_socket(int *fd, struct cm_err *err)
{
	const char *count = getenv("LISTEN_FDS");
	bool ours = for_us("LISTEN_PID"), known;
	uint64_t n = 0;

	*fd = 0;
	known = read_number(count, INT32_MAX, &n);
	if (count && ours && !known)
		return cm_fail(err, CM_ECONFIG, "LISTEN_FDS is not a number: '%.40s'", count);
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDNAMES");
	if (!ours || n == 0)
		return CM_OK;
	if (n > 1)
		return cm_fail(err, CM_ECONFIG,
			"the service manager passes %" PRIu64 " sockets, and only one can be served", n);
	if (!is_tcp_listener(FIRST_FD))
		return cm_fail(err, CM_ECONFIG,
			"the service manager passed something that is not a listening TCP socket");
	if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) != 0)
		return cm_fail(err, CM_EINTERNAL, "the passed socket: %s", strerror(errno));
	*fd = FIRST_FD;
	return CM_OK;
}
