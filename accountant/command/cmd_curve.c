/* cmd_curve.c (cmd.h) - epsilon over delta, or over one parameter of the rounds, as CSV, table or JSON. */
#include <math.h>
#include <stdlib.h>

#include "cmd.h"
#include "cmd_search.h"

#define POINTS      41u
#define LEAST_DELTA 1e-12
#define MOST_DELTA  1e-2

struct point {
	double x;
	struct acct_bound y; /* the answer at x; lower 0 or upper INFINITY: this end is not known */
};

struct series {
	const struct acct_method *method;
	enum acct_worth worth; /* what the least trustworthy of the series' points is worth */
	const char *note;
	struct point *point;
	size_t points;
};

struct curve {
	const struct cmd_question *q;
	const char *x_name;
	struct series series[CMD_MOST_METHODS]; /* the first q->methods are used */
	double *x;
	size_t points;
};

/* x as the output will show it: the value is computed for the number that is printed. */
static double shown(double x, int digits)
{
	char text[CMD_NUMBER_ROOM];

	(void)snprintf(text, sizeof text, "%.*g", digits, x);
	return strtod(text, NULL);
}

/* Set the curve's points from a to b, at equal distances or in equal ratios; whole numbers are rounded, and
 * repetitions dropped. */
static enum cm_rc spread(struct curve *c, double a, double b, bool whole)
{
	size_t n = c->q->points ? c->q->points : POINTS;
	bool ratios = a > 0 && b / a >= 20;

	c->x = calloc(n, sizeof *c->x);
	if (!c->x)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		double t = (double)i / (double)(n - 1);
		double x = i == 0 ? a : i == n - 1 ? b : ratios ? a * pow(b / a, t) : a + (b - a) * t;

		x = whole ? round(x) : shown(x, 6);
		if (c->points == 0 || x > c->x[c->points - 1])
			c->x[c->points++] = x;
	}
	return CM_OK;
}

static enum cm_rc range(struct curve *c)
{
	const struct cmd_question *q = c->q;
	double low = isnan(q->delta_min) ? LEAST_DELTA : q->delta_min;
	double high = isnan(q->delta_max) ? MOST_DELTA : q->delta_max;

	if (!q->over) {
		if (!isnan(q->from) || !isnan(q->to) || !isnan(q->delta))
			return cmd_fail(CM_EUSAGE, "curve: --delta, --from and --to go with --over");
		if (!(low < high))
			return cmd_fail(CM_EUSAGE, "curve: --delta-min must be below --delta-max");
		c->x_name = "delta";
		return spread(c, low, high, false);
	}
	if (!isnan(q->delta_min) || !isnan(q->delta_max))
		return cmd_fail(CM_EUSAGE, "curve: --delta-min and --delta-max do not go with --over");
	if (isnan(q->delta) || isnan(q->from) || isnan(q->to))
		return cmd_fail(CM_EUSAGE, "curve: --over needs --delta, --from and --to");
	if (!(q->from < q->to && isfinite(q->from) && isfinite(q->to)))
		return cmd_fail(CM_EUSAGE, "curve: --from must be below --to");
	c->x_name = q->over;
	return spread(c, q->from, q->to, cmd_spec_whole(q->text, q->rounds, q->over));
}

/* The rounds at one x of a curve over a parameter. */
static enum cm_rc rounds_at(const struct curve *c, double x, struct acct_spec **out, size_t *parts)
{
	const struct cmd_question *q = c->q;
	char(*text)[CMD_SPEC_ROOM] = calloc(q->rounds, sizeof *text), value[CMD_NUMBER_ROOM];
	const char **list = calloc(q->rounds, sizeof *list);
	bool anywhere = false;
	enum cm_rc code = CM_OK;

	if (!text || !list) {
		free(list);
		free(text);
		return cmd_fail(CM_EINTERNAL, "out of memory");
	}
	(void)snprintf(value, sizeof value, "%.15g", x);
	for (size_t i = 0; i < q->rounds; i++)
		anywhere = anywhere || cmd_spec_has(q->text[i], q->over);
	for (size_t i = 0; !code && i < q->rounds; i++) {
		list[i] = text[i];
		if (anywhere && !cmd_spec_has(q->text[i], q->over))
			list[i] = q->text[i];
		else if (!cmd_spec_set(q->text[i], q->over, value, text[i], sizeof text[i]))
			code = cmd_fail(CM_EDATA, "--round %.80s: the text is too long", q->text[i]);
	}
	if (!code)
		code = cmd_rounds(list, q->rounds, q->published, out, parts);
	free(list);
	free(text);
	return code;
}

static enum cm_rc refused(
	const struct curve *c, const struct series *s, enum acct_rc rc, const char *why, double x)
{
	return cmd_fail(rc == ACCT_ENOMEM ? CM_EINTERNAL : CM_EDATA, "--method %s at %s %g: %s",
		s->method->name, c->x_name, x, why ? why : acct_strerror(rc));
}

static void keep(struct series *s, double x, const struct acct_method_answer *a)
{
	if (a->worth > s->worth)
		s->worth = a->worth;
	s->note = a->note ? a->note : s->note;
	s->point[s->points++] = (struct point){ x, a->bound };
}

static enum cm_rc ask(
	struct curve *c, struct series *s, const struct acct_spec *round, size_t parts, double x)
{
	struct acct_method_answer a;
	const char *why;
	enum acct_rc rc = cmd_epsilon(s->method, c->q->published, round, parts, c->q->delta, &a, &why);

	if (rc)
		return refused(c, s, rc, why, x);
	keep(s, x, &a);
	return CM_OK;
}

/* Make a curve over delta by one question, so that the rounds are composed once. */
static enum cm_rc ask_all(struct curve *c, struct series *s, const struct acct_spec *round, size_t parts)
{
	struct acct_method_answer *a = calloc(c->points, sizeof *a);
	const char *why;
	enum acct_rc rc;

	if (!a)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	rc = cmd_epsilons(s->method, c->q->published, round, parts, c->x, c->points, a, &why);
	for (size_t i = 0; !rc && i < c->points; i++)
		keep(s, c->x[i], &a[i]);
	free(a);
	return rc ? refused(c, s, rc, why, c->x[0]) : CM_OK;
}

static enum cm_rc compute(struct curve *c)
{
	struct acct_spec *round = NULL;
	size_t parts = 0;
	enum cm_rc code = CM_OK;

	if (!c->q->over) {
		code = cmd_rounds(c->q->text, c->q->rounds, c->q->published, &round, &parts);
		for (size_t k = 0; !code && k < c->q->methods; k++)
			code = ask_all(c, &c->series[k], round, parts);
	}
	for (size_t i = 0; c->q->over && !code && i < c->points; i++) {
		free(round);
		round = NULL;
		code = rounds_at(c, c->x[i], &round, &parts);
		for (size_t k = 0; !code && k < c->q->methods; k++)
			code = ask(c, &c->series[k], round, parts, c->x[i]);
	}
	free(round);
	return code;
}

static void print_csv(FILE *to, const struct curve *c)
{
	fprintf(to, "method,worth,%s,epsilon_lower,epsilon_upper\n", c->x_name);
	for (size_t k = 0; k < c->q->methods; k++)
		for (size_t i = 0; i < c->series[k].points; i++) {
			const struct series *s = &c->series[k];
			const struct point *p = &s->point[i];

			fprintf(to, "%s,%s,%.15g,%.17g,%.17g\n", s->method->name, acct_worth_text(s->worth),
				p->x, p->y.lower, p->y.upper);
		}
}

static void print_table(FILE *to, const struct curve *c)
{
	char high[CMD_NUMBER_ROOM];

	fprintf(to, "%-12s", c->x_name);
	for (size_t k = 0; k < c->q->methods; k++)
		fprintf(to, " %14s", c->series[k].method->name);
	fputc('\n', to);
	for (size_t i = 0; i < c->points; i++) {
		fprintf(to, "%-12.6g", c->x[i]);
		for (size_t k = 0; k < c->q->methods; k++) {
			const struct acct_bound *y = &c->series[k].point[i].y;

			fprintf(to, " %14s",
				c->series[k].worth == ACCT_LOWER ? cmd_down(y->lower, high)
								 : cmd_up(y->upper, high));
		}
		fputc('\n', to);
	}
	for (size_t k = 0; k < c->q->methods; k++)
		fprintf(to, "%s: %s%s%s\n", c->series[k].method->name, acct_worth_text(c->series[k].worth),
			c->series[k].note ? "; " : "", c->series[k].note ? c->series[k].note : "");
}

static void print_json(FILE *to, const struct curve *c)
{
	struct cmd_json j = cmd_json_begin(to);

	cmd_json_text(&j, "over", c->x_name);
	if (c->q->over)
		cmd_json_number(&j, "delta", c->q->delta);
	cmd_json_open(&j, "series", '[');
	for (size_t k = 0; k < c->q->methods; k++) {
		const struct series *s = &c->series[k];
		struct acct_method_answer a = { .worth = s->worth, .note = s->note };

		cmd_json_open(&j, NULL, '{');
		cmd_json_method(&j, s->method, c->q->published, &a);
		cmd_json_open(&j, "points", '[');
		for (size_t i = 0; i < s->points; i++) {
			cmd_json_open(&j, NULL, '{');
			cmd_json_number(&j, "x", s->point[i].x);
			cmd_json_bound(&j, "epsilon", s->point[i].y);
			cmd_json_close(&j, '}');
		}
		cmd_json_close(&j, ']');
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	fputc('\n', to);
}

/* The output file is created only when there is something to write. */
static enum cm_rc print(const struct curve *c)
{
	const char *path = c->q->output;
	enum cmd_format format = c->q->format ? c->q->format : CMD_CSV;
	FILE *to;
	enum cm_rc rc = cmd_create(path, &to);

	if (rc)
		return rc;
	if (format == CMD_OBJECT)
		print_json(to, c);
	else if (format == CMD_TABLE)
		print_table(to, c);
	else
		print_csv(to, c);
	return cmd_close(path, to);
}

enum cm_rc cmd_run_curve(const struct cmd_question *q)
{
	struct curve *c;
	enum cm_rc code;

	if (q->format == CMD_TRADE_OFF)
		return cmd_fail(CM_EUSAGE, "curve: --format is csv, table or json (see export)");
	c = calloc(1, sizeof *c);

	if (!c)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	c->q = q;
	code = range(c);
	for (size_t k = 0; !code && k < q->methods; k++) {
		c->series[k].method = q->method[k];
		c->series[k].worth = q->method[k]->worth;
		c->series[k].point = calloc(c->points + 1, sizeof *c->series[k].point);
		if (!c->series[k].point)
			code = cmd_fail(CM_EINTERNAL, "out of memory");
	}
	if (!code)
		code = compute(c);
	if (!code)
		code = print(c);
	for (size_t k = 0; k < q->methods; k++)
		free(c->series[k].point);
	free(c->x);
	free(c);
	return code;
}
