/* an_extend.c - extends the prefixes that an earlier round found into the candidates of the next. */
#include "an_extend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct found {
	double value;
	uint32_t index; /* index of the earlier round's candidate */
};

/* Sort by frequency, highest first; equal ones in the order of the candidates. */
static int by_value(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->value < y->value || x->value > y->value)
		return x->value < y->value ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

/* Find the candidates significantly above the noise, sorted; *n of them.  NULL: out of memory, or the items
 * do not match the candidates. */
static struct found *find(const struct qy_query *before, const json_t *items, size_t *n)
{
	struct found *f = calloc(before->categories, sizeof *f);
	size_t i;
	json_t *item;

	*n = 0;
	if (!f || json_array_size(items) != before->categories) {
		free(f);
		return NULL;
	}
	json_array_foreach(items, i, item)
	{
		if (!json_is_true(json_object_get(item, "below_noise")))
			f[(*n)++] = (struct found){ json_number_value(json_object_get(item, "value")),
				(uint32_t)i };
	}
	qsort(f, *n, sizeof *f, by_value);
	return f;
}

/* Append to the query every continuation of one prefix by `more` digits. */
static enum cm_rc continue_prefix(const char *prefix, uint32_t more, struct qy_query *q, struct cm_err *err)
{
	size_t len = strlen(prefix) + more + 1;

	for (uint32_t i = 0; i < 1u << (4 * more); i++) {
		char *text = malloc(len);

		if (!text)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		(void)snprintf(text, len, "%s%0*x", prefix, (int)more, (unsigned)i);
		q->category[q->categories++] = text;
	}
	return CM_OK;
}

static enum cm_rc fill(const struct qy_query *before, const struct found *f, size_t n, struct qy_query *q,
	struct cm_err *err)
{
	uint32_t more = (q->bits - before->bits) / 4;
	enum cm_rc rc = CM_OK;

	q->category = calloc(n << (4 * more), sizeof *q->category);
	if (!q->category)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = continue_prefix(before->category[f[i].index], more, q, err);
	if (rc != CM_OK)
		qy_query_fini(q);
	return rc;
}

enum cm_rc an_extend(const struct an_state *s, const struct pl_round *r, const json_t *result,
	struct an_extension *out, struct cm_err *err)
{
	const struct an_round_state *before = &s->round[r->after - 1];
	const char *name = before->plan->query.name;
	struct found *f;
	enum cm_rc rc = CM_OK;
	size_t n;

	*out = (struct an_extension){ .query = r->query };
	out->query.category = NULL;
	out->query.categories = 0;
	if (!result) {
		(void)snprintf(out->nothing, sizeof out->nothing,
			AN_NOTHING_TO_EXTEND ": round %u (%.64s) is %s", r->after, name,
			an_stage_name(before->stage));
		return CM_OK;
	}
	if (json_object_get(result, "fault")) {
		(void)snprintf(out->nothing, sizeof out->nothing,
			AN_NOTHING_TO_EXTEND ": round %u (%.64s) has no estimate", r->after, name);
		return CM_OK;
	}
	f = find(&before->descriptor.query, json_object_get(result, "items"), &n);
	if (!f)
		return cm_fail(
			err, CM_EDATA, "round %u (%s): its result has not its candidates", r->after, name);
	if (n == 0)
		(void)snprintf(out->nothing, sizeof out->nothing,
			AN_NOTHING_TO_EXTEND ": no candidate of round %u (%.64s) is above the noise",
			r->after, name);
	else
		rc = fill(&before->descriptor.query, f, n < r->keep ? n : r->keep, &out->query, err);
	free(f);
	return rc;
}
