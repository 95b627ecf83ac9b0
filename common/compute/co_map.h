/* co_map.h - the inside of common/compute: what a map is made of. */
#pragma once

#include "co_compute.h"
#include "py_payload.h"

#define CO_ARRAYS_MAX 5u

struct co_maker {
	const struct qy_computing *computing;
	const struct qy_query *q;
	struct co_parameters p;
	const struct co_row *row;
	struct py_payload payload;
	const struct py_array *array[CO_ARRAYS_MAX]; /* of the map, in the order of its load() */
	uint32_t shape[2];                           /* of the payload: what load() found */
	double *x;                                   /* the features */
	double *z;                                   /* the features, scaled */
	double *f, *g;                               /* room of a map: features + 1 + inner, each */
	double *v;                                   /* a vector before it is cut */
};

/* A map and how it works.  Functions get a maker whose p has been read; apply()'s payload has been loaded. */
struct co_row {
	struct co_map map;
	/* Can the parameters answer the query?  CM_EDATA. */
	enum cm_rc (*fits)(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err);
	/* Find the payload's arrays.  CM_EDATA.  NULL: the payload has none. */
	enum cm_rc (*load)(struct co_maker *m, struct cm_err *err);
	/* The value of a valid reading: into m->v, cut, or into `at`. */
	void (*apply)(struct co_maker *m, const double *x, uint32_t label, uint32_t *at);
};

extern const struct co_row co_linear_gradient, co_network_gradient, co_moments, co_nearest_centroid,
	co_tree_path, co_statistics, co_program;

/* ---- loading ---- */

/* Read and check everything that m->computing, m->q and the bytes say, into m.  CM_EDATA. */
CM_CHECK enum cm_rc co_payload_load(struct co_maker *m, const uint8_t *bytes, size_t n, struct cm_err *err);

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

/* ---- vectors ---- */

/* A part of a vector: multiply it by min(1, most / length), so that its length in exact arithmetic is at most
 * `most`.  Numbers are finite, at most 1e160 in magnitude. */
void co_cut(double *v, size_t n, double most);
/* Coordinates within [-L, L] to integers, rounded towards 0. */
void co_coordinates(const struct qy_query *q, const double *v, uint32_t *at);
