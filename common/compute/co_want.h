/* co_want.h - private to common/compute: takes the arrays that a map needs from a payload. */
#pragma once

#include "co_map.h"

/* Take the array `name`, which must have this type and these dimensions.  CM_EDATA. */
CM_CHECK enum cm_rc co_want(struct co_maker *m, const char *name, enum py_type type, uint32_t dims,
	const uint32_t *dim, const struct py_array **out, struct cm_err *err);
/* Take a matrix of floats. */
CM_CHECK enum cm_rc co_want_matrix(struct co_maker *m, const char *name, uint32_t rows, uint32_t columns,
	const struct py_array **out, struct cm_err *err);
/* Take `mean` and `scale` of the m features into array[at] and array[at + 1]; NULL if the payload has none.
 * *found counts them. */
CM_CHECK enum cm_rc co_want_scaling(struct co_maker *m, uint32_t at, uint32_t *found, struct cm_err *err);
/* Scale features by these arrays: z = (x - mean) scale. */
void co_scale(const struct co_maker *m, uint32_t at, const double *x, double *z);
/* Check that the payload has exactly the arrays of the map.  CM_EDATA. */
CM_CHECK enum cm_rc co_want_no_more(struct co_maker *m, uint32_t arrays, struct cm_err *err);
/* Check that the query's dimension is that of the map's value.  CM_EDATA. */
CM_CHECK enum cm_rc co_want_dimension(const struct qy_query *q, uint64_t d, struct cm_err *err);
