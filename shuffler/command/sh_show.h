/* sh_show.h - the verbs that ask a running shuffler for its state.  Blocking. */
#pragma once

#include "cm_cli.h"

/* `status`: print the live rounds and the witnessed ledger. */
CM_CHECK enum cm_rc sh_show_status(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* `check`: print one line for monitoring; its options are NT_HEALTH_OPTIONS. */
CM_CHECK enum cm_rc sh_show_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
