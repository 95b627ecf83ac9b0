/* queries.h - a small query of the first kind that a row answers, and values of its whole domain. */
#pragma once

#include <math.h>

#include "pt_protocol.h"

#define QUERIES_NUMBERS   33u /* values tried of a number */
#define QUERIES_COLUMNS   3u
#define QUERIES_DIMENSION 6u

/* A query of one kind; what it points to is static and must not be freed by qy_query_fini. */
static inline struct qy_query query_of_kind(enum qy_kind kind)
{
	static char text[5][4] = { "c0", "c1", "c2", "c3", "c4" }, hex[3][4] = { "0", "7", "f" };
	static char *words[5] = { text[0], text[1], text[2], text[3], text[4] },
		    *candidates[3] = { hex[0], hex[1], hex[2] };
	static struct qy_column columns[QUERIES_COLUMNS] = {
		{ .name = "a", .category = words, .categories = 2 },
		{ .name = "b", .category = words, .categories = 3 },
		{ .name = "c", .category = words, .categories = 2 }
	};
	static struct qy_column axes[QY_PLACE_AXES] = { { .name = "a", .high = 10, .cells = 3 },
		{ .name = "b", .low = -1, .high = 1, .cells = 2 } };
	static uint32_t sets[2] = { 3, 4 };
	struct qy_query q = { .kind = kind, .name = "query", .field = "field" };

	switch (kind) {
	case QY_HISTOGRAM:
		q.category = words;
		q.categories = 5;
		break;
	case QY_SETS:
		q.category = words;
		q.categories = 5;
		break;
	case QY_PREFIXES:
		q.category = candidates;
		q.categories = 3;
		q.bits = 4;
		q.none = QY_NONE_SYMBOL;
		break;
	case QY_MARGINALS:
		q.field[0] = '\0';
		q.column = columns;
		q.columns = QUERIES_COLUMNS;
		q.marginal = sets;
		q.marginals = 2;
		break;
	case QY_PLACES:
		q.field[0] = '\0';
		q.column = axes;
		q.columns = QY_PLACE_AXES;
		break;
	case QY_RANGES:
		q.high = 10;
		q.leaves = 9;
		q.fanout = 3;
		break;
	case QY_VECTOR:
		q.low = -1;
		q.high = 1;
		q.dimension = QUERIES_DIMENSION;
		break;
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
		q.high = 10;
		break;
	}
	return q;
}

/* Devices without a reading take part as they do where a plan says nothing of them. */
static inline struct qy_query query_of_row(const struct pt_protocol *row)
{
	struct qy_query q = query_of_kind((enum qy_kind)(row->device->kinds & (~row->device->kinds + 1)));

	pt_none_default(row, &q);
	return q;
}

/* The round in the accountant's grammar, whose names know bins alone. */
static inline struct qy_query query_of_readings(const struct pt_protocol *row)
{
	return query_of_kind((enum qy_kind)(row->device->kinds & (~row->device->kinds + 1)));
}

/* Values that are readings. */
static inline uint32_t query_readings(const struct qy_query *q)
{
	return q->kind == QY_HISTOGRAM   ? q->categories
	       : q->kind == QY_PREFIXES  ? q->categories + 1
	       : q->kind == QY_MARGINALS ? 12
	       : q->kind == QY_SETS      ? 1u << q->categories
	       : q->kind == QY_PLACES    ? qy_query_cells(q)
	       : q->kind == QY_VECTOR    ? 1u << QUERIES_DIMENSION
					 : QUERIES_NUMBERS;
}

/* How many values query_value knows: all there are, of numbers some; and the symbol of none. */
static inline uint32_t query_values(const struct qy_query *q)
{
	return query_readings(q) + qy_query_symbols(q);
}

/* Value i; at: room for qy_value_width numbers, which must live as long as it. */
static inline struct qy_value query_value(const struct qy_query *q, uint32_t i, uint32_t *at)
{
	struct qy_value v = { .x = i };

	if (i == query_readings(q)) {
		qy_value_none(q, NULL, at, &v);
		return v;
	}
	switch (q->kind) {
	case QY_HISTOGRAM:
	case QY_PREFIXES:
	case QY_PLACES:
		break;
	case QY_SETS:
		v = (struct qy_value){ .at = at };
		for (uint32_t c = 0; c < qy_query_bins(q); c++)
			at[c] = i >> c & 1;
		break;
	case QY_MARGINALS:
		v = (struct qy_value){ .at = at };
		for (uint32_t c = 0; c < q->columns; c++) {
			at[c] = i % q->column[c].categories;
			i /= q->column[c].categories;
		}
		break;
	case QY_VECTOR:
		v = (struct qy_value){ .at = at };
		for (uint32_t c = 0; c < q->dimension; c++)
			at[c] = (i >> c & 1) << 31;
		break;
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
		v.x = ((uint64_t)i << 32) / (QUERIES_NUMBERS - 1);
		break;
	}
	return v;
}

/* The first of a few requests that the row takes: a local guarantee, the same with dummies, dummies alone,
 * two classes, sets of two.  CM_OK, or the last refusal. */
static inline enum cm_rc query_derive(const struct pt_protocol *row, const struct qy_query *q,
	double epsilon0, struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_request requests[] = {
		{ .epsilon0 = epsilon0, .min_reports = 1000 },
		{ .epsilon0 = epsilon0, .dummies = 3, .min_reports = 1000 },
		{ .epsilon0 = (double)INFINITY, .dummies = 3, .min_reports = 1000 },
		{ .epsilon0 = epsilon0,
			.min_reports = 1000,
			.classes = 2,
			.class_epsilon0 = { epsilon0 / 2, epsilon0 },
			.class_least = { 300, 200 } },
		{ .epsilon0 = epsilon0, .min_reports = 1000, .size = 2 },
	};
	enum cm_rc rc = CM_ECONFIG;

	for (size_t k = 0; rc != CM_OK && rc != CM_EINTERNAL && k < sizeof requests / sizeof *requests; k++)
		rc = pt_derive(row, q, &requests[k], p, err);
	return rc;
}
