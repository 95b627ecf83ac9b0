/* pt_query.h - what is asked: a histogram over categories, the mean, sum or quantiles of a bounded number,
 * the mean of a vector, ranges, marginals, prefixes; readings to values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

#define PT_MARGINAL_COLUMNS_MAX 32u  /* bits of a set */
#define PT_PREFIX_BITS_MAX      512u /* 64 bytes of a text */

/* One of the fields of a reading that has several. */
struct pt_column {
	char name[65];
	char **category; /* marginals: the domain in order, distinct; owned */
	uint32_t categories;
};

struct pt_query {
	enum pt_kind kind;
	char name[65];   /* [a-z0-9._-], for tables and files */
	char field[65];  /* of a reading; may differ from the name; "" when there are columns */
	char **category; /* histogram: the domain in order, distinct; prefixes: candidates; owned */
	uint32_t categories;
	double low, high; /* numbers and coordinates: low < high, finite */
	/* Vector: its coordinates, 2..PR_DIMENSION_MAX.  `field` holds them all, as an array, unless there
	 * are columns, then one for each. */
	uint32_t dimension;
	struct pt_column *column; /* vector: 0 or dimension; marginals: 2..PT_MARGINAL_COLUMNS_MAX; owned */
	uint32_t columns;
	/* Marginals: sets of columns, bit i for column i, distinct, none empty; each column is in one, and a
	 * set has at most PR_CATEGORIES_MAX combinations; owned. */
	uint32_t *marginal;
	uint32_t marginals;  /* 1..PR_SLOTS_MAX */
	double *probability; /* quantiles: in (0, 1), rising; none: 0.25, 0.5, 0.75; owned */
	uint32_t probabilities;
	/* Ranges: cells of the finest grid, and of them in one of the next coarser; leaves is a power of
	 * fanout, at most PR_CATEGORIES_MAX. */
	uint32_t leaves, fanout;
	/* Prefixes: of a candidate, a multiple of 4 up to PT_PREFIX_BITS_MAX.  Candidates are the query's
	 * categories, bits / 4 lower-case hexadecimal digits each; there is at least one. */
	uint32_t bits;
};
/* A value in the query's domain. */
struct pt_value {
	/* A category's index; (x - low)/(high - low) * 2^32 in [0, 2^32], to the nearest, of ranges up; a
	 * candidate's index, or `categories` for a text that begins with none. */
	uint64_t x;
	/* Vector: the coordinates, (x - low)/(high - low) * 2^31 in [0, 2^31].  Marginals: for each column
	 * its category's index.  pt_value_width of them, borrowed; NULL else. */
	const uint32_t *at;
	uint32_t level; /* the class that the device chose, in rounds whose tags are classes; 0 else */
};
/* How many numbers `at` has: 0 for a query of one number. */
uint32_t pt_value_width(const struct pt_query *q);

/* Fields of a reading that a value is made of: the columns, or 1. */
uint32_t pt_query_fields(const struct pt_query *q);
/* Name of field i; borrowed from q. */
const char *pt_query_field(const struct pt_query *q, uint32_t i);
/* All of them for people: "a", "a, b" or "a, b, ..." as far as they fit. */
void pt_query_fields_text(const struct pt_query *q, char *out, size_t size);

/* "histogram", "mean", "quantiles", "sum", "vector", "ranges", "marginals", "prefixes": in plans and results.
 */
const char *pt_kind_name(enum pt_kind kind);
/* 0 if there is none. */
enum pt_kind pt_kind_named(const char *name);
/* Kind i in that order, 0 past the last. */
enum pt_kind pt_kind_at(size_t i);

/* Well-formed, with nothing that its kind does not have?  CM_ECONFIG naming what is not. */
CM_CHECK enum cm_rc pt_query_check(const struct pt_query *q, struct cm_err *err);
void pt_query_fini(struct pt_query *q);
/* Do both ask the same, in the same words? */
bool pt_query_equal(const struct pt_query *a, const struct pt_query *b);

/* A reading to a value: text[pt_query_fields], one per field.  A vector in one field is its numbers, between
 * them spaces, a comma or a semicolon.  A text is counted by its first bytes, zeroes following a short one.
 * `at` is the caller's, pt_value_width numbers, and out->at afterwards; NULL if there are none.  CM_EDATA for
 * a category outside the domain, text that is no finite number, another number of coordinates, or a field
 * that is empty; no message repeats a reading.  A number outside [low, high] is clamped (*clamped set).
 * Not in constant time: the device reads what it holds. */
CM_CHECK enum cm_rc pt_value_read(const struct pt_query *q, const char *const *text, uint32_t *at,
	struct pt_value *out, int *clamped, struct cm_err *err);
/* A value of the query's domain for people: "high", "0.25", "0.25, -1, ... (784 numbers)", "yes, no", "61.."
 * or "another". */
void pt_value_text(const struct pt_query *q, const struct pt_value *v, char *out, size_t size);
