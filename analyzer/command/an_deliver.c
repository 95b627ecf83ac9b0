/* an_deliver.c - runs the loop that the verbs which deliver results share. */
#include "an_deliver.h"

#include <stdlib.h>

#include "an_feed.h"
#include "an_result.h"

#define PAUSE_FIRST_MS 250u
#define PAUSE_MAX_MS   300000u

static enum cm_rc try_once(const struct an_deliver *d, const struct an_event *e, struct cm_err *err)
{
	json_t *doc = an_event_json(e);
	char *text = an_json_text(doc, JSON_COMPACT);
	enum cm_rc rc =
		text ? d->hand_on(d->user, e, text, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	free(text);
	json_decref(doc);
	return rc;
}

static enum cm_rc deliver(
	const struct an_deliver *d, struct an_feed *f, struct an_event *e, struct cm_err *err)
{
	unsigned pause = PAUSE_FIRST_MS;
	enum cm_rc rc;

	while ((rc = try_once(d, e, err)) != CM_OK && !d->once) {
		cm_log(CM_LOG_WARN, "a result was not taken, and is tried again", CM_S("by", d->what),
			CM_I("seq", e->seq), CM_S("reason", err->msg));
		an_feed_pause(pause);
		pause = pause > PAUSE_MAX_MS / 2 ? PAUSE_MAX_MS : pause * 2;
	}
	if (rc == CM_OK)
		rc = an_feed_done(f, e, err);
	if (rc == CM_OK)
		cm_log(CM_LOG_INFO, "result delivered", CM_S("by", d->what), CM_I("seq", e->seq),
			CM_S("query", e->r->plan->label));
	return rc;
}

static enum cm_rc deliver_new(const struct an_deliver *d, struct an_feed *f, struct cm_err *err)
{
	struct an_event e;
	enum cm_rc rc;

	while ((rc = an_feed_next(f, &e, err)) == CM_OK) {
		rc = deliver(d, f, &e, err);
		json_decref(e.result);
		if (rc != CM_OK)
			return rc;
	}
	return rc == CM_EMORE ? CM_OK : rc;
}

enum cm_rc an_deliver_run(const struct an_deliver *d, struct cm_err *err)
{
	struct an_feed f = { 0 };
	enum cm_rc rc = an_feed_begin(&f, d->conf, d->cursor, 0, err);

	if (rc == CM_OK)
		rc = deliver_new(d, &f, err);
	while (!d->once && (rc == CM_OK || rc == CM_ELATER)) {
		if (rc == CM_ELATER)
			cm_log(CM_LOG_WARN, "waiting for the ledger", CM_S("reason", err->msg));
		(void)an_feed_wait(&f, -1, 1000);
		rc = deliver_new(d, &f, err);
	}
	an_feed_end(&f);
	return rc;
}
