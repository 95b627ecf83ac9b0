/* rd_query.c - decodes and encodes the query of a descriptor. */
#include "rd_query.h"

#include <stdlib.h>
#include <string.h>

#include "cm_text.h"
#include "rd_computing.h"
#include "rd_descriptor.h"
#include "rd_text.h"
#include "rd_wire.h"

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* *n counts the items that are owned, so that those read before a fault are freed. */
static enum cm_rc read_categories(
	char *const *from, size_t count, const char *field, char ***out, uint32_t *n, struct cm_err *err)
{
	if (count == 0)
		return CM_OK;
	*out = calloc(count, sizeof **out);
	if (!*out)
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (!cm_text_is_printable(from[i]))
			return cm_fail(err, CM_EPROTO, "%s: number %zu is not printable", field, i + 1);
		(*out)[i] = strdup(from[i]);
		if (!(*out)[i])
			return no_memory(err);
		++*n;
	}
	return CM_OK;
}

static enum cm_rc read_columns(const Tombola__V1__Query *m, struct qy_query *q, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (m->n_columns == 0)
		return CM_OK;
	q->column = calloc(m->n_columns, sizeof *q->column);
	if (!q->column)
		return no_memory(err);
	for (size_t i = 0; rc == CM_OK && i < m->n_columns; i++) {
		struct qy_column *c = &q->column[q->columns++];

		c->low = m->columns[i]->low;
		c->high = m->columns[i]->high;
		c->cells = m->columns[i]->cells;
		rc = rd_copy_text(m->columns[i]->name, "query.columns.name", c->name, sizeof c->name, err);
		if (rc == CM_OK)
			rc = read_categories(m->columns[i]->categories, m->columns[i]->n_categories,
				"query.columns.categories", &c->category, &c->categories, err);
	}
	return rc;
}

static enum cm_rc read_lists(const Tombola__V1__Query *m, struct qy_query *q, struct cm_err *err)
{
	if (m->n_marginals > 0) {
		q->marginal = calloc(m->n_marginals, sizeof *q->marginal);
		if (!q->marginal)
			return no_memory(err);
		memcpy(q->marginal, m->marginals, m->n_marginals * sizeof *q->marginal);
		q->marginals = (uint32_t)m->n_marginals;
	}
	if (m->n_probabilities > 0) {
		q->probability = calloc(m->n_probabilities, sizeof *q->probability);
		if (!q->probability)
			return no_memory(err);
		memcpy(q->probability, m->probabilities, m->n_probabilities * sizeof *q->probability);
		q->probabilities = (uint32_t)m->n_probabilities;
	}
	return CM_OK;
}

static enum cm_rc read_names(const Tombola__V1__Query *m, struct qy_query *q, struct cm_err *err)
{
	enum cm_rc rc = rd_copy_name(m->name, "query.name", q->name, sizeof q->name, err);

	if (rc != CM_OK)
		return rc;
	if (m->n_columns == 0)
		return rd_copy_text(m->field, "query.field", q->field, sizeof q->field, err);
	return m->field[0] == '\0' ? CM_OK
				   : cm_fail(err, CM_EPROTO, "query.field: given though there are columns");
}

enum cm_rc rd_query_read(const Tombola__V1__Query *m, struct qy_query *out, struct cm_err *err)
{
	enum cm_rc rc;

	if (!m)
		return cm_fail(err, CM_EPROTO, "query: missing");
	rc = read_names(m, out, err);
	if (rc != CM_OK)
		return rc;
	out->kind = qy_kind_named(qy_kind_name((enum qy_kind)m->kind));
	if (out->kind == 0)
		return cm_fail(err, CM_EPROTO, "query.kind: %d is unknown", (int)m->kind);
	out->low = m->low;
	out->high = m->high;
	out->dimension = m->dimension;
	out->leaves = m->leaves;
	out->fanout = m->fanout;
	out->bits = m->bits;
	out->none = (enum qy_none)m->none;
	out->none_value = m->none_value;
	out->none_category = m->none_category;
	rc = read_categories(
		m->categories, m->n_categories, "query.categories", &out->category, &out->categories, err);
	if (rc == CM_OK)
		rc = read_columns(m, out, err);
	if (rc == CM_OK)
		rc = read_lists(m, out, err);
	if (rc != CM_OK)
		return rc;
	/* qy_query_check reports faults of our own plans; here the fault is in a peer's bytes. */
	rc = qy_query_check(out, err);
	if (rc == CM_ECONFIG)
		err->code = CM_EPROTO;
	return rc == CM_OK ? rc : cm_context(err, "query");
}

static enum cm_rc wire_columns(const struct qy_query *q, struct rd_query_wire *out, struct cm_err *err)
{
	if (q->columns == 0)
		return CM_OK;
	out->column = calloc(q->columns, sizeof *out->column);
	out->columns = calloc(q->columns, sizeof(Tombola__V1__Column *));
	if (!out->column || !out->columns)
		return no_memory(err);
	for (uint32_t i = 0; i < q->columns; i++) {
		tombola__v1__column__init(&out->column[i]);
		out->column[i].name = rd_wire_text(q->column[i].name);
		out->column[i].n_categories = q->column[i].categories;
		out->column[i].categories = q->column[i].category;
		out->column[i].low = q->column[i].low;
		out->column[i].high = q->column[i].high;
		out->column[i].cells = q->column[i].cells;
		out->columns[i] = &out->column[i];
	}
	out->m.n_columns = q->columns;
	out->m.columns = out->columns;
	return CM_OK;
}

enum cm_rc rd_query_wire(const struct qy_query *q, struct rd_query_wire *out, struct cm_err *err)
{
	*out = (struct rd_query_wire){ .column = NULL };
	tombola__v1__query__init(&out->m);
	out->m.name = rd_wire_text(q->name);
	out->m.field = rd_wire_text(q->field);
	out->m.kind = (Tombola__V1__QueryKind)q->kind;
	out->m.n_categories = q->categories;
	out->m.categories = q->category;
	out->m.low = q->low;
	out->m.high = q->high;
	out->m.dimension = q->dimension;
	out->m.n_marginals = q->marginals;
	out->m.marginals = q->marginal;
	out->m.n_probabilities = q->probabilities;
	out->m.probabilities = q->probability;
	out->m.leaves = q->leaves;
	out->m.fanout = q->fanout;
	out->m.bits = q->bits;
	out->m.none = (uint32_t)q->none;
	out->m.none_value = q->none_value;
	out->m.none_category = q->none_category;
	return wire_columns(q, out, err);
}

void rd_query_wire_fini(struct rd_query_wire *w)
{
	free(w->column);
	free(w->columns);
	*w = (struct rd_query_wire){ .column = NULL };
}

/* Room for everything but the query and the computing: names, hashes, numbers, and slots with six numbers
 * each. */
#define REST_BYTES  4096u
#define REST_FIELDS 256u

static size_t computing_bytes(const struct qy_computing *c)
{
	struct rd_computing_wire w;
	Tombola__V1__Computing *m = c ? rd_computing_wire(c, &w) : NULL;

	return m ? tombola__v1__computing__get_packed_size(m) : 0;
}

enum cm_rc rd_descriptor_fits(const struct qy_query *q, const struct qy_computing *c, struct cm_err *err)
{
	size_t bytes, fields = REST_FIELDS + q->categories + q->marginals + q->probabilities;
	struct rd_query_wire w;
	enum cm_rc rc = rd_query_wire(q, &w, err);

	if (rc == CM_OK) {
		for (uint32_t i = 0; i < q->columns; i++)
			fields += 2 + q->column[i].categories;
		bytes = tombola__v1__query__get_packed_size(&w.m) + REST_BYTES + computing_bytes(c);
		if (bytes > PR_DESCRIPTOR_MAX)
			rc = cm_fail(err, CM_ECONFIG,
				"query '%s': its categories and names make a descriptor of %zu bytes, at "
				"most %u: take fewer or shorter ones",
				q->name, bytes, PR_DESCRIPTOR_MAX);
		else if (fields > PR_FIELDS_MAX)
			rc = cm_fail(err, CM_ECONFIG, "query '%s': more than %u categories over all columns",
				q->name, PR_FIELDS_MAX - REST_FIELDS);
	}
	rd_query_wire_fini(&w);
	return rc;
}
