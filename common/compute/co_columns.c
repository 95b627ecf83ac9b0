/* co_columns.c (co_map.h) - maps to columns: the leaf of a tree, and the bins of features. */
#include <math.h>

#include "co_map.h"
#include "co_want.h"

/* Check the query's columns: `before` of the map's own, one for each feature with as many bins as the
 * first, and the label's. */
static enum cm_rc fits(
	const struct co_parameters *p, const struct qy_query *q, uint32_t before, struct cm_err *err)
{
	uint64_t want = (uint64_t)before + p->features + (p->label ? 1 : 0);

	if (q->columns != want)
		return cm_fail(err, CM_EDATA, "%s: the query has %lu columns, it must be %lu", p->map->name,
			(unsigned long)q->columns, (unsigned long)want);
	for (uint32_t i = 1; i < p->features; i++)
		if (q->column[before + i].categories != q->column[before].categories)
			return cm_fail(err, CM_EDATA,
				"%s: the columns of the features must have as many bins each", p->map->name);
	return CM_OK;
}

static enum cm_rc load_edges(
	struct co_maker *m, uint32_t before, const struct py_array **out, struct cm_err *err)
{
	uint32_t n = m->q->column[before].categories - 1;
	enum cm_rc rc = co_want_matrix(m, "edges", m->p.features, n, out, err);

	for (uint32_t i = 0; rc == CM_OK && i < m->p.features; i++)
		for (uint32_t k = 1; rc == CM_OK && k < n; k++)
			if (!(py_float(*out, i * n + k - 1) < py_float(*out, i * n + k)))
				rc = cm_fail(err, CM_EDATA, "payload: 'edges' of feature %lu do not rise",
					(unsigned long)i);
	m->shape[0] = n;
	return rc;
}

/* The number of the feature's edges that are at most x. */
static uint32_t bin(const struct co_maker *m, const struct py_array *edges, uint32_t feature, double x)
{
	uint32_t low = 0, high = m->shape[0];

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if ((double)py_float(edges, feature * m->shape[0] + middle) <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_bins(
	struct co_maker *m, const struct py_array *edges, const double *x, uint32_t label, uint32_t *at)
{
	for (uint32_t i = 0; i < m->p.features; i++)
		at[i] = bin(m, edges, i, x[i]);
	if (m->p.label)
		at[m->p.features] = label;
}

static enum cm_rc statistics_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	return fits(p, q, 0, err);
}

static enum cm_rc statistics_load(struct co_maker *m, struct cm_err *err)
{
	enum cm_rc rc = load_edges(m, 0, &m->array[0], err);

	return rc == CM_OK ? co_want_no_more(m, 1, err) : rc;
}

static void statistics_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	put_bins(m, m->array[0], x, label, at);
}

const struct co_row co_statistics = {
	.map = { .name = "statistics",
		.summary = "bins of the features, and the label",
		.kind = QY_MARGINALS,
		.keys = CO_KEY_LABEL },
	.fits = statistics_fits,
	.load = statistics_load,
	.apply = statistics_apply,
};

/* ---- trees ---- */

enum { FEATURE, THRESHOLD, LEFT, RIGHT, EDGES };

static enum cm_rc tree_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	return fits(p, q, 1, err);
}

/* A child must be a later node, or a leaf that the query has a category for: so a path ends, and ends at a
 * leaf. */
static enum cm_rc check_child(
	const struct co_maker *m, uint32_t node, uint32_t nodes, int32_t child, struct cm_err *err)
{
	int64_t leaf = -1 - (int64_t)child;

	if (child >= 0 ? (uint32_t)child > node && (uint32_t)child < nodes
		       : leaf < m->q->column[0].categories)
		return CM_OK;
	return cm_fail(err, CM_EDATA,
		"payload: node %lu goes on to %ld: no later node, and none of %lu leaves",
		(unsigned long)node, (long)child, (unsigned long)m->q->column[0].categories);
}

static enum cm_rc tree_load(struct co_maker *m, struct cm_err *err)
{
	static const char *const name[] = { "feature", "threshold", "left", "right" };
	const struct py_array *first = py_payload_find(&m->payload, name[FEATURE]);
	uint32_t nodes = first ? first->n : 1;
	enum cm_rc rc = CM_OK;

	for (uint32_t i = 0; rc == CM_OK && i < EDGES; i++)
		rc = co_want(
			m, name[i], i == THRESHOLD ? PY_FLOAT32 : PY_INT32, 1, &nodes, &m->array[i], err);
	if (rc == CM_OK)
		rc = load_edges(m, 1, &m->array[EDGES], err);
	if (rc == CM_OK)
		rc = co_want_no_more(m, CO_ARRAYS_MAX, err);
	/* Every reading looks at all nodes, so limit their number. */
	if (rc == CM_OK && nodes > CO_NODES_MAX)
		rc = cm_fail(err, CM_EDATA, "payload: %lu nodes, more than %u", (unsigned long)nodes,
			CO_NODES_MAX);
	for (uint32_t i = 0; rc == CM_OK && i < nodes; i++) {
		int32_t feature = py_int(m->array[FEATURE], i);

		if (feature < 0 || (uint32_t)feature >= m->p.features)
			rc = cm_fail(err, CM_EDATA, "payload: node %lu asks for feature %ld of %lu",
				(unsigned long)i, (long)feature, (unsigned long)m->p.features);
		if (rc == CM_OK)
			rc = check_child(m, i, nodes, py_int(m->array[LEFT], i), err);
		if (rc == CM_OK)
			rc = check_child(m, i, nodes, py_int(m->array[RIGHT], i), err);
	}
	return rc;
}

static void tree_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	int32_t node = 0;

	/* Children come later, so one pass follows a path.  It looks at every node, so the time is the same
	 * for every reading. */
	for (uint32_t i = 0; i < m->array[FEATURE]->n; i++) {
		bool left = x[py_int(m->array[FEATURE], i)] <= (double)py_float(m->array[THRESHOLD], i);
		int32_t next = py_int(m->array[left ? LEFT : RIGHT], i);

		node = node == (int32_t)i ? next : node;
	}
	at[0] = (uint32_t)(-1 - node);
	put_bins(m, m->array[EDGES], x, label, at + 1);
}

const struct co_row co_tree_path = {
	.map = { .name = "tree-path",
		.summary = "the leaf of a tree, bins of the features, and the label",
		.kind = QY_MARGINALS,
		.keys = CO_KEY_LABEL },
	.fits = tree_fits,
	.load = tree_load,
	.apply = tree_apply,
};
