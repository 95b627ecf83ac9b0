/* pt_query.c - what is asked, and readings to values. */
#include "pt_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pr_limits.h"

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const struct {
	enum pt_kind kind;
	const char *name;
} kinds[] = { { PT_HISTOGRAM, "histogram" }, { PT_MEAN, "mean" }, { PT_QUANTILES, "quantiles" } };

const char *pt_kind_name(enum pt_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (kinds[i].kind == kind)
			return kinds[i].name;
	}
	return "?";
}

enum pt_kind pt_kind_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return (enum pt_kind)0;
}

/* Letters that no table, file or log line can misread. */
static int is_plain_text(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n == 0 || n > max)
		return 0;
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return 0;
	}
	return 1;
}

static enum cm_rc check_categories(const struct pt_query *q, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	char **sorted;

	if (q->categories < 2 || q->categories > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "query '%s': %u categories, must be 2 to %u", q->name,
			(unsigned)q->categories, PR_CATEGORIES_MAX);
	for (uint32_t i = 0; i < q->categories; i++) {
		if (q->category[i] == NULL || !is_plain_text(q->category[i], PR_TEXT_MAX))
			return cm_fail(err, CM_ECONFIG,
				"query '%s': category %u is empty, too long or not text", q->name,
				(unsigned)i);
	}
	sorted = calloc(q->categories, sizeof *sorted);
	if (sorted == NULL)
		return cm_fail(err, CM_EINTERNAL, "query '%s': out of memory", q->name);
	memcpy(sorted, q->category, q->categories * sizeof *sorted);
	qsort(sorted, q->categories, sizeof *sorted, compare_text);
	for (uint32_t i = 1; i < q->categories && rc == CM_OK; i++) {
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			rc = cm_fail(
				err, CM_ECONFIG, "query '%s': category '%.60s' twice", q->name, sorted[i]);
	}
	free(sorted);
	return rc;
}

enum cm_rc pt_query_check(const struct pt_query *q, struct cm_err *err)
{
	size_t n = strnlen(q->name, sizeof q->name);

	if (n == 0 || n == sizeof q->name ||
		q->name[strspn(q->name, "abcdefghijklmnopqrstuvwxyz0123456789._-")] != '\0')
		return cm_fail(err, CM_ECONFIG, "query name: 1 to 64 of a-z 0-9 . _ - are allowed");
	if (!is_plain_text(q->field, sizeof q->field - 1))
		return cm_fail(err, CM_ECONFIG, "query '%s': field is empty, too long or not text", q->name);
	if (q->kind == PT_HISTOGRAM)
		return check_categories(q, err);
	if (q->kind != PT_MEAN && q->kind != PT_QUANTILES)
		return cm_fail(err, CM_ECONFIG, "query '%s': no histogram, mean or quantiles", q->name);
	if (!isfinite(q->low) || !isfinite(q->high) || !(q->low < q->high) || !isfinite(q->high - q->low))
		return cm_fail(err, CM_ECONFIG, "query '%s': range must be finite, low below high", q->name);
	return CM_OK;
}

uint32_t pt_value_width(const struct pt_query *q)
{
	return q->kind == PT_VECTOR ? q->dimension : q->kind == PT_MARGINALS ? q->columns : 0;
}

void pt_query_fini(struct pt_query *q)
{
	for (uint32_t i = 0; q->category != NULL && i < q->categories; i++)
		free(q->category[i]);
	free(q->category);
	q->category = NULL;
	q->categories = 0;
}

static enum cm_rc read_number(
	const struct pt_query *q, const char *text, struct pt_value *out, int *clamped, struct cm_err *err)
{
	char *end;
	double x;

	x = strtod(text, &end);
	/* The reading itself is nobody's business: the message does not repeat it. */
	if (end == text || *end != '\0' || !isfinite(x))
		return cm_fail(err, CM_EDATA, "field '%s' is no finite number", q->field);
	*clamped = x < q->low || x > q->high;
	if (x < q->low)
		x = q->low;
	if (x > q->high)
		x = q->high;
	out->x = (uint64_t)llround((x - q->low) / (q->high - q->low) * 0x1p32);
	return CM_OK;
}

enum cm_rc pt_value_read(
	const struct pt_query *q, const char *text, struct pt_value *out, int *clamped, struct cm_err *err)
{
	*clamped = 0;
	if (q->kind != PT_HISTOGRAM)
		return read_number(q, text, out, clamped, err);
	for (uint32_t i = 0; i < q->categories; i++) {
		if (strcmp(text, q->category[i]) == 0) {
			out->x = i;
			return CM_OK;
		}
	}
	return cm_fail(err, CM_EDATA, "field '%s' is none of the query's categories", q->field);
}
