/* nt_http.c - HTTP on the loop for monitoring: runs libmicrohttpd, watches its descriptors and limits, and
 * answers requests. */
#include "nt_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "cm_fault.h"
#include "nt_addr.h"

#define TIMEOUT_S    10u
#define LASTS_MS     30000u
#define MEMORY_LIMIT (16u * 1024)
#define TEXT         "text/plain; charset=utf-8"

#define NT_HTTP_SLOTS 32u

struct nt_http {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	int open_handles;
	bool loopback;
	bool freed; /* a slot became free since libmicrohttpd was run last */
	struct nt_http_conf conf;
	struct nt_http_slot {
		uint64_t since_ms; /* time of the loop's clock at which the connection began */
		int fd;            /* the connection's socket; -1: the slot is free */
	} slot[NT_HTTP_SLOTS];
};

/* ---- replies ---- */

static const struct nt_http_header defaults[] = {
	{ "Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; "
				     "frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cache-Control", "no-store" },
};

static bool replaced(const struct nt_http_reply *out, const char *name)
{
	for (size_t i = 0; i < NT_HTTP_HEADERS && out->headers[i].name; i++) {
		if (strcasecmp(out->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool add_headers(struct MHD_Response *r, const struct nt_http_reply *out, int status)
{
	bool ok = MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, out->type ? out->type : TEXT) ==
			  MHD_YES &&
		  /* Allow one request for each connection, so that the slot's time limit is the
		   * request's. */
		  MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;

	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0] && ok; i++)
		ok = replaced(out, defaults[i].name) ||
		     MHD_add_response_header(r, defaults[i].name, defaults[i].value) == MHD_YES;
	for (size_t i = 0; i < NT_HTTP_HEADERS && out->headers[i].name && ok; i++)
		ok = MHD_add_response_header(r, out->headers[i].name, out->headers[i].value) == MHD_YES;
	if (ok && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		ok = MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES;
	return ok;
}

/* Send a reply; takes ownership of the body. */
static enum MHD_Result send_reply(struct MHD_Connection *conn, struct nt_http_reply *out)
{
	int status = out->status != 0 ? out->status : MHD_HTTP_OK;
	struct MHD_Response *r =
		MHD_create_response_from_buffer(out->body ? out->len : 0, out->body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ok = MHD_NO;

	if (!r) {
		free(out->body);
		return MHD_NO;
	}
	if (add_headers(r, out, status))
		ok = MHD_queue_response(conn, (unsigned)status, r);
	MHD_destroy_response(r);
	return ok;
}

static void text(struct nt_http_reply *out, int status, const char *body)
{
	*out = (struct nt_http_reply){ .status = status, .body = strdup(body), .len = strlen(body) };
}

/* ---- choosing the handler ---- */

static enum MHD_Result count_host(void *user, enum MHD_ValueKind kind, const char *key, const char *value)
{
	(void)kind, (void)value;
	if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
		++*(unsigned *)user;
	return MHD_YES;
}

/* Is this ":8080", or nothing? */
static bool is_port(const char *text)
{
	return *text == '\0' ||
	       (*text == ':' && strlen(text) <= 6 && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

/* A request through a DNS name of somebody else that points here comes from a page of theirs, so only our
 * own names are accepted.  A proxy between could read a second Host header, or one with more than a name,
 * differently from us. */
static bool host_is_ours(const struct nt_http *h, struct MHD_Connection *conn)
{
	const char *host = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	struct in6_addr in6;
	struct in_addr in;
	unsigned hosts = 0;
	char name[64];
	bool bracket;
	size_t n;

	if (!CM_CHECKED("net.http.host") || !h->loopback || !host)
		return true;
	(void)MHD_get_connection_values(conn, MHD_HEADER_KIND, count_host, &hosts);
	bracket = *host == '[';
	host += bracket;
	n = strcspn(host, bracket ? "]" : ":");
	if (hosts != 1 || n >= sizeof name || (bracket && host[n] != ']') || !is_port(host + n + bracket))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	if (bracket)
		return inet_pton(AF_INET6, name, &in6) == 1;
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &in) == 1;
}

static bool matches(const char *path, const char *asked)
{
	size_t n = strlen(path);

	return n > 0 && path[n - 1] == '*' ? strncmp(path, asked, n - 1) == 0 : strcmp(path, asked) == 0;
}

static bool ask_route(const struct nt_http *h, const char *url, struct nt_http_reply *out)
{
	for (size_t i = 0; i < h->conf.n_routes; i++) {
		const struct nt_http_route *r = &h->conf.routes[i];

		if (!matches(r->path, url))
			continue;
		if (r->handle(r->user ? r->user : h->conf.user, url, out) != 0) {
			free(out->body);
			text(out, MHD_HTTP_INTERNAL_SERVER_ERROR, "no answer could be made\n");
		}
		return true;
	}
	return false;
}

static void not_found(const struct nt_http *h, struct nt_http_reply *out)
{
	char body[1024];
	size_t at = (size_t)snprintf(body, sizeof body, "not found; there are /healthz, /readyz%s",
		h->conf.status_json ? ", /status" : "");

	for (size_t i = 0; i < h->conf.n_routes && at + strlen(h->conf.routes[i].path) + 4 < sizeof body; i++)
		at += (size_t)snprintf(body + at, sizeof body - at, ", %s", h->conf.routes[i].path);
	(void)snprintf(body + at, sizeof body - at, "\n");
	text(out, MHD_HTTP_NOT_FOUND, body);
}

static void ready(const struct nt_http *h, struct nt_http_reply *out)
{
	const char *why = h->conf.not_ready ? h->conf.not_ready(h->conf.user) : NULL;

	text(out, !why ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, !why ? "ready\n" : why);
}

static void status(const struct nt_http *h, struct nt_http_reply *out)
{
	char *json = h->conf.status_json ? h->conf.status_json(h->conf.user) : NULL;

	if (!json)
		text(out, MHD_HTTP_NOT_FOUND, "no status here\n");
	else
		*out = (struct nt_http_reply){
			.type = "application/json", .body = json, .len = strlen(json)
		};
}

static void choose(const struct nt_http *h, const char *url, struct nt_http_reply *out)
{
	if (strcmp(url, "/healthz") == 0)
		text(out, MHD_HTTP_OK, "ok\n");
	else if (strcmp(url, "/readyz") == 0)
		ready(h, out);
	else if (strcmp(url, "/status") == 0)
		status(h, out);
	else if (!ask_route(h, url, out))
		not_found(h, out);
}

static enum MHD_Result answer_request(void *user, struct MHD_Connection *conn, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size, void **seen)
{
	const struct nt_http *h = user;
	struct nt_http_reply out = { 0 };

	(void)version, (void)upload;
	if (*upload_size > 0) { /* we do not use a body; read past it until the slot's time is over */
		*upload_size = 0;
		return MHD_YES;
	}
	if (!*seen) { /* only the headers have come so far; libmicrohttpd calls again for the answer */
		*seen = user;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		text(&out, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	else if (!host_is_ours(h, conn))
		text(&out, 421, "ask by address or as localhost\n"); /* status 421: Misdirected Request */
	else
		choose(h, url, &out);
	return send_reply(conn, &out);
}

/* ---- slots ---- */

/* Shut the socket down; libmicrohttpd sees the end of the connection and closes it. */
static void evict(const struct nt_http_slot *s)
{
	(void)shutdown(s->fd, SHUT_RDWR);
}

/* Find a free slot for a new connection; when it is the last one, close the oldest connection. */
static struct nt_http_slot *take_slot(struct nt_http *h)
{
	struct nt_http_slot *oldest = NULL, *unused = NULL;
	size_t left = 0;

	for (size_t i = 0; i < NT_HTTP_SLOTS; i++) {
		struct nt_http_slot *s = &h->slot[i];

		if (s->fd < 0) {
			unused = s;
			left++;
		} else if (!oldest || s->since_ms < oldest->since_ms) {
			oldest = s;
		}
	}
	if (CM_CHECKED("net.http.slots") && left <= 1 && oldest)
		evict(oldest);
	return unused;
}

static void on_connection(
	void *user, struct MHD_Connection *conn, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct nt_http *h = user;
	struct nt_http_slot *s = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);

		/* a slot is free: libmicrohttpd accepts no more connections than there are slots */
		s = take_slot(h);
		*context = s;
		if (s && info)
			*s = (struct nt_http_slot){ uv_now(h->poll.loop), info->connect_fd };
	} else if (s) {
		s->fd = -1;
		h->freed = true;
		*context = NULL;
	}
}

/* Close connections that have lasted too long; returns the milliseconds until the next one is due, 0 if
 * there is none. */
static uint64_t sweep(struct nt_http *h)
{
	uint64_t now = uv_now(h->poll.loop), most = h->conf.connection_ms, next = 0;

	for (size_t i = 0; i < NT_HTTP_SLOTS; i++) {
		const struct nt_http_slot *s = &h->slot[i];
		uint64_t age = s->fd < 0 ? 0 : now - s->since_ms, left = age < most ? most - age : 1000;

		if (s->fd < 0)
			continue;
		if (age >= most)
			evict(s);
		if (next == 0 || left < next)
			next = left;
	}
	return next;
}

/* ---- on the loop ---- */

static void on_timer(uv_timer_t *t);

static void run(struct nt_http *h)
{
	MHD_UNSIGNED_LONG_LONG idle;
	uint64_t oldest;

	h->freed = false;
	(void)MHD_run(h->daemon);
	oldest = sweep(h);
	/* When the table was full, libmicrohttpd accepts again only in the run after the one that closed a
	 * connection. */
	if (h->freed)
		(void)uv_timer_start(&h->timer, on_timer, 0, 0);
	else if (MHD_get_timeout(h->daemon, &idle) == MHD_YES)
		(void)uv_timer_start(&h->timer, on_timer, oldest > 0 && oldest < idle ? oldest : idle, 0);
	else if (oldest > 0)
		(void)uv_timer_start(&h->timer, on_timer, oldest, 0);
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
	struct nt_http *h = handle->data;

	if (--h->open_handles == 0)
		free(h);
}

/* ---- life ---- */

/* Parse the address; a name is not looked up, so that "loopback" does not depend on a resolver. */
static enum cm_rc parse(
	const struct nt_http_conf *conf, struct sockaddr_storage *out, bool *loopback, struct cm_err *err)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const char *host;
	struct nt_addr addr;
	uint16_t port;
	enum cm_rc rc;

	rc = nt_addr_split(conf->address, &addr, err);
	if (rc != CM_OK)
		return rc;
	host = strcmp(addr.host, "localhost") == 0 ? "127.0.0.1" : addr.host;
	port = htons((uint16_t)strtoul(addr.port, NULL, 10));
	memset(out, 0, sizeof *out);
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		in.sin_port = port;
		*loopback = ntohl(in.sin_addr.s_addr) >> 24 == 127;
		memcpy(out, &in, sizeof in);
	} else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		in6.sin6_port = port;
		*loopback = IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
		memcpy(out, &in6, sizeof in6);
	} else {
		return cm_fail(err, CM_ECONFIG, "HTTP address '%.100s': not an IP address", conf->address);
	}
	if (CM_CHECKED("net.loopback") && !*loopback && !conf->anywhere)
		return cm_fail(err, CM_ECONFIG,
			"HTTP address '%.100s' is not a loopback address, and who asks is not authenticated; "
			"http_anywhere = true serves it all the same",
			conf->address);
	return CM_OK;
}

enum cm_rc nt_http_check_address(const char *address, bool anywhere, struct cm_err *err)
{
	struct sockaddr_storage unused;
	bool loopback;

	return parse(
		&(struct nt_http_conf){ .address = address, .anywhere = anywhere }, &unused, &loopback, err);
}

enum cm_rc nt_http_new(
	uv_loop_t *loop, const struct nt_http_conf *conf, struct nt_http **out, struct cm_err *err)
{
	struct sockaddr_storage sa;
	const union MHD_DaemonInfo *info;
	struct nt_http *h;
	unsigned flags = MHD_USE_EPOLL;
	bool loopback = false;
	enum cm_rc parsed = parse(conf, &sa, &loopback, err);
	int rc;

	*out = NULL;
	if (parsed != CM_OK)
		return parsed;
	h = calloc(1, sizeof *h);
	if (!h)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	h->conf = *conf;
	h->loopback = loopback;
	if (h->conf.connection_ms == 0)
		h->conf.connection_ms = LASTS_MS;
	for (size_t i = 0; i < NT_HTTP_SLOTS; i++)
		h->slot[i].fd = -1;
	if (sa.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer_request, h, MHD_OPTION_SOCK_ADDR,
		(struct sockaddr *)&sa, MHD_OPTION_CONNECTION_LIMIT, NT_HTTP_SLOTS,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, (void *)h, MHD_OPTION_CONNECTION_TIMEOUT,
		TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_LIMIT, MHD_OPTION_END);
	if (!h->daemon) {
		rc = errno;
		free(h);
		if (rc == ENOMEM)
			return cm_fail(err, CM_EINTERNAL, "cannot listen for HTTP: out of memory");
		return cm_fail(err, CM_EUNAVAIL, "cannot listen for HTTP on %s: is the address in use?",
			conf->address);
	}
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	rc = !info ? UV_EINVAL : uv_poll_init(loop, &h->poll, info->epoll_fd);
	if (rc < 0) {
		MHD_stop_daemon(h->daemon);
		free(h);
		return cm_fail(err, CM_EINTERNAL, "HTTP: %s", uv_strerror(rc));
	}
	(void)uv_timer_init(loop, &h->timer); /* this cannot fail */
	h->poll.data = h->timer.data = h;
	h->open_handles = 2;
	rc = uv_poll_start(&h->poll, UV_READABLE, on_poll);
	if (rc < 0) {
		nt_http_close(h);
		return cm_fail(err, CM_EINTERNAL, "HTTP: %s", uv_strerror(rc));
	}
	*out = h;
	return CM_OK;
}

void nt_http_close(struct nt_http *h)
{
	if (!h)
		return;
	/* The loop must release the descriptor before libmicrohttpd closes it. */
	uv_close((uv_handle_t *)&h->poll, on_closed);
	uv_close((uv_handle_t *)&h->timer, on_closed);
	MHD_stop_daemon(h->daemon);
}

int nt_http_port(const struct nt_http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : -1;
}
