/* pt_ranges.c - how many numbers lie in an interval: a tree of intervals, a slot of MIXBINS for each level.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_slots_count.h"
#include "pt_tree.h"

#define LABEL_LEN 64u /* "[-1.234567891e-300, -1.234567891e-300)" */

static const char name[] = "ranges";

/* Levels of the tree below its root; 0 if the leaves are no power of the fanout. */
static uint32_t depth(const struct pt_query *q)
{
	uint32_t nodes = 1, levels = 0;

	while (q->fanout >= 2 && nodes < q->leaves && nodes <= PR_CATEGORIES_MAX) {
		nodes *= q->fanout;
		levels++;
	}
	return nodes == q->leaves && nodes <= PR_CATEGORIES_MAX ? levels : 0;
}

static enum cm_rc check_query(const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_RANGES)
		return cm_fail(err, code, "%s: answers ranges only", name);
	if (depth(q) == 0)
		return cm_fail(err, code,
			"%s: %u leaves are no power of the fanout %u, or not between 2 and %u", name,
			(unsigned)q->leaves, (unsigned)q->fanout, PR_CATEGORIES_MAX);
	return CM_OK;
}

/* The slots, coarsest level first, but for what a request says. */
static void make_slots(const struct pt_query *q, struct pt_params *p)
{
	uint32_t nodes = 1;

	p->slots = depth(q);
	for (uint32_t i = 0; i < p->slots; i++) {
		nodes *= q->fanout;
		p->slot[i] = (struct pt_slot){ .count = 1, .groups = 1, .bins = nodes };
	}
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { 0 };
	enum cm_rc rc = check_query(q, CM_ECONFIG, err);

	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	if (rc == CM_OK)
		make_slots(q, &made);
	for (uint32_t i = 0; rc == CM_OK && i < made.slots; i++)
		rc = pt_slots_request(name, r, &made.slot[i], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	struct pt_params want = { 0 };
	enum cm_rc rc = check_query(q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(name, p, err);
	if (rc != CM_OK)
		return rc;
	make_slots(q, &want);
	if (p->slots != want.slots)
		return cm_fail(err, CM_EPROTO, "%s: %u slots for a tree of %u levels", name,
			(unsigned)p->slots, (unsigned)want.slots);
	for (uint32_t i = 0; i < p->slots; i++)
		if (p->slot[i].count != 1 || p->slot[i].groups != 1 || p->slot[i].bins != want.slot[i].bins)
			return cm_fail(err, CM_EPROTO, "%s: slot %u is not its level's", name, i + 1);
	return CM_OK;
}

/* The node of level i above the number; the grids are nested, so no division of a secret is needed.  The
 * upper end of the range belongs to the last node. */
static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint64_t nodes = p->slot[i].bins, node = (value->x * nodes) >> 32;

	(void)q;
	(void)group;
	(void)rng;
	return node - (1 & pt_equal_mask(node, nodes));
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

static void put_label(const struct pt_query *q, uint32_t nodes, uint32_t node, char *out)
{
	double step = (q->high - q->low) / nodes;
	bool last = node + 1 == nodes;

	(void)snprintf(out, LABEL_LEN, "[%.10g, %.10g%s", q->low + step * node,
		last ? q->high : q->low + step * (node + 1), last ? "]" : ")");
}

static enum cm_rc make_items(
	const struct pt_query *q, const struct pt_params *p, struct pt_estimate *e, struct cm_err *err)
{
	size_t at = 0;

	e->n = pt_slots_symbols(p);
	e->item = calloc(e->n, sizeof *e->item);
	e->names = calloc(e->n, LABEL_LEN);
	if (e->item == NULL || e->names == NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	for (uint32_t i = 0; i < p->slots; i++)
		for (uint32_t node = 0; node < p->slot[i].bins; node++, at++) {
			e->item[at].label = e->names + at * LABEL_LEN;
			put_label(q, p->slot[i].bins, node, e->names + at * LABEL_LEN);
		}
	return CM_OK;
}

/* Every node's raw estimate, and beside it the consistent one. */
static enum cm_rc fill_items(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	struct pt_estimate *e, struct cm_err *err)
{
	double variance[PT_SLOTS_MAX], *value = calloc(e->n, sizeof *value);
	enum cm_rc rc = value != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	size_t at = 0;

	for (uint32_t i = 0; rc == CM_OK && i < p->slots; i++) {
		uint32_t nodes = p->slot[i].bins;
		struct pt_support s = pt_slot_support(&p->slot[i], e->reports, 1);
		double n = (double)e->reports, floor;

		rc = pt_support_items(&s, counts + at, nodes, e->reports, e->n, e->item + at, &floor, err);
		e->noise_floor = rc == CM_OK ? fmax(e->noise_floor, floor) : 0;
		variance[i] = pt_support_variance(&s, n, n / nodes);
		at += nodes;
	}
	for (size_t i = 0; rc == CM_OK && i < e->n; i++)
		value[i] = e->item[i].value;
	if (rc == CM_OK)
		pt_tree_consistent(value, q->fanout, p->slots, variance, (double)e->reports);
	for (size_t i = 0; rc == CM_OK && i < e->n; i++)
		e->item[i].projected = value[i];
	free(value);
	return rc;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_estimate e = { .reports = reports };
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = make_items(q, p, &e, err);
	if (rc == CM_OK)
		rc = fill_items(q, p, counts, &e, err);
	if (rc == CM_OK)
		*out = e;
	else
		pt_estimate_fini(&e);
	return rc;
}

/* Of a node's count, over the levels alike. */
static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	double sum = 0, n = (double)participants;

	(void)q;
	for (uint32_t i = 0; i < p->slots; i++) {
		struct pt_support s = pt_slot_support(&p->slot[i], participants, 1);

		sum += pt_support_variance(&s, n, n / p->slot[i].bins);
	}
	return sqrt(sum / p->slots);
}

const struct pt_protocol pt_row_ranges = {
	.name = name,
	.summary = "a tree of intervals, a slot of mixbins for each level: counts of ranges",
	.kinds = PT_RANGES,
	.derive = derive,
	.check = check,
	.encode = encode,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_COLUMNS,
};
