/* an_results.c - prints settled rounds on standard output, one after the other. */
#include "an_results.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "an_command.h"
#include "an_feed.h"

#define FOLLOW_MS 1000u

/* Flush what was printed.  A file must be durable before the cursor moves; for a pipe, its reader is
 * responsible for the bytes. */
static enum cm_rc flush(bool durable, struct cm_err *err)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return cm_fail(err, CM_EIO, "standard output: %s", strerror(errno));
	if (durable && fsync(STDOUT_FILENO) != 0 && errno != EINVAL && errno != EROFS)
		return cm_fail(err, CM_EIO, "standard output: %s", strerror(errno));
	return CM_OK;
}

/* Print all rounds that are settled by now. */
static enum cm_rc print_new(struct an_feed *f, enum an_form form, struct cm_err *err)
{
	struct an_event e;
	enum cm_rc rc;

	while ((rc = an_feed_next(f, &e, err)) == CM_OK) {
		rc = an_event_print(&e, form, stdout, err);
		json_decref(e.result);
		if (rc == CM_OK)
			rc = flush(f->path != NULL, err);
		if (rc == CM_OK)
			rc = an_feed_done(f, &e, err);
		if (rc != CM_OK)
			return rc;
	}
	return rc == CM_EMORE ? CM_OK : rc;
}

static enum cm_rc follow(struct an_feed *f, enum an_form form, struct cm_err *err)
{
	enum cm_rc rc = print_new(f, form, err);

	/* Wait also for a ledger that is missing, or shorter than it was: it may come back. */
	while (rc == CM_OK || rc == CM_ELATER) {
		if (rc == CM_ELATER)
			cm_log(CM_LOG_WARN, "waiting for the ledger", CM_S("reason", err->msg));
		if (!an_feed_wait(f, STDOUT_FILENO, FOLLOW_MS))
			return cm_fail(err, CM_EIO, "standard output: nobody reads it any more");
		rc = print_new(f, form, err);
	}
	return rc;
}

static enum cm_rc export_options(
	const struct cm_cli *cli, enum an_form *form, uint64_t *after, struct cm_err *err)
{
	const char *format = cli->option[AN_EXPORT_FORMAT], *seq = cli->option[AN_EXPORT_AFTER];

	*form = AN_FORM_NDJSON;
	*after = 0;
	if (format && !an_form_parse(format, form))
		return cm_fail(err, CM_EUSAGE, "--format is ndjson, csv or influx, not '%.40s'", format);
	if (cli->json && *form != AN_FORM_NDJSON)
		return cm_fail(err, CM_EUSAGE, "--json is --format ndjson");
	return seq ? cm_cli_u64(seq, "--after", 0, INT64_MAX, after, err) : CM_OK;
}

enum cm_rc an_results_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct an_feed f = { 0 };
	enum an_form form;
	uint64_t after;
	enum cm_rc rc = an_command_open(cli, &d, false, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = export_options(cli, &form, &after, err);
	if (rc == CM_OK)
		rc = an_feed_begin(&f, &d.conf, cli->option[AN_EXPORT_CURSOR], after, err);
	/* With --follow into a pipe, a write must fail when the reader has gone, instead of killing us by a
	 * signal. */
	if (rc == CM_OK && cli->option[AN_EXPORT_FOLLOW] && signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		rc = cm_fail(err, CM_EINTERNAL, "signal: %s", strerror(errno));
	if (rc == CM_OK) {
		an_event_print_head(form, stdout);
		rc = cli->option[AN_EXPORT_FOLLOW] ? follow(&f, form, err) : print_new(&f, form, err);
	}
	an_feed_end(&f);
	an_command_close(&d);
	return rc;
}
