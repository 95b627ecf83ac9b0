/* cmd_export.c - exports the composed privacy loss for other tools: as a distribution, as deltas, or as a
 * trade-off curve. */
#include <math.h>
#include <stdlib.h>

#include "acct_export.h"
#include "cmd.h"

#define POINTS 400u
#define TAIL   1e-12

static void print_json(FILE *to, const struct acct_pld *p)
{
	struct cmd_json j = cmd_json_begin(to);

	cmd_json_text(&j, "neighbours", "replace one record");
	cmd_json_bool(&j, "pessimistic_estimate", true);
	cmd_json_number(&j, "discretization", p->step);
	cmd_json_open(&j, "pmf_remove", '{');
	fprintf(to, "\"lower_loss\":%ld", p->lower);
	j.comma = true;
	cmd_json_number(&j, "infinity_mass", p->infinite);
	cmd_json_open(&j, "probs", '[');
	for (size_t i = 0; i < p->size; i++)
		fprintf(to, "%s%.17g", i > 0 ? "," : "", p->p[i]);
	j.comma = true;
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	cmd_json_text(&j, "pmf_add", NULL);
	cmd_json_close(&j, '}');
	fputc('\n', to);
}

static void print_csv(FILE *to, const double *epsilon, const struct acct_bound *delta, size_t n)
{
	fputs("# dominating\n# neighbours: replace one record\nepsilon,delta_lower,delta_upper\n", to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%.17g,%.17g,%.17g\n", epsilon[i], delta[i].lower, delta[i].upper);
}

static double down(double x)
{
	return fmax(0, x * (1 - 1e-12) - 1e-15);
}

/* Compute where the lines fnr = 1 - delta - e^eps fpr of two neighbouring points meet; false if that is
 * outside the quadrant. */
static bool corner(const double epsilon[2], const struct acct_bound delta[2], double *x, double *y)
{
	double a = exp(epsilon[1]);

	*x = (delta[0].upper - delta[1].upper) / (a - exp(epsilon[0]));
	*y = 1 - delta[1].upper - a * *x;
	return *x >= 0 && *y >= 0;
}

/* Print the corners of the trade-off curve of the upper ends, which bounds errors of the first kind (fpr)
 * and of the second (fnr) from below.  They are the points where the lines fnr = 1 - delta - e^eps fpr and
 * their mirror images meet pairwise, rounded downwards.  The hull of the corners lies below the curve. */
static void print_trade_off(FILE *to, const double *epsilon, const struct acct_bound *delta, size_t n)
{
	fputs("# dominating\n# neighbours: replace one record\nfpr,fnr\n", to);
	fprintf(to, "0,%.17g\n", down(1 - delta[n - 1].upper));
	for (size_t i = n - 1; i > 0; i--) {
		double x, y;

		if (corner(&epsilon[i - 1], &delta[i - 1], &x, &y))
			fprintf(to, "%.17g,%.17g\n", down(x), down(y));
	}
	double fair = down((1 - delta[0].upper) / 2);
	fprintf(to, "%.17g,%.17g\n", fair, fair);
	for (size_t i = 1; i < n; i++) {
		double x, y;

		if (corner(&epsilon[i - 1], &delta[i - 1], &x, &y))
			fprintf(to, "%.17g,%.17g\n", down(y), down(x));
	}
	fprintf(to, "%.17g,0\n", down(1 - delta[n - 1].upper));
}

struct answer {
	struct acct_pld pld;
	double *epsilon;
	struct acct_bound *delta;
	size_t points;
};

static enum acct_rc compute(const struct cmd_question *q, enum cmd_format format, const struct acct_round *r,
	size_t n, struct answer *a)
{
	double tail = isnan(q->delta_min) ? TAIL : q->delta_min, range = isnan(q->to) ? 0 : q->to;
	struct acct_bound far;
	enum acct_rc rc = ACCT_OK;

	a->points = q->points ? q->points : POINTS;
	if (format == CMD_OBJECT)
		return acct_export_pld(r, n, range, tail, a->points, &a->pld);
	if (!(range > 0)) {
		rc = acct_epsilon(r, n, tail, &far);
		range = rc ? 0 : fmin(600, fmax(1e-9, far.upper));
	}
	a->points++; /* one more for the point at epsilon 0 */
	a->epsilon = calloc(a->points, sizeof *a->epsilon);
	a->delta = calloc(a->points, sizeof *a->delta);
	if (!a->epsilon || !a->delta)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < a->points; i++)
		a->epsilon[i] = range * (double)i / (double)(a->points - 1);
	return rc ? rc : acct_deltas(r, n, a->epsilon, a->points, a->delta);
}

static enum cm_rc print(const struct cmd_question *q, enum cmd_format format, const struct answer *a)
{
	FILE *to;
	enum cm_rc rc = cmd_create(q->output, &to);

	if (rc)
		return rc;
	if (format == CMD_OBJECT)
		print_json(to, &a->pld);
	else if (format == CMD_CSV)
		print_csv(to, a->epsilon, a->delta, a->points);
	else
		print_trade_off(to, a->epsilon, a->delta, a->points);
	return cmd_close(q->output, to);
}

enum cm_rc cmd_run_export(const struct cmd_question *q)
{
	enum cmd_format format = q->format ? q->format : CMD_OBJECT;
	struct answer a = { .points = 0 };
	struct acct_spec *spec = NULL;
	struct acct_round *r;
	size_t parts;
	enum cm_rc code;

	if (format != CMD_OBJECT && format != CMD_CSV && format != CMD_TRADE_OFF)
		return cmd_fail(CM_EUSAGE, "export: --format is json, csv or trade-off");
	if (!isnan(q->to) && !(q->to > 0 && q->to <= 600))
		return cmd_fail(CM_EUSAGE, "export: --to must be above 0 and at most 600");
	code = cmd_rounds(q->text, q->rounds, false, &spec, &parts);
	if (code)
		return code;
	r = calloc(parts, sizeof *r);
	for (size_t i = 0; r && i < parts; i++)
		r[i] = spec[i].round;
	enum acct_rc rc = r ? compute(q, format, r, parts, &a) : ACCT_ENOMEM;
	code = rc ? cmd_refused(acct_method_row(0), rc, NULL) : print(q, format, &a);
	acct_pld_fini(&a.pld);
	free(a.epsilon);
	free(a.delta);
	free(r);
	free(spec);
	return code;
}
