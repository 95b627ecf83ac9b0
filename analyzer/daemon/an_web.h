/* an_web.h - serves health, metrics and the dashboard over HTTP: its files, the daemon's state, and the view
 * of the ledger. */
#pragma once

#include "an_context.h"
#include "an_status.h"

struct an_web;
struct an_web_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* What the daemon does now: fill round, next, doing, stopping, not_signed and shuffler. */
	void (*status)(void *user, struct an_status *out);
	void (*metrics)(void *user, struct an_metrics_now *out);
	/* As in nt_http_conf. */
	const char *(*not_ready)(void *user);
};
CM_CHECK enum cm_rc an_web_new(const struct an_web_conf *conf, struct an_web **out, struct cm_err *err);
void an_web_close(struct an_web *w);
void an_web_free(struct an_web *w);
