/* an_range.c - adds up the nodes of a range. */
#include "an_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "an_result.h"
#include "cm_table.h"
#include "es_law.h"

#define NEAR 1e-6 /* a number that was typed with few digits may differ by this part of a leaf */

/* The items of a result: the levels of a tree one after the other, its leaves last. */
struct tree {
	const char *query;
	const json_t *items;
	size_t first[PT_SLOTS_MAX + 1]; /* index of the first item of each level, and of the end */
	size_t levels;
};

static double num(const json_t *item, const char *key)
{
	const json_t *v = json_object_get(item, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const json_t *node(const struct tree *t, size_t level, size_t i)
{
	return json_array_get(t->items, t->first[level] + i);
}

static size_t nodes(const struct tree *t, size_t level)
{
	return t->first[level + 1] - t->first[level];
}

static size_t leaves(const struct tree *t)
{
	return nodes(t, t->levels - 1);
}

/* The lower end of leaf i.  For i equal to the number of leaves it is the upper end of the last. */
static double bound(const struct tree *t, size_t i)
{
	return i < leaves(t) ? num(node(t, t->levels - 1, i), "low")
			     : num(node(t, t->levels - 1, i - 1), "high");
}

/* Find where each level begins.  A level begins at the lower end of the range, and its number of nodes
 * divides the number of leaves. */
static enum cm_rc find_levels(const json_t *result, struct tree *t, struct cm_err *err)
{
	size_t i;
	json_t *it;

	*t = (struct tree){ .query = json_string_value(json_object_get(result, "query")),
		.items = json_object_get(result, "items") };
	json_array_foreach(t->items, i, it)
	{
		if (!(num(it, "low") < num(it, "high")))
			return cm_fail(err, CM_EDATA,
				"the result of %s does not say where its items begin and end: an older "
				"version made it",
				t->query);
		if (num(it, "low") <= num(node(t, 0, 0), "low") && t->levels < PT_SLOTS_MAX)
			t->first[t->levels++] = i;
	}
	t->first[t->levels] = json_array_size(t->items);
	for (i = 0; i < t->levels; i++)
		if (leaves(t) % nodes(t, i) != 0)
			return cm_fail(err, CM_EDATA, "the items of %s are no tree", t->query);
	return t->levels > 0 ? CM_OK : cm_fail(err, CM_EDATA, "the result of %s has no items", t->query);
}

static bool read_range(const char *text, double *low, double *high)
{
	char *end;

	*low = strtod(text, &end);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	*high = strtod(text, &end);
	return end > text && *end == '\0' && isfinite(*low) && isfinite(*high) && *low < *high;
}

/* The boundary of leaves nearest to x. */
static size_t nearest(const struct tree *t, double x)
{
	double width = (bound(t, leaves(t)) - bound(t, 0)) / (double)leaves(t);

	return (size_t)fmin(fmax(0, round((x - bound(t, 0)) / width)), (double)leaves(t));
}

static bool is_at(const struct tree *t, size_t i, double x)
{
	double width = (bound(t, leaves(t)) - bound(t, 0)) / (double)leaves(t);

	return fabs(x - bound(t, i)) <= NEAR * width;
}

/* From the left, always take the widest node that begins here and does not reach too far.  This takes the
 * fewest nodes. */
static void add_up(const struct tree *t, size_t from, size_t to, struct an_range *out)
{
	*out = (struct an_range){ .low = bound(t, from), .high = bound(t, to) };
	while (from < to) {
		size_t level = 0, wide = leaves(t) / nodes(t, 0);

		while (from % wide != 0 || from + wide > to)
			wide = leaves(t) / nodes(t, ++level);
		const json_t *it = node(t, level, from / wide);

		out->value += num(it, "value");
		out->variance += num(it, "variance");
		out->projected += num(it, "projected");
		out->nodes++;
		from += wide;
	}
	out->lower = out->value - es_normal_upper(0.025) * sqrt(out->variance);
	out->upper = out->value + es_normal_upper(0.025) * sqrt(out->variance);
}

enum cm_rc an_range_sum(const json_t *result, const char *text, struct an_range *out, struct cm_err *err)
{
	const char *type = json_string_value(json_object_get(result, "type"));
	struct tree t;
	double low, high;
	enum cm_rc rc;

	if (!type || strcmp(type, "ranges") != 0)
		return cm_fail(err, CM_EUSAGE, "--range: %s is of type %s, not \"ranges\"",
			json_string_value(json_object_get(result, "query")), type ? type : "none");
	if (!read_range(text, &low, &high))
		return cm_fail(err, CM_EUSAGE, "--range %.60s: two numbers are wanted, LOW:HIGH", text);
	rc = find_levels(result, &t, err);
	if (rc != CM_OK)
		return rc;
	size_t from = nearest(&t, low), to = nearest(&t, high);
	if (!is_at(&t, from, low) || !is_at(&t, to, high)) {
		from -= from == leaves(&t);
		to += to <= from ? from + 1 - to : 0;
		return cm_fail(err, CM_EUSAGE,
			"--range %.60s: %s counts in %zu leaves from %.10g to %.10g; the nearest whole "
			"ones are %.10g:%.10g",
			text, t.query, leaves(&t), bound(&t, 0), bound(&t, leaves(&t)), bound(&t, from),
			bound(&t, to));
	}
	add_up(&t, from, to, out);
	return CM_OK;
}

void an_range_print(const json_t *result, const struct an_range *r, FILE *out)
{
	char head[120], label[80], value[40], half[40], interval[48];
	struct cm_table *t;

	(void)snprintf(head, sizeof head, "%s (round %d)",
		json_string_value(json_object_get(result, "query")), (int)num(result, "round"));
	(void)snprintf(label, sizeof label, "%.10g to %.10g", r->low, r->high);
	(void)cm_thousands((int64_t)llround(r->value), value);
	(void)cm_thousands((int64_t)llround((r->upper - r->lower) / 2), half);
	(void)snprintf(interval, sizeof interval, "+-%s", half);
	t = cm_table_new("<>>", (const char *const[]){ head, "estimate", "95% interval" });
	if (!t)
		return;
	cm_table_row(t, (const char *const[]){ label, value, interval });
	cm_table_print(t, out);
	cm_table_free(t);
	(void)fprintf(out, "  the sum of %zu count%s; the interval holds however they go together\n",
		r->nodes, r->nodes == 1 ? "" : "s");
}

json_t *an_range_json(const json_t *result, const struct an_range *r)
{
	return json_pack("{s:s, s:O, s:O, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "schema",
		"tombola.range/1", "query", json_object_get(result, "query"), "round",
		json_object_get(result, "round"), "low", an_json_real(r->low), "high", an_json_real(r->high),
		"counts", (json_int_t)r->nodes, "value", an_json_real(r->value), "variance",
		an_json_real(r->variance), "lower", an_json_real(r->lower), "upper", an_json_real(r->upper),
		"projected", an_json_real(r->projected));
}
