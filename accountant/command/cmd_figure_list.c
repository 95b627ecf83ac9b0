/* cmd_figure_list.c - the figures of the literature: what each asks (cmd_figure.h). */
#include <math.h>
#include <string.h>

#include "cmd_figure.h"

static cmd_figure_text_fn subset, hash, users, bins, hierarchy, over_n, over_eps0, over_rounds, sampled,
	coordinates, lengths, planar;

static const struct cmd_figure figures[] = {
#define ONE_ROUND "pld", "published", "closed", "closed-tight", "strong-clones", "clones"
#define LOCAL(name, title, text, a, b, delta)                                       \
	{                                                                           \
		name, title, "eps0", NULL, text, a, b, 0, delta, 0.1, 5, false, 25, \
		{                                                                   \
			ONE_ROUND                                                   \
		}                                                                   \
	}
	LOCAL("001-1-n4-d16", "subset selection, n=1e4, d=16, delta 1e-6", subset, 1e4, 16, 1e-6),
	LOCAL("001-1-n4-d128", "subset selection, n=1e4, d=128, delta 1e-6", subset, 1e4, 128, 1e-6),
	LOCAL("001-1-n5-d16", "subset selection, n=1e5, d=16, delta 1e-7", subset, 1e5, 16, 1e-7),
	LOCAL("001-1-n5-d128", "subset selection, n=1e5, d=128, delta 1e-7", subset, 1e5, 128, 1e-7),
	LOCAL("001-2-n4", "local hash, any d, n=1e4, delta 1e-6", hash, 1e4, 0, 1e-6),
	LOCAL("001-2-n5", "local hash, any d, n=1e5, delta 1e-7", hash, 1e5, 0, 1e-7),
#define STATED(name, title, text, a, b, delta, from)                                    \
	{                                                                               \
		name, title, "stated", NULL, text, a, b, 0, delta, from, 1.5, true, 20, \
		{                                                                       \
			"pld", "published", "stated"                                    \
		}                                                                       \
	}
	{ "001-3-n4", "Cheu, Zhilyaev: flips for a stated epsilon, n=1e4 fakes, delta 1e-6", "stated", NULL,
		users, 1e4, 0, 0, 1e-6, 0.45, 1.5, true, 20, { "pld", "cheu-published", "stated" } },
	{ "001-3-n5", "Cheu, Zhilyaev: flips for a stated epsilon, n=1e5 fakes, delta 1e-7", "stated", NULL,
		users, 1e5, 0, 0, 1e-7, 0.15, 1.5, true, 20, { "pld", "cheu-published", "stated" } },
	STATED("001-4-d16", "balls into 16 bins, n for a stated epsilon, delta 1e-6", bins, 16, 1, 1e-6,
		0.01),
	STATED("001-4-d128", "balls into 128 bins, n for a stated epsilon, delta 1e-6", bins, 128, 1, 1e-6,
		0.01),
	STATED("001-4-d16-s8", "balls into 16 bins, 8 special, n for a stated epsilon, delta 1e-6", bins, 16,
		8, 1e-6, 0.01),
	STATED("001-4-d128-s8", "balls into 128 bins, 8 special, n for a stated epsilon, delta 1e-6", bins,
		128, 8, 1e-6, 0.01),
#define RANGES(name, title, n, levels, delta)                                                    \
	{                                                                                        \
		name, title, "eps0", NULL, hierarchy, n, levels, 0, delta, 0.1, 5, false, 25,    \
		{                                                                                \
			"pld", "published", "strong-clones", "separated-least", "separated-most" \
		}                                                                                \
	}
	RANGES("001-5-n4-d64", "range queries, a tree of 64 leaves, n=1e4, delta 1e-6", 1e4, 6, 1e-6),
	RANGES("001-5-n4-d2048", "range queries, a tree of 2048 leaves, n=1e4, delta 1e-6", 1e4, 11, 1e-6),
	RANGES("001-5-n5-d64", "range queries, a tree of 64 leaves, n=1e5, delta 1e-7", 1e5, 6, 1e-7),
	RANGES("001-5-n5-d2048", "range queries, a tree of 2048 leaves, n=1e5, delta 1e-7", 1e5, 11, 1e-7),
#define RENYI      "rdp-ub1", "rdp-ub2", "rdp-erlingsson", "rdp-lower", "rdp-clones"
#define DIVERGENCE "Renyi divergence (nats)"
	{ "002-2a", "Renyi divergence, eps0=0.1, n=1e4", "order", DIVERGENCE, NULL, 1e4, 0.1, 0, 0, 2, 2e4,
		true, 21, { RENYI } },
	{ "002-2b", "Renyi divergence, eps0=0.1, order 100", "n", DIVERGENCE, NULL, 0, 0.1, 100, 0, 1e4, 1e6,
		true, 9, { RENYI } },
	{ "002-2c", "Renyi divergence, n=1e4, order 100", "eps0", DIVERGENCE, NULL, 1e4, 0, 100, 0, 0.1, 5,
		false, 15, { RENYI } },
	{ "002-2d", "Renyi divergence, eps0=3, n=1e4", "order", DIVERGENCE, NULL, 1e4, 3, 0, 0, 2, 2e4, true,
		21, { RENYI } },
	{ "002-2e", "Renyi divergence, eps0=3, order 100", "n", DIVERGENCE, NULL, 0, 3, 100, 0, 1e4, 1e6,
		true, 9, { RENYI } },
	{ "002-2f", "Renyi divergence, n=1e6, order 100", "eps0", DIVERGENCE, NULL, 1e6, 0, 100, 0, 0.1, 5,
		false, 8, { RENYI } },
#define SINGLE "girgis", "clones", "strong-clones", "erlingsson", "bennett", "hoeffding"
	{ "002-3a", "one round, eps0=0.1, delta 1e-6", "n", NULL, over_n, 0.1, 1, 0, 1e-6, 1e4, 1e6, true, 9,
		{ SINGLE } },
	{ "002-3b", "one round, n=1e4, delta 1e-6", "eps0", NULL, over_eps0, 1e4, 1, 0, 1e-6, 0.1, 4, false,
		14, { SINGLE } },
	{ "002-3c", "one round, eps0=3, delta 1e-6", "n", NULL, over_n, 3, 1, 0, 1e-6, 1e4, 1e6, true, 9,
		{ SINGLE } },
	{ "002-3d", "one round, n=1e5, delta 1e-6", "eps0", NULL, over_eps0, 1e5, 1, 0, 1e-6, 0.1, 4, false,
		14, { SINGLE } },
#define COMPOSED "girgis", "advanced", "clones", "strong-clones", "erlingsson-rdp"
	{ "002-4a", "T rounds, eps0=0.5, n=1e6, delta 1e-8", "T", NULL, over_rounds, 1e6, 0.5, 0, 1e-8, 10,
		1e5, true, 13, { COMPOSED } },
	{ "002-4b", "1e4 rounds, eps0=0.5, delta 1e-8", "n", NULL, over_n, 0.5, 1e4, 0, 1e-8, 1e4, 1e6, true,
		9, { COMPOSED } },
	{ "002-4c", "1e4 rounds, n=1e5, delta 1e-8", "eps0", NULL, over_eps0, 1e5, 1e4, 0, 1e-8, 0.1, 3, true,
		9, { COMPOSED } },
	{ "002-4d", "T rounds, eps0=2, n=1e6, delta 1e-8", "T", NULL, over_rounds, 1e6, 2, 0, 1e-8, 10, 1e5,
		true, 13, { COMPOSED } },
	{ "002-4e", "1e4 rounds, eps0=2, delta 1e-8", "n", NULL, over_n, 2, 1e4, 0, 1e-8, 1e4, 1e6, true, 9,
		{ COMPOSED } },
	{ "002-4f", "1e4 rounds, n=1e6, delta 1e-8", "eps0", NULL, over_eps0, 1e6, 1e4, 0, 1e-8, 0.1, 3, true,
		9, { COMPOSED } },
	{ "002-5a", "T rounds of 1e-3 of n=1e6, eps0=3, delta 1e-8", "T", NULL, sampled, 1e6, 3, 1e-3, 1e-8,
		1e3, 1e5, true, 5, { "girgis", "clones", "strong-clones" } },
	{ "002-5b", "T rounds of 1e-3 of n=1e7, eps0=3, delta 1e-8", "T", NULL, sampled, 1e7, 3, 1e-3, 1e-8,
		1e3, 1e5, true, 5, { "girgis", "clones", "strong-clones" } },
	{ "001-metric-n4", "metric privacy, diameter 3 nats, n=1e4, delta 1e-6", "distance", NULL, planar,
		1e4, 3, 0, 1e-6, 0.1, 3, false, 15,
		{ "metric-plane", "metric-line", "metric-any", "strong-clones" } },
	{ "001-metric-n5", "metric privacy, diameter 3 nats, n=1e5, delta 1e-6", "distance", NULL, planar,
		1e5, 3, 0, 1e-6, 0.1, 3, false, 15,
		{ "metric-plane", "metric-line", "metric-any", "strong-clones" } },
	{ "003-3", "eps_l/eps_c, d=75755, binary response, n=1e6, delta 1e-6", "eps of a coordinate",
		"magnification", NULL, 1e6, 75755, 0.02, 1e-6, 0.01, 1, true, 9,
		{ "ss-simple", "ss-simple-pld", "ss-simple-most", "ss-double", "ss-double-pld",
			"ss-double-most" } },
#define FLAME "flame-first", "flame", "pld"
	{ "003-8", "SS-Simple, 7850 coordinates, Laplace noise, n=1000, delta 5e-6", "eps0", NULL,
		coordinates, 1000, 7850, 0, 5e-6, 0.01, 1, true, 9, { FLAME, "laplace-lower" } },
	{ "003-8-response", "SS-Simple, 7850 coordinates, binary response, n=1000, delta 5e-6", "eps0", NULL,
		coordinates, 1000, 7850, 1, 5e-6, 0.01, 1, true, 9, { FLAME, "lower" } },
	{ "003-9", "SS-Simple, Laplace noise, eps0=0.01, n=1000, delta 5e-6", "d", NULL, lengths, 1000, 0.01,
		0, 5e-6, 100, 1e5, true, 9, { FLAME, "laplace-lower" } },
	{ "003-9-response", "SS-Simple, binary response, eps0=0.01, n=1000, delta 5e-6", "d", NULL, lengths,
		1000, 0.01, 1, 5e-6, 100, 1e5, true, 9, { FLAME, "lower" } },
#define CLASSES(name, title, low, high, share)                                             \
	{                                                                                  \
		name, title, "n", NULL, NULL, low, high, share, 1e-4, 1e3, 1e4, true, 10,  \
		{                                                                          \
			"gspa", "gspa-liu", "gspa-clones", "gspa-erlingsson", "gspa-exact" \
		}                                                                          \
	}
	CLASSES("004-2-unif1", "Unif 1: eps0 of U(0.01, 1), delta 1e-4", 0.01, 1, 0),
	CLASSES("004-2-unif2", "Unif 2: eps0 of U(0.01, 2), delta 1e-4", 0.01, 2, 0),
	CLASSES("004-2-constant", "Constant: eps0 0.5, delta 1e-4", 0.5, 0.5, 0),
	CLASSES("004-2-mixed", "Mixed: eps0 0.5 and 0.01, half each, delta 1e-4", 0.01, 0.5, 0.5),
#define ERROR "mean absolute error"
	{ "004-3a", "Algorithm 1, mean of [20, 80], n=1e4: share of the conservative", "f_c", ERROR, NULL, 0,
		0.1, 0, 1e-4, 0.01, 0.5, false, 15, { "algorithm-1", "all-alike-1" } },
	{ "004-3b", "Algorithm 1, mean of [20, 80], n=1e4: epsilon of the conservative", "eps_c", ERROR, NULL,
		0.54, 0, 0, 1e-4, 0.05, 0.5, false, 15, { "algorithm-1", "all-alike-1" } },
	{ "004-3c", "Algorithm 2, frequency 0.7, n=1e4: share of the conservative", "f_c", ERROR, NULL, 0,
		0.1, 0, 1e-4, 0.01, 0.5, false, 15, { "algorithm-2", "all-alike-2" } },
	{ "004-3d", "Algorithm 2, frequency 0.7, n=1e4: epsilon of the conservative", "eps_c", ERROR, NULL,
		0.54, 0, 0, 1e-4, 0.05, 0.5, false, 15, { "algorithm-2", "all-alike-2" } },
	{ "004-3-epsilon", "Algorithm 2, n=1e4: epsilon at delta 1e-4 of whom is charged most", "eps_c", NULL,
		NULL, 0.54, 0, 0, 1e-4, 0.05, 0.5, false, 15,
		{ "gspa-preferences", "liu-preferences", "exact-preferences" } },
#define TRAINING(name, title, low, high)                                                 \
	{                                                                                \
		name, title, "epochs", NULL, NULL, low, high, 0, 1e-4, 2, 50, false, 25, \
		{                                                                        \
			"sgd-printed", "sgd-client", "sgd-record-if-clipped"             \
		}                                                                        \
	}
	TRAINING("004-4-unif1", "Algorithm 3: a training of 100 clients, eps0 of U(0.01, 1)", 0.01, 1),
	TRAINING("004-4-unif2", "Algorithm 3: a training of 100 clients, eps0 of U(0.01, 2)", 0.01, 2),
	TRAINING("004-4-unif3", "Algorithm 3: a training of 100 clients, eps0 of U(0.5, 1)", 0.5, 1),
	TRAINING("004-4-constant", "Algorithm 3: a training of 100 clients, eps0 0.5", 0.5, 0.5),
};

const struct cmd_figure *cmd_figure_row(size_t i)
{
	return i < sizeof figures / sizeof *figures ? &figures[i] : NULL;
}

/* The best size of a subset of d, and the best number of hashes, are those of least variance. */
static void subset(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "subset:d=%.0f,k=%.0f,eps0=%.15g,n=%.0f", f->b,
		fmax(1, round(f->b / (exp(x) + 1))), x, f->a);
}

static void hash(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "olh:l=%.0f,eps0=%.15g,n=%.0f", fmax(2, round(exp(x) + 1)), x, f->a);
}

static void users(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "cheu:f=%.15g,n=%.0f", cmd_figure_flip(f, x), f->a);
}

/* As many dummies as its authors ask for: 32 log(2/delta) (d/s) / x^2; s special bins make d/s of d. */
static void bins(const struct cmd_figure *f, double x, char *out, size_t room)
{
	double k = f->a / f->b;

	(void)snprintf(out, room, "bins:k=%.0f,dummies=%.0f", k, ceil(32 * k * log(2 / f->delta) / (x * x)));
}

static void hierarchy(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "hierarchy:f=2,H=%.0f,eps0=%.15g,n=%.0f", f->b, x, f->a);
}

static void over_n(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,count=%.0f", f->a, round(x), f->b);
}

static void over_eps0(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,count=%.0f", x, f->a, f->b);
}

static void over_rounds(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,count=%.0f", f->b, f->a, round(x));
}

static void planar(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "planar-laplace:distance=%.15g,most=%.15g,n=%.0f", x, f->b, f->a);
}

static void sampled(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,sampling=%.15g,count=%.0f", f->b, f->a * f->c,
		f->c, round(x));
}

/* c: binary response, and not Laplace noise. */
static void coordinates(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "%s:eps0=%.15g,n=%.0f,count=%.0f", f->c > 0 ? "rr" : "laplace-noise", x,
		f->a, f->b);
}

static void lengths(const struct cmd_figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "%s:eps0=%.15g,n=%.0f,count=%.0f", f->c > 0 ? "rr" : "laplace-noise", f->b,
		f->a, round(x));
}
