/* an_daemon.c - starts and ends the analyzer's run. */
#include "an_daemon.h"

#include <stdlib.h>
#include <string.h>

#include "an_daemon_private.h"
#include "an_show.h"
#include "cm_log.h"
#include "nt_confine.h"

/* Close every handle so that uv_run returns; a bucket being opened is finished first. */
void an_stop(struct an_daemon *d, enum cm_rc rc, const struct cm_err *why)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->result = rc;
	if (rc != CM_OK)
		d->err = *why;
	if (d->signals != NULL)
		nt_loop_stopping(d->signals);
	an_link_close(d);
	an_work_close(d);
	an_sleep_close(d);
	an_fit_close(d);
	an_view_close(d);
	if (d->http != NULL)
		nt_http_close(d->http);
	d->http = NULL;
	if (d->signals != NULL)
		nt_loop_free(d->signals);
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

	an_say(&d->files, d->current, d->sleep.next, d->idle, text, room);
}

static const char *not_ready(void *user)
{
	const struct an_daemon *d = user;

	if (d->stopping)
		return "stopping";
	if (!d->idle && !d->ready)
		return "no connection to the shuffler";
	return d->fit.why[0] != '\0' ? "the plan does not fit the shuffler's policy and is not signed" : NULL;
}

static enum cm_rc open_ledger_files(struct an_daemon *d, struct cm_err *err)
{
	enum cm_rc rc = an_ledger_files_open(d->conf, !d->run->check, &d->files, err);
	bool pinned = rc == CM_OK && d->files.state.current != NULL;

	d->fit.pinned = pinned;
	if (rc == CM_OK && d->run->check)
		rc = an_ledger_files_preview(&d->files, NULL, err);

	if (rc == CM_OK && d->files.torn > 0)
		cm_log(CM_LOG_WARN, "a torn last ledger record was dropped: it was never acknowledged",
			CM_I("bytes", d->files.torn));
	if (rc == CM_OK) {
		d->tries.pass = 1;
		d->tries.last = calloc(d->files.plan.rounds, sizeof *d->tries.last);
		d->tries.barred = calloc(d->files.plan.rounds, sizeof *d->tries.barred);
		d->sleep.missed = calloc(d->files.plan.rounds, sizeof *d->sleep.missed);
		if (d->tries.last == NULL || d->tries.barred == NULL || d->sleep.missed == NULL)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc == CM_OK && d->run->only > d->files.plan.rounds)
		rc = cm_fail(err, CM_EUSAGE, "the plan has %zu rounds", d->files.plan.rounds);
	return rc;
}

/* Do everything that can fail for reasons the operator must fix, before the loop exists and anything is
 * logged. */
static enum cm_rc prepare(struct an_daemon *d, struct cm_err *err)
{
	enum cm_rc rc = cr_rng_system(&d->rng, err);

	d->conf = d->run->conf;
	if (rc == CM_OK)
		rc = cr_signer_load(d->conf->signing_key, &d->signer, err);
	if (rc == CM_OK)
		rc = cr_verifier_load(d->conf->shuffler_key, &d->shuffler, err);
	if (rc == CM_OK)
		rc = open_ledger_files(d, err);
	if (rc == CM_OK) {
		d->metrics = an_metrics_new(d->conf, &d->files);
		rc = d->metrics != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	return rc;
}

static enum cm_rc start(struct an_daemon *d, struct cm_err *err)
{
	static const struct nt_loop_handler signals = {
		.on_stop = on_stop, .on_reload = on_reload, .status = say_status
	};
	const struct nt_http_conf http = { .address = d->conf->http,
		.anywhere = d->conf->http_anywhere,
		.not_ready = not_ready,
		.status_json = an_page_status,
		.user = d,
		.routes = an_page_routes,
		.n_routes = AN_PAGE_ROUTES };
	bool serves = *d->conf->http != '\0' && d->run->only == 0 && !d->run->check;
	enum cm_rc rc = nt_loop_new(&d->loop, &signals, d, &d->signals, err);

	if (rc == CM_OK)
		rc = an_link_init(d, err);
	if (rc == CM_OK)
		rc = an_work_init(d, err);
	if (rc == CM_OK)
		rc = an_sleep_init(d, err);
	if (rc == CM_OK)
		rc = an_fit_init(d, err);
	if (rc == CM_OK && serves)
		rc = an_view_init(d, err);
	if (rc == CM_OK && serves)
		rc = nt_http_new(&d->loop, &http, &d->http, err);
	return rc;
}

static enum cm_rc run_loop(struct an_daemon *d, struct cm_err *err)
{
	enum cm_rc rc = start(d, err);

	if (rc == CM_OK && d->run->check) {
		an_fit_begin(d, d->fit.pinned);
	} else if (rc == CM_OK) {
		cm_log(CM_LOG_INFO, "analyzer started", CM_S("plan", d->files.plan.name),
			CM_I("rounds", d->files.plan.rounds),
			CM_I("ledger_records", an_ledger_chain(d->files.ledger)->seq));
		nt_loop_ready(d->signals);
		an_plan_next(d);
	} else {
		an_stop(d, rc, err);
	}
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&d->loop) != 0)
		cm_log_plain(CM_LOG_ERROR, "handles were left open");
	if (d->result != CM_OK)
		*err = d->err;
	return d->result;
}

enum cm_rc an_daemon_run(const struct an_daemon_conf *conf, struct cm_err *err)
{
	struct an_daemon *d = calloc(1, sizeof *d);
	enum cm_rc rc;

	if (d == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	d->run = conf;
	rc = prepare(d, err);
	if (rc == CM_OK)
		nt_confine(CM_LOG_INFO);
	if (rc == CM_OK && uv_loop_init(&d->loop) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot start a loop");
	else if (rc == CM_OK)
		rc = run_loop(d, err);
	nt_tls_ctx_free(d->tls);
	cr_signer_free(d->signer);
	cr_verifier_free(d->shuffler);
	an_view_free(d);
	an_metrics_free(d->metrics);
	cm_buf_fini(&d->making.bytes);
	an_ledger_files_close(&d->files);
	free(d->tries.last);
	free(d->tries.barred);
	free(d->sleep.missed);
	free(d);
	return rc;
}
