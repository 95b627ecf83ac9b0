/* cm_cli_completion.c - prints a bash completion of verbs and options, which also serves zsh (cm_cli.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cm_cli.h"

/* Print the options of every verb. */
static void print_globals(const struct cm_cli_program *p, FILE *out)
{
	(void)fprintf(out, "%s%s--json --help --usage --version", p->role ? "--config " : "",
		p->silent ? "" : "--verbose --quiet --log-format --color ");
}

/* Bash code: finds the words up to the cursor, the verb so far, and the option that waits for a value. */
static const char head[] = "\tlocal cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
			   "\tlocal verb=\"\" before=\"\" words=\"\" options=\"\" value=\"\" config=\"\" i\n"
			   "\t[ \"$cur\" != = ] || cur=\"\"\n"
			   "\t[ \"$prev\" != = ] || prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
			   "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			   "\t\t[ \"${COMP_WORDS[i]}\" != = ] || continue\n"
			   "\t\tcase \"$before\" in\n"
			   "\t\t-c | --config) config=\"${COMP_WORDS[i]}\"; before=\"\"; continue ;;\n"
			   "\t\t%s) before=\"\"; continue ;;\n"
			   "\t\tesac\n"
			   "\t\tbefore=\"${COMP_WORDS[i]}\"\n"
			   "\t\tcase \"$before\" in\n"
			   "\t\t-?*) ;;\n"
			   "\t\t*) verb=\"${verb:+$verb }$before\" ;;\n"
			   "\t\tesac\n"
			   "\tdone\n";

/* Bash code: `value` is "file", words to choose from, or "none"; when it is empty, offers words, or the
 * options after a dash. */
static const char tail[] =
	"\tcase \"$value\" in\n"
	"\tnone) COMPREPLY=() ;;\n"
	"\tfile) COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames 2>/dev/null ;;\n"
	"\t?*) COMPREPLY=($(compgen -W \"$value\" -- \"$cur\")) ;;\n"
	"\t*)\n"
	"\t\tcase \"$cur\" in\n"
	"\t\t-*) words=\"$options\" ;;\n"
	"\t\tesac\n"
	"\t\tif [ \"$words\" = file ]; then\n"
	"\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames 2>/dev/null\n"
	"\t\telse\n"
	"\t\t\tCOMPREPLY=($(compgen -W \"${words:-$options}\" -- \"$cur\"))\n"
	"\t\tfi ;;\n"
	"\tesac\n";

/* Bash code: the texts of the members `query` of a verb's JSON. */
static const char queries[] = "$(\"${COMP_WORDS[0]}\" ${config:+--config \"$config\"} %s --json 2>/dev/null |"
			      " grep -o '\"query\": *\"[^\"]*\"' | cut -d '\"' -f 4 | sort -u)";

/* Does this name of a value or an argument, as --help shows it, stand for a file? */
static bool is_file(const char *shown)
{
	return strstr(shown, "FILE") || strstr(shown, "DIR") || strstr(shown, "CERT");
}

/* The words that --help shows in lower case or as digits, "csv|ndjson", "[plan]" or "[all|000]". */
static void print_words(const char *shown, FILE *out)
{
	bool word = false;

	for (const char *c = shown; *c != '\0'; c++) {
		bool letter = islower((unsigned char)*c) != 0 || isdigit((unsigned char)*c) != 0 ||
			      (word && *c == '-');

		if (letter)
			(void)fputc(*c, out);
		else if (word)
			(void)fputc(' ', out);
		word = letter;
	}
}

static bool has_words(const char *shown)
{
	while (*shown != '\0' && islower((unsigned char)*shown) == 0)
		shown++;
	return *shown != '\0';
}

/* Print the values of the option before the cursor. */
static void print_values(const struct cm_cli_verb *v, FILE *out)
{
	for (int i = 0; i < 16 && v->option[i].name; i++) {
		const struct cm_cli_option *o = &v->option[i];

		if (!o->value)
			continue;
		(void)fputs("\t\t", out);
		if (o->letter != '\0')
			(void)fprintf(out, "-%c | ", o->letter);
		(void)fprintf(out, "--%s) value=\"", o->name);
		if (is_file(o->value))
			(void)fputs("file", out);
		else if (has_words(o->value))
			print_words(o->value, out);
		else
			(void)fputs("none", out);
		(void)fputs("\" ;;\n", out);
	}
}

/* Print the second words of the verbs that begin with `first`. */
static void print_seconds(const struct cm_cli_program *p, const char *first, size_t len, FILE *out)
{
	for (const struct cm_cli_verb *v = p->verb; v->name; v++)
		if (strncmp(v->name, first, len) == 0 && v->name[len] == ' ')
			(void)fprintf(out, "%s ", v->name + len + 1);
}

static void print_verb(const struct cm_cli_program *p, const struct cm_cli_verb *v, FILE *out)
{
	(void)fprintf(out, "\t\"%s\" | \"%s \"*)\n\t\toptions=\"", v->name, v->name);
	print_globals(p, out);
	for (int i = 0; i < 16 && v->option[i].name; i++)
		(void)fprintf(out, " --%s", v->option[i].name);
	(void)fputs("\"\n\t\twords=\"", out);
	if (is_file(v->args)) {
		(void)fputs("file", out);
	} else if (p->lists_queries && strcmp(v->args, "QUERY") == 0) {
		(void)fprintf(out, queries, p->lists_queries);
	} else {
		print_seconds(p, v->name, strlen(v->name), out);
		print_words(v->args, out);
	}
	(void)fputs("\"\n\t\tcase \"$prev\" in\n", out);
	print_values(v, out);
	(void)fputs("\t\tesac ;;\n", out);
}

/* Print the first words of all verbs, each once, and a case for first words that are no verb themselves. */
static void print_firsts(const struct cm_cli_program *p, bool groups, FILE *out)
{
	for (const struct cm_cli_verb *v = p->verb; v->name; v++) {
		size_t len = strcspn(v->name, " ");
		bool seen = false, whole = false;

		for (const struct cm_cli_verb *w = p->verb; w->name; w++) {
			bool same = strncmp(w->name, v->name, len) == 0;

			seen = seen || (w < v && same && (w->name[len] == ' ' || w->name[len] == '\0'));
			whole = whole || (same && w->name[len] == '\0');
		}
		if (!seen && !groups) {
			(void)fprintf(out, "%.*s ", (int)len, v->name);
		} else if (!seen && !whole) {
			(void)fprintf(out, "\t\"%.*s\") words=\"", (int)len, v->name);
			print_seconds(p, v->name, len, out);
			(void)fputs("\" ;;\n", out);
		}
	}
}

/* Print a pattern of the options that take the next word as their value. */
static void print_valued(const struct cm_cli_program *p, char *out, size_t room)
{
	size_t at = (size_t)snprintf(out, room, "--log-format | --color");

	for (const struct cm_cli_verb *v = p->verb; v->name; v++)
		for (int i = 0; i < 16 && v->option[i].name; i++) {
			const struct cm_cli_option *o = &v->option[i];

			if (o->value && at < room)
				at += (size_t)snprintf(out + at, room - at, " | --%s", o->name);
			if (o->value && o->letter != '\0' && at < room)
				at += (size_t)snprintf(out + at, room - at, " | -%c", o->letter);
		}
}

enum cm_rc cm_cli_completion(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const struct cm_cli_program *p = cli->program;
	char valued[2048], function[64];
	FILE *out = stdout;

	(void)exit_code;
	if (strcmp(cli->argv[1], "bash") != 0 && strcmp(cli->argv[1], "zsh") != 0)
		return cm_fail(err, CM_EUSAGE, "completion bash, or completion zsh");
	(void)snprintf(function, sizeof function, "_%s", p->name);
	for (char *c = function; *c != '\0'; c++)
		if (*c == '-')
			*c = '_';
	print_valued(p, valued, sizeof valued);
	if (strcmp(cli->argv[1], "zsh") == 0)
		(void)fputs("autoload -U +X compinit bashcompinit && compinit && bashcompinit\n", out);
	(void)fprintf(out, "%s()\n{\n", function);
	(void)fprintf(out, head, valued);
	(void)fputs("\tcase \"$verb\" in\n", out);
	for (const struct cm_cli_verb *v = p->verb; v->name; v++)
		print_verb(p, v, out);
	print_firsts(p, true, out);
	(void)fputs("\t*)\n\t\toptions=\"", out);
	print_globals(p, out);
	(void)fputs("\"\n\t\twords=\"", out);
	print_firsts(p, false, out);
	(void)fputs("\" ;;\n\tesac\n\tcase \"$prev\" in\n", out);
	if (p->role)
		(void)fputs("\t-c | --config) value=\"file\" ;;\n", out);
	(void)fputs("\t--log-format) value=\"text json auto\" ;;\n\t--color) value=\"auto always never\" "
		    ";;\n\tesac\n",
		out);
	(void)fputs(tail, out);
	(void)fprintf(out, "}\ncomplete -F %s %s\n", function, p->name);
	return CM_OK;
}
