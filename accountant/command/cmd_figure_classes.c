/* cmd_figure_classes.c - the figures of participants who choose their own guarantees (Chen, Cao, Ge 2024;
 * cmd_figure.h): bounds on epsilon, and the errors of its algorithms. */
#include <math.h>
#include <string.h>

#include "acct_basic.h"
#include "acct_gspa.h"
#include "cmd_figure.h"

static enum acct_rc exactly(enum acct_rc rc, double value, struct acct_bound *out)
{
	*out = (struct acct_bound){ value, value };
	return rc;
}

static enum acct_rc at_most(enum acct_rc rc, double value, struct acct_bound *out)
{
	*out = (struct acct_bound){ 0, value };
	return rc;
}

/* Table 2 of Chen, Cao, Ge.  Uniform budgets: the middles of a thousand equal parts, each of n/1000
 * participants, so that a figure does not depend on draws.  c: the share of the larger of two budgets. */
#define DISTINCT 1000u

static size_t table2(const struct cmd_figure *f, double x, struct acct_gspa_class cls[DISTINCT])
{
	uint64_t n = (uint64_t)round(x);

	if (f->c > 0) {
		uint64_t large = (uint64_t)round(f->c * (double)n);

		cls[0] = (struct acct_gspa_class){ f->b, 0, large };
		cls[1] = (struct acct_gspa_class){ f->a, 0, n - large };
		return 2;
	}
	if (!(f->a < f->b)) {
		cls[0] = (struct acct_gspa_class){ f->b, 0, n };
		return 1;
	}
	for (size_t i = 0; i < DISTINCT; i++)
		cls[i] = (struct acct_gspa_class){ f->a + (f->b - f->a) * ((double)i + 0.5) / DISTINCT, 0,
			n * (i + 1) / DISTINCT - n * i / DISTINCT };
	return DISTINCT;
}

static double largest(const struct acct_gspa_class *cls, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, cls[i].epsilon);
	return most;
}

/* FMT22 and Erlingsson19 know one budget: the largest is everybody's. */
static enum acct_rc gspa_clones(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	struct acct_round r = { .others = (uint64_t)round(x) - 1, .count = 1 };
	size_t n = table2(f, x, cls);
	enum acct_rc rc = acct_cells_generic(largest(cls, n), &r, NULL);

	if (!rc)
		rc = acct_epsilon(&r, 1, f->delta, out);
	out->lower = 0; /* of the clones' pair, not of these participants */
	return rc;
}

static enum acct_rc gspa_erlingsson(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	size_t n = table2(f, x, cls);
	double eps = 0;
	enum acct_rc rc = acct_basic_erlingsson(largest(cls, n), (uint64_t)round(x), f->delta, &eps);

	return at_most(rc, eps, out);
}

/* The preferences of figure 3: liberal 0.09 at 1, conservative and moderate the rest.  a or x: the share of
 * the conservative; b or x: their epsilon. */
#define USERS    10000.0
#define GROUPS   3u
#define LIBERAL  0.09
#define MODERATE 0.5

static size_t preferences(const struct cmd_figure *f, double x, struct acct_gspa_class cls[GROUPS])
{
	double share = f->a > 0 ? f->a : x, eps = f->b > 0 ? f->b : x;
	uint64_t liberal = (uint64_t)round(LIBERAL * USERS), few = (uint64_t)round(share * USERS);

	cls[0] = (struct acct_gspa_class){ 1, 0, liberal };
	cls[1] = (struct acct_gspa_class){ MODERATE, 0, (uint64_t)USERS - liberal - few };
	cls[2] = (struct acct_gspa_class){ eps, 0, few };
	return GROUPS;
}

/* Mean absolute value of a sum of many independent terms of mean 0: the normal limit's, sqrt(2/pi) of the
 * deviation.  The next term of the expansion is of order 1/n. */
static double mean_error(double variance)
{
	return sqrt(2 * variance / acos(-1));
}

/* Algorithm 1: the mean of x_i + Laplace(60/eps_i), against the mean of the x_i. */
static double mean_of_laplace(const struct acct_gspa_class *cls, size_t n)
{
	double variance = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		double scale = 60 / cls[i].epsilon;

		all += (double)cls[i].count;
		variance += (double)cls[i].count * 2 * scale * scale;
	}
	return mean_error(variance / (all * all));
}

/* Algorithm 2: z = (A - B)/(n - 2B), A the ones told and B the sum of the chances 1/(1 + e^eps_i), against
 * the share of ones among the records, each of which is one with chance c whatever its owner's epsilon. */
static double frequency_of_response(const struct acct_gspa_class *cls, size_t n)
{
	double variance = 0, all = 0, flips = 0;
	const double c = 0.7;

	for (size_t i = 0; i < n; i++) {
		double flip = 1 / (1 + exp(cls[i].epsilon)), one = c + flip - 2 * c * flip;

		all += (double)cls[i].count;
		flips += (double)cls[i].count * flip;
		variance += (double)cls[i].count * one * (1 - one);
	}
	double slope = all - 2 * flips;

	return mean_error(variance / (slope * slope) - c * (1 - c) / all);
}

/* Everybody at the epsilon of the conservative: what one guarantee for all costs. */
static size_t alike(const struct cmd_figure *f, double x, struct acct_gspa_class cls[GROUPS])
{
	size_t n = preferences(f, x, cls);

	for (size_t i = 0; i < n; i++)
		cls[i].epsilon = cls[GROUPS - 1].epsilon;
	return n;
}

/* The classes that a line is about. */
typedef size_t classes_fn(const struct cmd_figure *f, double x, struct acct_gspa_class *cls);

static enum acct_rc mu_of(classes_fn *classes, const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	double mu, eps = 0;
	enum acct_rc rc = acct_gspa_mu(cls, classes(f, x, cls), 1, &mu, NULL);

	if (!rc)
		rc = acct_gspa_gaussian_epsilon(mu, f->delta, &eps, NULL);
	return exactly(rc, eps, out);
}

static enum acct_rc liu_of(classes_fn *classes, const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	double eps = 0;
	enum acct_rc rc = acct_gspa_liu(cls, classes(f, x, cls), f->delta, &eps, NULL);

	return exactly(rc, eps, out);
}

static enum acct_rc exact_of(
	classes_fn *classes, const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	size_t n = classes(f, x, cls);

	return acct_gspa_epsilon(cls, n, ACCT_GSPA_ANYBODY, f->delta, out, NULL);
}

static enum acct_rc error_of(double (*error)(const struct acct_gspa_class *cls, size_t n),
	classes_fn *classes, const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_gspa_class cls[DISTINCT];
	size_t n = classes(f, x, cls);

	return exactly(ACCT_OK, error(cls, n), out);
}

static enum acct_rc gspa(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return mu_of(table2, f, x, out);
}

static enum acct_rc gspa_preferences(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return mu_of(preferences, f, x, out);
}

static enum acct_rc gspa_liu(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return liu_of(table2, f, x, out);
}

static enum acct_rc liu_preferences(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return liu_of(preferences, f, x, out);
}

static enum acct_rc gspa_exact(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return exact_of(table2, f, x, out);
}

static enum acct_rc exact_preferences(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return exact_of(preferences, f, x, out);
}

static enum acct_rc algorithm1(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return error_of(mean_of_laplace, preferences, f, x, out);
}

static enum acct_rc alike1(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return error_of(mean_of_laplace, alike, f, x, out);
}

static enum acct_rc algorithm2(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return error_of(frequency_of_response, preferences, f, x, out);
}

static enum acct_rc alike2(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return error_of(frequency_of_response, alike, f, x, out);
}

static const struct cmd_figure_line lines[] = {
	{ "gspa", ACCT_PAPER_VALUE, gspa },
	{ "gspa-liu", ACCT_PAPER_VALUE, gspa_liu },
	{ "gspa-clones", ACCT_PROVED, gspa_clones },
	{ "gspa-erlingsson", ACCT_PROVED, gspa_erlingsson },
	{ "gspa-exact", ACCT_PROVED, gspa_exact },
	{ "algorithm-1", ACCT_APPROXIMATE, algorithm1 },
	{ "algorithm-2", ACCT_APPROXIMATE, algorithm2 },
	{ "all-alike-1", ACCT_APPROXIMATE, alike1 },
	{ "all-alike-2", ACCT_APPROXIMATE, alike2 },
	{ "gspa-preferences", ACCT_PAPER_VALUE, gspa_preferences },
	{ "liu-preferences", ACCT_PAPER_VALUE, liu_preferences },
	{ "exact-preferences", ACCT_PROVED, exact_preferences },
};

const struct cmd_figure_line *cmd_figure_line_of_classes(const char *name)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strcmp(name, lines[i].name) == 0)
			return &lines[i];
	return NULL;
}
