/* an_daemon_page.c - answers the dashboard: its files, what the daemon is doing, and the books as a thread of
 * its own reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "an_daemon_private.h"
#include "an_pages.h"
#include "an_result.h"
#include "an_status.h"
#include "cm_clock.h"
#include "cm_log.h"
#include "cm_pki.h"

#define API            "/api/v1/"
#define STALE_MS       10000 /* a view behind the ledger is shown for so long */
#define RETRY_MS       2000  /* after a view that could not be made */
#define CERTIFICATE_MS 60000
#define HTTP_NOT_FOUND 404
#define HTTP_ERROR     500
#define HTTP_NOT_YET   503

/* ---- the view ---- */

static void make_view(uv_work_t *w)
{
	struct an_daemon *d = w->data;

	d->page.rc = an_view_make(d->conf, d->page.memo, &d->page.stop, &d->page.fresh, &d->page.err);
}

static void view_made(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	struct cm_err err = { 0 };

	d->page.making = false;
	if (status != 0 || d->stopping)
		return;
	if (d->page.rc != CM_OK)
		err = d->page.err;
	else if (d->page.fresh.chain.seq <= an_ledger_chain(d->books.ledger)->seq &&
		 !an_ledger_is_prefix(d->books.ledger, &d->page.fresh.chain))
		(void)cm_fail(
			&err, CM_EDATA, "%s/ledger is not the one this analyzer writes", d->conf->state_dir);
	if (err.code != CM_OK) {
		if (strcmp(d->page.fault, err.msg) != 0)
			cm_log(CM_LOG_ERROR, "the books cannot be read again", CM_S("reason", err.msg));
		memcpy(d->page.fault, err.msg, sizeof d->page.fault);
		an_view_fini(&d->page.fresh);
		return;
	}
	d->page.fault[0] = '\0';
	an_view_fini(&d->page.view);
	d->page.view = d->page.fresh;
	memset(&d->page.fresh, 0, sizeof d->page.fresh);
	d->page.made_ms = d->page.tried_ms;
}

static bool behind(const struct an_daemon *d)
{
	return d->page.view.rounds == NULL || d->page.view.chain.seq < an_ledger_chain(d->books.ledger)->seq;
}

/* Somebody looks on: have a view made unless the one there is the ledger's. */
static void want_view(struct an_daemon *d)
{
	int64_t now = cm_clock_mono_ms();
	bool failed = *d->page.fault != '\0';

	if (d->page.making || d->stopping || (!behind(d) && !failed) ||
		(failed && now - d->page.tried_ms < RETRY_MS))
		return;
	d->page.tried_ms = now;
	d->page.work.data = d;
	d->page.making = uv_queue_work(&d->loop, &d->page.work, make_view, view_made) == 0;
}

enum cm_rc an_page_init(struct an_daemon *d, struct cm_err *err)
{
	d->page.started_ms = cm_clock_wall_ms();
	d->page.memo = an_view_memo_new();
	if (d->page.memo == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	want_view(d);
	return CM_OK;
}

void an_page_stop(struct an_daemon *d)
{
	atomic_store(&d->page.stop, true);
}

void an_page_fini(struct an_daemon *d)
{
	an_view_memo_free(d->page.memo);
	an_view_fini(&d->page.view);
	an_view_fini(&d->page.fresh);
}

/* ---- answers ---- */

static int say(struct cm_http_reply *out, int status, const char *text)
{
	out->status = status;
	out->body = strdup(text);
	out->len = out->body != NULL ? strlen(text) : 0;
	return out->body != NULL ? 0 : -1;
}

static int answer_page(void *user, const char *path, struct cm_http_reply *out)
{
	const struct an_page *p = an_pages;

	(void)user;
	while (p->path != NULL && strcmp(p->path, path) != 0)
		p++;
	if (p->path == NULL)
		return say(out, HTTP_NOT_FOUND, "the dashboard has no such file\n");
	out->type = p->type;
	out->headers[0] = (struct cm_http_header){ "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
		"'self'; "
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'" };
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

/* The file is read again now and then: it may have been renewed. */
static void read_certificate(struct an_daemon *d)
{
	int64_t now = cm_clock_mono_ms();
	struct cm_pki_info info;
	struct cm_err err = { 0 };

	if (d->page.certificate_ms != 0 && now - d->page.certificate_ms < CERTIFICATE_MS)
		return;
	d->page.certificate_ms = now;
	d->page.not_after = cm_pki_show(d->conf->tls_cert, &info, &err) == CM_OK ? info.not_after : 0;
	memcpy(d->page.certificate_fault, err.msg, sizeof d->page.certificate_fault);
}

char *an_page_status(void *user)
{
	struct an_daemon *d = user;
	struct an_status s = { .state = &d->books.state,
		.doing = doing(d),
		.stopping = d->stopping,
		.now_ms = cm_clock_wall_ms(),
		.started_ms = d->page.started_ms,
		.shuffler = { .connected = d->ready, .seen_ms = d->seen_ms, .away = d->away },
		.ledger = { .chain = an_ledger_chain(d->books.ledger), .fault = d->page.fault },
		.view = &d->page.view };
	json_t *doc;
	char *text;

	want_view(d);
	read_certificate(d);
	s.round = s.doing == AN_IDLE ? NULL : d->current != NULL ? d->current : d->judging.round;
	s.certificate.known = d->page.not_after != 0;
	s.certificate.not_after = d->page.not_after;
	s.certificate.fault = d->page.certificate_fault;
	doc = an_status_json(&s);
	text = doc != NULL ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(doc);
	return text;
}

static int send_json(struct cm_http_reply *out, char *text)
{
	out->type = "application/json";
	out->body = text;
	out->len = text != NULL ? strlen(text) : 0;
	return text != NULL ? 0 : -1;
}

static int answer_status(void *user, const char *path, struct cm_http_reply *out)
{
	(void)path;
	return send_json(out, an_page_status(user));
}

/* One of the view's documents.  What is older than STALE_MS and behind the ledger is not shown: it might say
 * less than was spent. */
static int answer_view(void *user, const char *path, struct cm_http_reply *out)
{
	struct an_daemon *d = user;
	const struct an_view *v = &d->page.view;
	bool fresh = !behind(d) || (v->rounds != NULL && cm_clock_mono_ms() - d->page.made_ms < STALE_MS);
	const char *name = path + strlen(API);

	want_view(d);
	if (*d->page.fault != '\0')
		return say(out, HTTP_ERROR, d->page.fault);
	if (!fresh) {
		out->headers[0] = (struct cm_http_header){ "Retry-After", "1" };
		return say(out, HTTP_NOT_YET, "being read from the ledger; ask again in a second\n");
	}
	return send_json(out, strdup(strcmp(name, "budget") == 0    ? v->budget
				      : strcmp(name, "rounds") == 0 ? v->rounds
								    : v->refusals));
}

static int answer_estimate(void *user, const char *path, struct cm_http_reply *out)
{
	struct an_daemon *d = user;
	const struct pl_round *p = pl_plan_query(&d->books.plan, path + strlen(API "estimates/"));
	struct cm_err err = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	if (p == NULL)
		return say(out, HTTP_NOT_FOUND, "the plan has no such query\n");
	cm_buf_init(&b, AN_RESULT_MAX);
	rc = an_result_read(d->conf->state_dir, &d->books.state.round[p->number - 1], &b, &err);
	if (rc != CM_OK) {
		cm_buf_fini(&b);
		return say(out, rc == CM_ENOINPUT ? HTTP_NOT_FOUND : HTTP_ERROR, err.msg);
	}
	out->type = "application/json";
	out->body = (char *)b.data;
	out->len = b.len;
	return 0;
}

const struct cm_http_route an_page_routes[AN_PAGE_ROUTES] = {
	{ "/", answer_page, NULL },
	{ "/dashboard/*", answer_page, NULL },
	{ "/metrics", an_metrics_answer, NULL },
	{ API "status", answer_status, NULL },
	{ API "budget", answer_view, NULL },
	{ API "rounds", answer_view, NULL },
	{ API "refusals", answer_view, NULL },
	{ API "estimates/*", answer_estimate, NULL },
};
