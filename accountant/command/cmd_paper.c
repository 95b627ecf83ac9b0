/* cmd_paper.c - the experiments of the numerical-composition literature, done again: Wang et al. 2025,
 * "Shuffle Model of Differential Privacy: Numerical Composition for Federated Learning", sections 8.1
 * and 8.2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_paper.h"

#define DELTA       1e-6
#define MOST_LEVELS 9

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

static enum cm_rc ask(struct setting *s, enum column c)
{
	const struct acct_method *m = acct_method_find(columns[c].method);
	struct acct_method_answer a;
	struct acct_spec *round = NULL;
	const char *why;
	size_t parts;
	enum cm_rc code;

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
static enum cm_rc learning(struct setting *s, int eps0, const char *n, int rounds)
{
	static const enum column asked[] = { PUBLISHED, PROVED, CLONES, BASIC, ADVANCED };
	enum cm_rc code = CM_OK;

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
 * truthful message hides no other, so no residual blanket is left.  The paper sums over h of [0, H], and says
 * that a tree has H levels, the root's being 0: `last` is H or H-1. */
static enum cm_rc tree(struct setting *s, int trees, int levels, int last, int d, int n_exponent, int m)
{
	static const enum column asked[] = { PUBLISHED, PROVED, BASIC, ADVANCED };
	enum cm_rc code = CM_OK;

	*s = begin();
	s->rounds = (size_t)last + 1;
	(void)snprintf(s->label, sizeof s->label, "S=%d H=%d d=%-2d n=1e%d m=%d%s", trees, levels, d,
		n_exponent, m, last < levels ? "" : " h<=H");
	for (int h = 0; h <= last; h++)
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

/* Does something with one setting that was computed. */
typedef void setting_fn(void *to, const char *experiment, const struct setting *s);

static enum cm_rc each_tree(int trees, int d, bool through, setting_fn *use, void *to)
{
	struct setting s;
	enum cm_rc code = CM_OK;

	for (int levels = 5; levels <= 8; levels += 3)
		for (int n = 4; n <= 5; n++)
			for (int m = 2; !code && m <= 6; m += 2) {
				/* Of d attributes none is left for level d: both sums are one. */
				if (through && levels >= d)
					continue;
				code = tree(&s, trees, levels, through ? levels : levels - 1, d, n, m);
				if (!code)
					use(to, "trees", &s);
			}
	return code;
}

static void use_row(void *to, const char *experiment, const struct setting *s)
{
	if (to)
		json_row(to, experiment, s);
	else
		print_row(s);
}

static enum cm_rc run_trees(struct cmd_json *j)
{
	enum cm_rc code;

	if (!j)
		print_head("\nDecision trees: S trees of H levels over d attributes, m messages each");
	code = each_tree(1, 8, false, use_row, j);
	return code ? code : each_tree(5, 32, false, use_row, j);
}

static enum cm_rc each_learning(setting_fn *use, void *to)
{
	static const char *const users[] = { "1e4", "1e5" };
	struct setting s;
	enum cm_rc code = CM_OK;

	for (int eps0 = 2; eps0 <= 4; eps0 += 2)
		for (size_t u = 0; u < 2; u++)
			for (int t = 2; !code && t <= 256; t *= 2) {
				code = learning(&s, eps0, users[u], t);
				if (!code)
					use(to, "learning", &s);
			}
	return code;
}

static enum cm_rc run_learning(struct cmd_json *j)
{
	if (!j)
		print_head("Federated learning: T rounds of vector randomized response");
	return each_learning(use_row, j);
}

static void use_csv(void *to, const char *experiment, const struct setting *s)
{
	(void)fprintf(to, "%s,%s", experiment, s->label);
	for (size_t c = 0; c < COLUMNS; c++)
		if (isnan(s->epsilon[c]))
			(void)fputc(',', to);
		else
			(void)fprintf(to, ",%.17g", s->epsilon[c]);
	(void)fprintf(to, ",%.1f,%.1f\n", saving(s->epsilon[PUBLISHED], before(s)),
		saving(s->epsilon[PROVED], before(s)));
}

enum cm_rc cmd_paper_settings(FILE *to)
{
	enum cm_rc code;

	(void)fputs("experiment,setting,published,proved,clones,basic,advanced,published_saved_percent,"
		    "saved_percent\n",
		to);
	code = each_learning(use_csv, to);
	for (int trees = 1; trees <= 5; trees += 4)
		for (int d = 8; d <= 32; d += 24) {
			code = code ? code : each_tree(trees, d, false, use_csv, to);
			code = code ? code : each_tree(trees, d, true, use_csv, to);
		}
	return code;
}

enum cm_rc cmd_paper_learning(int eps0, const char *n, int rounds, double *published, double *proved)
{
	struct setting s;
	enum cm_rc code = learning(&s, eps0, n, rounds);

	*published = saving(s.epsilon[PUBLISHED], before(&s));
	*proved = saving(s.epsilon[PROVED], before(&s));
	return code;
}

enum cm_rc cmd_paper_tree(
	int trees, int levels, int d, int n_exponent, int m, double *published, double *proved)
{
	struct setting s;
	enum cm_rc code = tree(&s, trees, levels, levels - 1, d, n_exponent, m);

	*published = saving(s.epsilon[PUBLISHED], before(&s));
	*proved = saving(s.epsilon[PROVED], before(&s));
	return code;
}

static enum cm_rc all_settings(bool json)
{
	struct cmd_json j;
	enum cm_rc code;

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

static void print_printed(const struct cmd_printed *p)
{
	char text[CMD_NUMBER_ROOM];

	printf("%s %-13s %-68s %19s", p->paper, p->item, p->what, p->printed);
	printf(" %10s", isnan(p->here) ? "-" : cmd_near(p->here, text));
	printf(" %10s", isnan(p->proved) ? "-" : cmd_printed_proved(p, text));
	printf(" %10s  %s\n", isnan(p->least) ? "-" : cmd_down(p->least, text), p->remark);
}

static void json_printed(struct cmd_json *j, const struct cmd_printed *p)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_text(j, "paper", p->paper);
	cmd_json_text(j, "item", p->item);
	cmd_json_text(j, "what", p->what);
	cmd_json_text(j, "printed", p->printed);
	cmd_json_number(j, "here", p->here);
	cmd_json_number(j, "proved", p->proved);
	cmd_json_number(j, "least", p->least);
	cmd_json_text(j, "remark", p->remark);
	cmd_json_close(j, '}');
}

/* The printed numbers of one paper, or of all. */
static enum cm_rc printed_numbers(const char *paper, bool json)
{
	struct cmd_printed p;
	struct cmd_json j;

	if (json) {
		j = cmd_json_begin(stdout);
		cmd_json_open(&j, "printed", '[');
	} else {
		printf("%-3s %-13s %-68s %19s %10s %10s %10s\n", "", "", "", "printed", "here", "proved",
			"at least");
	}
	for (size_t i = 0; cmd_printed_row(i, paper, &p); i++) {
		if (!p.paper)
			continue;
		if (json)
			json_printed(&j, &p);
		else
			print_printed(&p);
	}
	if (json) {
		cmd_json_close(&j, ']');
		cmd_json_close(&j, '}');
		putchar('\n');
	} else {
		puts("\n"
		     "here: by the paper's own formula; proved: an upper bound that holds; at least: a loss that\n"
		     "occurs.  A share saved or a ratio: by the formula, and by what is proved.");
	}
	return CM_OK;
}

enum cm_rc cmd_run_paper(const struct cmd_question *q)
{
	static const char *const names[] = { "all", "000", "001", "002", "003", "004" };
	bool json = q->format == CMD_OBJECT, known = !q->file;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		known = known || strcmp(q->file, names[i]) == 0;
	if (!known)
		return cmd_fail(CM_EUSAGE, "paper: no such paper '%.40s' (all, or 000 to 004)", q->file);
	if (q->output && (!q->file || strcmp(q->file, "all") != 0))
		return cmd_fail(CM_EUSAGE, "paper: --output FOLDER needs all");
	if (q->output)
		return cmd_paper_folder(q->output);
	return q->file ? printed_numbers(strcmp(q->file, "all") == 0 ? NULL : q->file, json)
		       : all_settings(json);
}
