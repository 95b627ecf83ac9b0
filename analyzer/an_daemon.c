/* an_daemon.c - starts and ends the analyzer's run. */
#include "an_daemon.h"

#include <stdlib.h>
#include <string.h>

#include "an_daemon_private.h"
#include "an_show.h"
#include "cm_confine.h"
#include "cm_log.h"

/* Closing everything lets uv_run return; a bucket that is being opened is waited for. */
void an_stop(struct an_daemon *d, enum cm_rc rc, const struct cm_err *why)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->result = rc;
	if (rc != CM_OK)
		d->err = *why;
	if (d->signals != NULL)
		cm_loop_stopping(d->signals);
	an_link_close(d);
	an_work_close(d);
	an_view_close(d);
	if (d->http != NULL)
		cm_http_close(d->http);
	d->http = NULL;
	if (d->signals != NULL)
		cm_loop_free(d->signals);
	d->signals = NULL;
}

static void on_stop(void *user)
{
	struct an_daemon *d = user;
	bool attended = d->run->once || d->run->only != 0;
	struct cm_err err = { 0 };

	cm_log_plain(CM_LOG_INFO, "stopping");
	if (attended && !d->idle)
		(void)cm_fail(&err, CM_ELATER, "stopped before the plan was through; run again to go on");
	an_stop(d, err.code, &err);
}

static void on_reload(void *user)
{
	struct an_daemon *d = user;

	an_link_reload(d);
}

static void say_status(void *user, char *text, size_t room)
{
	const struct an_daemon *d = user;

	an_say(&d->books, d->current, d->idle, text, room);
}

static const char *not_ready(void *user)
{
	const struct an_daemon *d = user;

	return d->stopping ? "stopping" : d->idle || d->ready ? NULL : "no connection to the shuffler";
}

static enum cm_rc open_books(struct an_daemon *d, struct cm_err *err)
{
	enum cm_rc rc = an_books_open(d->conf, true, &d->books, err);

	if (rc == CM_OK && d->books.torn > 0)
		cm_log(CM_LOG_WARN, "a torn last ledger record was dropped: it was never acknowledged",
			CM_I("bytes", d->books.torn));
	if (rc == CM_OK && d->run->only > d->books.plan.rounds)
		rc = cm_fail(err, CM_EUSAGE, "the plan has %zu rounds", d->books.plan.rounds);
	return rc;
}

static enum cm_rc start(struct an_daemon *d, struct cm_err *err)
{
	static const struct cm_loop_handler signals = {
		.on_stop = on_stop, .on_reload = on_reload, .status = say_status
	};
	const struct cm_http_conf http = { .address = d->conf->http,
		.anywhere = d->conf->http_anywhere,
		.not_ready = not_ready,
		.status_json = an_page_status,
		.user = d,
		.routes = an_page_routes,
		.n_routes = AN_PAGE_ROUTES };
	enum cm_rc rc = cm_rng_system(&d->rng, err);

	if (rc == CM_OK)
		rc = cm_signer_load(d->conf->signing_key, &d->signer, err);
	if (rc == CM_OK)
		rc = cm_verifier_load(d->conf->shuffler_key, &d->shuffler, err);
	if (rc == CM_OK)
		rc = open_books(d, err);
	if (rc == CM_OK) {
		d->metrics = an_metrics_new(d->conf, &d->books);
		rc = d->metrics != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc == CM_OK) {
		cm_confine(CM_LOG_INFO);
		rc = cm_loop_new(&d->loop, &signals, d, &d->signals, err);
	}
	if (rc == CM_OK)
		rc = an_link_init(d, err);
	if (rc == CM_OK)
		rc = an_work_init(d, err);
	if (rc == CM_OK && *d->conf->http != '\0' && d->run->only == 0)
		rc = an_view_init(d, err);
	if (rc == CM_OK && *d->conf->http != '\0' && d->run->only == 0)
		rc = cm_http_new(&d->loop, &http, &d->http, err);
	return rc;
}

enum cm_rc an_daemon_run(const struct an_daemon_conf *conf, struct cm_err *err)
{
	struct an_daemon *d = calloc(1, sizeof *d);
	enum cm_rc rc;

	if (d == NULL || uv_loop_init(&d->loop) != 0) {
		free(d);
		return cm_fail(err, CM_EINTERNAL, "cannot start a loop");
	}
	d->run = conf;
	d->conf = conf->conf;
	rc = start(d, err);
	if (rc == CM_OK) {
		cm_log(CM_LOG_INFO, "analyzer started", CM_S("plan", d->books.plan.name),
			CM_I("rounds", d->books.plan.rounds),
			CM_I("ledger_records", an_ledger_chain(d->books.ledger)->seq));
		cm_loop_ready(d->signals);
		an_plan_next(d);
	} else {
		an_stop(d, rc, err);
	}
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&d->loop) != 0)
		cm_log_plain(CM_LOG_ERROR, "handles were left open");
	rc = d->result;
	if (rc != CM_OK)
		*err = d->err;
	cm_tls_ctx_free(d->tls);
	cm_signer_free(d->signer);
	cm_verifier_free(d->shuffler);
	an_view_free(d);
	an_metrics_free(d->metrics);
	an_books_close(&d->books);
	free(d);
	return rc;
}
