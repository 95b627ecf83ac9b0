/* pt_ranges_analysis.c - estimates every level of the tree separately, and makes the answer consistent:
 * parents are the sums of their children. */
#include "pt_ranges_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "es_histogram.h"
#include "es_holders.h"
#include "es_tree.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"

#define LABEL_LEN 64u /* bytes of the longest label, "[-1.234567891e-300, -1.234567891e-300)" */

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	enum cm_rc rc = pt_ranges_query(row->device, q, CM_ECONFIG, err);

	return rc == CM_OK ? pt_slots_derive(row, q, r, pt_ranges_slots, out, err) : rc;
}

static void put_label(const struct qy_query *q, uint32_t nodes, uint32_t node, char *out)
{
	double step = (q->high - q->low) / nodes;
	bool last = node + 1 == nodes;

	(void)snprintf(out, LABEL_LEN, "[%.10g, %.10g%s", q->low + step * node,
		last ? q->high : q->low + step * (node + 1), last ? "]" : ")");
}

static enum cm_rc make_items(
	const struct qy_query *q, const struct pt_randomizer *p, struct es_estimate *e, struct cm_err *err)
{
	size_t at = 0;

	/* The symbol of none is one item, however many slots have it. */
	e->n = qy_query_symbols(q);
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		e->n += pt_ranges_nodes(q, p, i);
	e->item = calloc(e->n, sizeof *e->item);
	e->names = calloc(e->n, LABEL_LEN);
	if (!e->item || !e->names)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		for (uint32_t node = 0; node < pt_ranges_nodes(q, p, i); node++, at++) {
			e->item[at].label = e->names + at * LABEL_LEN;
			put_label(q, pt_ranges_nodes(q, p, i), node, e->names + at * LABEL_LEN);
		}
	if (qy_query_symbols(q) > 0)
		e->item[at] = (struct qy_item){ .label = QY_NONE_LABEL, .none = true };
	return CM_OK;
}

/* How many devices have no reading, from all slots together: a sum of the slots' estimates, with weights
 * from what is public about their variances, and the sum of the weights. */
struct holding {
	double none, weight;
};

/* Add one slot's estimate of the number of devices without a reading.  The first slot, which has the least
 * noise, also makes the item. */
static enum cm_rc add_none(const struct es_support *s, uint64_t count, struct es_estimate *e, bool first,
	struct holding *all, struct cm_err *err)
{
	double n = (double)e->reports, weight = 1 / es_support_variance(s, n, n / 2), floor;
	struct qy_item item = { 0 };
	enum cm_rc rc = es_none_item(s, count, e->reports, e->n, &item, &floor, err);

	if (rc != CM_OK)
		return rc;
	if (first)
		e->item[e->n - 1] = item;
	if (isnan(item.value))
		return CM_OK;
	all->none += weight * item.value;
	all->weight += weight;
	return CM_OK;
}

/* Fill in each node's raw estimate, and its consistent one: children sum to their parent, and the first
 * level sums to the number of devices that have a reading. */
static enum cm_rc fill_items(const struct qy_query *q, const struct pt_randomizer *p, pt_slot_law *law,
	const uint64_t *counts, struct es_estimate *e, struct cm_err *err)
{
	double variance[PT_SLOTS_MAX], n = (double)e->reports, *value = calloc(e->n, sizeof *value);
	size_t nodes = e->n - qy_query_symbols(q), at = 0;
	struct holding all = { .none = 0 };
	enum cm_rc rc = value ? CM_OK : cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);

	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		struct es_support s = law(&p->slots.slot[i], counts, e->reports);
		double floor;

		rc = es_support_items(
			&s, counts, pt_ranges_nodes(q, p, i), e->reports, e->n, e->item + at, &floor, err);
		e->noise_floor = rc == CM_OK ? fmax(e->noise_floor, floor) : 0;
		variance[i] = es_support_variance(&s, n, n / pt_ranges_nodes(q, p, i));
		at += pt_ranges_nodes(q, p, i);
		counts += pt_ranges_nodes(q, p, i);
		if (rc == CM_OK && qy_query_symbols(q) > 0)
			rc = add_none(&s, *counts++, e, i == 0, &all, err);
	}
	for (size_t i = 0; rc == CM_OK && i < nodes; i++)
		value[i] = isnan(e->item[i].value) ? e->item[i].projected : e->item[i].value;
	if (rc == CM_OK)
		es_tree_consistent(value, q->fanout, p->slots.kinds, variance,
			all.weight > 0 ? n - all.none / all.weight : n);
	for (size_t i = 0; rc == CM_OK && i < nodes; i++)
		e->item[i].projected = value[i];
	free(value);
	return rc;
}

enum cm_rc pt_ranges_answer(const struct qy_query *q, const struct pt_randomizer *p, pt_slot_law *law,
	const uint64_t *counts, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = make_items(q, p, &e, err);
	if (rc == CM_OK)
		rc = fill_items(q, p, law, counts, &e, err);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	(void)row;
	return pt_ranges_answer(q, p, pt_slots_support, counts, reports, out, err);
}

enum cm_rc pt_ranges_honest(const struct qy_query *q, const struct pt_randomizer *p, pt_slot_honest *law,
	const uint64_t *counts, const struct pt_crowd *crowd, struct es_honest *out, struct cm_err *err)
{
	uint32_t symbols = qy_query_symbols(q);
	size_t n = pt_slots_symbols(p) - symbols * (p->slots.kinds - 1), at = 0;
	struct es_honest *slot = calloc(n, sizeof *slot);
	enum cm_rc rc = slot ? CM_OK : cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);

	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		uint32_t nodes = pt_ranges_nodes(q, p, i);

		rc = law(p, &p->slots.slot[i], counts, nodes + symbols, crowd, n, slot, err);
		for (uint32_t node = 0; rc == CM_OK && node < nodes; node++)
			out[at++] = slot[node];
		/* the first slot, which has the least noise, counts those without a reading */
		if (rc == CM_OK && i == 0 && symbols > 0)
			out[n - 1] = slot[nodes];
		counts += nodes + symbols;
	}
	free(slot);
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	(void)row;
	return pt_ranges_honest(q, p, pt_slots_honest, counts, crowd, out, err);
}

/* The error of a node's count, averaged over the levels. */
double pt_ranges_error(
	const struct qy_query *q, const struct pt_randomizer *p, pt_slot_before *law, uint64_t participants)
{
	double sum = 0, n = (double)participants;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct es_support s = law(p, &p->slots.slot[i], participants);

		sum += es_support_variance(&s, n, n / pt_ranges_nodes(q, p, i));
	}
	return sqrt(sum / p->slots.kinds);
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	(void)row;
	return pt_ranges_error(q, p, pt_slots_before, participants);
}

const struct pt_protocol pt_row_ranges = {
	.device = &pt_device_ranges,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	.derive = derive,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_ANALYSIS,
};
