/* co_map.h - private to common/compute: the interface of a map, and the table of maps. */
#pragma once

#include "co_parameters.h"
#include "py_payload.h"

#define CO_ARRAYS_MAX 5u

struct co_maker {
	const struct qy_computing *computing;
	const struct qy_query *q;
	struct co_parameters p;
	const struct co_row *row;
	struct py_payload payload;
	const struct py_array *array[CO_ARRAYS_MAX]; /* the map's arrays, in the order of its load() */
	uint32_t shape[2]; /* sizes that load() found in the payload, such as the number of nodes */
	double *x;         /* the features of the reading */
	double *z;         /* the features after scaling, z */
	/* working memory of a map: each has as many numbers as features, one, and what lies between
	 * layers */
	double *f, *g;
	double *v; /* the vector that the map computed, before it is cut */
};

/* A map and how it works.  The functions get a maker whose p has been read; before apply() the payload has
 * been loaded. */
struct co_row {
	struct co_map map;
	/* Can the parameters answer the query?  CM_EDATA. */
	enum cm_rc (*fits)(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err);
	/* Find the payload's arrays.  CM_EDATA.  NULL: the payload has none. */
	enum cm_rc (*load)(struct co_maker *m, struct cm_err *err);
	/* Compute the value of a valid reading: cut, into m->v or into `at`. */
	void (*apply)(struct co_maker *m, const double *x, uint32_t label, uint32_t *at);
};

extern const struct co_row co_linear_gradient, co_network_gradient, co_moments, co_nearest_centroid,
	co_tree_path, co_statistics;

/* The row of a map; NULL: there is no such map. */
const struct co_row *co_row_find(const char *name);
