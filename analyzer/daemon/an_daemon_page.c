/* an_daemon_page.c - answers the dashboard's requests: its files, the daemon's state, and the view of the
 * ledger. */
#include <stdlib.h>
#include <string.h>

#include "an_daemon_private.h"
#include "an_pages.h"
#include "an_result.h"
#include "an_status.h"
#include "cm_clock.h"
#include "cr_pki.h"

#define API            "/api/v1/"
#define CERTIFICATE_MS 60000
#define HTTP_NOT_FOUND 404
#define HTTP_ERROR     500
#define HTTP_NOT_YET   503

static int say(struct nt_http_reply *out, int status, const char *text)
{
	out->status = status;
	out->body = strdup(text);
	out->len = out->body != NULL ? strlen(text) : 0;
	return out->body != NULL ? 0 : -1;
}

static int answer_page(void *user, const char *path, struct nt_http_reply *out)
{
	const struct an_page *p = an_pages;

	(void)user;
	while (p->path != NULL && strcmp(p->path, path) != 0)
		p++;
	if (p->path == NULL)
		return say(out, HTTP_NOT_FOUND, "the dashboard has no such file\n");
	out->type = p->type;
	out->headers[0] = (struct nt_http_header){ "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
		"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" };
	out->body = malloc(p->len);
	out->len = p->len;
	if (out->body == NULL)
		return -1;
	memcpy(out->body, p->data, p->len);
	return 0;
}

static enum an_doing doing(const struct an_daemon *d)
{
	if (d->idle)
		return AN_IDLE;
	if (d->current == NULL || d->dialogue == NULL)
		return AN_JUDGING;
	if (d->current->stage == AN_CHARGED)
		return AN_OPENING;
	if (d->current->stage != AN_RESERVED)
		return AN_CLOSING;
	return an_round_step(d->dialogue) == AN_AT_MANIFEST ? AN_AWAITING : AN_ANNOUNCING;
}

/* Read the certificate file again at intervals, since it may have been renewed. */
static void read_certificate(struct an_daemon *d)
{
	int64_t now = cm_clock_mono_ms();
	struct cr_pki_info info;
	struct cm_err err = { 0 };

	if (d->page.certificate_ms != 0 && now - d->page.certificate_ms < CERTIFICATE_MS)
		return;
	d->page.certificate_ms = now;
	d->page.not_after = cr_pki_show(d->conf->tls_cert, &info, &err) == CM_OK ? info.not_after : 0;
	memcpy(d->page.certificate_fault, err.msg, sizeof d->page.certificate_fault);
}

char *an_page_status(void *user)
{
	struct an_daemon *d = user;
	struct an_status s = { .state = &d->files.state,
		.doing = doing(d),
		.next = d->sleep.next,
		.stopping = d->stopping,
		.not_signed = d->fit.asks && d->fit.why[0] == '\0' ? d->away : d->fit.why,
		.now_ms = cm_clock_wall_ms(),
		.started_ms = d->page.started_ms,
		.shuffler = { .connected = d->ready, .seen_ms = d->seen_ms, .away = d->away },
		.ledger = { .chain = an_ledger_chain(d->files.ledger), .fault = d->page.fault },
		.view = &d->page.view };
	json_t *doc;
	char *text;

	an_view_want(d);
	read_certificate(d);
	s.round = s.doing == AN_IDLE ? NULL : d->current != NULL ? d->current : d->judging.round;
	s.certificate.known = d->page.not_after != 0;
	s.certificate.not_after = d->page.not_after;
	s.certificate.fault = d->page.certificate_fault;
	s.explained = an_view_explained(d);
	doc = an_status_json(&s);
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	return text;
}

static int send_json(struct nt_http_reply *out, char *text)
{
	out->type = "application/json";
	out->body = text;
	out->len = text != NULL ? strlen(text) : 0;
	return text != NULL ? 0 : -1;
}

static int answer_status(void *user, const char *path, struct nt_http_reply *out)
{
	(void)path;
	return send_json(out, an_page_status(user));
}

static int not_yet(struct nt_http_reply *out)
{
	out->headers[0] = (struct nt_http_header){ "Retry-After", "1" };
	return say(out, HTTP_NOT_YET, "being read from the ledger; ask again in a second\n");
}

/* Answer with one of the view's documents.  A view behind the ledger is not shown, because it might report
 * less than was spent. */
static int answer_view(void *user, const char *path, struct nt_http_reply *out)
{
	struct an_daemon *d = user;
	const struct an_view *v = &d->page.view;
	const char *name = path + strlen(API);

	an_view_want(d);
	if (*d->page.fault != '\0')
		return say(out, HTTP_ERROR, d->page.fault);
	if (!an_view_is_current(d))
		return not_yet(out);
	return send_json(out, strdup(strcmp(name, "budget") == 0 ? v->budget : v->rounds));
}

static int answer_refusals(void *user, const char *path, struct nt_http_reply *out)
{
	(void)path;
	an_view_want(user);
	return send_json(out, an_view_refusals(user));
}

static int answer_estimate(void *user, const char *path, struct nt_http_reply *out)
{
	struct an_daemon *d = user;
	const struct an_round_state *r = an_state_query(&d->files.state, path + strlen(API "estimates/"));
	struct cm_err err = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	if (r == NULL)
		return say(out, HTTP_NOT_FOUND, "the plan has no such query\n");
	an_view_want(d);
	if (*d->page.fault != '\0')
		return say(out, HTTP_ERROR, d->page.fault);
	if (!an_view_is_current(d))
		return not_yet(out);
	/* A long result would take too long to read on the loop's thread. */
	if (r->of != NULL && r->of->current && r->plan->number <= d->page.view.plan_rounds &&
		d->page.view.brief[r->plan->number - 1] != NULL)
		return send_json(out, strdup(d->page.view.brief[r->plan->number - 1]));
	cm_buf_init(&b, AN_RESULT_MAX);
	rc = an_result_read(d->conf->state_dir, r, &b, &err);
	if (rc != CM_OK) {
		cm_buf_fini(&b);
		return say(out, rc == CM_ENOINPUT ? HTTP_NOT_FOUND : HTTP_ERROR, err.msg);
	}
	out->type = "application/json";
	out->body = (char *)b.data;
	out->len = b.len;
	return 0;
}

const struct nt_http_route an_page_routes[AN_PAGE_ROUTES] = {
	{ "/", answer_page, NULL },
	{ "/dashboard/*", answer_page, NULL },
	{ "/metrics", an_metrics_answer, NULL },
	{ API "status", answer_status, NULL },
	{ API "budget", answer_view, NULL },
	{ API "rounds", answer_view, NULL },
	{ API "refusals", answer_refusals, NULL },
	{ API "estimates/*", answer_estimate, NULL },
};
