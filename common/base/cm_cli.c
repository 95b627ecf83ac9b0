/* cm_cli.c - parses the command line that every program shares, and runs the verb. */
#include "cm_cli.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_cli_help.h"
#include "cm_fault.h"
#include "cm_suggest.h"

enum { KEY_LOG_FORMAT = 0x100, KEY_COLOR, KEY_JSON, KEY_USAGE, KEY_VERB };

/* The state of parsing a command line. */
struct reading {
	const struct cm_cli_program *program;
	const struct cm_cli_verb *verb; /* the verb that the command line names; NULL until it is known */
	const char *group;              /* first word of several verbs, whose help is asked for; else NULL */
	struct cm_cli *cli;
	int level;
	const char *color;
	int rest; /* index in argv where the verb's words end */
	bool help, usage, version, no_memory;
	const char **repeated[16]; /* the values of options that may be repeated */
	size_t repeats[16];
};

static const char *const format_words[] = { "auto", "text", "json", NULL };
static const char *const color_words[] = { "auto", "always", "never", NULL };
static const char *const level_words[] = { "error", "warn", "info", "debug", NULL };

static int word_index(const char *const *words, const char *typed)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], typed) == 0)
			return i;
	}
	return -1;
}

static bool on_global(struct reading *r, int key, const char *arg, struct argp_state *state)
{
	int i;

	switch (key) {
	case 'c':
		if (!r->program->role)
			argp_error(state, "there is no configuration to read: the verbs name their files");
		r->cli->config = arg;
		return r->program->role;
	case 'v':
		r->level += r->level < CM_LOG_DEBUG;
		return true;
	case 'q':
		r->level -= r->level > CM_LOG_ERROR;
		return true;
	case KEY_LOG_FORMAT:
		i = word_index(format_words, arg);
		if (i < 0)
			argp_error(state, "--log-format is text, json or auto, not '%s'", arg);
		r->cli->log_format = i == 1 ? CM_LOG_TEXT : i == 2 ? CM_LOG_JSON : CM_LOG_AUTO;
		return i >= 0;
	case KEY_COLOR:
		if (word_index(color_words, arg) < 0)
			argp_error(state, "--color is auto, always or never, not '%s'", arg);
		r->color = arg;
		return word_index(color_words, arg) >= 0;
	case KEY_JSON:
		r->cli->json = true;
		return true;
	case 'h':
		r->help = true;
		return true;
	case KEY_USAGE:
		r->usage = true;
		return true;
	case 'V':
		r->version = true;
		return true;
	default:
		return false;
	}
}

static bool is_global(int key)
{
	return key == 'c' || key == 'v' || key == 'q' || key == 'h' || key == 'V' ||
	       (key >= KEY_LOG_FORMAT && key < KEY_VERB);
}

static const struct argp_option global_options[] = {
	/* The first LOGGING options do not exist in a silent program. */
	{ .name = "config", .key = 'c', .arg = "FILE" },
	{ .name = "verbose", .key = 'v' },
	{ .name = "quiet", .key = 'q' },
	{ .name = "log-format", .key = KEY_LOG_FORMAT, .arg = "FORMAT" },
	{ .name = "color", .key = KEY_COLOR, .arg = "WHEN" },
	{ .name = "json", .key = KEY_JSON },
	{ .name = "help", .key = 'h' },
	{ .name = "usage", .key = KEY_USAGE },
	{ .name = "version", .key = 'V' },
	{ 0 },
};
#define LOGGING 5
/* number of global options, without the row that ends the table */
#define GLOBALS (sizeof global_options / sizeof *global_options - 1)

static size_t first_global(const struct cm_cli_program *program)
{
	return program->silent ? LOGGING : 0;
}

/* The verb that `word` (and, for two-word verbs, `next`) names; *words is the number of words it took. */
static const struct cm_cli_verb *find_verb(
	const struct cm_cli_program *program, const char *word, const char *next, int *words)
{
	for (const struct cm_cli_verb *v = program->verb; v->name; v++) {
		const char *space = strchr(v->name, ' ');
		size_t first = space ? (size_t)(space - v->name) : strlen(v->name);

		if (strlen(word) != first || strncmp(word, v->name, first) != 0)
			continue;
		if (space && (!next || strcmp(next, space + 1) != 0))
			continue;
		*words = space ? 2 : 1;
		return v;
	}
	return NULL;
}

static bool is_group(const struct cm_cli_program *program, const char *word)
{
	for (const struct cm_cli_verb *v = program->verb; v->name; v++)
		if (cm_cli_second_word(v, word))
			return true;
	return false;
}

static bool asks_for_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

static void needs_second_word(
	const struct cm_cli_program *program, const char *word, struct argp_state *state)
{
	char words[256] = "";
	size_t used = 0;

	for (const struct cm_cli_verb *v = program->verb; v->name; v++) {
		const char *second = cm_cli_second_word(v, word);

		if (second && used < sizeof words)
			used += (size_t)snprintf(
				words + used, sizeof words - used, "%s%s", used > 0 ? ", " : "", second);
	}
	argp_error(state, "'%s' needs a second word: %s", word, words);
}

static void unknown_verb(
	const struct cm_cli_program *program, const char *word, const char *next, struct argp_state *state)
{
	struct cm_suggest nearest = { 0 };
	char both[128];
	bool group = is_group(program, word);

	(void)snprintf(both, sizeof both, "%s %s", word, next ? next : "");
	for (const struct cm_cli_verb *v = program->verb; v->name; v++)
		cm_suggest_offer(&nearest, strchr(v->name, ' ') ? both : word, v->name);
	if (group && !next)
		needs_second_word(program, word, state);
	else if (nearest.word)
		argp_error(
			state, "unknown verb '%s' (did you mean '%s'?)", group ? both : word, nearest.word);
	else
		argp_error(state, "unknown verb '%s'", group ? both : word);
}

/* First pass: read options before the verb, and the verb; the second pass reads the rest. */
static error_t on_first(int key, char *arg, struct argp_state *state)
{
	struct reading *r = state->input;
	const char *next;
	int words = 0;

	if (key == ARGP_KEY_ARG) {
		next = state->next < state->argc ? state->argv[state->next] : NULL;
		r->verb = find_verb(r->program, arg, next, &words);
		if (!r->verb && !r->help && strcmp(arg, "help") == 0) {
			r->help = true;
			return 0;
		}
		if (!r->verb && is_group(r->program, arg) && (r->help || asks_for_help(next))) {
			r->help = true;
			r->group = arg;
			state->next = state->argc;
			return 0;
		}
		if (!r->verb) {
			unknown_verb(r->program, arg, next, state);
			return EINVAL;
		}
		r->rest = state->next + words - 1;
		state->next = state->argc;
		return 0;
	}
	if (is_global(key))
		return on_global(r, key, arg, state) ? 0 : EINVAL;
	return ARGP_ERR_UNKNOWN;
}

/* The number of the verb's option that has this key; 16 for none. */
static int option_of(const struct cm_cli_verb *verb, int key)
{
	int i = 0;

	while (i < 16 && verb->option[i].name && key != KEY_VERB + i &&
		(verb->option[i].letter == '\0' || key != verb->option[i].letter))
		i++;
	return i < 16 && verb->option[i].name ? i : 16;
}

static bool has_option(const struct cm_cli_verb *verb, const char *name)
{
	for (int i = 0; i < 16 && verb->option[i].name; i++)
		if (strcmp(verb->option[i].name, name) == 0)
			return true;
	return false;
}

/* Say which verbs have the option; false if none has it. */
static bool say_whose(const struct reading *r, const char *program, const char *option)
{
	const char *between = "is an option of";
	bool any = false;

	for (const struct cm_cli_verb *v = r->program->verb; v->name; v++)
		if (has_option(v, option)) {
			if (!any)
				(void)fprintf(stderr, "%s: '--%s' ", program, option);
			(void)fprintf(stderr, "%s %s", between, v->name);
			between = ",";
			any = true;
		}
	if (any)
		(void)fputc('\n', stderr);
	return any;
}

/* Add to the error about an unknown option which verb has it, or which one may have been meant. */
static void suggest_option(const struct reading *r, const struct argp_state *state)
{
	struct cm_suggest nearest = { 0 };
	const char *typed = state->next > 0 ? state->argv[state->next - 1] : "";
	char word[64];

	if (strncmp(typed, "--", 2) != 0)
		return;
	(void)snprintf(word, sizeof word, "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	for (int i = 0; i < 16 && r->verb->option[i].name; i++) {
		if (strncmp(word, r->verb->option[i].name, strlen(word)) == 0)
			return;
		cm_suggest_offer(&nearest, word, r->verb->option[i].name);
	}
	if (!say_whose(r, state->name, word) && nearest.word)
		(void)fprintf(stderr, "%s: did you mean '--%s'?\n", state->name, nearest.word);
}

/* Second pass: read the verb's own options and arguments, and global options again. */
static error_t on_verb(int key, char *arg, struct argp_state *state)
{
	struct reading *r = state->input;
	struct cm_cli *cli = r->cli;
	int i = option_of(r->verb, key);

	if (is_global(key))
		return on_global(r, key, arg, state) ? 0 : EINVAL;
	if (i < 16) {
		if (!r->verb->option[i].repeatable && cli->option[i] && r->verb->option[i].value) {
			argp_error(state, "--%s is given twice", r->verb->option[i].name);
			return EINVAL;
		}
		cli->option[i] = arg ? arg : "";
		if (r->repeated[i])
			r->repeated[i][r->repeats[i]++] = cli->option[i];
		return 0;
	}
	if (key == ARGP_KEY_ERROR)
		suggest_option(r, state);
	if (key == ARGP_KEY_ARG) {
		if (cli->argc > r->verb->max_args) {
			argp_error(state, "'%s' is one argument too many", arg);
			return EINVAL;
		}
		cli->argv[cli->argc++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ARGP_NO_EXIT: usage errors return here, so that the program exits in one place. */
#define PARSE_FLAGS (ARGP_NO_EXIT | ARGP_NO_HELP)

static bool no_memory(struct reading *r)
{
	(void)fprintf(stderr, "%s: out of memory\n", r->program->name);
	r->no_memory = true;
	return false;
}

static bool parse(struct reading *r, const struct argp *argp, int argc, char **argv, unsigned flags)
{
	error_t fault = argp_parse(argp, argc, argv, flags, NULL, r);

	return fault == ENOMEM ? no_memory(r) : fault == 0;
}

static bool read_first(struct reading *r, int argc, char **argv)
{
	const struct argp argp = { .options = global_options + first_global(r->program), .parser = on_first };

	return parse(r, &argp, argc, argv, PARSE_FLAGS | ARGP_IN_ORDER);
}

/* Make room for the values of repeatable options; an option that is not given has none. */
static bool room_to_repeat(struct reading *r, int argc)
{
	static const char *const none[] = { NULL };

	for (int i = 0; i < 16; i++) {
		r->cli->repeated[i] = none;
		if (!r->verb->option[i].name || !r->verb->option[i].repeatable)
			continue;
		r->repeated[i] = calloc((size_t)argc + 1, sizeof *r->repeated[i]);
		if (!r->repeated[i])
			return no_memory(r);
		r->cli->repeated[i] = r->repeated[i];
	}
	return true;
}

static bool read_verb(struct reading *r, int argc, char **argv)
{
	struct argp_option options[GLOBALS + 16 + 1] = { 0 };
	const struct argp argp = { .options = options, .parser = on_verb };
	char name[160];
	char **words;
	size_t first = first_global(r->program), at = GLOBALS - first;
	bool good;

	if (!room_to_repeat(r, argc))
		return false;
	memcpy(options, global_options + first, at * sizeof *options);
	for (int i = 0; i < 16 && r->verb->option[i].name; i++) {
		const struct cm_cli_option *o = &r->verb->option[i];

		options[at++] = (struct argp_option){
			.name = o->name, .key = o->letter ? o->letter : KEY_VERB + i, .arg = o->value
		};
	}
	/* argp begins its errors with argv[0] of this pass. */
	words = calloc((size_t)(argc - r->rest) + 2, sizeof *words);
	if (!words)
		return no_memory(r);
	(void)snprintf(name, sizeof name, "%s %s", r->program->name, r->verb->name);
	words[0] = name;
	for (int i = r->rest; i < argc; i++)
		words[i - r->rest + 1] = argv[i];
	good = parse(r, &argp, argc - r->rest + 1, words, PARSE_FLAGS);
	free(words);
	if (good && !r->help && !r->usage && !r->version && r->cli->argc - 1 < r->verb->min_args) {
		(void)fprintf(stderr, "%s: missing argument: %s\n", name, r->verb->args);
		(void)fprintf(stderr, "Try `%s --help' for more information.\n", name);
		return false;
	}
	return good;
}

static bool bad_variable(const struct reading *r, const char *name, const char *value, const char *words)
{
	(void)fprintf(stderr, "%s: %s is %s, not '%s'\n", r->program->name, name, words, value);
	return false;
}

/* Read the environment; options, which are read later, take precedence. */
static bool read_environment(struct reading *r)
{
	const char *config = getenv("TOMBOLA_CONFIG"), *level = getenv("TOMBOLA_LOG_LEVEL");
	const char *format = getenv("TOMBOLA_LOG_FORMAT"), *color = getenv("TOMBOLA_COLOR");

	if (r->program->silent)
		return true;
	if (config && *config != '\0')
		r->cli->config = config;
	if (level && *level != '\0') {
		r->level = word_index(level_words, level);
		if (r->level < 0)
			return bad_variable(r, "TOMBOLA_LOG_LEVEL", level, "error, warn, info or debug");
	}
	if (format && *format != '\0') {
		int i = word_index(format_words, format);

		if (i < 0)
			return bad_variable(r, "TOMBOLA_LOG_FORMAT", format, "text, json or auto");
		r->cli->log_format = i == 1 ? CM_LOG_TEXT : i == 2 ? CM_LOG_JSON : CM_LOG_AUTO;
	}
	if (color && *color != '\0') {
		if (word_index(color_words, color) < 0)
			return bad_variable(r, "TOMBOLA_COLOR", color, "auto, always or never");
		r->color = color;
	}
	return true;
}

static bool use_color(const char *when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return (!no || *no == '\0') && term && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO) != 0;
}

static int run_verb(struct reading *r, const char *machine)
{
	const char *name = r->program->name;
	struct cm_err err = { 0 };
	int exit_code = 0;
	enum cm_rc rc;

	r->cli->level = (enum cm_level)r->level;
	r->cli->color = use_color(r->color);
	cm_log_init(r->program->role ? r->program->role : name, r->cli->level, r->cli->log_format);
	cm_fault_warn();
	if (machine)
		cm_log_plain(CM_LOG_DEBUG, machine);
	rc = r->verb->run(r->cli, &exit_code, &err);
	cm_log_flush();
	if (rc != CM_OK) {
		if (!err.said)
			(void)fprintf(stderr, "%s: %s\n", name, err.msg);
		if (rc == CM_EUSAGE)
			(void)fprintf(
				stderr, "Try `%s %s --help' for more information.\n", name, r->verb->name);
		exit_code = cm_exit_code(rc);
	}
	return exit_code;
}

/* Output that could not be written is a failure, whatever the verb returned. */
static int finish(const char *name, int exit_code)
{
	bool lost = ferror(stdout) != 0;

	if (fflush(stdout) != 0 || lost) {
		(void)fprintf(stderr, "%s: cannot write to standard output\n", name);
		return exit_code == 0 ? cm_exit_code(CM_EIO) : exit_code;
	}
	return exit_code;
}

static void show_version(const struct reading *r, const char *machine)
{
	(void)printf("%s %s\n", r->program->name, TOMBOLA_VERSION);
	if (machine && r->level > CM_LOG_INFO)
		(void)printf("%s\n", machine);
}

static bool read_machine(const struct cm_cli_program *program, const char **line)
{
	struct cm_err err;

	if (!program->machine || program->machine(line, &err) == CM_OK)
		return true;
	(void)fprintf(stderr, "%s: %s\n", program->name, err.msg);
	return false;
}

int cm_cli_main(const struct cm_cli_program *program, int argc, char **argv)
{
	int usage = cm_exit_code(CM_EUSAGE);
	struct cm_cli *cli = calloc(1, sizeof *cli);
	struct reading r = { .program = program, .cli = cli, .level = CM_LOG_INFO, .color = "auto" };
	char config[128], *name0 = argc > 0 ? argv[0] : NULL;
	const char *machine = NULL;
	int code = usage;

	if (!cli || !(cli->argv = calloc((size_t)argc + 2, sizeof *cli->argv))) {
		(void)fprintf(stderr, "%s: out of memory\n", program->name);
		free(cli);
		return cm_exit_code(CM_EINTERNAL);
	}
	cli->program = program;
	if (program->role) {
		(void)snprintf(config, sizeof config, "/etc/tombola/%s.conf", program->role);
		cli->config = config;
	}
	if (!name0 || !read_environment(&r) || !read_machine(program, &machine))
		goto out;
	/* Error messages begin with the program's name, however it was called. */
	argv[0] = (char *)(uintptr_t)program->name;
	if (!read_first(&r, argc, argv))
		goto out;
	if (r.verb) {
		cli->verb = r.verb;
		cli->argc = 1;
		if (!read_verb(&r, argc, argv))
			goto out;
		/* The cast is needed because argp's type for argv is not const; argp writes nothing to it. */
		cli->argv[0] = (char *)(uintptr_t)r.verb->name;
	}
	if (r.help || r.usage || r.version) {
		if (r.version)
			show_version(&r, machine);
		else if (r.verb)
			cm_cli_help_verb(program, r.verb, r.help, stdout);
		else
			cm_cli_help_program(program, r.group, r.help, stdout);
		code = finish(program->name, 0);
	} else if (!r.verb) {
		cm_cli_help_program(program, NULL, false, stderr);
		(void)fprintf(stderr, "Try `%s --help' for the verbs.\n", program->name);
	} else {
		code = finish(program->name, run_verb(&r, machine));
	}
out:
	if (name0)
		argv[0] = name0;
	for (int i = 0; i < 16; i++)
		free(r.repeated[i]);
	free(cli->argv);
	free(cli);
	return r.no_memory ? cm_exit_code(CM_EINTERNAL) : code;
}

/* ---- what verbs read of their options ---- */

enum cm_rc cm_cli_double(
	const char *text, const char *what, double min, double max, double *out, struct cm_err *err)
{
	char *end;
	double v;

	v = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(v))
		return cm_fail(err, CM_EUSAGE, "%s: '%.60s' is not a finite number", what, text);
	if (v < min || v > max)
		return cm_fail(err, CM_EUSAGE, "%s: %.60s is outside %g..%g", what, text, min, max);
	*out = v;
	return CM_OK;
}

enum cm_rc cm_cli_u64(
	const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct cm_err *err)
{
	uint64_t v = 0;
	bool over = false;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return cm_fail(err, CM_EUSAGE, "%s: '%.60s' is not a whole number", what, text);
	for (const char *c = text; *c != '\0'; c++)
		over = over || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		       __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v);
	if (over || v < min || v > max)
		return cm_fail(err, CM_EUSAGE, "%s: %.60s is outside %llu..%llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	*out = v;
	return CM_OK;
}

enum cm_rc cm_cli_confirmed(const char *said, const char *name, const char *consequence, struct cm_err *err)
{
	if (said && strcmp(said, name) == 0)
		return CM_OK;
	return cm_fail(
		err, CM_EUSAGE, "%s: to confirm, repeat the command with --confirm %.64s", consequence, name);
}
