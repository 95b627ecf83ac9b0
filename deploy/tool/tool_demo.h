/* tool_demo.h - runs the verb `demo`: a whole deployment on loopback, as a demonstration and to test
 * pipelines. */
#pragma once

#include "cm_cli.h"

enum tool_demo_option {
	TOOL_DEMO_PLAN,
	TOOL_DEMO_READINGS,
	TOOL_DEMO_DEVICE_FIELD,
	TOOL_DEMO_DEVICES,
	TOOL_DEMO_DIR,
	TOOL_DEMO_PORT,
	TOOL_DEMO_CLIENT_DIALS,
	TOOL_DEMO_TIMEOUT,
	TOOL_DEMO_SEED,
	TOOL_DEMO_RECURRENCES,
};

/* Exit code 3 if a round of a given plan was refused, 75 if one was void or cannot end in time, 65 if
 * something is wrong with the readings, otherwise the exit code of a daemon that failed. */
enum cm_rc tool_demo(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
