/* pt_query.h - what is asked: a histogram over categories, the mean, sum or quantiles of a bounded number,
 * the mean of a vector, ranges, marginals, prefixes; readings to values. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

enum pt_kind {
	PT_HISTOGRAM = 1, /* each its own bit */
	PT_MEAN = 2,
	PT_QUANTILES = 4,
	PT_SUM = 8,
	PT_VECTOR = 16,    /* mean of each coordinate */
	PT_RANGES = 32,    /* how many numbers lie in an interval, for intervals of the leaves' grid */
	PT_MARGINALS = 64, /* counts of combinations of several fields' categories */
	PT_PREFIXES = 128, /* counts of the candidates that a text may begin with */
};

/* One of the fields of a reading that has several. */
struct pt_column {
	char name[65];
	char **category; /* marginals: the domain in order, distinct; owned */
	uint32_t categories;
};

struct pt_query {
	enum pt_kind kind;
	char name[65];   /* [a-z0-9._-], for tables and files */
	char field[65];  /* of a reading; may differ from the name */
	char **category; /* histogram: the domain in order, distinct; owned */
	uint32_t categories;
	double low, high; /* numbers and coordinates: low < high, finite */
	/* Vector: its coordinates, 2..PR_DIMENSION_MAX.  `field` holds them all, as an array, unless there
	 * are columns, then one for each. */
	uint32_t dimension;
	struct pt_column *column; /* vector: 0 or dimension; marginals: 2..PR_COLUMNS_MAX; owned */
	uint32_t columns;
	uint32_t *marginal;  /* marginals: sets of columns, bit i for column i, distinct, none empty; owned */
	uint32_t marginals;  /* 1..PT_SLOTS_MAX */
	double *probability; /* quantiles: in (0, 1), rising; owned */
	uint32_t probabilities;
	uint32_t leaves, fanout; /* ranges: cells of the finest grid, and of one in the next coarser */
	uint32_t bits;           /* prefixes: of a candidate, a multiple of 4; candidates are hexadecimal */
};
/* A value in the query's domain. */
struct pt_value {
	/* A category's index; (x - low)/(high - low) * 2^32 in [0, 2^32]; a candidate's index, or
	 * `categories` for a text that begins with none. */
	uint64_t x;
	/* Vector: the coordinates, (x - low)/(high - low) * 2^31 in [0, 2^31].  Marginals: for each column
	 * its category's index.  pt_value_width of them, borrowed; NULL else. */
	const uint32_t *at;
};
/* How many numbers `at` has: 0 for a query of one number. */
uint32_t pt_value_width(const struct pt_query *q);

/* "histogram", "mean", "quantiles": in plans and results. */
const char *pt_kind_name(enum pt_kind kind);
/* 0 if there is none. */
enum pt_kind pt_kind_named(const char *name);

/* Well-formed?  CM_ECONFIG naming what is not. */
CM_CHECK enum cm_rc pt_query_check(const struct pt_query *q, struct cm_err *err);
void pt_query_fini(struct pt_query *q);

/* A reading's text to a value.  CM_EDATA for a category outside the domain, or text that is no finite number;
 * a number outside [low, high] is clamped (*clamped set). */
CM_CHECK enum cm_rc pt_value_read(
	const struct pt_query *q, const char *text, struct pt_value *out, int *clamped, struct cm_err *err);
