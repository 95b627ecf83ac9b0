/* cm_cli_help.c - prints --help and --usage. */
#include "cm_cli_help.h"

#include <string.h>

#define WIDTH 26

static void row(FILE *out, const char *left, const char *right)
{
	if (strlen(left) + 2 > WIDTH)
		(void)fprintf(out, "  %s\n  %*s%s\n", left, WIDTH, "", right);
	else
		(void)fprintf(out, "  %-*s%s\n", WIDTH, left, right);
}

static void global_rows(const struct cm_cli_program *program, FILE *out)
{
	char config[192];

	(void)fprintf(out, "Options of every verb:\n");
	if (program->role) {
		(void)snprintf(
			config, sizeof config, "read FILE instead of /etc/tombola/%s.conf", program->role);
		row(out, "-c, --config FILE", config);
	}
	row(out, "-v, --verbose", "say more; repeatable");
	row(out, "-q, --quiet", "say less; repeatable");
	row(out, "    --log-format FORMAT", "text, json, or auto: text on a terminal");
	row(out, "    --color WHEN", "auto, always or never");
	row(out, "    --json", "machine-readable output of the verbs that show something");
	row(out, "-h, --help", "this help; after a verb, the verb's");
	row(out, "-V, --version", "print the version");
	(void)fprintf(out, "Environment: %sTOMBOLA_LOG_LEVEL, TOMBOLA_LOG_FORMAT, TOMBOLA_COLOR, NO_COLOR.\n",
		program->role ? "TOMBOLA_CONFIG, " : "");
}

const char *cm_cli_second_word(const struct cm_cli_verb *v, const char *word)
{
	size_t len = strlen(word);

	return strncmp(v->name, word, len) == 0 && v->name[len] == ' ' ? v->name + len + 1 : NULL;
}

void cm_cli_help_program(const struct cm_cli_program *program, const char *group, bool full, FILE *out)
{
	if (full && program->manual) {
		(void)fputs(program->manual, out);
		return;
	}
	(void)fprintf(out, "Usage: %s [OPTION...] %s%sVERB [ARGUMENT...]\n", program->name,
		group ? group : "", group ? " " : "");
	if (!full)
		return;
	(void)fprintf(out, "%s\n\nVerbs:\n", program->summary);
	for (const struct cm_cli_verb *v = program->verb; v->name; v++) {
		char left[128];

		if (group && !cm_cli_second_word(v, group))
			continue;
		(void)snprintf(left, sizeof left, "%s%s%s", v->name, *v->args != '\0' ? " " : "", v->args);
		row(out, left, v->help);
	}
	(void)fputc('\n', out);
	global_rows(program, out);
	(void)fprintf(out,
		"Exit codes: 0 ok, 1 other, 3 budget refused, 64 usage, 65 bad data, 66 no input, 69 peer "
		"unavailable,\n  70 internal, 73 cannot create, 74 I/O, 75 try later, 76 protocol or role, "
		"77 permission, 78 configuration.\n");
}

void cm_cli_help_verb(
	const struct cm_cli_program *program, const struct cm_cli_verb *verb, bool full, FILE *out)
{
	if (full && verb->manual) {
		(void)fputs(verb->manual, out);
		return;
	}
	(void)fprintf(out, "Usage: %s %s [OPTION...]%s%s\n", program->name, verb->name,
		*verb->args != '\0' ? " " : "", verb->args);
	if (!full)
		return;
	(void)fprintf(out, "%s\n\n", verb->help);
	if (verb->option[0].name)
		(void)fprintf(out, "Options:\n");
	for (int i = 0; i < 16 && verb->option[i].name; i++) {
		const struct cm_cli_option *o = &verb->option[i];
		char left[128], right[256];

		(void)snprintf(left, sizeof left, "    --%s%s%s", o->name, o->value ? " " : "",
			o->value ? o->value : "");
		(void)snprintf(right, sizeof right, "%s%s", o->help, o->repeatable ? "; repeatable" : "");
		row(out, left, right);
	}
	if (verb->option[0].name)
		(void)fputc('\n', out);
	global_rows(program, out);
}
