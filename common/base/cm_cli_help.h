/* cm_cli_help.h - what --help and --usage print. */
#pragma once

#include <stdio.h>

#include "cm_cli.h"

/* The second word of a verb of two whose first is `word`; else NULL. */
const char *cm_cli_second_word(const struct cm_cli_verb *v, const char *word);

/* The usage line, and with `full` every verb, or those whose first word is `group`, and the options all
 * share. group: NULL for all. */
void cm_cli_help_program(const struct cm_cli_program *program, const char *group, bool full, FILE *out);
/* The usage line of one verb, and with `full` its options. */
void cm_cli_help_verb(
	const struct cm_cli_program *program, const struct cm_cli_verb *verb, bool full, FILE *out);
