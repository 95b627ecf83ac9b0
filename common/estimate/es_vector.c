/* es_vector.c - estimates the mean of a vector from signs of its coordinates, with intervals. */
#include "es_vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "es_law.h"
#include "pr_limits.h"

/* from this expected number of messages about a coordinate on, the normal law is used */
#define EXACT 2000.0
/* sums of signs further than so many standard deviations above the greatest possible mean get no exact
 * law */
#define FAR 20.0
/* the limits of a sum of signs from -MEMO to MEMO are kept for the next coordinate with that sum */
#define MEMO      2048
#define BISECTION 30
#define LABEL     11 /* bytes of a number of 32 bits in decimal, with its NUL */

struct limits {
	/* the ends of the intervals of h that belong to one sum */
	double lower, upper, joint_lower, joint_upper;
	bool known;
};

/* One estimation. */
struct work {
	const struct pt_signs *s;
	double n, messages;
	/* slope of a message when it is not known whether it is a dummy: the slope of pt_signs times the
	 * part of messages that are not */
	double mixed;
	double unit; /* how much one sign adds to the estimate of h */
	/* chance that one end of an interval misses: of a coordinate's own interval, and of the joint
	 * one */
	double alpha, joint_alpha;
	double z, joint_z;
	bool exact;
	struct es_law about; /* law of the number of messages about a coordinate, when exact */
	/* limits by the sum of signs: coordinates with equal sums have equal limits */
	struct limits *memo;
};

double es_signs_variance(const struct pt_signs *s, double n, double h)
{
	double all = n + (double)s->dummies;

	return (all * s->groups / (s->slope * s->slope) - n * h * h) / (n * n);
}

/* P(S >= m) when all participants hold h and every message may equally well be a dummy: this has the same
 * mean as n participants and N dummies, and a larger spread.  Given c messages about the coordinate, (m +
 * c) / 2 of them, rounded up, must show +1.  `at` is the chance of exactly as many and `least` of at least
 * as many; both are updated from c to c + 1. */
static double tail(const struct work *w, double h, int64_t m)
{
	double plus = (1 + w->mixed * h) / 2, minus = (1 - w->mixed * h) / 2, sum = 0, least, at;
	int64_t c = llabs(m), last = w->about.first + (int64_t)w->about.len - 1, t = m > 0 ? m : 0;

	if (m <= 0)
		sum = es_law_at_most(&w->about, c - 1);
	at = pow(m > 0 ? plus : minus, (double)c);
	least = m > 0 ? at : 1;
	for (; c <= last; c++) {
		if (c >= w->about.first)
			sum += w->about.p[c - w->about.first] * least;
		if ((m + c) % 2 == 0) {
			least -= minus * at;
			at *= (double)(c + 1) * plus / (double)(t + 1);
			t++;
		} else {
			least += at * (double)t * minus / (double)(c - t + 1);
			at *= (double)(c + 1) * minus / (double)(c + 1 - t);
		}
	}
	return sum;
}

/* The least h with P(S >= m | h) > a.  Outside [-1, 1] there are no laws, so that of the end is shifted. */
static double lower_limit(const struct work *w, int64_t m, double a)
{
	double low = -1, high = 1;
	int64_t most = m;

	if (tail(w, low, m) > a) {
		while (tail(w, low, most + 1) > a)
			most++;
		return low - (double)(most - m) * w->unit;
	}
	if (tail(w, high, m) <= a) {
		while (tail(w, high, most - 1) <= a)
			most--;
		return high + (double)(m - most) * w->unit;
	}
	for (int i = 0; i < BISECTION; i++) {
		double h = (low + high) / 2;

		if (tail(w, h, m) > a)
			high = h;
		else
			low = h;
	}
	return low;
}

/* The least h with value - h <= z sd(h), where sd(h) is the standard deviation of the estimate at h;
 * outside [-1, 1] it is that of the end. */
static double lower_score(const struct work *w, double value, double z)
{
	double more = 1 + z * z / w->n, noise = z * z * es_signs_variance(w->s, w->n, 0);
	double at_end = value - z * sqrt(es_signs_variance(w->s, w->n, 1));

	if (at_end <= -1 || at_end >= 1)
		return at_end;
	return (value - sqrt(fmax(value * value - more * (value * value - noise), 0))) / more;
}

static struct limits find_limits(const struct work *w, int64_t m)
{
	double value = (double)m * w->unit, about = w->messages / w->s->groups;
	struct limits l = { .known = true };

	/* An upper limit for S is the negative lower limit for -S, since -S has the law for mean -h. */
	if (w->exact && fabs((double)m) <= about + FAR * (1 + sqrt(about))) {
		l.lower = lower_limit(w, m, w->alpha);
		l.upper = -lower_limit(w, -m, w->alpha);
		l.joint_lower = lower_limit(w, m, w->joint_alpha);
		l.joint_upper = -lower_limit(w, -m, w->joint_alpha);
		return l;
	}
	l.lower = lower_score(w, value, w->z);
	l.upper = -lower_score(w, -value, w->z);
	l.joint_lower = lower_score(w, value, w->joint_z);
	l.joint_upper = -lower_score(w, -value, w->joint_z);
	return l;
}

static struct limits limits_of(struct work *w, int64_t m)
{
	struct limits *memo;

	if (m < -MEMO || m > MEMO)
		return find_limits(w, m);
	memo = &w->memo[m + MEMO];
	if (!memo->known)
		*memo = find_limits(w, m);
	return *memo;
}

static bool work_init(
	struct work *w, const struct pt_signs *s, uint64_t reports, uint32_t dimension, double part)
{
	double n = (double)reports;

	*w = (struct work){ .s = s, .n = n, .messages = n + (double)s->dummies };
	w->mixed = s->slope * n / w->messages;
	w->unit = s->groups / (n * s->slope);
	w->alpha = 0.025 * part;
	w->joint_alpha = es_joint_tail(dimension) * part;
	w->z = es_normal_upper(w->alpha);
	w->joint_z = es_normal_upper(w->joint_alpha);
	w->exact = w->messages / s->groups < EXACT;
	w->memo = calloc(2 * MEMO + 1, sizeof *w->memo);
	return w->memo && (!w->exact || es_law_binomial(&w->about, reports + s->dummies, 1 / s->groups));
}

static void work_fini(struct work *w)
{
	es_law_fini(&w->about);
	free(w->memo);
}

enum cm_rc es_vector_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err)
{
	e->n = q->dimension;
	e->item = calloc(e->n, sizeof *e->item);
	e->names = q->columns == 0 ? calloc(e->n, LABEL) : NULL;
	if (!e->item || (q->columns == 0 && !e->names))
		return cm_fail(err, CM_EINTERNAL, "query '%s': out of memory", q->name);
	for (uint32_t i = 0; i < q->dimension; i++) {
		char *number = q->columns == 0 ? e->names + (size_t)i * LABEL : NULL;

		if (number)
			(void)snprintf(number, LABEL, "%u", (unsigned)i);
		e->item[i].label = number ? number : q->column[i].name;
	}
	return CM_OK;
}

static void fill(struct work *w, const struct qy_query *q, const int64_t *sum, struct es_estimate *e)
{
	double half = (q->high - q->low) / 2, middle = q->low + half;
	double zero = fmin(fmax(0, q->low), q->high), most = es_signs_variance(w->s, w->n, 0);
	struct limits nothing = find_limits(w, llround((zero - middle) / half / w->unit));

	for (uint32_t i = 0; i < q->dimension; i++) {
		struct limits l = limits_of(w, sum[i]);
		double value = (double)sum[i] * w->unit, square = value * value - most;
		struct qy_item *item = &e->item[i];

		/* `projected`: the estimate varies, so its own variance is subtracted from its square */
		*item = (struct qy_item){ .label = item->label,
			.value = middle + half * value,
			.variance =
				half * half * es_signs_variance(w->s, w->n, sqrt(fmin(fmax(square, 0), 1))),
			.lower = middle + half * l.lower,
			.upper = middle + half * l.upper,
			.joint_lower = middle + half * l.joint_lower,
			.joint_upper = middle + half * l.joint_upper };
		item->projected = fmin(fmax(item->value, q->low), q->high);
		item->below_noise = item->joint_lower <= zero && item->joint_upper >= zero;
	}
	e->noise_floor = half * (nothing.joint_upper - nothing.joint_lower) / 2;
}

/* part: of the 5 % with which an interval may miss. */
static enum cm_rc estimate(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	uint64_t reports, double part, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	struct work w = { 0 };
	enum cm_rc rc;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "no participants, or too many");
	rc = es_vector_items(q, &e, err);
	if (rc == CM_OK && !work_init(&w, s, reports, q->dimension, part))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK) {
		fill(&w, q, sum, &e);
		*out = e;
		e = (struct es_estimate){ 0 };
	}
	work_fini(&w);
	es_estimate_fini(&e);
	return rc;
}

enum cm_rc es_vector_estimate(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	return estimate(q, s, sum, reports, 1, out, err);
}

double es_vector_expected_error(const struct qy_query *q, const struct pt_signs *s, uint64_t participants)
{
	return (q->high - q->low) / 2 * sqrt(es_signs_variance(s, (double)participants, 0));
}

enum cm_rc es_vector_honest(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	const uint64_t *lied, uint64_t honest, struct es_honest *out, struct cm_err *err)
{
	int64_t *end = calloc(2 * (size_t)q->dimension, sizeof *end);
	struct es_estimate low = { 0 }, high = { 0 };
	enum cm_rc rc = end ? CM_OK : cm_fail(err, CM_EINTERNAL, "query '%s': out of memory", q->name);

	for (uint32_t i = 0; rc == CM_OK && i < q->dimension; i++) {
		end[i] = sum[i] - (int64_t)lied[i];
		end[q->dimension + i] = sum[i] + (int64_t)lied[i];
	}
	if (rc == CM_OK)
		rc = estimate(q, s, end, honest, ES_KNOWN, &low, err);
	if (rc == CM_OK)
		rc = estimate(q, s, end + q->dimension, honest, ES_KNOWN, &high, err);
	for (uint32_t i = 0; rc == CM_OK && i < q->dimension; i++)
		out[i] = (struct es_honest){ .least = low.item[i].value,
			.most = high.item[i].value,
			.lower = low.item[i].lower,
			.upper = high.item[i].upper,
			.joint_lower = low.item[i].joint_lower,
			.joint_upper = high.item[i].joint_upper };
	es_estimate_fini(&low);
	es_estimate_fini(&high);
	free(end);
	return rc;
}
