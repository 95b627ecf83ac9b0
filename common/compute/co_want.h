/* co_want.h - private to common/compute: takes the arrays that a map needs from a payload. */
#pragma once

#include "co_map.h"

/* The array `name`, of the type and dimensions.  CM_EDATA. */
CM_CHECK enum cm_rc co_want(struct co_maker *m, const char *name, enum py_type type, uint32_t dims,
	const uint32_t *dim, const struct py_array **out, struct cm_err *err);
/* Matrices of floats. */
CM_CHECK enum cm_rc co_want_matrix(struct co_maker *m, const char *name, uint32_t rows, uint32_t columns,
	const struct py_array **out, struct cm_err *err);
/* Of the m features: `mean` and `scale`, into array[at] and array[at + 1]; NULL if the payload has none.
 * *found counts them. */
CM_CHECK enum cm_rc co_want_scaling(struct co_maker *m, uint32_t at, uint32_t *found, struct cm_err *err);
/* z = (x - mean) scale, by those. */
void co_scale(const struct co_maker *m, uint32_t at, const double *x, double *z);
/* As many as the map has, not one more. */
CM_CHECK enum cm_rc co_want_no_more(struct co_maker *m, uint32_t arrays, struct cm_err *err);
/* The query's dimension is what the map makes. */
CM_CHECK enum cm_rc co_want_dimension(const struct qy_query *q, uint64_t d, struct cm_err *err);
