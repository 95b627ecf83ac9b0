/* tool_protocols.h - the protocols a plan may name. */
#pragma once

#include "cm_cli.h"

enum cm_rc tool_plan_protocols(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
