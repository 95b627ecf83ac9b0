/* an_recover.h - declares the verb with which an operator continues after a loss, as cm_cli_verb.run.  The
 * daemon must not run meanwhile. */
#pragma once

#include "cm_cli.h"

enum { AN_RECOVER_CONFIRM }; /* the option that repeats the name of the round's query */

/* `round give-up N`: settle a charged round without a result; its charge stays.  A round that is only
 * reserved becomes void. */
CM_CHECK enum cm_rc an_recover_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
