/* cmd_figure.c - the figures of the literature as curves: what is proved beside what was published. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_curve.h"

#define MOST_SERIES 6u
#define MOST_POINTS 26u

struct figure;
typedef void text_fn(const struct figure *f, double x, char *out, size_t room);
static text_fn subset, hash, bins, over_n, over_eps0, over_rounds, sampled, coordinates, classes;

/* x runs from `from` to `to`, in equal ratios where `ratios`; a, b and c are the text's. */
static const struct figure {
	const char *name, *title, *x_name;
	text_fn *text;
	double a, b, c, delta, from, to;
	bool ratios;
	unsigned points;
	const char *method[MOST_SERIES];
} figures[] = {
#define ONE_ROUND "pld", "published", "strong-clones", "clones"
	{ "001-1-n4-d16", "subset selection, n=1e4, d=16, delta 1e-6", "eps0", subset, 1e4, 16, 0, 1e-6, 0.1,
		5, false, 25, { ONE_ROUND } },
	{ "001-1-n4-d128", "subset selection, n=1e4, d=128, delta 1e-6", "eps0", subset, 1e4, 128, 0, 1e-6,
		0.1, 5, false, 25, { ONE_ROUND } },
	{ "001-1-n5-d16", "subset selection, n=1e5, d=16, delta 1e-6", "eps0", subset, 1e5, 16, 0, 1e-6, 0.1,
		5, false, 25, { ONE_ROUND } },
	{ "001-1-n5-d128", "subset selection, n=1e5, d=128, delta 1e-6", "eps0", subset, 1e5, 128, 0, 1e-6,
		0.1, 5, false, 25, { ONE_ROUND } },
	{ "001-2-n4", "local hash, n=1e4, delta 1e-6", "eps0", hash, 1e4, 0, 0, 1e-6, 0.1, 5, false, 25,
		{ ONE_ROUND } },
	{ "001-2-n5", "local hash, n=1e5, delta 1e-6", "eps0", hash, 1e5, 0, 0, 1e-6, 0.1, 5, false, 25,
		{ ONE_ROUND } },
	{ "001-4-d16", "balls into 16 bins, n for a stated epsilon, delta 1e-6", "stated", bins, 16, 0, 0,
		1e-6, 0.01, 1.5, true, 20, { "pld", "published" } },
	{ "001-4-d128", "balls into 128 bins, n for a stated epsilon, delta 1e-6", "stated", bins, 128, 0, 0,
		1e-6, 0.01, 1.5, true, 20, { "pld", "published" } },
#define SINGLE "girgis", "clones", "strong-clones", "bennett", "hoeffding"
	{ "002-3a", "one round, eps0=0.1, delta 1e-6", "n", over_n, 0.1, 1, 0, 1e-6, 1e4, 1e6, true, 9,
		{ SINGLE } },
	{ "002-3b", "one round, n=1e4, delta 1e-6", "eps0", over_eps0, 1e4, 1, 0, 1e-6, 0.1, 4, false, 14,
		{ SINGLE } },
	{ "002-3c", "one round, eps0=3, delta 1e-6", "n", over_n, 3, 1, 0, 1e-6, 1e4, 1e6, true, 9,
		{ SINGLE } },
	{ "002-3d", "one round, n=1e5, delta 1e-6", "eps0", over_eps0, 1e5, 1, 0, 1e-6, 0.1, 4, false, 14,
		{ SINGLE } },
#define COMPOSED "girgis", "advanced", "clones", "strong-clones"
	{ "002-4a", "T rounds, eps0=0.5, n=1e6, delta 1e-8", "T", over_rounds, 1e6, 0.5, 0, 1e-8, 10, 1e5,
		true, 13, { COMPOSED } },
	{ "002-4b", "1e4 rounds, eps0=0.5, delta 1e-8", "n", over_n, 0.5, 1e4, 0, 1e-8, 1e4, 1e6, true, 9,
		{ COMPOSED } },
	{ "002-4c", "1e4 rounds, n=1e5, delta 1e-8", "eps0", over_eps0, 1e5, 1e4, 0, 1e-8, 0.1, 3, true, 9,
		{ COMPOSED } },
	{ "002-4d", "T rounds, eps0=2, n=1e6, delta 1e-8", "T", over_rounds, 1e6, 2, 0, 1e-8, 10, 1e5, true,
		13, { COMPOSED } },
	{ "002-4e", "1e4 rounds, eps0=2, delta 1e-8", "n", over_n, 2, 1e4, 0, 1e-8, 1e4, 1e6, true, 9,
		{ COMPOSED } },
	{ "002-4f", "1e4 rounds, n=1e6, delta 1e-8", "eps0", over_eps0, 1e6, 1e4, 0, 1e-8, 0.1, 3, true, 9,
		{ COMPOSED } },
	{ "002-5a", "T rounds of 1e-3 of n=1e6, eps0=3, delta 1e-8", "T", sampled, 1e6, 3, 1e-3, 1e-8, 1e3,
		1e5, true, 5, { "girgis", "clones", "strong-clones" } },
	{ "002-5b", "T rounds of 1e-3 of n=1e7, eps0=3, delta 1e-8", "T", sampled, 1e7, 3, 1e-3, 1e-8, 1e3,
		1e5, true, 5, { "girgis", "clones", "strong-clones" } },
	{ "003-8", "SS-Simple, 7850 coordinates of binary response, n=1000, delta 5e-6", "eps0", coordinates,
		1000, 7850, 0, 5e-6, 0.01, 1, true, 9, { "flame-first", "flame", "pld", "lower" } },
	{ "003-9", "SS-Simple, coordinates of binary response, eps0=0.01, n=1000, delta 5e-6", "d",
		over_rounds, 1000, 0.01, 1, 5e-6, 100, 1e5, true, 9,
		{ "flame-first", "flame", "pld", "lower" } },
	{ "004-2", "constant eps0 0.5, delta 1e-4", "n", classes, 0.5, 0, 0, 1e-4, 1e3, 1e5, true, 9,
		{ "gspa", "pld", "strong-clones", "lower" } },
};
#define FIGURES (sizeof figures / sizeof *figures)

/* The best size of a subset of d, and the best number of hashes, are those of least variance. */
static void subset(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "subset:d=%.0f,k=%.0f,eps0=%.15g,n=%.0f", f->b,
		fmax(1, round(f->b / (exp(x) + 1))), x, f->a);
}

static void hash(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "olh:l=%.0f,eps0=%.15g,n=%.0f", fmax(2, round(exp(x) + 1)), x, f->a);
}

/* As many dummies as its authors ask for: 32 d log(2/delta) / x^2. */
static void bins(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(
		out, room, "bins:k=%.0f,dummies=%.0f", f->a, ceil(32 * f->a * log(2 / f->delta) / (x * x)));
}

static void over_n(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,count=%.0f", f->a, round(x), f->b);
}

static void over_eps0(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,count=%.0f", x, f->a, f->b);
}

/* c: binary response, which `flame` takes, and not any randomizer. */
static void over_rounds(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "%s:eps0=%.15g,n=%.0f,count=%.0f", f->c > 0 ? "rr" : "generic", f->b, f->a,
		round(x));
}

static void sampled(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "generic:eps0=%.15g,n=%.0f,sampling=%.15g,count=%.0f", f->b, f->a * f->c,
		f->c, round(x));
}

static void coordinates(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "rr:eps0=%.15g,n=%.0f,count=%.0f", x, f->a, f->b);
}

static void classes(const struct figure *f, double x, char *out, size_t room)
{
	(void)snprintf(out, room, "rr:eps0=%.15g,n=%.0f", f->a, round(x));
}

struct drawing {
	struct cmd_plot plot;
	struct cmd_series series[MOST_SERIES];
	struct cmd_point point[MOST_SERIES][MOST_POINTS];
};

static double x_of(const struct figure *f, unsigned i)
{
	double t = (double)i / (f->points - 1);
	char text[CMD_NUMBER_ROOM];

	(void)snprintf(text, sizeof text, "%.4g",
		f->ratios ? f->from * pow(f->to / f->from, t) : f->from + (f->to - f->from) * t);
	return strtod(text, NULL);
}

/* Adds one point to every series; a method that cannot answer here has none. */
static int ask(const struct figure *f, struct drawing *d, double x)
{
	char text[CMD_NUMBER_ROOM * 5];
	const char *list[1] = { text };
	struct acct_spec *round = NULL;
	size_t parts;
	int code;

	f->text(f, x, text, sizeof text);
	code = cmd_rounds(list, 1, false, &round, &parts);
	for (size_t k = 0; !code && k < d->plot.count; k++) {
		struct cmd_series *s = &d->series[k];
		struct acct_method_answer a;
		const char *why;

		if (cmd_epsilon(s->method, false, round, parts, f->delta, &a, &why))
			continue;
		s->worth = a.worth > s->worth ? a.worth : s->worth;
		d->point[k][s->points++] = (struct cmd_point){ x, a.bound };
	}
	free(round);
	return code;
}

static int draw(const struct figure *f, struct drawing *d)
{
	int code = 0;

	memset(d, 0, sizeof *d);
	d->plot = (struct cmd_plot){
		.title = f->title, .x_name = f->x_name, .x_logarithmic = f->ratios, .series = d->series
	};
	for (; d->plot.count < MOST_SERIES && f->method[d->plot.count]; d->plot.count++) {
		struct cmd_series *s = &d->series[d->plot.count];

		s->method = acct_method_find(f->method[d->plot.count]);
		s->worth = s->method->worth;
		s->point = d->point[d->plot.count];
	}
	for (unsigned i = 0; i < f->points && !code; i++)
		code = ask(f, d, x_of(f, i));
	return code;
}

static int put(const char *path, const struct drawing *d, bool svg)
{
	FILE *to = path ? fopen(path, "w") : stdout;
	bool bad;

	if (!to)
		return cmd_fail(CMD_CANNOT_CREATE, "%s: %s", path, strerror(errno));
	if (svg)
		cmd_svg(to, &d->plot);
	else
		cmd_plot_csv(to, &d->plot);
	bad = ferror(to);
	if (path)
		bad = fclose(to) != 0 || bad;
	return bad ? cmd_fail(CMD_WRITE, "%s: cannot be written", path ? path : "standard output") : 0;
}

static int all(const char *folder, struct drawing *d)
{
	char path[1024];
	int code = 0;

	for (size_t i = 0; i < FIGURES && !code; i++) {
		code = draw(&figures[i], d);
		for (int svg = 0; svg < 2 && !code; svg++) {
			(void)snprintf(path, sizeof path, "%.900s/%s.%s", folder, figures[i].name,
				svg ? "svg" : "csv");
			code = put(path, d, svg);
		}
	}
	return code;
}

int cmd_run_figure(const struct cmd_question *q)
{
	enum cmd_format format = q->given & CMD_FORMAT ? q->format : CMD_CSV;
	const struct figure *f = NULL;
	struct drawing *d;
	int code;

	if (strcmp(q->file, "list") == 0) {
		for (size_t i = 0; i < FIGURES; i++)
			printf("%-14s %s\n", figures[i].name, figures[i].title);
		return 0;
	}
	if (format != CMD_CSV && format != CMD_SVG)
		return cmd_fail(CMD_USAGE, "figure: --format is csv or svg");
	for (size_t i = 0; i < FIGURES; i++)
		if (strcmp(q->file, figures[i].name) == 0)
			f = &figures[i];
	if (!f && strcmp(q->file, "all") != 0)
		return cmd_fail(CMD_USAGE, "figure: no such figure '%.40s' (see figure list)", q->file);
	if (!f && !q->output)
		return cmd_fail(CMD_USAGE, "figure: all needs --output FOLDER");
	d = calloc(1, sizeof *d);
	if (!d)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	code = f ? draw(f, d) : all(q->output, d);
	if (f && !code)
		code = put(q->output, d, format == CMD_SVG);
	free(d);
	return code;
}
