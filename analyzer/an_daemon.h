/* an_daemon.h - the analyzer at work: the loop, the link to the shuffler, and the rounds in their order. */
#pragma once

#include <stdio.h>

#include "an_conf.h"

struct an_daemon_conf {
	const struct an_conf *conf;
	bool once;     /* end when the plan is through */
	uint32_t only; /* this round of the plan and no other; 0: all */
	bool json;     /* no text for people */
	FILE *table;   /* once: where the table of rounds grows as they end; may be NULL */
};

/* Runs until the plan is through (once, only) or SIGTERM.  CM_OK also when rounds were refused or void: they
 * are in the ledger.  With `only`, CM_EBUDGET or CM_ELATER for that round's refusal or void, the explanation
 * already on stderr. */
CM_CHECK enum cm_rc an_daemon_run(const struct an_daemon_conf *conf, struct cm_err *err);
