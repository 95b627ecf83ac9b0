/* an_daemon.h - runs the analyzer: the event loop, the link to the shuffler, and the rounds in their
 * order. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_conf.h"
#include "an_payload.h"

struct an_daemon_conf {
	/* Path of the configuration that `conf` was read from; a command that ends by itself does not need
	 * it. */
	const char *path;
	const struct an_conf *conf;
	bool once;                 /* end when no round of the plan is left to run */
	uint32_t only;             /* run only this round of the plan; 0 means all rounds */
	struct an_payload payload; /* with `only`: the payload of that round, if it has one */
	/* ask the shuffler whether the plan fits its policy, and end without writing anything */
	bool check;
	/* With `check`: afterwards ask what clients would do, and wait this long for their answers
	 * (an_asks.h); 0: do not ask. */
	uint32_t wait_ms;
	bool *fits; /* with `check`: set if the shuffler says that the plan fits; may be NULL */
	bool json;  /* print no text for people */
	/* With `json` and `wait_ms`: gets the rehearsal's document in place of standard output.  Free with
	 * json_decref; may be NULL. */
	json_t **rehearsal;
	FILE *table; /* with `once`: the table of rounds is printed here as they end; may be NULL */
};

/* Run until the plan is finished (once, only) or SIGTERM.  CM_OK also if rounds were refused or void, which
 * the ledger records.  With `only`: CM_EBUDGET or CM_ELATER if that round was refused or void; the
 * explanation is already on stderr; CM_EUSAGE or CM_EDATA, and nothing is spent, if its payload is missing or
 * cannot belong to it.  With `check`: CM_ECONFIG if the plan does not fit the shuffler's policy, and each
 * fault is on stdout; CM_ELATER if a signal came first.  With `wait_ms`: also prints the rehearsal, and
 * CM_ECONFIG if anything would go wrong; CM_EUNAVAIL, CM_EPROTO: there was no rehearsal.  With `once` and
 * `only`: CM_ECONFIG if the plan was to be signed and does not fit; each fault is in the log, and nothing is
 * written. */
CM_CHECK enum cm_rc an_daemon_run(const struct an_daemon_conf *conf, struct cm_err *err);
