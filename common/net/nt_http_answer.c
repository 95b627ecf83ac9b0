/* nt_http_answer.c - answers a request: chooses the handler, and writes status and headers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cm_fault.h"
#include "nt_http_private.h"

#define TEXT "text/plain; charset=utf-8"

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
		  /* One request for each connection, so that the slot's time limit is the request's. */
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

/* Takes ownership of the body. */
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

/* ":8080" or nothing. */
static bool is_port(const char *text)
{
	return *text == '\0' ||
	       (*text == ':' && strlen(text) <= 6 && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

/* A request through a DNS name of somebody else that points here comes from a page of theirs.  A proxy
 * between could read a second Host header, or one with more than a name, in another way. */
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

enum MHD_Result nt_http_answer(void *user, struct MHD_Connection *conn, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **seen)
{
	const struct nt_http *h = user;
	struct nt_http_reply out = { 0 };

	(void)version, (void)upload;
	if (*upload_size > 0) { /* a body is not used; read past it until the slot's time is over */
		*upload_size = 0;
		return MHD_YES;
	}
	if (!*seen) { /* only the headers so far; libmicrohttpd calls again for the answer */
		*seen = user;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		text(&out, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	else if (!host_is_ours(h, conn))
		text(&out, 421, "ask by address or as localhost\n"); /* Misdirected Request */
	else
		choose(h, url, &out);
	return send_reply(conn, &out);
}
