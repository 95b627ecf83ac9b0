/* an_verbs.h - declares the verbs that read budget and ledger, as cm_cli_verb.run. */
#pragma once

#include "cm_cli.h"

CM_CHECK enum cm_rc an_verb_budget(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_budget_explain(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_ledger_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_ledger_export(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_plan_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
CM_CHECK enum cm_rc an_verb_plan_digest(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum {
	AN_ESTIMATE_CSV = 0,
	AN_ESTIMATE_ALL,
	AN_ESTIMATE_RANGE,
	AN_ESTIMATE_SINCE,
	AN_ESTIMATE_HISTORY,
	AN_ESTIMATE_LIARS,
	AN_ESTIMATE_ABOVE
};
CM_CHECK enum cm_rc an_verb_estimate(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
