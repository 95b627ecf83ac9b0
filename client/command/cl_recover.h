/* cl_recover.h - carries out the verb `accept-loss`: an operator resumes work after this client's ledger
 * was restored from a copy, cloned or lost. */
#pragma once

#include "cm_cli.h"

#define CL_RECOVER_OPTIONS                                                                             \
	CM_OPTION("plans", "N", "number of the population's last plan; all up to it are closed"),      \
		CM_FLAG("no-copy", "instead: no copy of this state ever answered; nothing is closed"), \
		CM_OPTION("confirm", "POPULATION", "required: its name, as the configuration says it")

/* `accept-loss`: close every plan up to a number and record that in the ledger.  Creates the ledger if it
 * is missing.  If conflicts are all that happened, --no-copy closes no plan. */
CM_CHECK enum cm_rc cl_recover_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
