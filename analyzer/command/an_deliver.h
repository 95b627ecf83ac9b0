/* an_deliver.h - delivers settled rounds one after the other, and repeats each until it is accepted. */
#pragma once

#include "an_event.h"
#include "cm_cli.h"

struct an_deliver {
	const struct an_conf *conf;
	const char *cursor; /* path of the cursor's file */
	const char *what;   /* the receiver's name in the log, such as "on_settled" */
	/* end when all rounds are delivered, or with the fault of the first round that is not accepted */
	bool once;
	/* Deliver one round; `text` is its document "tombola.settled/1".  After any fault the same round is
	 * tried again, after a pause that grows from 0.25 s to 5 min; no later round is delivered before
	 * it. */
	enum cm_rc (*hand_on)(void *user, const struct an_event *e, const char *text, struct cm_err *err);
	void *user;
};

/* Deliver until the ledger cannot be read, or with `once` until all are delivered. */
CM_CHECK enum cm_rc an_deliver_run(const struct an_deliver *d, struct cm_err *err);
