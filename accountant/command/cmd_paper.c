/* cmd_paper.c - the experiments of the numerical-composition literature, done again: Wang et al. 2025,
 * "Shuffle Model of Differential Privacy: Numerical Composition for Federated Learning", sections 8.1
 * and 8.2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define DELTA       1e-6
#define MOST_LEVELS 8

enum column { PUBLISHED, PROVED, CLONES, BASIC, ADVANCED, COLUMNS };

struct setting {
	char label[80];
	char text[MOST_LEVELS][CMD_NUMBER_ROOM * 3];
	const char *list[MOST_LEVELS];
	size_t rounds;
	double epsilon[COLUMNS]; /* NAN: not computed */
};

static const struct {
	const char *name, *method;
	bool published;
} columns[COLUMNS] = {
	{ "published", "pld", true },
	{ "proved", "pld", false },
	{ "clones", "strong-clones", false },
	{ "basic", "basic", false },
	{ "advanced", "advanced", false },
};

static struct setting begin(void)
{
	struct setting s = { .rounds = 0 };

	for (size_t i = 0; i < COLUMNS; i++)
		s.epsilon[i] = NAN;
	return s;
}

static int ask(struct setting *s, enum column c)
{
	const struct acct_method *m = acct_method_find(columns[c].method);
	struct acct_method_answer a;
	struct acct_spec *round = NULL;
	const char *why;
	size_t parts;
	int code;

	for (size_t i = 0; i < s->rounds; i++)
		s->list[i] = s->text[i];
	code = cmd_rounds(s->list, s->rounds, columns[c].published, &round, &parts);
	if (code)
		return code;
	enum acct_rc rc = cmd_epsilon(m, columns[c].published, round, parts, DELTA, &a, &why);
	if (rc)
		code = cmd_refused(m, rc, why);
	else
		s->epsilon[c] = a.bound.upper;
	free(round);
	return code;
}

/* Section 8.1: a gradient of s = eps0 sampled bits each round, each bit flipped with chance 1/(e+1). */
static int learning(struct setting *s, int eps0, const char *n, int rounds)
{
	static const enum column asked[] = { PUBLISHED, PROVED, CLONES, BASIC, ADVANCED };
	int code = 0;

	*s = begin();
	s->rounds = 1;
	(void)snprintf(s->label, sizeof s->label, "eps0=%d n=%s T=%d", eps0, n, rounds);
	(void)snprintf(
		s->text[0], sizeof s->text[0], "vrr:s=%d,eps0=%d,n=%s,count=%d", eps0, eps0, n, rounds);
	for (size_t i = 0; !code && i < sizeof asked / sizeof *asked; i++)
		code = ask(s, asked[i]);
	return code;
}

/* Section 8.2: trees of H levels over d attributes of two values; level h asks d-h histograms of 2^(h+1) bins
 * of everybody, who send one true message and m-1 uniform ones.  The published reduction is right here: a
 * truthful message hides no other, so no residual blanket is left. */
static int tree(struct setting *s, int trees, int levels, int d, int n_exponent, int m)
{
	static const enum column asked[] = { PUBLISHED, PROVED, BASIC, ADVANCED };
	int code = 0;

	*s = begin();
	s->rounds = (size_t)levels;
	(void)snprintf(
		s->label, sizeof s->label, "S=%d H=%d d=%-2d n=1e%d m=%d", trees, levels, d, n_exponent, m);
	for (int h = 0; h < levels; h++)
		(void)snprintf(s->text[h], sizeof s->text[h], "bins:k=%d,dummies=%.0f,count=%d", 2 << h,
			pow(10, n_exponent) * (m - 1), trees * (d - h));
	for (size_t i = 0; !code && i < sizeof asked / sizeof *asked; i++)
		code = ask(s, asked[i]);
	return code;
}

/* The saving against the better of the earlier bounds. */
static double saving(double epsilon, double before)
{
	return 100 * (1 - epsilon / before);
}

static double before(const struct setting *s)
{
	return isnan(s->epsilon[CLONES]) ? fmin(s->epsilon[BASIC], s->epsilon[ADVANCED]) : s->epsilon[CLONES];
}

static void put_epsilon(double x)
{
	char text[CMD_NUMBER_ROOM];

	printf(" %10s", isnan(x) ? "-" : cmd_up(x, text));
}

static void print_row(const struct setting *s)
{
	printf("%-26s", s->label);
	for (size_t c = 0; c < COLUMNS; c++)
		put_epsilon(s->epsilon[c]);
	printf(" %9.1f%% %9.1f%%\n", saving(s->epsilon[PUBLISHED], before(s)),
		saving(s->epsilon[PROVED], before(s)));
}

static void print_head(const char *what)
{
	printf("%s\n%*s\n%-26s", what, 26 + 11 * (COLUMNS + 1) + 5, "saving of", "");
	for (size_t c = 0; c < COLUMNS; c++)
		printf(" %10s", columns[c].name);
	printf(" %10s %10s\n", "published", "proved");
}

static void json_row(struct cmd_json *j, const char *experiment, const struct setting *s)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_text(j, "experiment", experiment);
	cmd_json_text(j, "setting", s->label);
	cmd_json_open(j, "round", '[');
	for (size_t i = 0; i < s->rounds; i++)
		cmd_json_text(j, NULL, s->text[i]);
	cmd_json_close(j, ']');
	for (size_t c = 0; c < COLUMNS; c++)
		cmd_json_number(j, columns[c].name, s->epsilon[c]);
	cmd_json_number(j, "published_saved_percent", saving(s->epsilon[PUBLISHED], before(s)));
	cmd_json_number(j, "saved_percent", saving(s->epsilon[PROVED], before(s)));
	cmd_json_close(j, '}');
}

static int run_learning(struct cmd_json *j)
{
	static const char *const users[] = { "1e4", "1e5" };
	struct setting s;
	int code = 0;

	if (!j)
		print_head("Federated learning: T rounds of vector randomized response");
	for (int eps0 = 2; eps0 <= 4; eps0 += 2)
		for (size_t u = 0; u < 2; u++)
			for (int t = 2; !code && t <= 256; t *= 2) {
				code = learning(&s, eps0, users[u], t);
				if (!code && j)
					json_row(j, "learning", &s);
				else if (!code)
					print_row(&s);
			}
	return code;
}

static int run_trees(struct cmd_json *j)
{
	static const struct {
		int trees, d;
	} forest[] = { { 1, 8 }, { 5, 32 } };
	struct setting s;
	int code = 0;

	if (!j)
		print_head("\nDecision trees: S trees of H levels over d attributes, m messages each");
	for (size_t f = 0; f < sizeof forest / sizeof *forest; f++)
		for (int levels = 5; levels <= 8; levels += 3)
			for (int n = 4; n <= 5; n++)
				for (int m = 2; !code && m <= 6; m += 2) {
					code = tree(&s, forest[f].trees, levels, forest[f].d, n, m);
					if (!code && j)
						json_row(j, "trees", &s);
					else if (!code)
						print_row(&s);
				}
	return code;
}

int cmd_run_paper(const struct cmd_question *q)
{
	struct cmd_json j;
	bool json = q->format == CMD_OBJECT;
	int code;

	if (json) {
		j = cmd_json_begin(stdout);
		cmd_json_number(&j, "delta", DELTA);
		cmd_json_open(&j, "rows", '[');
	} else {
		printf("epsilon at delta %g of Wang et al. 2025 (Appl. Sci. 15(3), 1595), sections 8.1 and "
		       "8.2\n\n",
			DELTA);
	}
	code = run_learning(json ? &j : NULL);
	if (!code)
		code = run_trees(json ? &j : NULL);
	if (!code && json) {
		cmd_json_close(&j, ']');
		cmd_json_close(&j, '}');
		putchar('\n');
	} else if (!code) {
		puts("\npublished: the two-count reduction, a paper value (not a guarantee); for the trees\n"
		     "it is right: the proved value up to its width\n"
		     "proved, clones (Feldman, McMillan, Talwar 2023), basic, advanced: proved upper bounds\n"
		     "saving: against clones; for the trees, against the better of basic and advanced");
	}
	return code;
}
