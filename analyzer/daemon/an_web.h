/* an_web.h - serves health, metrics and the dashboard over HTTP.  The dashboard has its files, the daemon's
 * state, and the view of the ledger. */
#pragma once

#include "an_context.h"
#include "an_status.h"

struct an_web;
struct an_web_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* Called for the daemon's present state: fill round, next, doing, stopping, not_signed and
	 * shuffler. */
	void (*status)(void *user, struct an_status *out);
	void (*metrics)(void *user, struct an_metrics_now *out);
	/* Called as nt_http_conf says. */
	const char *(*not_ready)(void *user);
};
CM_CHECK enum cm_rc an_web_new(const struct an_web_conf *conf, struct an_web **out, struct cm_err *err);
void an_web_close(struct an_web *w);
void an_web_free(struct an_web *w);
