/* cmd_options.c - parses argv into a question: one row an option, checked against what the verb takes and
 * needs. */
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_group.h"
#include "acct_suggest.h"
#include "cmd.h"

#define MOST_POINTS 2001u

static const struct row {
	const char *name;
	unsigned bit;
} rows[] = {
	{ "epsilon", CMD_EPSILON },
	{ "delta", CMD_DELTA },
	{ "round", CMD_ROUND },
	{ "method", CMD_METHOD },
	{ "bound", CMD_BOUND },
	{ "json", CMD_JSON },
	{ "format", CMD_FORMAT },
	{ "output", CMD_OUTPUT },
	{ "delta-min", CMD_DELTA_MIN },
	{ "delta-max", CMD_DELTA_MAX },
	{ "over", CMD_OVER_KEY },
	{ "from", CMD_FROM },
	{ "to", CMD_TO },
	{ "points", CMD_POINTS },
	{ "title", CMD_TITLE },
	{ "group", CMD_GROUP },
	{ "weight", CMD_WEIGHT },
	{ "error", CMD_ERROR },
};
#define ROWS (sizeof rows / sizeof *rows)

const char *cmd_option(size_t i, unsigned *bit)
{
	if (i >= ROWS)
		return NULL;
	*bit = rows[i].bit;
	return rows[i].name;
}

static const char usage[] =
	"Usage: tombola-accountant VERB [OPTION ...]      tombola-accountant VERB --help\n"
	"\n"
	"Certified differential privacy of shuffled rounds: intervals that hold the exact value.\n"
	"\n"
	"  epsilon     epsilon at a delta            delta       delta at an epsilon\n"
	"  compare     by every method               curve       over delta or a parameter, as CSV or SVG\n"
	"  describe    a round: p, beta, q, error    names       the randomizers and methods there are\n"
	"  calibrate   the best eps0, n or dummies   rounds      how many rounds fit a budget\n"
	"  optimise    a budget over rounds\n"
	"  audit       recompute a ledger's charges  export      the loss distribution, for other tools\n"
	"  paper       papers' numbers, done again   figure      papers' figures, as CSV or SVG\n"
	"  completion  bash or zsh: completes this command in that shell\n"
	"\n"
	"  --round SPEC     name:key=value,...  n= participants, count= repetitions; repeatable\n"
	"  --epsilon E, --delta D               the guarantee; epsilon in nats\n"
	"  --method NAME    pld (default: proved and tight); others are listed by `names`\n"
	"  --bound proved|published             published: the literature's reduction, NOT an upper bound\n"
	"  --json           one JSON object, 17 digits; an infinite bound is null\n"
	"  -h, --help; -V, --version\n"
	"\n"
	"  tombola-accountant epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=10000,count=100\n"
	"\n"
	"Exit: 0; 3 over budget; 64 usage; 65 bad round or ledger; 66 no such file; 70 internal; 73, 74 "
	"I/O\n";

static int number(const char *name, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || isnan(*out) || isspace((unsigned char)*text))
		return cmd_fail(CMD_USAGE, "--%s %s is not a number", name, text);
	return 0;
}

static int add_round(struct cmd_question *q, const char *text)
{
	if (strcmp(text, "help") == 0) {
		cmd_run_names(q);
		return -1;
	}
	if (q->rounds == CMD_MOST_ROUNDS)
		return cmd_fail(CMD_USAGE, "more than %u rounds", CMD_MOST_ROUNDS);
	q->text[q->rounds++] = text;
	return 0;
}

static int add_method(struct cmd_question *q, const char *name)
{
	const struct acct_method *m = acct_method_find(name);

	if (!m) {
		char all[256] = "";

		for (size_t i = 0; acct_method_row(i); i++) {
			strncat(all, i > 0 ? ", " : "", sizeof all - strlen(all) - 1);
			strncat(all, acct_method_row(i)->name, sizeof all - strlen(all) - 1);
		}
		return cmd_fail(CMD_USAGE, "--method %s: no such method; there are %s", name, all);
	}
	if (q->methods == CMD_MOST_METHODS)
		return cmd_fail(CMD_USAGE, "more than %u methods", CMD_MOST_METHODS);
	for (size_t i = 0; i < q->methods; i++)
		if (q->method[i] == m)
			return cmd_fail(CMD_USAGE, "--method %s is given twice", name);
	q->method[q->methods++] = m;
	return 0;
}

static int set_bound(struct cmd_question *q, const char *text)
{
	q->published = strcmp(text, "published") == 0;
	if (!q->published && strcmp(text, "proved") != 0)
		return cmd_fail(CMD_USAGE, "--bound %s: no such bound; there are proved, published", text);
	return 0;
}

static int set_format(struct cmd_question *q, const char *text)
{
	size_t i = 0;

	for (const char *name = CMD_FORMATS; *name; i++) {
		size_t n = strcspn(name, " ");

		if (strlen(text) == n && strncmp(text, name, n) == 0) {
			q->format = (enum cmd_format)i;
			return 0;
		}
		name += n + (name[n] == ' ');
	}
	return cmd_fail(CMD_USAGE, "--format %s: no such format; there are " CMD_FORMATS, text);
}

static int set_points(struct cmd_question *q, const char *text)
{
	double x;
	int code = number("points", text, &x);

	if (code)
		return code;
	if (!(x >= 2 && x <= MOST_POINTS && x == floor(x)))
		return cmd_fail(CMD_USAGE, "--points must be a whole number from 2 to %u", MOST_POINTS);
	q->points = (unsigned)x;
	return 0;
}

static int set_group(struct cmd_question *q, const char *text)
{
	double x;
	int code = number("group", text, &x);

	if (code)
		return code;
	if (!(x >= 1 && x <= ACCT_MOST_GROUP && x == floor(x)))
		return cmd_fail(CMD_USAGE, "--group must be a whole number from 1 to %u", ACCT_MOST_GROUP);
	q->group = (unsigned)x;
	return 0;
}

static int take(struct cmd_question *q, unsigned bit, const char *name, const char *value)
{
	const unsigned again = CMD_ROUND | CMD_METHOD | CMD_JSON;

	if (q->given & bit & ~again)
		return cmd_fail(CMD_USAGE, "--%s is given twice", name);
	q->given |= bit;
	switch (bit) {
	case CMD_EPSILON:
		return number(name, value, &q->epsilon);
	case CMD_DELTA:
		return number(name, value, &q->delta);
	case CMD_DELTA_MIN:
		return number(name, value, &q->delta_min);
	case CMD_DELTA_MAX:
		return number(name, value, &q->delta_max);
	case CMD_FROM:
		return number(name, value, &q->from);
	case CMD_TO:
		return number(name, value, &q->to);
	case CMD_ROUND:
		return add_round(q, value);
	case CMD_METHOD:
		return add_method(q, value);
	case CMD_BOUND:
		return set_bound(q, value);
	case CMD_FORMAT:
		return set_format(q, value);
	case CMD_GROUP:
		return set_group(q, value);
	case CMD_POINTS:
		return set_points(q, value);
	case CMD_JSON:
		q->format = CMD_OBJECT;
		return 0;
	case CMD_WEIGHT:
		q->weights = value;
		return 0;
	case CMD_ERROR:
		q->errors = value;
		return 0;
	case CMD_OUTPUT:
		q->output = value;
		return 0;
	case CMD_TITLE:
		q->title = value;
		return 0;
	default:
		q->over = value;
		return 0;
	}
}

static const char *option_name(unsigned bit)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].bit & bit)
			return rows[i].name;
	return "?";
}

static int check_guarantee(const struct cmd_question *q)
{
	const double deltas[] = { q->delta, q->delta_min, q->delta_max };
	static const char *const name[] = { "delta", "delta-min", "delta-max" };

	for (size_t i = 0; i < 3; i++)
		if (!isnan(deltas[i]) && !(deltas[i] > 0 && deltas[i] < 1))
			return cmd_fail(CMD_USAGE, "--%s must be above 0 and below 1", name[i]);
	if (!isnan(q->epsilon) && !(q->epsilon >= 0 && q->epsilon < INFINITY))
		return cmd_fail(CMD_USAGE, "--epsilon must be finite and not negative");
	return 0;
}

static int check(const struct cmd_question *q, const struct cmd_verb *verb)
{
	for (size_t i = 0; i < ROWS; i++)
		if (verb->needs & rows[i].bit & ~q->given)
			return cmd_fail(CMD_USAGE, "%s: --%s is missing", verb->name, rows[i].name);
	for (size_t i = 0; i < ROWS; i++)
		if (q->given & rows[i].bit & ~verb->takes) {
			bool answer = strcmp(rows[i].name, verb->name) == 0;

			return answer ? cmd_fail(CMD_USAGE, "%s: --%s is the answer, not an option",
						verb->name, rows[i].name)
				      : cmd_fail(CMD_USAGE, "%s: --%s is not an option of this verb",
						verb->name, rows[i].name);
		}
	if (q->methods > 1 && !(verb->takes & CMD_METHODS))
		return cmd_fail(CMD_USAGE, "%s: one --%s at a time (see compare)", verb->name,
			option_name(CMD_METHOD));
	for (size_t i = 0; q->published && i < q->methods; i++)
		if (!q->method[i]->cells)
			return cmd_fail(CMD_USAGE, "--bound published: method %s does not use the reduction",
				q->method[i]->name);
	return check_guarantee(q);
}

static const char *name_of_row(const void *list, size_t i)
{
	(void)list;
	return i < ROWS ? rows[i].name : NULL;
}

static int no_such_option(const char *typed)
{
	char name[32] = "";
	const char *near;

	(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	near = acct_suggest(name, name_of_row, NULL);
	return near ? cmd_fail(CMD_USAGE, "no such option '--%s'; did you mean --%s?", name, near)
		    : cmd_fail(CMD_USAGE, "no such option '%s' (try --help)", typed);
}

/* Handles the option that getopt_long returned as c. */
static int one_option(int c, char **argv, struct cmd_question *q, bool *help)
{
	if (c >= 256)
		return take(q, rows[c - 256].bit, rows[c - 256].name, optarg);
	if (c == 'o')
		return take(q, CMD_OUTPUT, "output", optarg);
	if (c == 'h') {
		*help = true;
		return 0;
	}
	if (c == 'V') {
		puts("tombola-accountant " TOMBOLA_VERSION);
		return -1;
	}
	if (c == ':')
		return cmd_fail(CMD_USAGE, "option %s needs a value", argv[optind - 1]);
	if (optopt && optopt < 256)
		return cmd_fail(CMD_USAGE, "no such option '-%c' (try --help)", optopt);
	return no_such_option(argv[optind - 1]);
}

static const char *verb_name(const void *list, size_t i)
{
	(void)list;
	return cmd_verbs[i].name;
}

static int find_verb(const char *name, const struct cmd_verb **verb)
{
	const char *near;
	char all[256] = "";

	for (*verb = cmd_verbs; (*verb)->name; ++*verb) {
		if (strcmp(name, (*verb)->name) == 0)
			return 0;
		strncat(all, all[0] ? ", " : "", sizeof all - strlen(all) - 1);
		strncat(all, (*verb)->name, sizeof all - strlen(all) - 1);
	}
	near = acct_suggest(name, verb_name, NULL);
	return near ? cmd_fail(CMD_USAGE, "no such verb '%s'; did you mean %s?", name, near)
		    : cmd_fail(CMD_USAGE, "no such verb '%s'; there are %s", name, all);
}

static int options_of(int argc, char **argv, struct cmd_question *q, bool *help)
{
	struct option options[ROWS + 3] = { 0 };
	int c, code = 0;

	for (size_t i = 0; i < ROWS; i++)
		options[i] = (struct option){ rows[i].name,
			rows[i].bit == CMD_JSON ? no_argument : required_argument, NULL, 256 + (int)i };
	options[ROWS] = (struct option){ "help", no_argument, NULL, 'h' };
	options[ROWS + 1] = (struct option){ "version", no_argument, NULL, 'V' };
	opterr = 0;
	while (!code && (c = getopt_long(argc, argv, ":hVo:", options, NULL)) != -1)
		code = one_option(c, argv, q, help);
	return code;
}

int cmd_parse(int argc, char **argv, struct cmd_question *q, const struct cmd_verb **verb)
{
	bool help = false;
	int code;

	*q = (struct cmd_question){
		.epsilon = NAN, .delta = NAN, .delta_min = NAN, .delta_max = NAN, .from = NAN, .to = NAN
	};
	code = options_of(argc, argv, q, &help);
	if (code)
		return code;
	if (optind >= argc && help) {
		fputs(usage, stdout);
		return -1;
	}
	if (optind >= argc)
		return cmd_fail(CMD_USAGE, "say what to compute: epsilon, delta, rounds, ... (try --help)");
	code = find_verb(argv[optind], verb);
	if (code)
		return code;
	if (help) {
		fputs((*verb)->help, stdout);
		return -1;
	}
	if ((*verb)->takes & (CMD_FILE | CMD_SHELL)) {
		if (optind + 1 >= argc)
			return cmd_fail(CMD_USAGE, "%s: which %s", (*verb)->name,
				(*verb)->takes & CMD_FILE ? "file? (- is standard input)"
							  : "shell? bash or zsh");
		q->file = argv[++optind];
	}
	if ((*verb)->takes & CMD_NAME && optind + 1 < argc)
		q->file = argv[++optind];
	if (optind + 1 < argc)
		return cmd_fail(CMD_USAGE, "%s: unexpected argument '%s'", (*verb)->name, argv[optind + 1]);
	if (q->methods == 0)
		q->method[q->methods++] = acct_method_row(0);
	return check(q, *verb);
}
