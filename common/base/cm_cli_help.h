/* cm_cli_help.h - what --help and --usage print. */
#pragma once

#include <stdio.h>

#include "cm_cli.h"

/* The usage line, and with `full` every verb and the options all share. */
void cm_cli_help_program(const struct cm_cli_program *program, bool full, FILE *out);
/* The usage line of one verb, and with `full` its options. */
void cm_cli_help_verb(
	const struct cm_cli_program *program, const struct cm_cli_verb *verb, bool full, FILE *out);
