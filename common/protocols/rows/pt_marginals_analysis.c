/* pt_marginals_analysis.c - computes a loss for each marginal, and names items by the combination they
 * count. */
#include "pt_marginals_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "es_expect.h"
#include "es_histogram.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	enum cm_rc rc = pt_marginals_query(row->device, q, CM_ECONFIG, err);

	return rc == CM_OK ? pt_slots_derive(row, q, r, pt_marginals_slots, out, err) : rc;
}

static const char *face_name(const struct qy_query *q, uint32_t c, uint32_t face)
{
	return face < q->column[c].categories ? q->column[c].category[face] : QY_NONE_LABEL;
}

static size_t name_len(const struct qy_query *q, uint32_t c, uint32_t face)
{
	return strlen(q->column[c].name) + strlen(face_name(q, c, face)) + 2;
}

/* Append the name of combination j of marginal i at *at, such as "state=High,fan=on".  Returns whether a
 * column of it is the symbol of none. */
static bool put_name(const struct qy_query *q, uint32_t i, uint32_t j, char **at)
{
	bool none = false;
	uint32_t stride = pt_marginals_combinations(q, i);
	const char *sep = "";

	for (uint32_t c = 0; c < q->columns; c++) {
		uint32_t face;

		if (!pt_marginals_has(q, i, c))
			continue;
		stride /= pt_marginals_faces(q, c);
		face = j / stride % pt_marginals_faces(q, c);
		none = none || face == q->column[c].categories;
		*at += sprintf(*at, "%s%s=%s", sep, q->column[c].name, face_name(q, c, face));
		sep = ",";
	}
	++*at;
	return none;
}

/* The number of bytes of all names: each value of a column occurs in 1/faces of a marginal's names. */
static size_t names_len(const struct qy_query *q)
{
	size_t sum = 1; /* at least one byte, so that something is allocated where no item has a name */

	for (uint32_t i = 0; i < q->marginals; i++) {
		uint32_t k = pt_marginals_combinations(q, i);

		for (uint32_t c = 0; c < q->columns; c++)
			for (uint32_t x = 0; pt_marginals_has(q, i, c) && x < pt_marginals_faces(q, c); x++)
				sum += name_len(q, c, x) * (k / pt_marginals_faces(q, c));
		sum += k;
	}
	return sum;
}

static enum cm_rc make_items(const struct qy_query *q, size_t n, struct es_estimate *e, struct cm_err *err)
{
	size_t item = 0;
	char *at;

	e->n = n;
	e->item = calloc(n, sizeof *e->item);
	e->names = calloc(1, names_len(q));
	if (!e->item || !e->names)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", pt_device_marginals.name);
	at = e->names;
	for (uint32_t i = 0; i < q->marginals; i++)
		for (uint32_t j = 0, k = pt_marginals_combinations(q, i); j < k; j++) {
			e->item[item].label = at;
			e->item[item++].none = put_name(q, i, j, &at);
		}
	return CM_OK;
}

enum cm_rc pt_marginals_answer(const struct qy_query *q, const struct pt_randomizer *p, pt_slot_law *law,
	const uint64_t *counts, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	size_t n = pt_slots_symbols(p), at = 0;
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = make_items(q, n, &e, err);
	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		struct es_support s = law(&p->slots.slot[i], counts + at, reports);
		double floor;

		rc = es_support_items(
			&s, counts + at, p->slots.slot[i].each.bins, reports, n, e.item + at, &floor, err);
		e.noise_floor = rc == CM_OK ? fmax(e.noise_floor, floor) : 0;
		at += p->slots.slot[i].each.bins;
	}
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
	return pt_marginals_answer(q, p, pt_slots_support, counts, reports, out, err);
}

enum cm_rc pt_marginals_honest(const struct pt_randomizer *p, pt_slot_honest *law, const uint64_t *counts,
	const struct pt_crowd *crowd, struct es_honest *out, struct cm_err *err)
{
	size_t n = pt_slots_symbols(p), at = 0;
	enum cm_rc rc = CM_OK;

	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		uint32_t bins = p->slots.slot[i].each.bins;

		rc = law(p, &p->slots.slot[i], counts + at, bins, crowd, n, out + at, err);
		at += bins;
	}
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	(void)row;
	(void)q;
	return pt_marginals_honest(p, pt_slots_honest, counts, crowd, out, err);
}

double pt_marginals_error(const struct pt_randomizer *p, pt_slot_before *law, uint64_t participants)
{
	double sum = 0, items = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct es_support s = law(p, &p->slots.slot[i], participants);
		double error = es_support_expected_error(&s, participants, p->slots.slot[i].each.bins);

		sum += error * error * p->slots.slot[i].each.bins;
		items += p->slots.slot[i].each.bins;
	}
	return sqrt(sum / items);
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	(void)row;
	(void)q;
	return pt_marginals_error(p, pt_slots_before, participants);
}

const struct pt_protocol pt_row_marginals = {
	.device = &pt_device_marginals,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	.derive = derive,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_ANALYSIS,
};
