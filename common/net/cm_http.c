/* cm_http.c - health over HTTP for whoever watches this host: libmicrohttpd driven by the loop. */
#include "cm_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "cm_addr.h"
#include "cm_fault.h"

#define MAX_CONNECTIONS 32u
#define TIMEOUT_S       10u
#define MEMORY_LIMIT    (16u * 1024)

struct cm_http {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	int open_handles;
	struct cm_http_conf conf;
};

/* ---- answers ---- */

static enum MHD_Result reply(struct MHD_Connection *conn, unsigned status, const char *type, const char *body,
	enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(body), (void *)(uintptr_t)body, mode);
	enum MHD_Result ok;

	if (r == NULL) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free((void *)(uintptr_t)body);
		return MHD_NO;
	}
	ok = MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (ok == MHD_YES)
		ok = MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (ok == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		ok = MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (ok == MHD_YES)
		ok = MHD_queue_response(conn, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result reply_text(struct MHD_Connection *conn, unsigned status, const char *body)
{
	return reply(conn, status, "text/plain; charset=utf-8", body, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result reply_ready(const struct cm_http *h, struct MHD_Connection *conn)
{
	const char *why = h->conf.not_ready != NULL ? h->conf.not_ready(h->conf.user) : NULL;

	if (why == NULL)
		return reply_text(conn, MHD_HTTP_OK, "ready\n");
	return reply_text(conn, MHD_HTTP_SERVICE_UNAVAILABLE, why);
}

static enum MHD_Result reply_status(const struct cm_http *h, struct MHD_Connection *conn)
{
	char *json = h->conf.status_json != NULL ? h->conf.status_json(h->conf.user) : NULL;

	if (json == NULL)
		return reply_text(conn, MHD_HTTP_NOT_FOUND, "no status here\n");
	return reply(conn, MHD_HTTP_OK, "application/json", json, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *conn, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size, void **seen)
{
	const struct cm_http *h = user;

	(void)version, (void)upload;
	if (*upload_size > 0) { /* a body is not wanted; read past it */
		*upload_size = 0;
		return MHD_YES;
	}
	if (*seen == NULL) { /* headers only so far; libmicrohttpd calls again for the answer */
		*seen = user;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply_text(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	if (strcmp(url, "/healthz") == 0)
		return reply_text(conn, MHD_HTTP_OK, "ok\n");
	if (strcmp(url, "/readyz") == 0)
		return reply_ready(h, conn);
	if (strcmp(url, "/status") == 0)
		return reply_status(h, conn);
	return reply_text(conn, MHD_HTTP_NOT_FOUND, "try /healthz, /readyz or /status\n");
}

/* ---- on the loop ---- */

static void on_timer(uv_timer_t *t);

static void run(struct cm_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	(void)MHD_run(h->daemon);
	if (MHD_get_timeout(h->daemon, &ms) == MHD_YES)
		(void)uv_timer_start(&h->timer, on_timer, ms, 0);
	else
		(void)uv_timer_stop(&h->timer);
}

static void on_timer(uv_timer_t *t)
{
	run(t->data);
}

static void on_poll(uv_poll_t *p, int status, int events)
{
	(void)status, (void)events;
	run(p->data);
}

static void on_closed(uv_handle_t *handle)
{
	struct cm_http *h = handle->data;

	if (--h->open_handles == 0)
		free(h);
}

/* ---- life ---- */

/* The address as a socket address; a name is not looked up, so that "loopback" cannot depend on a resolver.
 */
static enum cm_rc parse(const struct cm_http_conf *conf, struct sockaddr_storage *out, struct cm_err *err)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const char *host;
	struct cm_addr addr;
	uint16_t port;
	bool loopback;
	enum cm_rc rc;

	rc = cm_addr_split(conf->address, &addr, err);
	if (rc != CM_OK)
		return rc;
	host = strcmp(addr.host, "localhost") == 0 ? "127.0.0.1" : addr.host;
	port = htons((uint16_t)strtoul(addr.port, NULL, 10));
	memset(out, 0, sizeof *out);
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		in.sin_port = port;
		loopback = ntohl(in.sin_addr.s_addr) >> 24 == 127;
		memcpy(out, &in, sizeof in);
	} else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		in6.sin6_port = port;
		loopback = IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
		memcpy(out, &in6, sizeof in6);
	} else {
		return cm_fail(err, CM_ECONFIG, "HTTP address '%.100s': not an IP address", conf->address);
	}
	if (CM_CHECKED("net.loopback") && !loopback && !conf->anywhere)
		return cm_fail(err, CM_ECONFIG,
			"HTTP address '%.100s' is not a loopback address; health has no authentication",
			conf->address);
	return CM_OK;
}

enum cm_rc cm_http_check_address(const char *address, struct cm_err *err)
{
	struct sockaddr_storage unused;

	return parse(&(struct cm_http_conf){ .address = address }, &unused, err);
}

enum cm_rc cm_http_new(
	uv_loop_t *loop, const struct cm_http_conf *conf, struct cm_http **out, struct cm_err *err)
{
	struct sockaddr_storage sa;
	const union MHD_DaemonInfo *info;
	struct cm_http *h;
	unsigned flags = MHD_USE_EPOLL;
	enum cm_rc parsed = parse(conf, &sa, err);
	int rc;

	*out = NULL;
	if (parsed != CM_OK)
		return parsed;
	h = calloc(1, sizeof *h);
	if (h == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	h->conf = *conf;
	if (sa.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR,
		(struct sockaddr *)&sa, MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_LIMIT, MHD_OPTION_END);
	if (h->daemon == NULL) {
		free(h);
		return cm_fail(err, CM_EUNAVAIL, "cannot listen for HTTP on %s: is the address in use?",
			conf->address);
	}
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	rc = info == NULL ? UV_EINVAL : uv_poll_init(loop, &h->poll, info->epoll_fd);
	if (rc < 0) {
		MHD_stop_daemon(h->daemon);
		free(h);
		return cm_fail(err, CM_EINTERNAL, "HTTP: %s", uv_strerror(rc));
	}
	(void)uv_timer_init(loop, &h->timer); /* cannot fail */
	h->poll.data = h->timer.data = h;
	h->open_handles = 2;
	rc = uv_poll_start(&h->poll, UV_READABLE, on_poll);
	if (rc < 0) {
		cm_http_close(h);
		return cm_fail(err, CM_EINTERNAL, "HTTP: %s", uv_strerror(rc));
	}
	*out = h;
	return CM_OK;
}

void cm_http_close(struct cm_http *h)
{
	if (h == NULL)
		return;
	/* The loop lets go of the descriptor before libmicrohttpd closes it. */
	uv_close((uv_handle_t *)&h->poll, on_closed);
	uv_close((uv_handle_t *)&h->timer, on_closed);
	MHD_stop_daemon(h->daemon);
}

int cm_http_port(const struct cm_http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info != NULL ? info->port : -1;
}
