/* qy_query.h - what a round asks: a histogram over categories, the mean, sum or quantiles of a bounded
 * number, the mean of a vector, ranges, marginals, prefixes, sets, places. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_rc.h"

enum qy_kind {
	QY_HISTOGRAM = 1, /* a histogram: how many devices hold each category */
	QY_MEAN = 2,
	QY_QUANTILES = 4,
	QY_SUM = 8,
	QY_VECTOR = 16, /* a vector: the mean of each coordinate */
	/* ranges: how many numbers lie in an interval, for all intervals of the leaves' grid */
	QY_RANGES = 32,
	QY_MARGINALS = 64, /* marginals: counts of combinations of several fields' categories */
	QY_PREFIXES = 128, /* prefixes: counts of the candidates that a text may begin with */
	QY_SETS = 256,     /* sets: for each item, how many devices hold it in their set */
	QY_PLACES = 512,   /* places: how many devices are in each cell of a grid over two numbers */
};

/* How a device takes part that has no valid reading: it has none at all, or one of another type, or one
 * outside the domain.  It sends what every device sends, so nobody learns who has a reading. */
enum qy_none {
	/* It holds a value drawn uniformly from the domain. */
	QY_NONE_EVEN = 0,
	/* It holds a symbol of its own, one more than the domain has: the rows' bins, cells, dummies and
	 * estimates include it.  Marginals: one more category of each column.  Prefixes: the bin of all
	 * texts that begin with no candidate.  Only rows with none_symbol (pt_device.h). */
	QY_NONE_SYMBOL = 1,
	/* It holds a value that the query states. */
	QY_NONE_VALUE = 2,
};
/* The label of the item that counts devices without a reading; a category may have the same text, so the
 * item has a mark of its own, too (qy_item.none). */
#define QY_NONE_LABEL "(no reading)"

/* Separates the items of a set that is one text. */
#define QY_SET_SEPARATOR ';'

#define QY_MARGINAL_COLUMNS_MAX 32u  /* most columns of a query of marginals: each is a bit of a set */
#define QY_PREFIX_BITS_MAX      512u /* most bits of a candidate, those of a text of 64 bytes */
#define QY_PLACE_AXES           2u   /* a grid has two axes: its columns, and its rows */

/* One field of a query about several fields of a reading. */
struct qy_column {
	char name[65];
	char **category; /* for marginals: the categories in their order, distinct; owned */
	uint32_t categories;
	double low, high; /* for places: the ends of the axis, low < high, finite */
	uint32_t cells;   /* for places: into how many equal parts [low, high] is divided, 2 or more */
};

struct qy_query {
	enum qy_kind kind;
	char name[65]; /* name of the query, [a-z0-9._-], for tables and files */
	/* the field of a reading that is asked for, which may differ from the name; "" when there are
	 * columns */
	char field[65];
	/* Histogram: the domain in order, distinct.  Prefixes: candidates.  Sets: the items, none with a
	 * QY_SET_SEPARATOR.  Owned. */
	char **category;
	uint32_t categories;
	double low, high; /* for numbers and coordinates: the ends of the range, low < high, finite */
	/* Vector: the number of coordinates, 2..PR_DIMENSION_MAX.  `field` holds them all, as an array,
	 * unless there are columns, which hold one each. */
	uint32_t dimension;
	/* the columns, owned.  Vector: none, or one for each coordinate; marginals:
	 * 2..QY_MARGINAL_COLUMNS_MAX; places: QY_PLACE_AXES */
	struct qy_column *column;
	uint32_t columns;
	/* Marginals: sets of columns, bit i for column i; distinct, and none empty.  Each column is in some
	 * set, and a set has at most PR_CATEGORIES_MAX combinations; owned. */
	uint32_t *marginal;
	uint32_t marginals; /* number of marginals, 1..PR_SLOTS_MAX */
	/* for quantiles: the probabilities, in (0, 1) and rising; if there are none, 0.25, 0.5 and 0.75;
	 * owned */
	double *probability;
	uint32_t probabilities;
	/* Ranges: number of cells of the finest grid, and number of these in one cell of the next coarser
	 * grid; leaves is a power of fanout, at most PR_CATEGORIES_MAX. */
	uint32_t leaves, fanout;
	/* Prefixes: bits of a candidate, a multiple of 4 up to QY_PREFIX_BITS_MAX.  Candidates are the
	 * query's categories, each bits / 4 lower-case hexadecimal digits; there is at least one. */
	uint32_t bits;
	/* Vectors cannot have the symbol, nor marginals a substitute; prefixes always have the symbol, and
	 * places QY_NONE_EVEN. */
	enum qy_none none;
	/* QY_NONE_VALUE for a number, and for each coordinate: in [low, high]; otherwise 0 */
	double none_value;
	/* QY_NONE_VALUE for a histogram or for sets: an index below categories; otherwise 0 */
	uint32_t none_category;
};

/* 1 if devices without a reading hold a symbol of their own, which rows count separately: then a histogram
 * has categories + 1 bins, a column of marginals categories + 1, and a number one bin more than levels, the
 * last.  Otherwise 0; also 0 for prefixes, where these devices use the bin of all other texts. */
uint32_t qy_query_symbols(const struct qy_query *q);
/* Whether all items of an answer are numbers of devices.  Beside other items, the number of devices without a
 * reading stands last. */
bool qy_query_counts(const struct qy_query *q);
/* The bins of a histogram, or the items of sets: the categories and, last, the symbol, if there is one.
 * For places the cells. */
uint32_t qy_query_bins(const struct qy_query *q);
/* The number of cells of the grid of places, at most PR_CATEGORIES_MAX. */
uint32_t qy_query_cells(const struct qy_query *q);
/* How many numbers qy_value.at has: 0 for a query about one number. */
uint32_t qy_value_width(const struct qy_query *q);

/* The number of fields of a reading that a value is made of: the columns, or 1. */
uint32_t qy_query_fields(const struct qy_query *q);
/* The name of field i, borrowed from q. */
const char *qy_query_field(const struct qy_query *q, uint32_t i);
/* The names of all fields for people: "a", "a, b" or "a, b, ..." as far as they fit. */
void qy_query_fields_text(const struct qy_query *q, char *out, size_t size);

/* The name of a kind in plans and results: "histogram", "mean", "quantiles", "sum", "vector", "ranges",
 * "marginals", "prefixes", "sets", "places". */
const char *qy_kind_name(enum qy_kind kind);
/* The kind of this name; 0 if there is none. */
enum qy_kind qy_kind_named(const char *name);
/* Kind i in that order, 0 past the last. */
enum qy_kind qy_kind_at(size_t i);

/* Does it ask for the mean, or for the sum, of a number? */
bool qy_is_mean(const struct qy_query *q);
/* Check that it is well-formed, and has no part that its kind does not have.  CM_ECONFIG names the part at
 * fault. */
CM_CHECK enum cm_rc qy_query_check(const struct qy_query *q, struct cm_err *err);
void qy_query_fini(struct qy_query *q);
/* Do both ask the same, in the same words? */
bool qy_query_equal(const struct qy_query *a, const struct qy_query *b);

/* How such devices take part, as a plan says it: "symbol", "even", "37", "category:High". */
#define QY_NONE_CATEGORY "category:"
void qy_query_none_word(const struct qy_query *q, char *out, size_t size);
/* Write what devices without a reading do to the answer, for people: "devices without a reading are counted
 * apart".  A result states it. */
void qy_query_none_text(const struct qy_query *q, char *out, size_t size);
