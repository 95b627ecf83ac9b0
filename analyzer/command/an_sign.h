/* an_sign.h - `plan sign`: shows what a plan takes, asks, and signs it. */
#pragma once

#include <stdio.h>

#include "an_ledger_files.h"
#include "cm_cli.h"

enum { AN_SIGN_YES = 0, AN_SIGN_ANYWAY };
/* Sign the plan file's plan for the running analyzer (an_signed.h).  Nothing is written before the
 * population's name was typed on a terminal, or --yes was given.  CM_OK also if the plan is pinned already.
 * CM_EBUDGET: its slice does not fit, or no round fits the slice.  CM_EUSAGE: it was not confirmed.
 * CM_ECONFIG: the shuffler's policy refuses the plan; CM_EUNAVAIL: the shuffler cannot be asked.  Other
 * findings of a rehearsal are shown before the question; with --yes they end the verb, unless --anyway was
 * given. */
CM_CHECK enum cm_rc an_sign(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

/* Print a warning if this plan loses more than a twentieth of what it uses, and one if the population has
 * nothing left after it.  Call an_ledger_files_show or _preview before, so that the state has the plan. */
void an_sign_warn(const struct an_ledger_files *b, FILE *out);
