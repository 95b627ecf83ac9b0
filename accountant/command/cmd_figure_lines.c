/* cmd_figure_lines.c (cmd_figure.h) - what papers draw that is no epsilon of one round by a method:
 * divergences, separated sub-queries, distances, vectors. */
#include <math.h>
#include <string.h>

#include "acct_basic.h"
#include "acct_flame.h"
#include "acct_girgis.h"
#include "acct_metric.h"
#include "cmd_figure.h"

typedef enum acct_rc value_fn(const struct cmd_figure *f, double x, struct acct_bound *out);

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

/* The multi-message figures' x is the epsilon that a protocol's authors state. */
static enum acct_rc stated(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	(void)f;
	return exactly(ACCT_OK, x, out);
}

double cmd_figure_flip(const struct cmd_figure *f, double x)
{
	double rest = 1 - 4 * 6.6 * log(4 / f->delta) / (pow(tanh(x / 2), 2) * f->a);

	return (1 - sqrt(fmax(0, rest))) / 2;
}

/* As Wang et al. have it: the published reduction with the fake users for others. */
static enum acct_rc cheu_published(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	char text[CMD_NUMBER_ROOM * 5], why[200];
	double flip = cmd_figure_flip(f, x), g = (1 - flip) / flip;
	struct acct_round r;
	struct acct_spec s;

	(void)snprintf(
		text, sizeof text, "pair:p=%.15g,beta=%.15g,q=%.15g,n=%.0f", g * g, 1 - 2 * flip, g, f->a);
	enum acct_rc rc = acct_spec_parse(text, &s, why, sizeof why);

	if (!rc)
		rc = acct_spec_published(&s, &r, NULL);
	return rc ? rc : acct_epsilon(&r, 1, f->delta, out);
}

/* One sub-query of everybody's share of n, asked apart: the tree's leaves, or its root's two children. */
static enum acct_rc separated(const struct cmd_figure *f, double x, double symbols, struct acct_bound *out)
{
	char text[CMD_NUMBER_ROOM * 5], why[200];
	struct acct_spec s;

	(void)snprintf(text, sizeof text, "grr:k=%.0f,eps0=%.15g,n=%.0f", symbols, x, floor(f->a / f->b));
	enum acct_rc rc = acct_spec_parse(text, &s, why, sizeof why);

	return rc ? rc : acct_epsilon(&s.round, 1, f->delta, out);
}

static enum acct_rc separated_least(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return separated(f, x, exp2(f->b), out);
}

static enum acct_rc separated_most(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return separated(f, x, 2, out);
}

/* Figure 2 of Girgis et al.: n, eps0 and the order, of which the one that is 0 is x. */
static void renyi_of(const struct cmd_figure *f, double x, struct acct_girgis *g, unsigned *order)
{
	*g = (struct acct_girgis){ f->b > 0 ? f->b : x, (uint64_t)round(f->a > 0 ? f->a : x), 1 };
	*order = (unsigned)round(f->c > 0 ? f->c : x);
}

static enum acct_rc divergence(enum acct_girgis_kind kind, const struct cmd_figure *f, double x, double *rdp)
{
	struct acct_girgis g;
	unsigned order;

	*rdp = 0;
	renyi_of(f, x, &g, &order);
	return acct_girgis_rdp(kind, &g, order, rdp);
}

static enum acct_rc ub1(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	double rdp;
	enum acct_rc rc = divergence(ACCT_GIRGIS_UB1, f, x, &rdp);

	return at_most(rc, rdp, out);
}

static enum acct_rc ub2(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	double rdp;
	enum acct_rc rc = divergence(ACCT_GIRGIS_UB2, f, x, &rdp);

	return exactly(rc, rdp, out);
}

static enum acct_rc erlingsson_rdp(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	double rdp;
	enum acct_rc rc = divergence(ACCT_GIRGIS_ERLINGSSON, f, x, &rdp);

	return exactly(rc, rdp, out);
}

static enum acct_rc rdp_lower(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	double rdp;
	enum acct_rc rc = divergence(ACCT_GIRGIS_LB, f, x, &rdp);

	*out = (struct acct_bound){ rdp, INFINITY };
	return rc;
}

static enum acct_rc rdp_clones(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_girgis g;
	unsigned order;

	renyi_of(f, x, &g, &order);
	struct acct_round r = { .others = g.n - 1, .count = 1 };
	double alpha = order;
	enum acct_rc rc = acct_cells_generic(g.eps0, &r, NULL);

	if (!rc)
		rc = acct_renyi(&r, &alpha, 1, out);
	out->lower = 0;
	return rc;
}

/* The metric figures: distances of x in a domain of diameter b, n = a. */
static enum acct_rc metric(
	enum acct_metric_noise noise, const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_round r = { .others = (uint64_t)f->a - 1, .count = 1 };
	enum acct_rc rc = acct_metric_cells(noise, x, f->b, &r, NULL);

	if (!rc)
		rc = acct_epsilon(&r, 1, f->delta, out);
	out->lower = 0; /* of the pair, not of this noise */
	return rc;
}

static enum acct_rc metric_any(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return metric(ACCT_METRIC_ANY, f, x, out);
}

static enum acct_rc metric_line(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return metric(ACCT_METRIC_LINE, f, x, out);
}

static enum acct_rc metric_plane(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return metric(ACCT_METRIC_PLANE, f, x, out);
}

/* Figures 8 and 9 of FLAME: the test of acct_flame_double_lower with every coordinate sent. */
static enum acct_rc laplace_lower(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	bool lengths = f->b < 1; /* then b is the epsilon, and x the length */
	uint64_t d = (uint64_t)round(lengths ? x : f->b), n = (uint64_t)f->a;
	struct acct_flame_sparse all = { { lengths ? f->b : x, 0 }, n, n, d, d };

	out->upper = INFINITY;
	return acct_flame_double_lower(&all, f->delta, &out->lower, NULL);
}

/* Figure 3 of FLAME: the local epsilon of a vector over its central one; d = b coordinates of epsilon x, of
 * which SS-Double sends c d, and as many messages are padded to n/3.  Groups are of equal size, so that a few
 * coordinates are left out. */
static struct acct_flame_sparse vector(const struct cmd_figure *f, double x, bool all)
{
	uint64_t k = (uint64_t)(f->b * f->c), each = (uint64_t)f->b / k, n = (uint64_t)f->a;
	struct acct_flame_slot slot = { x, 2 };

	return all ? (struct acct_flame_sparse){ slot, n, n, (uint64_t)f->b, (uint64_t)f->b }
		   : (struct acct_flame_sparse){ slot, n, n / 3, k * each, k };
}

/* An upper bound on the central epsilon is a lower one on the quotient. */
static enum acct_rc magnified(
	enum acct_rc rc, double local, struct acct_bound central, struct acct_bound *out)
{
	*out = (struct acct_bound){ local / central.upper, INFINITY };
	return rc;
}

static enum acct_rc simple(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_flame_sparse v = vector(f, x, true);
	struct acct_bound eps = { 0, 0 };
	enum acct_rc rc = acct_flame_simple_theorem1(
		&v.slot, v.length, v.users, f->delta, ACCT_FLAME_LEMMA1, &eps.upper, NULL);

	return magnified(rc, (double)v.length * x, eps, out);
}

static enum acct_rc simple_pld(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_flame_sparse v = vector(f, x, true);
	struct acct_round r = { 0 };
	struct acct_bound eps = { 0, 0 };
	enum acct_rc rc = acct_flame_simple_round(&v.slot, v.length, v.users, &r, NULL);

	if (!rc)
		rc = acct_epsilon(&r, 1, f->delta, &eps);
	return magnified(rc, (double)v.length * x, eps, out);
}

static enum acct_rc twofold(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_flame_sparse v = vector(f, x, false);
	struct acct_bound eps = { 0, 0 };
	enum acct_rc rc = acct_flame_double_theorem4(&v, f->delta, ACCT_FLAME_LEMMA1, &eps.upper, NULL);

	return exactly(rc, (double)v.sent * x / eps.upper, out);
}

static enum acct_rc twofold_pld(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	struct acct_flame_sparse v = vector(f, x, false);
	struct acct_bound eps = { 0, 0 };
	enum acct_rc rc = acct_flame_double_epsilon(&v, f->delta / 100, f->delta, &eps, NULL);

	return magnified(rc, (double)v.sent * x, eps, out);
}

/* A loss that occurs is at most the central epsilon, and gives an upper bound on the quotient. */
static enum acct_rc magnified_most(const struct cmd_figure *f, double x, bool all, struct acct_bound *out)
{
	struct acct_flame_sparse v = vector(f, x, all);
	double least = 0;
	enum acct_rc rc = acct_flame_double_lower(&v, f->delta, &least, NULL);

	return at_most(rc, (double)v.sent * x / least, out);
}

static enum acct_rc simple_most(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return magnified_most(f, x, true, out);
}

static enum acct_rc twofold_most(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	return magnified_most(f, x, false, out);
}

static const struct cmd_figure_line lines[] = {
	{ "stated", ACCT_PAPER_VALUE, stated },
	{ "cheu-published", ACCT_PAPER_VALUE, cheu_published },
	{ "separated-least", ACCT_PROVED, separated_least },
	{ "separated-most", ACCT_PROVED, separated_most },
	{ "rdp-ub1", ACCT_PROVED, ub1 },
	{ "rdp-ub2", ACCT_PAPER_VALUE, ub2 },
	{ "rdp-erlingsson", ACCT_PAPER_VALUE, erlingsson_rdp },
	{ "rdp-lower", ACCT_LOWER, rdp_lower },
	{ "rdp-clones", ACCT_PROVED, rdp_clones },
	{ "metric-any", ACCT_PROVED, metric_any },
	{ "metric-line", ACCT_PROVED, metric_line },
	{ "metric-plane", ACCT_PROVED, metric_plane },
	{ "laplace-lower", ACCT_LOWER, laplace_lower },
	{ "ss-simple", ACCT_LOWER, simple },
	{ "ss-simple-pld", ACCT_LOWER, simple_pld },
	{ "ss-double", ACCT_PAPER_VALUE, twofold },
	{ "ss-double-pld", ACCT_LOWER, twofold_pld },
	{ "ss-simple-most", ACCT_PROVED, simple_most },
	{ "ss-double-most", ACCT_PROVED, twofold_most },
};

const struct cmd_figure_line *cmd_figure_line(const char *name)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strcmp(name, lines[i].name) == 0)
			return &lines[i];
	const struct cmd_figure_line *line = cmd_figure_line_of_sgd(name);

	return line ? line : cmd_figure_line_of_classes(name);
}
