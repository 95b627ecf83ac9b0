/* pt_liars.c - calls what a row knows of liars. */
#include "pt_liars.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

uint64_t pt_liars_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices, uint64_t bad)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	uint64_t each = p->row->messages(p), by_bad = (bad + each - 1) / each;
	uint64_t by_totals = row->seen ? row->seen(p, counts, devices) : 0;

	return by_bad > by_totals ? by_bad : by_totals;
}

/* What the estimator says, where nobody lied. */
static enum cm_rc as_stated(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t devices, struct es_honest *out, size_t items, struct cm_err *err)
{
	struct es_estimate e;
	enum cm_rc rc = pt_answer(q, p, counts, devices, &e, err);

	for (size_t i = 0; rc == CM_OK && i < items && i < e.n; i++)
		out[i] = (struct es_honest){ .least = e.item[i].value,
			.most = e.item[i].value,
			.lower = e.item[i].lower,
			.upper = e.item[i].upper,
			.joint_lower = e.item[i].joint_lower,
			.joint_upper = e.item[i].joint_upper };
	if (rc == CM_OK)
		es_estimate_fini(&e);
	return rc;
}

/* The rows' ends are for exactly so many liars.  If fewer lied, more devices are honest: a count may be
 * larger than it can be for the others, and a sum may have more of what each device adds at least, and the
 * spread of them all. */
static void allow_fewer(
	const struct qy_query *q, const struct pt_crowd *crowd, bool is_count, struct es_honest *h)
{
	double all = (double)crowd->devices, m = (double)crowd->liars, spread = sqrt(all / (all - m)),
	       low = m * fmin(q->low, 0), high = m * fmax(q->low, 0);

	if (is_count) {
		h->upper = h->upper >= all - m ? fmax(h->upper, all) : h->upper;
		h->joint_upper = h->joint_upper >= all - m ? fmax(h->joint_upper, all) : h->joint_upper;
	} else if (q->kind == QY_SUM) {
		h->lower = h->least - (h->least - h->lower) * spread + low;
		h->joint_lower = h->least - (h->least - h->joint_lower) * spread + low;
		h->upper = h->most + (h->upper - h->most) * spread + high;
		h->joint_upper = h->most + (h->joint_upper - h->most) * spread + high;
	}
}

enum cm_rc pt_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, struct es_honest *out, size_t items, struct cm_err *err)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	uint64_t seen = pt_liars_seen(p, counts, crowd->devices, 0);
	enum cm_rc rc;

	if (crowd->liars >= crowd->devices)
		return cm_fail(err, CM_EDATA, "%s: of %" PRIu64 " devices all may lie: nothing is known",
			p->row->name, crowd->devices);
	if (crowd->liars < seen)
		return cm_fail(err, CM_EDATA,
			"%s: at least %" PRIu64 " devices lied, and %" PRIu64 " are assumed", p->row->name,
			seen, crowd->liars);
	if (crowd->liars == 0)
		return as_stated(q, p, counts, crowd->devices, out, items, err);
	rc = row->influence(row, q, p, counts, crowd, out, err);
	for (size_t i = 0; rc == CM_OK && i < items; i++)
		allow_fewer(
			q, crowd, qy_query_counts(q) || (i + 1 == items && qy_query_symbols(q) > 0), &out[i]);
	return rc;
}

/* What is known of each item's claim: it stands for `stands` liars, and does not for `falls`. */
struct claims {
	int64_t *stands, *falls;
	double above;
	size_t items;
};

/* The smallest range in which the number is sought further: one number, or a 64th where items are many. */
static bool sought(const struct claims *c, size_t i)
{
	int64_t width = c->falls[i] - c->stands[i], few = c->stands[i] / 64;

	return width > 1 && (c->items <= PT_HOLDS_EXACT || width > few);
}

/* Learn from the intervals for this number of liars what they say of every claim. */
static void judge(struct claims *c, const struct es_honest *h, int64_t liars)
{
	for (size_t i = 0; i < c->items; i++) {
		bool stands = h[i].joint_lower > c->above;

		if (stands && liars > c->stands[i] && liars < c->falls[i])
			c->stands[i] = liars;
		if (!stands && liars < c->falls[i])
			c->falls[i] = liars > c->stands[i] ? liars : c->stands[i] + 1;
	}
}

/* Halve the range of an item, and with it those of others, until all are small enough. */
static enum cm_rc search(struct claims *c, const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t devices, struct es_honest *h, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < c->items;) {
		struct pt_crowd crowd = { .devices = devices };

		if (!sought(c, i)) {
			i++;
			continue;
		}
		crowd.liars = (uint64_t)(c->stands[i] + (c->falls[i] - c->stands[i]) / 2);
		rc = pt_honest(q, p, counts, &crowd, h, c->items, err);
		if (rc == CM_OK)
			judge(c, h, (int64_t)crowd.liars);
	}
	return rc;
}

enum cm_rc pt_holds_to(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, double above, int64_t *out, size_t items, struct cm_err *err)
{
	struct claims c = { .stands = out, .above = above, .items = items };
	struct es_honest *h = calloc(items + 1, sizeof *h);
	enum cm_rc rc = CM_OK;

	c.falls = calloc(items + 1, sizeof *c.falls);
	if (!h || !c.falls)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = pt_honest(q, p, counts, crowd, h, items, err);
	for (size_t i = 0; rc == CM_OK && i < items; i++) {
		bool stands = h[i].joint_lower > above;

		c.stands[i] = stands ? (int64_t)crowd->liars : PT_NO_CLAIM;
		c.falls[i] = stands ? (int64_t)crowd->devices : PT_NO_CLAIM;
	}
	if (rc == CM_OK)
		rc = search(&c, q, p, counts, crowd->devices, h, err);
	free(c.falls);
	free(h);
	return rc;
}
