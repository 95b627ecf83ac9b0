/* qy_value.h - converts readings to values: what a device holds, in the domain of a query. */
#pragma once

#include "qy_query.h"

struct cr_rng;

/* the value x of a device without a reading, for a query about a number that has QY_NONE_SYMBOL */
#define QY_NUMBER_NONE (UINT64_C(1) << 33)
#define QY_PLACE_TEXT  96u /* bytes of the text of a cell */

/* A value in the query's domain, or the symbol of a device without a reading. */
struct qy_value {
	/* Histogram: a category's index.  Number: (x - low)/(high - low) * 2^32 in [0, 2^32], rounded to
	 * the nearest, for ranges up.  Prefixes: a candidate's index, or `categories` for a text that
	 * begins with none.  Places: a cell's index, column + w * row in a grid of w columns.  The symbol:
	 * `categories` of a histogram, as one more category; QY_NUMBER_NONE of a number. */
	uint64_t x;
	/* Vector: the coordinates, (x - low)/(high - low) * 2^31 in [0, 2^31].  Marginals: for each column
	 * its category's index, or its `categories`, the symbol.  Sets: 1 for each item that is in the set,
	 * else 0; the symbol is one item more, the last.  qy_value_width numbers, borrowed; NULL for other
	 * kinds. */
	const uint32_t *at;
	/* the class that the device chose, in rounds whose tags are classes; otherwise 0 */
	uint32_t level;
};

/* Convert a reading to a value: text[qy_query_fields], one text per field.  A vector in one field is its
 * numbers, separated by spaces, a comma or a semicolon.  For prefixes the first bytes of a text count, and
 * zeroes follow a short one.  A set is its items separated by a QY_SET_SEPARATOR, in any order; an item
 * that occurs twice counts once, one that is not in the query does not count, and the empty text is the
 * empty set.  A place needs both of its numbers; a cell contains its lower ends.  `at` is the caller's,
 * qy_value_width numbers, and becomes out->at; NULL if there are none.  CM_EDATA for a category outside the
 * domain, text that is no finite number, another number of coordinates, or an empty field; no message
 * repeats a reading.  A number outside [low, high] is clamped (*clamped is set).  Not in constant time: the
 * device reads its own reading. */
CM_CHECK enum cm_rc qy_value_read(const struct qy_query *q, const char *const *text, uint32_t *at,
	struct qy_value *out, int *clamped, struct cm_err *err);
/* Make the value of a device that has no valid reading, as q->none says; `at` as above.  Draws random
 * numbers only for QY_NONE_EVEN. */
void qy_value_none(const struct qy_query *q, const struct cr_rng *rng, uint32_t *at, struct qy_value *out);
/* Make the value with which a device takes part, whatever it holds: qy_value_read for the fields that it
 * has, qy_value_none for those it lacks.  text[i] may be NULL, for a field that the reading does not have.
 * Marginals, and vectors with a field for each coordinate, are judged field by field: what is valid counts.
 * Returns how many of qy_query_fields had no valid reading.  A place without one of its numbers counts as
 * none. */
uint32_t qy_value_take(const struct qy_query *q, const char *const *text, const struct cr_rng *rng,
	uint32_t *at, struct qy_value *out, int *clamped);
/* A value of the query's domain for people: "high", "0.25", "0.25, -1, ... (784 numbers)", "yes, no", "61..",
 * "another", "milk, bread", "no item", "[0, 10) x [5, 10]" or QY_NONE_LABEL. */
void qy_value_text(const struct qy_query *q, const struct qy_value *v, char *out, size_t size);

/* Read the decimal number that text begins with, after white space; *end is what follows it.  Other forms
 * that the C library reads as numbers, such as 0x15, "nan" or "inf", are refused.  0: there is no number,
 * and *end is text. */
int qy_number_read(const char *text, char **end, double *out);

/* The ends of a cell on an axis, 0 or 1. */
void qy_place_ends(const struct qy_query *q, uint32_t axis, uint64_t cell, double *low, double *high);
/* Write a cell as its two intervals. */
void qy_place_text(const struct qy_query *q, uint64_t cell, char *out, size_t size);
/* Convert a text of items, in the form that qy_value_read takes, to `at`, qy_value_width numbers.  The time
 * depends on the text's length, not on the items: one device's text must not keep the others of its gateway
 * waiting. */
void qy_set_read(const struct qy_query *q, const char *text, uint32_t *at);
