/* cm_cli_help.h - prints --help and --usage. */
#pragma once

#include <stdio.h>

#include "cm_cli.h"

/* The second word of `verb` if its name is two words of which `word` is the first; else NULL. */
const char *cm_cli_second_word(const struct cm_cli_verb *v, const char *word);

/* The usage line.  With `full` also every verb, or those whose first word is `group` (NULL: all), and the
 * options that all verbs share. */
void cm_cli_help_program(const struct cm_cli_program *program, const char *group, bool full, FILE *out);
/* The usage line of one verb, and with `full` its options. */
void cm_cli_help_verb(
	const struct cm_cli_program *program, const struct cm_cli_verb *verb, bool full, FILE *out);
