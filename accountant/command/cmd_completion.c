/* cmd_completion.c - prints a bash completion of verbs and options, which also serves zsh. */
#include <string.h>

#include "cmd.h"

#define EVERY_OPTION "--help --version"

static const char head[] =
	"_tombola_accountant()\n"
	"{\n"
	"\tlocal cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
	"\tlocal verb=\"\" before=\"\" words=\"\" options=\"" EVERY_OPTION "\" value=\"\" i\n"
	"\t[ \"$cur\" != = ] || cur=\"\"\n"
	"\t[ \"$prev\" != = ] || prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\t[ \"${COMP_WORDS[i]}\" != = ] || continue\n"
	"\t\tcase \"$before\" in\n"
	"\t\t--json | --help | --version | -h | -V) ;;\n"
	"\t\t-*) before=\"\"; continue ;;\n"
	"\t\tesac\n"
	"\t\tbefore=\"${COMP_WORDS[i]}\"\n"
	"\t\tcase \"$before\" in\n"
	"\t\t-*) ;;\n"
	"\t\t*) [ -n \"$verb\" ] || verb=\"$before\" ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tcase \"$verb\" in\n";

static const char tail[] = "\tesac\n"
			   "\tcase \"$prev\" in\n"
			   "\t--bound) value=\"proved published\" ;;\n"
			   "\t--format) value=\"" CMD_FORMATS "\" ;;\n"
			   "\t-o | --output) COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames "
			   "2>/dev/null; return ;;\n"
			   "\tesac\n"
			   "\tif [ -n \"$value\" ]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$value\" -- \"$cur\"))\n"
			   "\telif [ \"$words\" = file ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
			   "\t\tCOMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames 2>/dev/null\n"
			   "\telif [ -n \"$words\" ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			   "\telse\n"
			   "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
			   "\tfi\n"
			   "}\n"
			   "complete -F _tombola_accountant tombola-accountant\n";

static void print_verb(const struct cmd_verb *v)
{
	const char *name;
	unsigned bit;

	(void)printf("\t%s)\n\t\toptions=\"" EVERY_OPTION, v->name);
	for (size_t i = 0; (name = cmd_option(i, &bit)); i++)
		if (v->takes & bit)
			(void)printf(" --%s", name);
	(void)printf("\"\n\t\twords=\"%s\" ;;\n", v->takes & CMD_FILE    ? "file"
						  : v->takes & CMD_SHELL ? "bash zsh"
						  : v->takes & CMD_NAME  ? "all 000 001 002 003 004"
									 : "");
}

int cmd_run_completion(const struct cmd_question *q)
{
	bool zsh = strcmp(q->file, "zsh") == 0;

	if (!zsh && strcmp(q->file, "bash") != 0)
		return cmd_fail(CMD_USAGE, "completion %s: bash or zsh", q->file);
	if (zsh)
		(void)puts("autoload -U +X compinit bashcompinit && compinit && bashcompinit");
	(void)fputs(head, stdout);
	for (const struct cmd_verb *v = cmd_verbs; v->name; v++)
		print_verb(v);
	(void)fputs("\t*) words=\"", stdout);
	for (const struct cmd_verb *v = cmd_verbs; v->name; v++)
		(void)printf("%s ", v->name);
	(void)fputs("\" ;;\n\tesac\n\tcase \"$prev\" in\n\t--method) value=\"", stdout);
	for (size_t i = 0; acct_method_row(i); i++)
		(void)printf("%s ", acct_method_row(i)->name);
	(void)fputs("\" ;;\n", stdout);
	(void)fputs(tail, stdout);
	return 0;
}
