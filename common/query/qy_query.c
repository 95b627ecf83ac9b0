/* qy_query.c - checks, compares and describes queries, and manages their memory. */
#include "qy_query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pr_limits.h"

static const struct {
	enum qy_kind kind;
	const char *name;
} kinds[] = { { QY_HISTOGRAM, "histogram" }, { QY_MEAN, "mean" }, { QY_QUANTILES, "quantiles" },
	{ QY_SUM, "sum" }, { QY_VECTOR, "vector" }, { QY_RANGES, "ranges" }, { QY_MARGINALS, "marginals" },
	{ QY_PREFIXES, "prefixes" }, { QY_SETS, "sets" }, { QY_PLACES, "places" } };

enum qy_kind qy_kind_at(size_t i)
{
	return i < sizeof kinds / sizeof kinds[0] ? kinds[i].kind : (enum qy_kind)0;
}

const char *qy_kind_name(enum qy_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (kinds[i].kind == kind)
			return kinds[i].name;
	}
	return "?";
}

enum qy_kind qy_kind_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return (enum qy_kind)0;
}

uint32_t qy_query_symbols(const struct qy_query *q)
{
	return q->none == QY_NONE_SYMBOL && q->kind != QY_PREFIXES;
}

bool qy_query_counts(const struct qy_query *q)
{
	return (q->kind & (QY_MEAN | QY_SUM | QY_QUANTILES | QY_VECTOR)) == 0;
}

uint32_t qy_query_cells(const struct qy_query *q)
{
	return q->column[0].cells * q->column[1].cells;
}

uint32_t qy_query_bins(const struct qy_query *q)
{
	return q->kind == QY_PLACES ? qy_query_cells(q) : q->categories + qy_query_symbols(q);
}

uint32_t qy_value_width(const struct qy_query *q)
{
	switch (q->kind) {
	case QY_VECTOR:
		return q->dimension;
	case QY_MARGINALS:
		return q->columns;
	case QY_SETS:
		return qy_query_bins(q);
	case QY_HISTOGRAM:
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
	case QY_PREFIXES:
	case QY_PLACES:
		break;
	}
	return 0;
}

uint32_t qy_query_fields(const struct qy_query *q)
{
	return q->columns > 0 ? q->columns : 1;
}

const char *qy_query_field(const struct qy_query *q, uint32_t i)
{
	return q->columns > 0 ? q->column[i].name : q->field;
}

void qy_query_fields_text(const struct qy_query *q, char *out, size_t size)
{
	static const char more[] = ", ...";
	uint32_t n = qy_query_fields(q);
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const char *name = qy_query_field(q, i);
		size_t need = strlen(name) + (i > 0 ? 2 : 0), rest = i + 1 < n ? sizeof more : 1;

		if (used + need + rest > size) {
			(void)snprintf(out + used, size - used, "%s", i > 0 ? more : name);
			return;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", name);
	}
}

static void free_texts(char **text, uint32_t n)
{
	for (uint32_t i = 0; text && i < n; i++)
		free(text[i]);
	free(text);
}

void qy_query_fini(struct qy_query *q)
{
	free_texts(q->category, q->categories);
	q->category = NULL;
	q->categories = 0;
	for (uint32_t i = 0; q->column && i < q->columns; i++)
		free_texts(q->column[i].category, q->column[i].categories);
	free(q->column);
	q->column = NULL;
	q->columns = 0;
	free(q->marginal);
	q->marginal = NULL;
	q->marginals = 0;
	free(q->probability);
	q->probability = NULL;
	q->probabilities = 0;
}

bool qy_is_mean(const struct qy_query *q)
{
	return q->kind == QY_MEAN || q->kind == QY_SUM;
}

void qy_query_none_word(const struct qy_query *q, char *out, size_t size)
{
	if (q->none == QY_NONE_SYMBOL)
		(void)snprintf(out, size, "symbol");
	else if (q->none == QY_NONE_EVEN)
		(void)snprintf(out, size, "even");
	else if (q->kind == QY_HISTOGRAM || q->kind == QY_SETS)
		(void)snprintf(out, size, QY_NONE_CATEGORY "%s", q->category[q->none_category]);
	else
		(void)snprintf(out, size, "%.6g", q->none_value);
}

void qy_query_none_text(const struct qy_query *q, char *out, size_t size)
{
	static const char who[] = "devices without a reading";
	bool of_range = q->kind != QY_HISTOGRAM && q->kind != QY_MARGINALS && q->kind != QY_SETS &&
			q->kind != QY_PLACES;

	if (q->kind == QY_PREFIXES)
		(void)snprintf(out, size, "%s count among the texts that begin with no candidate", who);
	else if (q->none == QY_NONE_SYMBOL)
		(void)snprintf(out, size, "%s are counted apart", who);
	else if (q->none == QY_NONE_EVEN)
		(void)snprintf(out, size, "%s count as a %s drawn evenly", who,
			of_range               ? "number of the range"
			: q->kind == QY_SETS   ? "set of one item"
			: q->kind == QY_PLACES ? "cell"
					       : "category");
	else if (of_range)
		(void)snprintf(out, size, "%s count as %.6g", who, q->none_value);
	else
		(void)snprintf(out, size, "%s count as '%s'", who, q->category[q->none_category]);
}

/* ---- whether two ask the same ---- */

/* Are they equal?  Neither is a NaN. */
static bool same_number(double a, double b)
{
	return a >= b && a <= b;
}

static bool same_texts(char *const *a, uint32_t an, char *const *b, uint32_t bn)
{
	uint32_t i = 0;

	while (an == bn && i < an && strcmp(a[i], b[i]) == 0)
		i++;
	return an == bn && i == an;
}

static bool same_columns(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->columns == b->columns && i < a->columns &&
		strcmp(a->column[i].name, b->column[i].name) == 0 &&
		same_texts(a->column[i].category, a->column[i].categories, b->column[i].category,
			b->column[i].categories) &&
		same_number(a->column[i].low, b->column[i].low) &&
		same_number(a->column[i].high, b->column[i].high) && a->column[i].cells == b->column[i].cells)
		i++;
	return a->columns == b->columns && i == a->columns;
}

static bool same_marginals(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->marginals == b->marginals && i < a->marginals && a->marginal[i] == b->marginal[i])
		i++;
	return a->marginals == b->marginals && i == a->marginals;
}

static bool same_probabilities(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->probabilities == b->probabilities && i < a->probabilities &&
		same_number(a->probability[i], b->probability[i]))
		i++;
	return a->probabilities == b->probabilities && i == a->probabilities;
}

bool qy_query_equal(const struct qy_query *a, const struct qy_query *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->field, b->field) == 0 &&
	       same_texts(a->category, a->categories, b->category, b->categories) &&
	       same_number(a->low, b->low) && same_number(a->high, b->high) && a->dimension == b->dimension &&
	       same_columns(a, b) && same_marginals(a, b) && same_probabilities(a, b) &&
	       a->leaves == b->leaves && a->fanout == b->fanout && a->bits == b->bits && a->none == b->none &&
	       same_number(a->none_value, b->none_value) && a->none_category == b->none_category;
}

/* ---- whether one is well-formed ---- */

/* The parts that a query has or lacks depending on its kind. */
enum part {
	CATEGORIES = 1,
	RANGE = 2,
	DIMENSION = 4,
	COLUMNS = 8,
	MARGINAL = 16,
	PROBABILITY = 32,
	LEAVES = 64,
	BITS = 128,
	AXES = 256,
};

static unsigned parts_of(enum qy_kind kind)
{
	switch (kind) {
	case QY_HISTOGRAM:
	case QY_SETS:
		return CATEGORIES;
	case QY_MEAN:
	case QY_SUM:
		return RANGE;
	case QY_QUANTILES:
		return RANGE | PROBABILITY;
	case QY_VECTOR:
		return RANGE | DIMENSION | COLUMNS;
	case QY_RANGES:
		return RANGE | LEAVES;
	case QY_MARGINALS:
		return COLUMNS | MARGINAL;
	case QY_PREFIXES:
		return CATEGORIES | BITS;
	case QY_PLACES:
		return COLUMNS | AXES;
	}
	return 0;
}

static enum cm_rc check_nothing_else(const struct qy_query *q, unsigned parts, struct cm_err *err)
{
	const struct {
		unsigned part;
		bool there;
		const char *name;
	} all[] = {
		{ CATEGORIES, q->categories > 0, "categories" },
		{ RANGE, q->low != 0 || q->high != 0, "range" },
		{ DIMENSION, q->dimension > 0, "dimension" },
		{ COLUMNS, q->columns > 0, "columns" },
		{ MARGINAL, q->marginals > 0, "marginals" },
		{ PROBABILITY, q->probabilities > 0, "probabilities" },
		{ LEAVES, q->leaves > 0 || q->fanout > 0, "leaves" },
		{ BITS, q->bits > 0, "bits" },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].there && (parts & all[i].part) == 0)
			return cm_fail(err, CM_ECONFIG, "query '%s': %s has no %s", q->name,
				qy_kind_name(q->kind), all[i].name);
	return CM_OK;
}

/* Has it only letters that no table, file or log line can misread? */
static bool is_plain_text(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n == 0 || n > max)
		return false;
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	}
	return true;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Check that the texts differ; `what` and `of` name them in the message. */
static enum cm_rc check_distinct(
	const struct qy_query *q, const char *what, char *const *text, uint32_t n, struct cm_err *err)
{
	char **sorted = calloc(n, sizeof *sorted);
	enum cm_rc rc = CM_OK;

	if (!sorted)
		return cm_fail(err, CM_EINTERNAL, "query '%s': out of memory", q->name);
	memcpy(sorted, text, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, compare_text);
	for (uint32_t i = 1; i < n && rc == CM_OK; i++) {
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			rc = cm_fail(
				err, CM_ECONFIG, "query '%s': %s '%.60s' twice", q->name, what, sorted[i]);
	}
	free(sorted);
	return rc;
}

static enum cm_rc check_categories(
	const struct qy_query *q, char *const *category, uint32_t n, struct cm_err *err)
{
	/* The symbol of none counts as one more category. */
	uint32_t most = PR_CATEGORIES_MAX - qy_query_symbols(q);

	if (n < 2 || n > most)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u categories, must be 2 to %u", q->name,
			(unsigned)n, (unsigned)most);
	for (uint32_t i = 0; i < n; i++) {
		if (!category[i] || !is_plain_text(category[i], PR_TEXT_MAX))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': category %u is empty, too long or not text", q->name,
				(unsigned)i);
		if (q->kind == QY_SETS && strchr(category[i], QY_SET_SEPARATOR))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': item '%.60s' has a '%c', which separates items", q->name,
				category[i], QY_SET_SEPARATOR);
	}
	return check_distinct(q, "category", category, n, err);
}

static enum cm_rc check_candidates(const struct qy_query *q, struct cm_err *err)
{
	if (q->bits == 0 || q->bits % 4 != 0 || q->bits > QY_PREFIX_BITS_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u bits, must be a multiple of 4 up to %u",
			q->name, (unsigned)q->bits, QY_PREFIX_BITS_MAX);
	/* One bin more is for all other texts. */
	if (q->categories < 1 || q->categories >= PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u candidates, must be 1 to %u", q->name,
			(unsigned)q->categories, PR_CATEGORIES_MAX - 1);
	for (uint32_t i = 0; i < q->categories; i++)
		if (!q->category[i] || strlen(q->category[i]) != q->bits / 4 ||
			q->category[i][strspn(q->category[i], "0123456789abcdef")] != '\0')
			return cm_fail(err, CM_ECONFIG,
				"query '%s': candidate %u is not %u lower-case hexadecimal digits", q->name,
				(unsigned)i, (unsigned)q->bits / 4);
	return check_distinct(q, "candidate", q->category, q->categories, err);
}

static enum cm_rc check_columns(const struct qy_query *q, struct cm_err *err)
{
	char *name[PR_COLUMNS_MAX];

	if (q->columns > PR_COLUMNS_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u columns, at most %u", q->name,
			(unsigned)q->columns, PR_COLUMNS_MAX);
	for (uint32_t i = 0; i < q->columns; i++) {
		const struct qy_column *c = &q->column[i];
		enum cm_rc rc = CM_OK;

		name[i] = q->column[i].name;
		if (!is_plain_text(c->name, sizeof c->name - 1))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': name of column %u is empty, too long or not text", q->name,
				(unsigned)i);
		if (q->kind != QY_PLACES && (c->low != 0 || c->high != 0 || c->cells != 0))
			rc = cm_fail(err, CM_ECONFIG, "query '%s': only places have cells", q->name);
		else if (q->kind == QY_MARGINALS)
			rc = check_categories(q, c->category, c->categories, err);
		else if (c->categories > 0)
			rc = cm_fail(err, CM_ECONFIG, "query '%s': a number has no categories", q->name);
		if (rc != CM_OK)
			return cm_context(err, "column %u", (unsigned)i);
	}
	return q->columns > 1 ? check_distinct(q, "column", name, q->columns, err) : CM_OK;
}

static enum cm_rc check_marginal(const struct qy_query *q, uint32_t i, struct cm_err *err)
{
	uint64_t combinations = 1;

	if (q->marginal[i] == 0 || (q->columns < 32 && q->marginal[i] >> q->columns != 0))
		return cm_fail(err, CM_ECONFIG, "query '%s': marginal %u is no set of the columns", q->name,
			(unsigned)i);
	for (uint32_t j = 0; j < i; j++)
		if (q->marginal[j] == q->marginal[i])
			return cm_fail(
				err, CM_ECONFIG, "query '%s': marginal %u twice", q->name, (unsigned)i);
	for (uint32_t c = 0; c < q->columns && combinations <= PR_CATEGORIES_MAX; c++)
		if (q->marginal[i] >> c & 1u)
			combinations *= q->column[c].categories + qy_query_symbols(q);
	if (combinations > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': marginal %u has more than %u combinations",
			q->name, (unsigned)i, PR_CATEGORIES_MAX);
	return CM_OK;
}

static enum cm_rc check_marginals(const struct qy_query *q, struct cm_err *err)
{
	uint32_t used = 0;

	if (q->columns < 2 || q->columns > QY_MARGINAL_COLUMNS_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u columns, must be 2 to %u", q->name,
			(unsigned)q->columns, QY_MARGINAL_COLUMNS_MAX);
	if (q->marginals < 1 || q->marginals > PR_SLOTS_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u marginals, must be 1 to %u", q->name,
			(unsigned)q->marginals, PR_SLOTS_MAX);
	for (uint32_t i = 0; i < q->marginals; i++) {
		enum cm_rc rc = check_marginal(q, i, err);

		if (rc != CM_OK)
			return rc;
		used |= q->marginal[i];
	}
	for (uint32_t c = 0; c < q->columns; c++)
		if ((used >> c & 1u) == 0)
			return cm_fail(err, CM_ECONFIG, "query '%s': column '%.64s' is in no marginal",
				q->name, q->column[c].name);
	return CM_OK;
}

static enum cm_rc check_leaves(const struct qy_query *q, struct cm_err *err)
{
	/* A symbol of none is one more bin besides the leaves. */
	uint32_t most = PR_CATEGORIES_MAX - qy_query_symbols(q);
	uint64_t cells = q->fanout;

	while (q->fanout > 1 && cells < q->leaves)
		cells *= q->fanout;
	if (q->fanout < 2 || cells != q->leaves || q->leaves > most)
		return cm_fail(err, CM_ECONFIG,
			"query '%s': %u leaves of fanout %u, must be a power of the fanout up to %u", q->name,
			(unsigned)q->leaves, (unsigned)q->fanout, (unsigned)most);
	return CM_OK;
}

static enum cm_rc check_probabilities(const struct qy_query *q, struct cm_err *err)
{
	double last = 0;

	if (q->probabilities > PR_PROBABILITIES_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u probabilities, at most %u", q->name,
			(unsigned)q->probabilities, PR_PROBABILITIES_MAX);
	for (uint32_t i = 0; i < q->probabilities; i++) {
		if (!(q->probability[i] > last && q->probability[i] < 1))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': probabilities must rise, above 0 and below 1", q->name);
		last = q->probability[i];
	}
	return CM_OK;
}

static enum cm_rc check_dimension(const struct qy_query *q, struct cm_err *err)
{
	if (q->dimension < 2 || q->dimension > PR_DIMENSION_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': dimension %u, must be 2 to %u", q->name,
			(unsigned)q->dimension, PR_DIMENSION_MAX);
	if (q->columns != 0 && q->columns != q->dimension)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u columns for dimension %u", q->name,
			(unsigned)q->columns, (unsigned)q->dimension);
	return CM_OK;
}

static enum cm_rc check_range(const struct qy_query *q, struct cm_err *err)
{
	if (!isfinite(q->low) || !isfinite(q->high) || !(q->low < q->high) || !isfinite(q->high - q->low))
		return cm_fail(err, CM_ECONFIG, "query '%s': range must be finite, low below high", q->name);
	return CM_OK;
}

static enum cm_rc check_axes(const struct qy_query *q, struct cm_err *err)
{
	if (q->columns != QY_PLACE_AXES)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u columns, places have two", q->name,
			(unsigned)q->columns);
	for (uint32_t i = 0; i < q->columns; i++) {
		const struct qy_column *c = &q->column[i];

		if (!isfinite(c->low) || !isfinite(c->high) || !(c->low < c->high) ||
			!isfinite(c->high - c->low))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': range of '%.64s' must be finite, low below high", q->name,
				c->name);
		if (c->cells < 2 || c->cells > PR_CATEGORIES_MAX)
			return cm_fail(err, CM_ECONFIG, "query '%s': %u cells of '%.64s', must be 2 to %u",
				q->name, (unsigned)c->cells, c->name, PR_CATEGORIES_MAX);
	}
	if ((uint64_t)q->column[0].cells * q->column[1].cells > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': more than %u cells", q->name, PR_CATEGORIES_MAX);
	return CM_OK;
}

static enum cm_rc check_names(const struct qy_query *q, struct cm_err *err)
{
	size_t n = strnlen(q->name, sizeof q->name);

	if (n == 0 || n == sizeof q->name ||
		q->name[strspn(q->name, "abcdefghijklmnopqrstuvwxyz0123456789._-")] != '\0')
		return cm_fail(err, CM_ECONFIG, "query name: 1 to 64 of a-z 0-9 . _ - are allowed");
	if (q->columns > 0 && q->field[0] != '\0')
		return cm_fail(err, CM_ECONFIG, "query '%s': both a field and columns", q->name);
	if (q->columns == 0 && !is_plain_text(q->field, sizeof q->field - 1))
		return cm_fail(err, CM_ECONFIG, "query '%s': field is empty, too long or not text", q->name);
	return CM_OK;
}

/* Check the substitute: for a histogram a category, for sets an item, for numbers one in the range. */
static enum cm_rc check_substitute(const struct qy_query *q, struct cm_err *err)
{
	bool given = q->none == QY_NONE_VALUE, of_category = q->kind == QY_HISTOGRAM || q->kind == QY_SETS;

	if (given && of_category && q->none_category >= q->categories)
		return cm_fail(err, CM_ECONFIG, "query '%s': none is category %u of %u", q->name,
			(unsigned)q->none_category, (unsigned)q->categories);
	if (given && !of_category && !(q->none_value >= q->low && q->none_value <= q->high))
		return cm_fail(err, CM_ECONFIG, "query '%s': none must be in the range, %g to %g", q->name,
			q->low, q->high);
	if ((q->none_category != 0 && !(given && of_category)) ||
		((q->none_value < 0 || q->none_value > 0 || isnan(q->none_value)) && (!given || of_category)))
		return cm_fail(err, CM_ECONFIG, "query '%s': a value for none where it has no use", q->name);
	return CM_OK;
}

static enum cm_rc check_none(const struct qy_query *q, struct cm_err *err)
{
	const char *kind = qy_kind_name(q->kind);

	if (q->none != QY_NONE_EVEN && q->none != QY_NONE_SYMBOL && q->none != QY_NONE_VALUE)
		return cm_fail(err, CM_ECONFIG, "query '%s': none is %u, which is no way to take part",
			q->name, (unsigned)q->none);
	if (q->kind == QY_VECTOR && q->none == QY_NONE_SYMBOL)
		return cm_fail(err, CM_ECONFIG,
			"query '%s': %s has no room for a symbol of none: \"even\" or a "
			"number",
			q->name, kind);
	if (q->kind == QY_PLACES && q->none != QY_NONE_EVEN)
		return cm_fail(err, CM_ECONFIG, "query '%s': none of %s must be \"even\"", q->name, kind);
	if (q->kind == QY_MARGINALS && q->none == QY_NONE_VALUE)
		return cm_fail(err, CM_ECONFIG,
			"query '%s': %s has no substitute for none: \"symbol\" or "
			"\"even\"",
			q->name, kind);
	if (q->kind == QY_PREFIXES && q->none != QY_NONE_SYMBOL)
		return cm_fail(err, CM_ECONFIG, "query '%s': none of %s begins with no candidate: \"symbol\"",
			q->name, kind);
	return check_substitute(q, err);
}

static enum cm_rc check_values(const struct qy_query *q, struct cm_err *err)
{
	return q->kind == QY_PREFIXES ? check_candidates(q, err)
				      : check_categories(q, q->category, q->categories, err);
}

/* In the order in which they are checked, since a marginal is a set of columns. */
static const struct {
	unsigned part;
	enum cm_rc (*check)(const struct qy_query *q, struct cm_err *err);
} checks[] = {
	{ CATEGORIES, check_values },
	{ RANGE, check_range },
	{ PROBABILITY, check_probabilities },
	{ LEAVES, check_leaves },
	{ DIMENSION, check_dimension },
	{ COLUMNS, check_columns },
	{ AXES, check_axes },
	{ MARGINAL, check_marginals },
};

enum cm_rc qy_query_check(const struct qy_query *q, struct cm_err *err)
{
	const unsigned parts = parts_of(q->kind);
	enum cm_rc rc = check_names(q, err);

	if (rc == CM_OK && parts == 0)
		return cm_fail(
			err, CM_ECONFIG, "query '%s': %u is no kind of question", q->name, (unsigned)q->kind);
	if (rc == CM_OK)
		rc = check_nothing_else(q, parts, err);
	for (size_t i = 0; rc == CM_OK && i < sizeof checks / sizeof checks[0]; i++)
		if ((parts & checks[i].part) != 0)
			rc = checks[i].check(q, err);
	return rc == CM_OK ? check_none(q, err) : rc;
}
