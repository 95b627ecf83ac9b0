/* qy_value.h - readings to values: what a device holds, in the domain of a query. */
#pragma once

#include "qy_query.h"

struct cr_rng;

/* qy_value.x of QY_NONE_SYMBOL where a number is asked for. */
#define QY_NUMBER_NONE (UINT64_C(1) << 33)
#define QY_PLACE_TEXT  96u /* room for the text of a cell */

/* A value in the query's domain, or the symbol of a device without a reading. */
struct qy_value {
	/* A category's index; (x - low)/(high - low) * 2^32 in [0, 2^32], to the nearest, of ranges up; a
	 * candidate's index, or `categories` for a text that begins with none; a cell's index, of a grid of
	 * w columns column + w * row.  The symbol: `categories` of a histogram,
	 * as one more category; QY_NUMBER_NONE of a number. */
	uint64_t x;
	/* Vector: the coordinates, (x - low)/(high - low) * 2^31 in [0, 2^31].  Marginals: for each column
	 * its category's index, or its `categories`, the symbol.  Sets: 1 for each item that is in the set,
	 * else 0; the symbol is one item more, last.  qy_value_width of them, borrowed; NULL else. */
	const uint32_t *at;
	uint32_t level; /* the class that the device chose, in rounds whose tags are classes; 0 else */
};

/* A reading to a value: text[qy_query_fields], one per field.  A vector in one field is its numbers, between
 * them spaces, a comma or a semicolon.  A text is counted by its first bytes, zeroes following a short one.
 * A set is its items with a QY_SET_SEPARATOR between two, in any order; one that is there twice counts once,
 * one that is none of the query's does not count, and the empty text is the empty set.
 * Of a place both numbers are needed; a cell has its lower ends.
 * `at` is the caller's, qy_value_width numbers, and out->at afterwards; NULL if there are none.  CM_EDATA for
 * a category outside the domain, text that is no finite number, another number of coordinates, or a field
 * that is empty; no message repeats a reading.  A number outside [low, high] is clamped (*clamped set).
 * Not in constant time: the device reads what it holds. */
CM_CHECK enum cm_rc qy_value_read(const struct qy_query *q, const char *const *text, uint32_t *at,
	struct qy_value *out, int *clamped, struct cm_err *err);
/* The value of a device that has no valid reading, as q->none says; the numbers of `at` as above.  Draws
 * only where it is QY_NONE_EVEN. */
void qy_value_none(const struct qy_query *q, const struct cr_rng *rng, uint32_t *at, struct qy_value *out);
/* The value that a device takes part with, whatever it holds: qy_value_read of what is there, and
 * qy_value_none of what is not.  text[i] may be NULL, for a field that the reading does not have.  Marginals,
 * and vectors with a field for each coordinate, are judged field by field: what is valid counts.  Returns how
 * many of qy_query_fields had no valid reading.  A place without one of its numbers is none. */
uint32_t qy_value_take(const struct qy_query *q, const char *const *text, const struct cr_rng *rng,
	uint32_t *at, struct qy_value *out, int *clamped);
/* A value of the query's domain for people: "high", "0.25", "0.25, -1, ... (784 numbers)", "yes, no", "61..",
 * "another", "milk, bread", "no item", "[0, 10) x [5, 10]" or QY_NONE_LABEL. */
void qy_value_text(const struct qy_query *q, const struct qy_value *v, char *out, size_t size);

/* The number in decimal digits that text begins with, after white space; *end: what follows it.  What else
 * the C library takes for a number, such as 0x15, "nan" or "inf", is none.  0: there is none, and *end is
 * text. */
int qy_number_read(const char *text, char **end, double *out);

/* Ends of a cell on an axis, 0 or 1. */
void qy_place_ends(const struct qy_query *q, uint32_t axis, uint64_t cell, double *low, double *high);
/* A cell as its two intervals. */
void qy_place_text(const struct qy_query *q, uint64_t cell, char *out, size_t size);
/* A text of items, as qy_value_read has it, to `at`, qy_value_width numbers.  Its time goes with the text's
 * length, whatever the items are: one device's text may not keep the others of its gateway waiting. */
void qy_set_read(const struct qy_query *q, const char *text, uint32_t *at);
