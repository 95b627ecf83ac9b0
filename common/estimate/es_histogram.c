/* es_histogram.c - estimates counts of participants from counts of supporting messages, with intervals. */
#include "es_histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "es_law.h"
#include "es_noise_law.h"
#include "es_project.h"
#include "pr_limits.h"
#include "qy_value.h"

/* with fewer expected noise messages for an item, exact laws are used in place of the normal law */
#define NOISE_EXACT 100.0
/* with a larger variance of the number of messages that holders keep, the normal law is good enough */
#define VARIANCE_EXACT 1e4
#define MEMO           4096u

struct limits {
	double lower, upper, joint_lower, joint_upper;
	bool known;
};

/* One estimation: what is the same for all its items. */
struct work {
	const struct es_support *s;
	uint64_t n;
	double expected; /* expected number of messages that support an item which nobody holds */
	/* chance that one end of an interval misses: of an item's own interval, and of the joint one */
	double alpha, joint_alpha;
	double z, joint_z;
	bool exact, no_memory;
	/* laws of the dummies that support one item, and of all messages that support an item nobody
	 * holds */
	struct es_law blanket, nobody;
	struct limits *memo; /* limits by message count: items with equal counts have equal limits */
};

void es_histogram_name(const struct qy_query *q, uint32_t i, struct qy_item *item)
{
	item->none = i == q->categories;
	item->label = item->none ? QY_NONE_LABEL : q->category[i];
}

enum cm_rc es_histogram_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err)
{
	bool places = q->kind == QY_PLACES;

	e->n = qy_query_bins(q);
	e->item = calloc(e->n, sizeof *e->item);
	e->names = places ? calloc(e->n, QY_PLACE_TEXT) : NULL;
	if (!e->item || (places && !e->names))
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (uint32_t i = 0; i < e->n; i++) {
		char *name = places ? e->names + (size_t)i * QY_PLACE_TEXT : NULL;

		if (!places) {
			es_histogram_name(q, i, &e->item[i]);
			continue;
		}
		qy_place_text(q, i, name, QY_PLACE_TEXT);
		e->item[i].label = name;
	}
	return CM_OK;
}

/* The number of participants that sent a message; at least 1, since it is a divisor. */
static double senders(const struct es_support *s, double n)
{
	return s->sampled ? fmax((double)s->asked, 1) : n;
}

/* The number of messages by which the expectation grows with one more holder. */
static double slope_of(const struct es_support *s, double n)
{
	return (s->keep - s->other) * (s->sampled ? senders(s, n) / n : 1);
}

/* The chance that a message of one of those asked supports an item of c holders. */
static double chance_of(const struct es_support *s, double n, double c)
{
	return s->other + (s->keep - s->other) * c / n;
}

/* The variance of the number of messages that support an item with c holders, if only some participants
 * were asked: that of as many independent messages, less a term because nobody is asked twice. */
static double asked_variance(const struct es_support *s, double n, double c)
{
	double asked = senders(s, n), p = chance_of(s, n, c), more = s->keep - s->other;
	double twice = n > 1 ? (asked - 1) / (n - 1) : 0;

	return asked * (p * (1 - p) - more * more * (c / n) * (1 - c / n) * twice);
}

double es_support_variance(const struct es_support *s, double n, double c)
{
	double slope = slope_of(s, n);
	double noise =
		s->noise.mean > 0 ? es_noise_variance(&s->noise) : s->dummies * s->blanket * (1 - s->blanket);

	if (s->sampled)
		return asked_variance(s, n, c) / (slope * slope);
	return (c * s->keep * s->flip + (n - c) * s->other * (1 - s->other) + noise) / (slope * slope);
}

/* Is it certain that every holder supports its item and nobody else does, so that only the dummies are
 * random? */
static bool is_certain(const struct es_support *s)
{
	return s->flip == 0 && s->other == 0;
}

static double estimate_of(const struct work *w, double messages)
{
	return (messages - w->expected) / slope_of(w->s, (double)w->n);
}

/* The same as tail(), where only some participants are asked. */
static double asked_tail(struct work *w, uint64_t c, int64_t m, bool least)
{
	struct es_law law = { 0 };
	double sum = 0;

	if (!es_law_binomial(&law, w->s->asked, chance_of(w->s, (double)w->n, (double)c)))
		w->no_memory = true;
	else
		sum = least ? es_law_at_least(&law, m) : es_law_at_most(&law, m);
	es_law_fini(&law);
	return sum;
}

/* P(messages >= m) if `least`, else P(messages <= m), when c participants hold the item. */
static double tail(struct work *w, uint64_t c, int64_t m, bool least)
{
	struct es_law kept = { 0 }, others = { 0 }, noise = { 0 };
	double sum = 0;

	if (w->s->sampled)
		return asked_tail(w, c, m, least);
	if (!es_law_binomial(&kept, c, w->s->keep) || !es_law_binomial(&others, w->n - c, w->s->other) ||
		!es_law_sum(&noise, &others, &w->blanket)) {
		w->no_memory = true;
	} else {
		/* sum over the possible numbers of one law, with the distribution function of the other */
		for (size_t i = 1; i < kept.len; i++)
			kept.p[i] += kept.p[i - 1];
		for (size_t i = 0; i < noise.len; i++) {
			int64_t at = m - (noise.first + (int64_t)i) - kept.first - (least ? 1 : 0);
			double below = at < 0 ? 0 : kept.p[(size_t)at < kept.len ? (size_t)at : kept.len - 1];

			sum += noise.p[i] * (least ? 1 - below : below);
		}
	}
	es_law_fini(&kept);
	es_law_fini(&others);
	es_law_fini(&noise);
	return sum;
}

/* The least c with P(messages >= m | c) > a.  Below zero there are no laws, so the law for c = 0 is
 * shifted. */
static double lower_limit(struct work *w, int64_t m, double a)
{
	uint64_t low = 0, high = w->n;

	if (es_law_at_least(&w->nobody, m) > a)
		return ((double)m - (double)es_law_upper(&w->nobody, a)) / slope_of(w->s, (double)w->n);
	/* c = low is rejected; the law of the messages grows with c */
	while (high - low > 1 && !w->no_memory) {
		uint64_t c = low + (high - low) / 2;

		if (tail(w, c, m, true) > a)
			high = c;
		else
			low = c;
	}
	return (double)high;
}

/* The greatest c with P(messages <= m | c) > a. */
static double upper_limit(struct work *w, int64_t m, double a)
{
	uint64_t low = 0, high = w->n + 1;

	if (es_law_at_most(&w->nobody, m) <= a)
		return ((double)m - (double)es_law_lower(&w->nobody, a)) / slope_of(w->s, (double)w->n);
	while (high - low > 1 && !w->no_memory) {
		uint64_t c = low + (high - low) / 2;

		if (tail(w, c, m, false) > a)
			low = c;
		else
			high = c;
	}
	return (double)low;
}

/* The variance of the messages that c holders add. */
static double kept_variance(const struct work *w, double c)
{
	return w->s->sampled ? asked_variance(w->s, (double)w->n, c) : c * w->s->keep * w->s->flip;
}

static struct limits find_limits(struct work *w, uint64_t messages)
{
	double m = (double)messages, value = estimate_of(w, m), c = fmin(fmax(value, 0), (double)w->n);
	double sd = sqrt(es_support_variance(w->s, (double)w->n, c));
	int64_t count = (int64_t)messages;

	if (w->exact && is_certain(w->s))
		return (struct limits){ m - (double)es_law_upper(&w->nobody, w->alpha),
			m - (double)es_law_lower(&w->nobody, w->alpha),
			m - (double)es_law_upper(&w->nobody, w->joint_alpha),
			m - (double)es_law_lower(&w->nobody, w->joint_alpha), true };
	if (w->exact && kept_variance(w, c) < VARIANCE_EXACT)
		return (struct limits){ lower_limit(w, count, w->alpha), upper_limit(w, count, w->alpha),
			lower_limit(w, count, w->joint_alpha), upper_limit(w, count, w->joint_alpha), true };
	return (struct limits){ value - w->z * sd, value + w->z * sd, value - w->joint_z * sd,
		value + w->joint_z * sd, true };
}

static struct limits limits_of(struct work *w, uint64_t messages)
{
	struct limits *memo = &w->memo[messages % MEMO];

	if (messages >= MEMO)
		return find_limits(w, messages);
	if (!memo->known)
		*memo = find_limits(w, messages);
	return *memo;
}

static bool work_init(struct work *w, const struct es_support *s, uint64_t n, size_t items)
{
	uint64_t sent = s->sampled ? s->asked : n;
	struct es_law others = { 0 };
	bool good = true;

	*w = (struct work){ .s = s, .n = n };
	w->expected = s->dummies * s->blanket + (double)sent * s->other;
	w->alpha = 0.025;
	w->joint_alpha = es_joint_tail(items);
	w->z = es_normal_upper(w->alpha);
	w->joint_z = es_normal_upper(w->joint_alpha);
	w->memo = calloc(MEMO, sizeof *w->memo);
	if (!w->memo)
		return false;
	if (s->noise.mean > 0)
		return w->exact = es_noise_law(&s->noise, &w->nobody);
	if (!is_certain(s) && w->expected >= NOISE_EXACT)
		return true;
	w->exact = es_law_binomial(&w->blanket, (uint64_t)s->dummies, s->blanket);
	/* If the window is too wide for exact laws, the normal law is good enough. */
	if (!w->exact)
		return w->blanket.len == 0;
	good = es_law_binomial(&others, sent, s->other) && es_law_sum(&w->nobody, &w->blanket, &others);
	es_law_fini(&others);
	return good;
}

static void work_fini(struct work *w)
{
	es_law_fini(&w->blanket);
	es_law_fini(&w->nobody);
	free(w->memo);
}

static void fill(struct work *w, const uint64_t *supports, struct qy_item *item, size_t n)
{
	double reports = (double)w->n;

	for (size_t i = 0; i < n; i++) {
		struct limits l = limits_of(w, supports[i]);
		double value = estimate_of(w, (double)supports[i]);

		item[i] = (struct qy_item){ .label = item[i].label,
			.none = item[i].none,
			.value = value,
			.variance = es_support_variance(w->s, reports, fmin(fmax(value, 0), reports)),
			.lower = l.lower,
			.upper = l.upper,
			.joint_lower = l.joint_lower,
			.joint_upper = l.joint_upper,
			.projected = value,
			.below_noise = l.joint_lower <= 0 };
	}
}

static double noise_floor(const struct work *w)
{
	return w->exact ? estimate_of(w, (double)es_law_upper(&w->nobody, w->joint_alpha))
			: w->joint_z * sqrt(es_support_variance(w->s, (double)w->n, 0));
}

/* Fill the items where nobody was asked. */
static void fill_unknown(struct qy_item *item, size_t n, uint64_t reports, double *floor)
{
	*floor = (double)reports;
	for (size_t i = 0; i < n; i++) {
		es_item_undefined(0, (double)reports, &item[i]);
		item[i].projected = (double)reports / (double)n;
		item[i].below_noise = true;
	}
}

enum cm_rc es_support_items(const struct es_support *s, const uint64_t *supports, size_t n, uint64_t reports,
	size_t joint, struct qy_item *item, double *floor, struct cm_err *err)
{
	struct work w = { 0 };
	double *projected;
	enum cm_rc rc = CM_OK;

	if (s->sampled && s->asked == 0) {
		fill_unknown(item, n, reports, floor);
		return CM_OK;
	}
	projected = calloc(n, sizeof *projected);
	if (!projected || !work_init(&w, s, reports, joint)) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	fill(&w, supports, item, n);
	for (size_t i = 0; i < n; i++)
		projected[i] = item[i].value;
	if (w.no_memory || !es_project_simplex(projected, n, (double)reports)) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		item[i].projected = projected[i];
	*floor = noise_floor(&w);
out:
	work_fini(&w);
	free(projected);
	return rc;
}

enum cm_rc es_support_estimate(const struct qy_query *q, const struct es_support *s, const uint64_t *supports,
	uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	enum cm_rc rc;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "no participants, or too many");
	rc = es_histogram_items(q, &e, err);
	if (rc == CM_OK)
		rc = es_support_items(s, supports, e.n, reports, e.n, e.item, &e.noise_floor, err);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

enum cm_rc es_support_honest(const struct es_support *s, const uint64_t *least, const uint64_t *most,
	size_t n, uint64_t honest, size_t joint, struct es_honest *out, struct cm_err *err)
{
	struct qy_item *low = calloc(2 * n, sizeof *low), *high = low ? low + n : NULL;
	double floor;
	enum cm_rc rc = low ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = es_support_items(s, least, n, honest, joint, low, &floor, err);
	if (rc == CM_OK)
		rc = es_support_items(s, most, n, honest, joint, high, &floor, err);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		if (isnan(low[i].value))
			es_honest_undefined(0, (double)honest, &out[i]);
		else
			out[i] = (struct es_honest){ .least = low[i].value,
				.most = high[i].value,
				.lower = low[i].lower,
				.upper = high[i].upper,
				.joint_lower = low[i].joint_lower,
				.joint_upper = high[i].joint_upper };
	}
	free(low);
	return rc;
}
