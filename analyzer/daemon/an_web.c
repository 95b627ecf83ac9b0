/* an_web.c - serves health, metrics and the dashboard. */
#include "an_web.h"

#include <stdlib.h>
#include <string.h>

#include "an_dashboard_thread.h"
#include "an_pages.h"
#include "an_refusals.h"
#include "an_result.h"
#include "cm_clock.h"
#include "cr_pki.h"
#include "nt_http.h"

#define API            "/api/v1/"
#define CERTIFICATE_MS 60000
#define HTTP_NOT_FOUND 404
#define HTTP_ERROR     500
#define HTTP_NOT_YET   503

struct an_web {
	struct an_web_conf conf;
	struct an_context *context;
	struct nt_http *http;
	struct an_dashboard_thread *viewer;
	struct an_refusals *refusals;
	int64_t started_ms;
	/* when the certificate was last read; its end in unix seconds, 0 if there is no certificate */
	int64_t certificate_ms, not_after;
	char certificate_fault[320];
};

static int say(struct nt_http_reply *out, int status, const char *text)
{
	out->status = status;
	out->body = strdup(text);
	out->len = out->body ? strlen(text) : 0;
	return out->body ? 0 : -1;
}

static int answer_page(void *user, const char *path, struct nt_http_reply *out)
{
	const struct an_page *p = an_pages;

	(void)user;
	while (p->path && strcmp(p->path, path) != 0)
		p++;
	if (!p->path)
		return say(out, HTTP_NOT_FOUND, "the dashboard has no such file\n");
	out->type = p->type;
	out->headers[0] = (struct nt_http_header){ "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
		"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" };
	out->body = malloc(p->len);
	out->len = p->len;
	if (!out->body)
		return -1;
	memcpy(out->body, p->data, p->len);
	return 0;
}

/* Read the certificate file again at intervals, since it may have been renewed. */
static void read_certificate(struct an_web *w)
{
	int64_t now = cm_clock_mono_ms();
	struct cr_pki_info info;
	struct cm_err err = { 0 };

	if (w->certificate_ms != 0 && now - w->certificate_ms < CERTIFICATE_MS)
		return;
	w->certificate_ms = now;
	w->not_after = cr_pki_show(w->context->conf->tls_cert, &info, &err) == CM_OK ? info.not_after : 0;
	memcpy(w->certificate_fault, err.msg, sizeof w->certificate_fault);
}

/* A page was requested: if what it shows is out of date, have it made again. */
static void want(struct an_web *w)
{
	an_dashboard_thread_want(w->viewer);
	an_refusals_want(w->refusals);
}

/* The daemon's state as JSON, malloc'd. */
static char *status_json(void *user)
{
	struct an_web *w = user;
	struct an_status s = { .state = &w->context->files.state,
		.now_ms = cm_clock_wall_ms(),
		.started_ms = w->started_ms,
		.ledger = { .chain = an_ledger_chain(w->context->files.ledger),
			.fault = an_dashboard_thread_fault(w->viewer) },
		.view = an_dashboard_thread_view(w->viewer) };
	const struct rd_slices all = an_ledger_files_budget(&w->context->files);
	struct rd_figure figure;
	struct cm_err unused;
	json_t *doc;
	char *text;

	want(w);
	read_certificate(w);
	if (an_budget_figure(s.state, &all, &figure, &unused) == CM_OK)
		s.figure = &figure;
	w->conf.status(w->conf.user, &s);
	s.certificate.known = w->not_after != 0;
	s.certificate.not_after = w->not_after;
	s.certificate.fault = w->certificate_fault;
	s.explained = an_refusals_made(w->refusals);
	doc = an_status_json(&s);
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	return text;
}

static int answer_metrics(void *user, const char *path, struct nt_http_reply *out)
{
	struct an_web *w = user;
	struct an_metrics_now now = { 0 };

	(void)path;
	w->conf.metrics(w->conf.user, &now);
	return an_metrics_reply(w->context->metrics, &now, out);
}

static const char *not_ready(void *user)
{
	struct an_web *w = user;

	return w->conf.not_ready(w->conf.user);
}

static int send_json(struct nt_http_reply *out, char *text)
{
	out->type = "application/json";
	out->body = text;
	out->len = text ? strlen(text) : 0;
	return text ? 0 : -1;
}

static int answer_status(void *user, const char *path, struct nt_http_reply *out)
{
	(void)path;
	return send_json(out, status_json(user));
}

static int not_yet(struct nt_http_reply *out)
{
	out->headers[0] = (struct nt_http_header){ "Retry-After", "1" };
	return say(out, HTTP_NOT_YET, "being read from the ledger; ask again in a second\n");
}

/* Answer with one of the view's documents.  A view that is older than the ledger is not shown, because it
 * might report less loss than there is. */
static int answer_view(void *user, const char *path, struct nt_http_reply *out)
{
	struct an_web *w = user;
	const struct an_dashboard *v = an_dashboard_thread_view(w->viewer);
	const char *name = path + strlen(API);

	want(w);
	if (*an_dashboard_thread_fault(w->viewer) != '\0')
		return say(out, HTTP_ERROR, an_dashboard_thread_fault(w->viewer));
	if (!an_dashboard_thread_is_current(w->viewer))
		return not_yet(out);
	return send_json(out, strdup(strcmp(name, "budget") == 0 ? v->budget : v->rounds));
}

static int answer_refusals(void *user, const char *path, struct nt_http_reply *out)
{
	(void)path;
	want(user);
	return send_json(out, an_refusals_text(((struct an_web *)user)->refusals));
}

static int answer_estimate(void *user, const char *path, struct nt_http_reply *out)
{
	struct an_web *w = user;
	const struct an_round_state *r =
		an_state_query(&w->context->files.state, path + strlen(API "estimates/"));
	const struct an_dashboard *v = an_dashboard_thread_view(w->viewer);
	struct cm_err err = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	if (!r)
		return say(out, HTTP_NOT_FOUND, "the plan has no such query\n");
	want(w);
	if (*an_dashboard_thread_fault(w->viewer) != '\0')
		return say(out, HTTP_ERROR, an_dashboard_thread_fault(w->viewer));
	if (!an_dashboard_thread_is_current(w->viewer))
		return not_yet(out);
	/* A long result is answered in its abridged form, because reading it would take too long on the
	 * loop's thread. */
	if (r->of && r->of->current && r->plan->number <= v->plan_rounds && v->brief[r->plan->number - 1])
		return send_json(out, strdup(v->brief[r->plan->number - 1]));
	cm_buf_init(&b, AN_RESULT_MAX);
	rc = an_result_read(w->context->conf->state_dir, r, &b, &err);
	if (rc != CM_OK) {
		cm_buf_fini(&b);
		return say(out, rc == CM_ENOINPUT ? HTTP_NOT_FOUND : HTTP_ERROR, err.msg);
	}
	out->type = "application/json";
	out->body = (char *)b.data;
	out->len = b.len;
	return 0;
}

static const struct nt_http_route routes[] = {
	{ "/", answer_page, NULL },
	{ "/dashboard/*", answer_page, NULL },
	{ "/metrics", answer_metrics, NULL },
	{ API "status", answer_status, NULL },
	{ API "budget", answer_view, NULL },
	{ API "rounds", answer_view, NULL },
	{ API "refusals", answer_refusals, NULL },
	{ API "estimates/*", answer_estimate, NULL },
};

enum cm_rc an_web_new(const struct an_web_conf *conf, struct an_web **out, struct cm_err *err)
{
	struct an_web *w = calloc(1, sizeof *w);
	enum cm_rc rc;

	if (!w)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = w;
	w->conf = *conf;
	w->context = conf->context;
	w->started_ms = cm_clock_wall_ms();

	const struct nt_http_conf http = { .address = w->context->conf->http,
		.anywhere = w->context->conf->http_anywhere,
		.not_ready = not_ready,
		.status_json = status_json,
		.user = w,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	rc = an_dashboard_thread_new(w->context, &w->viewer, err);
	if (rc == CM_OK)
		rc = an_refusals_new(w->context, &w->refusals, err);
	if (rc == CM_OK)
		rc = nt_http_new(&w->context->loop, &http, &w->http, err);
	return rc;
}

void an_web_close(struct an_web *w)
{
	if (!w)
		return;
	an_dashboard_thread_close(w->viewer);
	an_refusals_close(w->refusals);
	if (w->http)
		nt_http_close(w->http);
	w->http = NULL;
}

void an_web_free(struct an_web *w)
{
	if (w) {
		an_dashboard_thread_free(w->viewer);
		an_refusals_free(w->refusals);
	}
	free(w);
}
