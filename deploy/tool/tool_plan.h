/* tool_plan.h - declares the plan verbs of `tombola`, which show what a plan means before anything is
 * deployed. */
#pragma once

#include "cm_cli.h"

enum cm_rc tool_plan_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_plan_digest(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_plan_cost(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_plan_optimise(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_plan_protocols(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

/* A spent epsilon for people: rounded up to four decimals. */
double tool_spent(double epsilon);
