/* an_command.h - opens the configuration, plan and ledger that a verb of the analyzer needs. */
#pragma once

#include "an_ledger_files.h"
#include "cm_cli.h"

struct an_command {
	struct an_conf conf;
	struct an_ledger_files files;
};

/* Read the configuration and, if `files` is set, plan and ledger without changing them.  Call
 * an_command_close on success and on failure. */
CM_CHECK enum cm_rc an_command_open(
	const struct cm_cli *cli, struct an_command *d, bool files, struct cm_err *err);
void an_command_close(struct an_command *d);
/* Find the round that the verb's argument names: N of the plan file; QUERY of the plan file, if it has one
 * round; QUERY#N of a query that recurs; or K:N of the population's Kth plan. */
CM_CHECK enum cm_rc an_command_round(const struct cm_cli *cli, const struct an_command *d,
	struct an_round_state **out, struct cm_err *err);
