/* pl_query.c - reads the query of a round in a plan file. */
#include "pl_query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "rd_descriptor.h"

#define FANOUT_MAX 16u /* largest default fanout */

/* Which keys are allowed for which types. */
static const struct {
	const char *key;
	unsigned kinds;
} keys[] = {
	{ "field", ~(unsigned)(QY_MARGINALS | QY_PLACES) },
	{ "fields", QY_VECTOR },
	{ "columns", QY_MARGINALS },
	{ "axes", QY_PLACES },
	{ "marginals", QY_MARGINALS },
	{ "values", QY_HISTOGRAM | QY_PREFIXES | QY_SETS },
	{ "range", QY_MEAN | QY_SUM | QY_QUANTILES | QY_VECTOR | QY_RANGES },
	{ "dimension", QY_VECTOR },
	{ "slots", QY_VECTOR },
	{ "size", ~(unsigned)(QY_RANGES | QY_MARGINALS | QY_PREFIXES | QY_PLACES) },
	{ "probabilities", QY_QUANTILES },
	{ "leaves", QY_RANGES },
	{ "fanout", QY_RANGES },
	{ "bits", QY_PREFIXES },
	{ "after", QY_PREFIXES },
	{ "keep", QY_PREFIXES },
	{ "none", ~(unsigned)QY_PREFIXES },
};

/* Copy a text of 1 to room - 1 bytes; `key` is the round's. */
static void take_text(struct pl_checker *c, const struct pl_round *r, const char *key, const char *text,
	char *out, size_t room)
{
	size_t n = strlen(text);

	if (n == 0 || n >= room)
		pl_refuse(c, r, key, "'%s' must have 1 to %zu bytes", key, room - 1);
	else
		memcpy(out, text, n + 1);
}

static void check_keys(struct pl_checker *c, const struct pl_round *r)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if ((keys[i].kinds & (unsigned)r->query.kind) == 0 && pl_round_says(c, r, keys[i].key))
			pl_refuse(c, r, keys[i].key, "'%s' is not for type \"%s\"", keys[i].key,
				qy_kind_name(r->query.kind));
}

static bool needs(struct pl_checker *c, const struct pl_round *r, const char *key, const char *what)
{
	if (pl_round_says(c, r, key))
		return true;
	pl_fault(c, r->line, "missing '%s': type \"%s\" needs %s", key, qy_kind_name(r->query.kind), what);
	return false;
}

static void no_memory(struct pl_checker *c)
{
	if (c->found++ == 0)
		(void)cm_fail(c->first, CM_EINTERNAL, "out of memory");
}

/* The values are moved, not copied. */
static void take_values(struct cf_strings *from, char ***category, uint32_t *n)
{
	*category = from->item;
	*n = (uint32_t)from->n;
	*from = (struct cf_strings){ 0 };
}

static struct qy_column *new_columns(struct pl_checker *c, struct qy_query *q, size_t n)
{
	q->column = calloc(n, sizeof *q->column);
	if (!q->column)
		no_memory(c);
	else
		q->columns = (uint32_t)n;
	return q->column;
}

static void take_vector(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	q->dimension = (uint32_t)raw->dimension;
	if (!pl_round_says(c, r, "fields")) {
		if (pl_round_says(c, r, "field"))
			(void)needs(c, r, "dimension", "how many numbers 'field' holds");
		return;
	}
	if (pl_round_says(c, r, "field"))
		pl_refuse(c, r, "field", "'field' and 'fields' exclude each other");
	if (q->dimension != 0 && q->dimension != raw->fields.n)
		pl_refuse(c, r, "dimension", "'dimension' is %u, but there are %zu 'fields'",
			(unsigned)q->dimension, raw->fields.n);
	q->dimension = (uint32_t)raw->fields.n;
	if (!new_columns(c, q, raw->fields.n))
		return;
	for (size_t i = 0; i < raw->fields.n; i++)
		take_text(c, r, "fields", raw->fields.item[i], q->column[i].name, sizeof q->column[i].name);
}

/* The set of the columns with these names. */
static uint32_t set_of(struct pl_checker *c, const struct pl_round *r, const struct cf_strings *names)
{
	const struct qy_query *q = &r->query;
	uint32_t set = 0;

	for (size_t i = 0; i < names->n; i++) {
		uint32_t at = 0;

		while (at < q->columns && strcmp(q->column[at].name, names->item[i]) != 0)
			at++;
		if (at == q->columns)
			pl_refuse(c, r, "marginals", "'marginals': '%.64s' is no field of 'columns'",
				names->item[i]);
		else if (set >> at & 1u)
			pl_refuse(c, r, "marginals", "'marginals': '%.64s' twice in one", names->item[i]);
		else
			set |= 1u << at;
	}
	return set;
}

static void take_marginals(struct pl_checker *c, struct pl_raw_round *raw, struct pl_round *r)
{
	struct pl_raw_column *from = raw->columns.item;
	struct qy_query *q = &r->query;
	bool there = needs(c, r, "columns", "its fields and their categories");

	if (!needs(c, r, "marginals", "the sets of fields whose combinations are counted") || !there ||
		!new_columns(c, q, raw->columns.n))
		return;
	for (size_t i = 0; i < raw->columns.n; i++) {
		take_text(c, r, "columns", from[i].field, q->column[i].name, sizeof q->column[i].name);
		take_values(&from[i].values, &q->column[i].category, &q->column[i].categories);
	}
	q->marginal = calloc(raw->marginals.n, sizeof *q->marginal);
	if (!q->marginal) {
		no_memory(c);
		return;
	}
	q->marginals = (uint32_t)raw->marginals.n;
	for (uint32_t i = 0; i < q->marginals; i++)
		q->marginal[i] = set_of(c, r, &raw->marginals.item[i]);
}

static void take_places(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	const struct pl_raw_axis *from = raw->axes.item;
	struct qy_query *q = &r->query;

	if (!needs(c, r, "axes", "its two fields, their ranges and cells") || !new_columns(c, q, raw->axes.n))
		return;
	for (size_t i = 0; i < raw->axes.n; i++) {
		take_text(c, r, "axes", from[i].field, q->column[i].name, sizeof q->column[i].name);
		q->column[i].low = from[i].range[0];
		q->column[i].high = from[i].range[1];
		q->column[i].cells = (uint32_t)from[i].cells;
	}
}

static bool is_power(uint32_t leaves, uint32_t fanout)
{
	uint32_t cells = fanout;

	while (cells < leaves)
		cells *= fanout;
	return cells == leaves;
}

static void take_ranges(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	if (!needs(c, r, "leaves", "the cells of its finest grid"))
		return;
	q->leaves = (uint32_t)raw->leaves;
	q->fanout = (uint32_t)raw->fanout;
	for (uint32_t f = FANOUT_MAX; q->fanout == 0 && f >= 2; f--)
		if (is_power(q->leaves, f))
			q->fanout = f;
	if (q->fanout == 0)
		q->fanout = q->leaves;
}

/* Count the candidates that the first n of so many digits give. */
static void count_candidates(struct pl_checker *c, struct qy_query *q, uint64_t n)
{
	uint32_t digits = q->bits / 4;

	q->category = calloc(n, sizeof *q->category);
	if (!q->category) {
		no_memory(c);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		q->category[i] = malloc(digits + 1);
		if (!q->category[i]) {
			no_memory(c);
			return;
		}
		(void)snprintf(q->category[i], digits + 1, "%0*" PRIx32, (int)digits, i);
		q->categories++;
	}
}

static void take_after(
	struct pl_checker *c, const struct pl_plan *plan, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;
	const struct qy_query *before;
	uint32_t i = 0, more;

	while (i + 1 < r->number && strcmp(plan->round[i].query.name, raw->after) != 0)
		i++;
	before = &plan->round[i].query;
	if (i + 1 == r->number || before->kind != QY_PREFIXES) {
		pl_refuse(c, r, "after", "'after' must name an earlier round of type \"prefixes\"");
		return;
	}
	if (plan->round[i].recurrences > 1) {
		pl_refuse(c, r, "after",
			"'%s' recurs: its candidates may be others each time, and 'after' needs one answer",
			raw->after);
		return;
	}
	if (pl_round_says(c, r, "values"))
		pl_refuse(c, r, "values", "'values' and 'after' exclude each other");
	if (!needs(c, r, "keep", "how many candidates of 'after' are extended"))
		return;
	if (q->bits <= before->bits) {
		pl_refuse(c, r, "bits", "'bits' must be more than the %u of '%s'", (unsigned)before->bits,
			raw->after);
		return;
	}
	r->after = i + 1;
	r->keep = (uint32_t)raw->keep;
	more = q->bits - before->bits;
	if (more > 12 || (uint64_t)r->keep << more >= PR_CATEGORIES_MAX)
		pl_refuse(c, r, "keep",
			"%u candidates with %u more bits are more than %u: fewer 'keep' or fewer 'bits'",
			(unsigned)r->keep, (unsigned)more, PR_CATEGORIES_MAX - 1);
	else
		count_candidates(c, q, (uint64_t)r->keep << more);
}

/* A candidate of `values` may be written as text or as hexadecimal digits.  If it has as many characters as
 * prefixes have bytes, it is text: replace it by its hexadecimal digits. */
static void texts_to_digits(struct pl_checker *c, struct qy_query *q)
{
	for (uint32_t i = 0; q->bits % 8 == 0 && i < q->categories; i++) {
		size_t n = strlen(q->category[i]);
		char *digits = n == q->bits / 8 ? malloc(2 * n + 1) : NULL;

		if (n != q->bits / 8)
			continue;
		if (!digits) {
			no_memory(c);
			return;
		}
		cm_hex((const uint8_t *)q->category[i], n, digits);
		free(q->category[i]);
		q->category[i] = digits;
	}
}

static void take_prefixes(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	if (!needs(c, r, "bits", "how many first bits of the text"))
		return;
	q->bits = (uint32_t)raw->bits;
	if (q->bits % 4 != 0) {
		pl_refuse(c, r, "bits", "'bits' must be a multiple of 4");
		return;
	}
	if (raw->after) {
		take_after(c, plan, raw, r);
		return;
	}
	if (pl_round_says(c, r, "keep"))
		pl_refuse(c, r, "keep", "'keep' is for a round with 'after'");
	if (pl_round_says(c, r, "values")) {
		take_values(&raw->values, &q->category, &q->categories);
		texts_to_digits(c, q);
	} else if (q->bits <= 8) {
		count_candidates(c, q, UINT64_C(1) << q->bits);
	} else {
		pl_fault(c, r->line, "missing 'values' or 'after': all prefixes of %u bits are too many",
			(unsigned)q->bits);
	}
}

static void take_kind(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	switch (q->kind) {
	case QY_HISTOGRAM:
		if (needs(c, r, "values", "its categories"))
			take_values(&raw->values, &q->category, &q->categories);
		break;
	case QY_SETS:
		if (needs(c, r, "values", "its items"))
			take_values(&raw->values, &q->category, &q->categories);
		break;
	case QY_QUANTILES:
		q->probability = raw->probabilities.item; /* moved, not copied */
		q->probabilities = (uint32_t)raw->probabilities.n;
		raw->probabilities = (struct cf_doubles){ 0 };
		break;
	case QY_VECTOR:
		take_vector(c, raw, r);
		break;
	case QY_RANGES:
		take_ranges(c, raw, r);
		break;
	case QY_MARGINALS:
		take_marginals(c, raw, r);
		break;
	case QY_PLACES:
		take_places(c, raw, r);
		break;
	case QY_PREFIXES:
		take_prefixes(c, plan, raw, r);
		break;
	case QY_MEAN:
	case QY_SUM:
		break;
	}
}

static void take_substitute(struct pl_checker *c, const char *text, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	while (q->none_category < q->categories && strcmp(q->category[q->none_category], text) != 0)
		q->none_category++;
	if ((q->kind != QY_HISTOGRAM && q->kind != QY_SETS) || q->none_category == q->categories) {
		q->none_category = 0;
		pl_refuse(c, r, "none", "'none': '%.64s' is no category of this round's 'values'", text);
	}
	q->none = QY_NONE_VALUE;
}

/* Read only what the file says; pt_none_default sets the default. */
static void take_none(struct pl_checker *c, const struct cf_word *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;

	if (!raw->text && q->kind != QY_PREFIXES) {
		q->none = QY_NONE_VALUE;
		q->none_value = raw->number;
		if (q->kind & (QY_HISTOGRAM | QY_MARGINALS | QY_SETS | QY_PLACES))
			pl_refuse(c, r, "none", "'none' of type \"%s\" is no number", qy_kind_name(q->kind));
	} else if (q->kind == QY_PREFIXES || strcmp(raw->text, "symbol") == 0) {
		q->none = QY_NONE_SYMBOL;
	} else if (strcmp(raw->text, "even") == 0) {
		q->none = QY_NONE_EVEN;
	} else if (strncmp(raw->text, QY_NONE_CATEGORY, strlen(QY_NONE_CATEGORY)) == 0) {
		take_substitute(c, raw->text + strlen(QY_NONE_CATEGORY), r);
	} else {
		pl_refuse(c, r, "none",
			"'none' must be \"symbol\", \"even\", a number, or \"" QY_NONE_CATEGORY "TEXT\"");
	}
}

void pl_query_take(struct pl_checker *c, const struct pl_plan *plan, const struct pt_protocol *row,
	struct pl_raw_round *raw, struct pl_round *r)
{
	struct qy_query *q = &r->query;
	struct cm_err e = { 0 };
	bool of_columns = (q->kind & (QY_MARGINALS | QY_PLACES)) != 0 ||
			  (q->kind == QY_VECTOR && pl_round_says(c, r, "fields"));

	check_keys(c, r);
	/* The fields that are read are those of `compute`; this one names the output. */
	if (!of_columns && raw->compute && !pl_round_says(c, r, "field"))
		memcpy(q->field, q->name, sizeof q->field);
	else if (!of_columns && needs(c, r, "field", "a field of the readings"))
		take_text(c, r, "field", raw->field, q->field, sizeof q->field);
	if (q->kind & (QY_MEAN | QY_SUM | QY_QUANTILES | QY_VECTOR | QY_RANGES) &&
		needs(c, r, "range", "[low, high]")) {
		q->low = raw->range[0];
		q->high = raw->range[1];
	}
	take_kind(c, plan, raw, r);
	if (pl_round_says(c, r, "none"))
		take_none(c, &raw->none, r);
	else
		pt_none_default(row, q);
	if (c->found == 0 && (qy_query_check(q, &e) != CM_OK || rd_descriptor_fits(q, NULL, &e) != CM_OK))
		pl_fault_of(c, r->line, &e);
}
