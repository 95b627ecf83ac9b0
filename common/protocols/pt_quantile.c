/* pt_quantile.c - level counts to quantiles of a bounded number, with intervals. */
#include "pt_quantile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pt_law.h"
#include "pt_mixbins.h"

#define LABEL_LEN 24u

const double *pt_quantile_asked(const struct pt_query *q, uint32_t *n)
{
	static const double usual[] = { 0.25, 0.5, 0.75 };

	*n = q->probabilities > 0 ? q->probabilities : sizeof usual / sizeof *usual;
	return q->probabilities > 0 ? q->probability : usual;
}

/* Of one level's distribution function: its estimate, standard error, and the monotone estimate. */
struct step {
	double share, error, monotone;
};

/* Levels 0..level as one item: who holds one of them supports it with chance P + level Q, everybody else with
 * (level + 1) Q. */
static struct pt_support support_of(const struct pt_params *p, uint32_t level, double dummies)
{
	double other = pt_mixbins_other(p), above = p->bins - 1 - level;

	return (struct pt_support){ .keep = pt_mixbins_keep(p) + level * other,
		.flip = above * other,
		.other = (level + 1) * other,
		.dummies = dummies,
		.blanket = (level + 1.0) / p->bins };
}

static struct step step_of(
	const struct pt_params *p, uint32_t level, double messages, double n, double dummies)
{
	struct pt_support s = support_of(p, level, dummies);
	double c = (messages - dummies * s.blanket - n * s.other) / (s.keep - s.other);

	return (struct step){ .share = c / n,
		.error = sqrt(pt_support_variance(&s, n, fmin(fmax(c, 0), n))) / n };
}

double pt_quantile_expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	double n = (double)participants, b = p->bins - 1, sum = 0;
	uint32_t asked;
	const double *at = pt_quantile_asked(q, &asked);

	for (uint32_t i = 0; i < asked; i++) {
		uint32_t level = (uint32_t)fmin(at[i] * b, b - 1);
		struct pt_support s = support_of(p, level, pt_mixbins_dummies(p, participants));

		sum += pt_support_variance(&s, n, at[i] * n) / (n * n);
	}
	return (q->high - q->low) * sqrt(sum / asked + 1 / (12 * b * b));
}

/* Pool adjacent violators: the nearest sequence that does not fall, within [0, 1].  size: room for as many.
 */
static void make_monotone(struct step *f, uint32_t n, uint32_t *size)
{
	uint32_t runs = 0;

	/* f[0..runs-1].monotone: means of the runs so far. */
	for (uint32_t i = 0; i < n; i++) {
		f[runs].monotone = f[i].share;
		size[runs++] = 1;
		for (; runs > 1 && f[runs - 2].monotone > f[runs - 1].monotone; runs--) {
			uint32_t one = size[runs - 2], other = size[runs - 1];

			f[runs - 2].monotone =
				(one * f[runs - 2].monotone + other * f[runs - 1].monotone) / (one + other);
			size[runs - 2] = one + other;
		}
	}
	/* Spread from behind: a run ends at or after its number. */
	for (uint32_t end = n; runs > 0; runs--) {
		double mean = fmin(fmax(f[runs - 1].monotone, 0), 1);

		for (uint32_t i = 0; i < size[runs - 1]; i++)
			f[--end].monotone = mean;
	}
}

/* In levels.  F of the levels at j is between that of the values at j and right below j + 1: as if at
 * j + 1/2. */
static double read_at(const struct step *f, uint32_t b, double q)
{
	double x = 0, share = 0;

	for (uint32_t j = 0; j <= b; j++) {
		double next = j < b ? j + 0.5 : b, reached = j < b ? f[j].monotone : 1;

		if (reached >= q)
			return reached > share ? x + (next - x) * (q - share) / (reached - share) : next;
		x = next;
		share = reached;
	}
	return b;
}

/* The quantile is above j if F(j) < q: of levels 0..b-1, as many as are rejected one after the other.  Wrong
 * only if the first level at or above the quantile is, which is a single test. */
static double lower_end(const struct step *f, uint32_t b, double q, double z)
{
	uint32_t j = 0;

	while (j < b && f[j].share + z * f[j].error < q)
		j++;
	return j > 0 ? j - 1 : 0;
}

/* And at most j + 1 if F(j) >= q, by the same reasoning from above. */
static double upper_end(const struct step *f, uint32_t b, double q, double z)
{
	uint32_t j = b;

	while (j > 0 && f[j - 1].share - z * f[j - 1].error >= q)
		j--;
	return j < b ? j + 1 : b;
}

static void fill(const struct pt_query *q, const struct step *f, uint32_t b, struct pt_estimate *e)
{
	double unit = (q->high - q->low) / b, z = pt_normal_upper(0.025);
	double joint = pt_normal_upper(pt_joint_tail(e->n));
	uint32_t n;
	const double *asked = pt_quantile_asked(q, &n);

	for (uint32_t i = 0; i < n; i++) {
		double at = asked[i], low = lower_end(f, b, at, z), high = upper_end(f, b, at, z);
		double x = fmin(fmax(read_at(f, b, at), low), high),
		       deviation = unit * (high - low) / (2 * z);

		char *label = e->names + (size_t)i * LABEL_LEN;

		if (at >= 0.5 && at <= 0.5)
			(void)snprintf(label, LABEL_LEN, "median");
		else
			(void)snprintf(label, LABEL_LEN, "p%.10g", 100 * at);
		e->item[i] = (struct pt_item){ .label = label,
			.value = q->low + unit * x,
			.variance = deviation * deviation,
			.lower = q->low + unit * low,
			.upper = q->low + unit * high,
			.joint_lower = q->low + unit * lower_end(f, b, at, joint),
			.joint_upper = q->low + unit * upper_end(f, b, at, joint),
			.projected = q->low + unit * x };
	}
}

enum cm_rc pt_quantile_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, double dummies, struct pt_estimate *out, struct cm_err *err)
{
	uint32_t b = p->bins - 1;
	struct step *f = calloc(b, sizeof *f);
	uint32_t *size = calloc(b, sizeof *size);
	struct pt_estimate e = { .reports = reports };
	enum cm_rc rc = CM_OK;
	double messages = 0;
	uint32_t asked;

	(void)pt_quantile_asked(q, &asked);
	e.n = asked;
	e.item = calloc(asked, sizeof *e.item);
	e.names = calloc(asked, LABEL_LEN);
	if (f == NULL || size == NULL || e.item == NULL || e.names == NULL) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->protocol);
		goto out;
	}
	for (uint32_t j = 0; j < b; j++) {
		messages += (double)counts[j];
		f[j] = step_of(p, j, messages, (double)reports, dummies);
	}
	make_monotone(f, b, size);
	fill(q, f, b, &e);
	*out = e;
	e = (struct pt_estimate){ 0 };
out:
	free(f);
	free(size);
	pt_estimate_fini(&e);
	return rc;
}
