/* an_deliver.h - hands settled rounds on one after the other, each again until it is taken. */
#pragma once

#include "an_event.h"
#include "cm_cli.h"

struct an_deliver {
	const struct an_conf *conf;
	const char *cursor; /* path of the cursor's file */
	const char *what;   /* for the log: "on_settled" */
	bool once;          /* end when there is nothing more, with the fault if one is not taken */
	/* Hand one round on; text is its document "tombola.settled/1".  Any fault: it is tried again, after a
	 * pause that grows from 0.25 s to 5 min.  No later round is handed on before. */
	enum cm_rc (*hand_on)(void *user, const struct an_event *e, const char *text, struct cm_err *err);
	void *user;
};

/* Deliver until the ledger cannot be read, or with `once` until all are delivered. */
CM_CHECK enum cm_rc an_deliver_run(const struct an_deliver *d, struct cm_err *err);
