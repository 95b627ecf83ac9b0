/* an_verbs.h - the verbs that read budget and ledger, as cm_cli_verb.run. */
#pragma once

#include "cm_cli.h"

CM_CHECK enum cm_rc an_verb_budget(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_budget_explain(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_ledger_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_ledger_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
