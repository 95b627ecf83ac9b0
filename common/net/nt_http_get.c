/* nt_http_get.c - one blocking GET for `check` and `status`, bounded in time and size (nt_http.h). */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_clock.h"
#include "nt_addr.h"
#include "nt_http.h"

#define BODY_MAX  (1u << 20)
#define HEAD_MAX  (16u * 1024)
#define CHUNK_LEN 4096u

/* Wait until fd is ready for `events`; false at the deadline. */
static bool await(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int64_t left = deadline - cm_clock_mono_ms();
		int n = left <= 0 ? 0 : poll(&p, 1, (int)left);

		if (n > 0)
			return true;
		if (n == 0 || errno != EINTR)
			return false;
	}
}

/* Return a connected, non-blocking socket, or -1 with errno. */
static int dial(const struct addrinfo *ai, int64_t deadline)
{
	int fault = 0, fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof fault;

	if (fd < 0)
		return -1;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	fault = errno;
	if (fault == EINPROGRESS && !await(fd, POLLOUT, deadline))
		fault = ETIMEDOUT;
	else if (fault == EINPROGRESS && getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &len) != 0)
		fault = errno;
	if (fault == 0)
		return fd;
	(void)close(fd);
	errno = fault;
	return -1;
}

static enum cm_rc dial_any(
	const char *address, const struct nt_addr *addr, int64_t deadline, int *fd, struct cm_err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(addr->host, addr->port, &hints, &found);

	if (rc != 0)
		return cm_fail(err, CM_EUNAVAIL, "%s: %s", address, gai_strerror(rc));
	*fd = -1;
	for (const struct addrinfo *ai = found; ai && *fd < 0; ai = ai->ai_next)
		*fd = dial(ai, deadline);
	rc = errno;
	freeaddrinfo(found);
	if (*fd >= 0)
		return CM_OK;
	return cm_fail(err, CM_EUNAVAIL, "%s: %s%s", address, strerror(rc),
		rc == ECONNREFUSED ? ": the daemon does not run: start it, with its service or the verb run"
				   : "");
}

static enum cm_rc send_all(
	int fd, const char *text, size_t n, const char *address, int64_t deadline, struct cm_err *err)
{
	while (n > 0) {
		ssize_t put = await(fd, POLLOUT, deadline) ? send(fd, text, n, MSG_NOSIGNAL) : -1;

		if (put < 0)
			return cm_fail(err, CM_EUNAVAIL, "%s: the request could not be sent", address);
		text += put;
		n -= (size_t)put;
	}
	return CM_OK;
}

static enum cm_rc read_all(
	int fd, const char *address, int64_t deadline, struct cm_buf *b, struct cm_err *err)
{
	for (;;) {
		uint8_t chunk[CHUNK_LEN];
		ssize_t got;

		if (!await(fd, POLLIN, deadline))
			return cm_fail(err, CM_EUNAVAIL, "%s: no answer in time", address);
		got = recv(fd, chunk, sizeof chunk, 0);
		if (got == 0)
			return CM_OK;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return cm_fail(err, CM_EUNAVAIL, "%s: %s", address, strerror(errno));
		if (cm_buf_put(b, chunk, (size_t)got) != CM_OK)
			return cm_fail(
				err, CM_EPROTO, "%s: the answer is longer than %u bytes", address, BODY_MAX);
	}
}

/* Split an answer: "HTTP/1.x NNN ...", headers, an empty line, and the body to the end of the
 * connection. */
static enum cm_rc split(
	const char *address, const struct cm_buf *b, int *status, char **body, struct cm_err *err)
{
	const char *text = (const char *)b->data, *end = NULL;
	size_t len;

	/* The buffer ends in a zero byte that read_all's caller put there. */
	if (b->len > 12 && strncmp(text, "HTTP/1.", 7) == 0 && strspn(text + 9, "0123456789") == 3)
		end = strstr(text, "\r\n\r\n");
	if (!end || end - text > (ptrdiff_t)HEAD_MAX)
		return cm_fail(err, CM_EPROTO, "%s: the answer is not HTTP", address);
	end += 4;
	len = b->len - 1 - (size_t)(end - text);
	if (len > BODY_MAX)
		return cm_fail(err, CM_EPROTO, "%s: the answer is longer than %u bytes", address, BODY_MAX);
	*body = malloc(len + 1);
	if (!*body)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(*body, end, len);
	(*body)[len] = '\0';
	*status = (int)strtol(text + 9, NULL, 10);
	return CM_OK;
}

enum cm_rc nt_http_get(
	const char *address, const char *path, int timeout_ms, int *status, char **body, struct cm_err *err)
{
	int64_t deadline = cm_clock_mono_ms() + timeout_ms;
	struct cm_buf answer;
	struct nt_addr addr;
	char request[1024];
	enum cm_rc rc;
	int fd = -1, n;

	*body = NULL;
	if (nt_addr_split(address, &addr, err) != CM_OK)
		return err->code;
	/* version 1.0, so that the end of the connection is the end of the body */
	n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n\r\n",
		path, address);
	if (n < 0 || (size_t)n >= sizeof request)
		return cm_fail(err, CM_EUSAGE, "%.100s: the path is too long", path);
	cm_buf_init(&answer, BODY_MAX + HEAD_MAX);
	rc = dial_any(address, &addr, deadline, &fd, err);
	if (rc == CM_OK)
		rc = send_all(fd, request, (size_t)n, address, deadline, err);
	if (rc == CM_OK)
		rc = read_all(fd, address, deadline, &answer, err);
	if (rc == CM_OK && cm_buf_put(&answer, "", 1) != CM_OK)
		rc = cm_fail(err, CM_EPROTO, "%s: the answer is longer than %u bytes", address, BODY_MAX);
	if (rc == CM_OK)
		rc = split(address, &answer, status, body, err);
	if (fd >= 0)
		(void)close(fd);
	cm_buf_fini(&answer);
	return rc;
}
