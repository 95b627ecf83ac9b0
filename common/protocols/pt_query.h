/* pt_query.h - what is asked: a histogram over categories, the mean or quantiles of a bounded number;
 * readings to values. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

enum pt_kind {
	PT_HISTOGRAM = 1, /* each its own bit */
	PT_MEAN = 2,
	PT_QUANTILES = 4,
};

struct pt_query {
	enum pt_kind kind;
	char name[65];   /* [a-z0-9._-], for tables and files */
	char field[65];  /* of a reading; may differ from the name */
	char **category; /* histogram: the domain in order, distinct; owned */
	uint32_t categories;
	double low, high; /* numbers: low < high, finite */
};
/* A value in the query's domain: a category index, or (x - low)/(high - low) * 2^32 in [0, 2^32]. */
struct pt_value {
	uint64_t x;
};

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
