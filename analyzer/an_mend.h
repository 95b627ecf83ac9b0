/* an_mend.h - the verb by which an operator goes on after a loss, as cm_cli_verb.run.  The daemon must not
 * run. */
#pragma once

#include "cm_cli.h"

enum { AN_MEND_CONFIRM }; /* the option: the query of the round, by name */

/* `round give-up N`: a charged round is settled without a result and stays charged; one that is only reserved
 * is void. */
CM_CHECK enum cm_rc an_mend_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
