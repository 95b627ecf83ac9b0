/* pt_marginals.c - counts of combinations of several fields' categories: a slot of MIXBINS for each marginal.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pr_limits.h"
#include "pt_rows.h"
#include "pt_slots_count.h"

static const char name[] = "marginals";

static bool has(const struct pt_query *q, uint32_t marginal, uint32_t column)
{
	return (q->marginal[marginal] >> column & 1) != 0;
}

/* Combinations of marginal i, or something above PR_CATEGORIES_MAX. */
static uint32_t combinations(const struct pt_query *q, uint32_t i)
{
	uint32_t k = 1;

	for (uint32_t c = 0; c < q->columns && k <= PR_CATEGORIES_MAX; c++)
		k *= has(q, i, c) ? q->column[c].categories : 1;
	return k;
}

static enum cm_rc check_query(const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_MARGINALS)
		return cm_fail(err, code, "%s: answers marginals only", name);
	for (uint32_t i = 0; i < q->marginals; i++) {
		uint32_t k = combinations(q, i);

		if (k < 2 || k > PR_CATEGORIES_MAX)
			return cm_fail(err, code,
				"%s: marginal %u has fewer than 2 combinations, or more than %u", name, i + 1,
				PR_CATEGORIES_MAX);
	}
	return CM_OK;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = q->marginals };
	enum cm_rc rc = check_query(q, CM_ECONFIG, err);

	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	for (uint32_t i = 0; rc == CM_OK && i < q->marginals; i++) {
		made.slot[i] = (struct pt_slot){ .count = 1, .groups = 1, .bins = combinations(q, i) };
		rc = pt_slots_request(name, r, &made.slot[i], err);
	}
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = check_query(q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(name, p, err);
	if (rc == CM_OK && p->slots != q->marginals)
		rc = cm_fail(err, CM_EPROTO, "%s: %u slots for %u marginals", name, p->slots, q->marginals);
	for (uint32_t i = 0; rc == CM_OK && i < q->marginals; i++)
		if (p->slot[i].count != 1 || p->slot[i].groups != 1 || p->slot[i].bins != combinations(q, i))
			rc = cm_fail(err, CM_EPROTO, "%s: slot %u is not its marginal's", name, i + 1);
	return rc;
}

/* The combination's index, the last column of the set running fastest.  The strides are public. */
static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint64_t index = 0;

	(void)p;
	(void)group;
	(void)rng;
	for (uint32_t c = 0; c < q->columns; c++)
		if (has(q, i, c))
			index = index * q->column[c].categories + value->at[c];
	return index;
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

static size_t name_len(const struct pt_query *q, uint32_t c, uint32_t category)
{
	return strlen(q->column[c].name) + strlen(q->column[c].category[category]) + 2;
}

/* "state=High,fan=on" for combination j of marginal i, appended at *at. */
static void put_name(const struct pt_query *q, uint32_t i, uint32_t j, char **at)
{
	uint32_t stride = combinations(q, i);
	const char *sep = "";

	for (uint32_t c = 0; c < q->columns; c++) {
		uint32_t category;

		if (!has(q, i, c))
			continue;
		stride /= q->column[c].categories;
		category = j / stride % q->column[c].categories;
		*at += sprintf(*at, "%s%s=%s", sep, q->column[c].name, q->column[c].category[category]);
		sep = ",";
	}
	++*at;
}

/* Bytes of all names: each category of a column stands in 1/categories of a marginal's names. */
static size_t names_len(const struct pt_query *q)
{
	size_t sum = 1; /* even of no name there is something to allocate */

	for (uint32_t i = 0; i < q->marginals; i++) {
		uint32_t k = combinations(q, i);

		for (uint32_t c = 0; c < q->columns; c++)
			for (uint32_t x = 0; has(q, i, c) && x < q->column[c].categories; x++)
				sum += name_len(q, c, x) * (k / q->column[c].categories);
		sum += k;
	}
	return sum;
}

static enum cm_rc make_items(const struct pt_query *q, size_t n, struct pt_estimate *e, struct cm_err *err)
{
	size_t item = 0;
	char *at;

	e->n = n;
	e->item = calloc(n, sizeof *e->item);
	e->names = calloc(1, names_len(q));
	if (e->item == NULL || e->names == NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	at = e->names;
	for (uint32_t i = 0; i < q->marginals; i++)
		for (uint32_t j = 0, k = combinations(q, i); j < k; j++) {
			e->item[item++].label = at;
			put_name(q, i, j, &at);
		}
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_estimate e = { .reports = reports };
	size_t n = pt_slots_symbols(p), at = 0;
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = make_items(q, n, &e, err);
	for (uint32_t i = 0; rc == CM_OK && i < p->slots; i++) {
		struct pt_support s = pt_slot_support(&p->slot[i], reports, 1);
		double floor;

		rc = pt_support_items(&s, counts + at, p->slot[i].bins, reports, n, e.item + at, &floor, err);
		e.noise_floor = rc == CM_OK ? fmax(e.noise_floor, floor) : 0;
		at += p->slot[i].bins;
	}
	if (rc == CM_OK)
		*out = e;
	else
		pt_estimate_fini(&e);
	return rc;
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	double sum = 0, items = 0;

	(void)q;
	for (uint32_t i = 0; i < p->slots; i++) {
		struct pt_support s = pt_slot_support(&p->slot[i], participants, 1);
		double error = pt_support_expected_error(&s, participants, p->slot[i].bins);

		sum += error * error * p->slot[i].bins;
		items += p->slot[i].bins;
	}
	return sqrt(sum / items);
}

const struct pt_protocol pt_row_marginals = {
	.name = name,
	.summary = "a slot of mixbins for each combination of fields: marginal counts",
	.kinds = PT_MARGINALS,
	.derive = derive,
	.check = check,
	.encode = encode,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_COLUMNS,
};
