/* an_deliver.h - hands settled rounds on one after the other, each again until it is taken. */
#pragma once

#include "an_event.h"
#include "cm_cli.h"

struct an_deliver {
	const struct an_conf *conf;
	const char *cursor; /* path of the cursor's file */
	const char *what;   /* for the log: "on_settled" */
	bool once; /* end when all rounds are delivered, or with the fault of the first that is not taken */
	/* Hand one round on; text is its document "tombola.settled/1".  After any fault the same round is
	 * tried again, after a pause that grows from 0.25 s to 5 min; no later round is handed on before. */
	enum cm_rc (*hand_on)(void *user, const struct an_event *e, const char *text, struct cm_err *err);
	void *user;
};

/* Deliver until the ledger cannot be read, or with `once` until all are delivered. */
CM_CHECK enum cm_rc an_deliver_run(const struct an_deliver *d, struct cm_err *err);
