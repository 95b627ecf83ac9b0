/* sh_show.h - the verbs that ask a running shuffler how it is.  Blocking. */
#pragma once

#include "cm_cli.h"

/* `status`: the rounds under way, and the ledger it has witnessed. */
CM_CHECK enum cm_rc sh_show_status(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* `check`: one line for monitoring; the options are CM_HEALTH_OPTIONS. */
CM_CHECK enum cm_rc sh_show_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
