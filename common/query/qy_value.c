/* qy_value.c - converts a reading's texts to the value that a row encodes.
 *
 * A reading is private: no message repeats it. */
#include "qy_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr_rand.h"
#include "cr_secret.h"
#include "pr_limits.h"

#define DRAWS 64u /* so many random numbers are drawn at a time, each for two coordinates */
/* up to this number of items each is searched in all categories; with more, the categories are sorted
 * first */
#define FEW 64u

int qy_number_read(const char *text, char **end, double *out)
{
	const char *digit = text + strspn(text, " \t\r\n");

	digit += *digit == '-' || *digit == '+';
	*end = (char *)(uintptr_t)text;
	if (strspn(digit + (*digit == '.'), "0123456789") == 0 || (digit[0] == '0' && (digit[1] | 32) == 'x'))
		return 0;
	*out = strtod(text, end);
	return isfinite(*out);
}

/* Read the number that text begins with, as a part of the range, in [0, 1]; *end is what follows it. */
static int read_part(const struct qy_query *q, const char *text, char **end, double *part, int *clamped)
{
	double x;

	if (!qy_number_read(text, end, &x))
		return 0;
	if (x < q->low || x > q->high)
		*clamped = 1;
	x = fmin(fmax(x, q->low), q->high);
	*part = (x - q->low) / (q->high - q->low);
	return 1;
}

static enum cm_rc no_number(const char *field, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "field '%s' is no finite number", field);
}

static uint64_t number(const struct qy_query *q, double part)
{
	/* An interval contains its lower end, and few ends are multiples of 2^-32: rounding up keeps any
	 * number out of the interval below. */
	return (uint64_t)(q->kind == QY_RANGES ? ceil(part * 0x1p32) : round(part * 0x1p32));
}

static enum cm_rc read_number(
	const struct qy_query *q, const char *text, struct qy_value *out, int *clamped, struct cm_err *err)
{
	double part = 0;
	char *end;

	if (!read_part(q, text, &end, &part, clamped) || *end != '\0')
		return no_number(q->field, err);
	out->x = number(q, part);
	return CM_OK;
}

static uint32_t coordinate(double part)
{
	return (uint32_t)lround(part * 0x1p31);
}

/* Skip what separates two numbers: spaces, and at most one comma or semicolon.  NULL if there is no
 * separator. */
static const char *skip_separator(const char *text)
{
	static const char space[] = " \t\r\n";
	const char *end = text + strspn(text, space);

	if (*end == ',' || *end == ';')
		end++;
	return end == text ? NULL : end + strspn(end, space);
}

static enum cm_rc read_array(
	const struct qy_query *q, const char *text, uint32_t *at, int *clamped, struct cm_err *err)
{
	for (uint32_t i = 0; i < q->dimension; i++) {
		double part = 0;
		char *end;

		if (i > 0)
			text = skip_separator(text);
		if (!text || *text == '\0')
			return cm_fail(err, CM_EDATA, "field '%s' has fewer than %u numbers", q->field,
				(unsigned)q->dimension);
		if (!read_part(q, text, &end, &part, clamped))
			return no_number(q->field, err);
		at[i] = coordinate(part);
		text = end;
	}
	if (text[strspn(text, " \t\r\n")] != '\0')
		return cm_fail(err, CM_EDATA, "field '%s' is not exactly %u numbers", q->field,
			(unsigned)q->dimension);
	return CM_OK;
}

static int read_coordinate(const struct qy_query *q, const char *text, uint32_t *at, int *clamped)
{
	double part = 0;
	char *end;

	if (!read_part(q, text, &end, &part, clamped) || *end != '\0')
		return 0;
	*at = coordinate(part);
	return 1;
}

static enum cm_rc read_vector(
	const struct qy_query *q, const char *const *text, uint32_t *at, int *clamped, struct cm_err *err)
{
	if (q->columns == 0)
		return read_array(q, text[0], at, clamped, err);
	for (uint32_t i = 0; i < q->columns; i++)
		if (!read_coordinate(q, text[i], &at[i], clamped))
			return no_number(q->column[i].name, err);
	return CM_OK;
}

/* The index of a text among n categories; n if it is none of them. */
static uint32_t find(char *const *category, uint32_t n, const char *text)
{
	uint32_t i = 0;

	while (i < n && strcmp(text, category[i]) != 0)
		i++;
	return i;
}

static enum cm_rc no_category(const char *field, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "field '%s' is none of the query's categories", field);
}

static enum cm_rc read_columns(
	const struct qy_query *q, const char *const *text, uint32_t *at, struct cm_err *err)
{
	for (uint32_t i = 0; i < q->columns; i++) {
		at[i] = find(q->column[i].category, q->column[i].categories, text[i]);
		if (at[i] == q->column[i].categories)
			return no_category(q->column[i].name, err);
	}
	return CM_OK;
}

static enum cm_rc read_prefix(
	const struct qy_query *q, const char *text, struct qy_value *out, struct cm_err *err)
{
	static const char digit[] = "0123456789abcdef";
	char hex[QY_PREFIX_BITS_MAX / 4 + 1];
	size_t digits = q->bits / 4, n = strnlen(text, QY_PREFIX_BITS_MAX / 8);

	if (n == 0)
		return cm_fail(err, CM_EDATA, "field '%s' is empty", q->field);
	for (size_t i = 0; i < digits; i++) {
		unsigned byte = i / 2 < n ? (unsigned char)text[i / 2] : 0;

		hex[i] = digit[i % 2 == 0 ? byte >> 4 : byte & 15u];
	}
	hex[digits] = '\0';
	out->x = find(q->category, q->categories, hex);
	cr_wipe(hex, sizeof hex);
	return CM_OK;
}

/* qsort has no context argument in C17. */
static _Thread_local char *const *sorting;

static int compare_items(const void *a, const void *b)
{
	return strcmp(sorting[*(const uint16_t *)a], sorting[*(const uint16_t *)b]);
}

_Static_assert(PR_CATEGORIES_MAX <= UINT16_MAX, "a category has a number of 16 bits");

static void sort_items(const struct qy_query *q, uint16_t order[PR_CATEGORIES_MAX])
{
	for (uint32_t i = 0; i < q->categories; i++)
		order[i] = (uint16_t)i;
	sorting = q->category;
	qsort(order, q->categories, sizeof *order, compare_items);
}

/* Compare as strcmp does, with the first `len` bytes of text. */
static int compare_part(const char *category, const char *text, size_t len)
{
	int found = strncmp(category, text, len);

	return found != 0 ? found : category[len] != '\0';
}

/* Find the category that is this item; q->categories if there is none.  order NULL: they are not sorted. */
static uint32_t find_item(const struct qy_query *q, const uint16_t *order, const char *text, size_t len)
{
	uint32_t low = 0, high = q->categories;

	for (uint32_t i = 0; !order && i < q->categories; i++)
		if (compare_part(q->category[i], text, len) == 0)
			return i;
	while (order && low < high) {
		uint32_t middle = (low + high) / 2;
		int found = compare_part(q->category[order[middle]], text, len);

		if (found == 0)
			return order[middle];
		if (found < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return q->categories;
}

/* Remove white space at both ends; returns whether there was any. */
static bool trim(const char **text, size_t *len)
{
	size_t before = strspn(*text, " \t"), all = *len;

	if (before >= *len)
		return false;
	*text += before;
	*len -= before;
	while ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t')
		--*len;
	return *len < all;
}

void qy_set_read(const struct qy_query *q, const char *text, uint32_t *at)
{
	static const char separator[] = { QY_SET_SEPARATOR, '\0' };
	uint16_t order[PR_CATEGORIES_MAX];

	memset(at, 0, qy_value_width(q) * sizeof *at);
	for (size_t item = 0;; item++) {
		size_t len = strcspn(text, separator), bare_len = len;
		const char *bare = text;
		uint32_t i;

		if (item == FEW)
			sort_items(q, order);
		i = find_item(q, item < FEW ? NULL : order, text, len);
		/* Accept "a; b", too. */
		if (i == q->categories && trim(&bare, &bare_len))
			i = find_item(q, item < FEW ? NULL : order, bare, bare_len);
		if (i < q->categories)
			at[i] = 1;
		if (text[len] == '\0')
			return;
		text += len + 1;
	}
}

static double axis_end(const struct qy_column *c, uint64_t i)
{
	return i == c->cells ? c->high : c->low + (c->high - c->low) / c->cells * (double)i;
}

void qy_place_ends(const struct qy_query *q, uint32_t axis, uint64_t cell, double *low, double *high)
{
	uint64_t i = axis == 0 ? cell % q->column[0].cells : cell / q->column[0].cells;

	*low = axis_end(&q->column[axis], i);
	*high = axis_end(&q->column[axis], i + 1);
}

void qy_place_text(const struct qy_query *q, uint64_t cell, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (uint32_t axis = 0; axis < QY_PLACE_AXES && used < size; axis++) {
		double low, high;

		qy_place_ends(q, axis, cell, &low, &high);
		used += (size_t)snprintf(out + used, size - used, "%s[%.10g, %.10g%s", axis > 0 ? " x " : "",
			low, high, high < q->column[axis].high ? ")" : "]");
	}
}

/* Find the part of the axis that a number is in, by the ends that are shown, so that a cell contains its
 * lower end. */
static int read_axis(const struct qy_column *c, const char *text, uint64_t *out, int *clamped)
{
	char *stop;
	double x, part;
	uint64_t i;

	if (!qy_number_read(text, &stop, &x) || *stop != '\0')
		return 0;
	if (x < c->low || x > c->high)
		*clamped = 1;
	x = fmin(fmax(x, c->low), c->high);
	part = floor((x - c->low) / (c->high - c->low) * c->cells);
	i = (uint64_t)fmin(fmax(part, 0), c->cells - 1);
	/* The quotient is rounded, by less than a cell. */
	if (i > 0 && x < axis_end(c, i))
		i--;
	else if (i + 1 < c->cells && x >= axis_end(c, i + 1))
		i++;
	*out = i;
	return 1;
}

/* Find the cell of a reading's two numbers.  Returns how many of the two are NULL or not finite; if any is,
 * *cell is not set. */
static uint32_t read_place(const struct qy_query *q, const char *const *text, uint64_t *cell, int *clamped)
{
	uint64_t at[QY_PLACE_AXES] = { 0 };
	uint32_t missing = 0;
	int outside = 0;

	for (uint32_t axis = 0; axis < QY_PLACE_AXES; axis++)
		missing += !text[axis] || !read_axis(&q->column[axis], text[axis], &at[axis], &outside);
	if (missing > 0)
		return missing;
	*cell = at[0] + q->column[0].cells * at[1];
	*clamped = outside;
	return 0;
}

enum cm_rc qy_value_read(const struct qy_query *q, const char *const *text, uint32_t *at,
	struct qy_value *out, int *clamped, struct cm_err *err)
{
	*clamped = 0;
	*out = (struct qy_value){ .at = at };
	switch (q->kind) {
	case QY_MEAN:
	case QY_QUANTILES:
	case QY_SUM:
	case QY_RANGES:
		return read_number(q, text[0], out, clamped, err);
	case QY_VECTOR:
		return read_vector(q, text, at, clamped, err);
	case QY_MARGINALS:
		return read_columns(q, text, at, err);
	case QY_PREFIXES:
		return read_prefix(q, text[0], out, err);
	case QY_SETS:
		qy_set_read(q, text[0], at);
		return CM_OK;
	case QY_PLACES:
		if (read_place(q, text, &out->x, clamped) > 0)
			return cm_fail(err, CM_EDATA, "field '%s' or '%s' is no finite number",
				q->column[0].name, q->column[1].name);
		return CM_OK;
	case QY_HISTOGRAM:
		break;
	}
	out->x = find(q->category, q->categories, text[0]);
	return out->x < q->categories ? CM_OK : no_category(q->field, err);
}

static uint64_t number_without(const struct qy_query *q, const struct cr_rng *rng)
{
	if (q->none == QY_NONE_VALUE)
		return number(q, (q->none_value - q->low) / (q->high - q->low));
	return q->none == QY_NONE_SYMBOL ? QY_NUMBER_NONE : cr_rng_below(rng, (UINT64_C(1) << 32) + 1);
}

static uint32_t category_without(const struct qy_query *q, uint32_t categories, const struct cr_rng *rng)
{
	if (q->none == QY_NONE_VALUE)
		return q->none_category;
	return q->none == QY_NONE_SYMBOL ? categories : (uint32_t)cr_rng_below(rng, categories);
}

/* A number of 0 to 2^31 from 32 even bits.  The two ends have half the chance of the others, so the mean is
 * the middle. */
static uint32_t coordinate_drawn(uint32_t bits)
{
	return (bits >> 1) + (bits & 1);
}

/* Draw a vector for a device without a reading, since vectors have no symbol.  One draw is enough for two
 * coordinates. */
static void vector_without(const struct qy_query *q, const struct cr_rng *rng, uint32_t *at)
{
	uint64_t draw[DRAWS] = { 0 };

	for (uint32_t i = 0; i < q->dimension; i++) {
		uint32_t left = q->dimension - i, k = i % (2 * DRAWS);

		if (q->none == QY_NONE_VALUE) {
			at[i] = coordinate((q->none_value - q->low) / (q->high - q->low));
			continue;
		}
		if (k == 0)
			cr_rng_u64s(rng, draw, left < 2 * DRAWS ? (left + 1) / 2 : DRAWS);
		at[i] = coordinate_drawn((uint32_t)(draw[k / 2] >> k % 2 * 32));
	}
	cr_wipe(draw, sizeof draw);
}

/* Set one item: the symbol, the substitute, or one that is drawn. */
static void set_without(const struct qy_query *q, const struct cr_rng *rng, uint32_t *at)
{
	memset(at, 0, qy_value_width(q) * sizeof *at);
	at[category_without(q, q->categories, rng)] = 1;
}

void qy_value_none(const struct qy_query *q, const struct cr_rng *rng, uint32_t *at, struct qy_value *out)
{
	*out = (struct qy_value){ .at = at };
	switch (q->kind) {
	case QY_MEAN:
	case QY_QUANTILES:
	case QY_SUM:
	case QY_RANGES:
		out->x = number_without(q, rng);
		break;
	case QY_VECTOR:
		vector_without(q, rng, at);
		break;
	case QY_MARGINALS:
		for (uint32_t i = 0; i < q->columns; i++)
			at[i] = category_without(q, q->column[i].categories, rng);
		break;
	case QY_SETS:
		set_without(q, rng, at);
		break;
	case QY_PLACES:
		out->x = cr_rng_below(rng, qy_query_cells(q));
		break;
	case QY_PREFIXES:
	case QY_HISTOGRAM:
		out->x = category_without(q, q->categories, rng);
		break;
	}
}

/* Take only field i of a query with columns: its value goes to *at, which is not changed if there is
 * none. */
static int take_field(const struct qy_query *q, uint32_t i, const char *text, uint32_t *at, int *clamped)
{
	const struct qy_column *c = &q->column[i];
	uint32_t found;

	if (!text)
		return 0;
	if (q->kind == QY_VECTOR)
		return read_coordinate(q, text, at, clamped);
	found = find(c->category, c->categories, text);
	if (found == c->categories)
		return 0;
	*at = found;
	return 1;
}

uint32_t qy_value_take(const struct qy_query *q, const char *const *text, const struct cr_rng *rng,
	uint32_t *at, struct qy_value *out, int *clamped)
{
	struct cm_err err = { 0 };
	uint32_t missing = 0;

	*clamped = 0;
	if (q->columns == 0 && text[0] && qy_value_read(q, text, at, out, clamped, &err) == CM_OK)
		return 0;
	qy_value_none(q, rng, at, out);
	if (q->columns == 0)
		return 1;
	if (q->kind == QY_PLACES)
		return read_place(q, text, &out->x, clamped);
	for (uint32_t i = 0; i < q->columns; i++)
		missing += !take_field(q, i, text[i], &at[i], clamped);
	return missing;
}

/* Append item i of a list if it fits; false when it does not. */
static int append(char *out, size_t size, size_t *used, uint32_t i, const char *text)
{
	size_t n = strlen(text) + (i > 0 ? 2 : 0);

	if (*used + n >= size)
		return 0;
	*used += (size_t)snprintf(out + *used, size - *used, "%s%s", i > 0 ? ", " : "", text);
	return 1;
}

static void list_text(const struct qy_query *q, const struct qy_value *v, char *out, size_t size)
{
	uint32_t n = qy_value_width(q);
	char number[32], more[40];
	size_t used = 0, room;

	(void)snprintf(more, sizeof more, ", ... (%u numbers)", (unsigned)n);
	room = q->kind == QY_VECTOR && size > strlen(more) ? size - strlen(more) : size;
	*out = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const char *text = number;

		(void)snprintf(
			number, sizeof number, "%.6g", q->low + (q->high - q->low) * v->at[i] * 0x1p-31);
		if (q->kind == QY_MARGINALS)
			text = v->at[i] < q->column[i].categories ? q->column[i].category[v->at[i]]
								  : QY_NONE_LABEL;
		if (append(out, room, &used, i, text))
			continue;
		(void)snprintf(out + used, size - used, "%s", q->kind == QY_VECTOR ? more : ", ...");
		return;
	}
}

static void set_text(const struct qy_query *q, const struct qy_value *v, char *out, size_t size)
{
	size_t used = 0;
	uint32_t shown = 0;

	(void)snprintf(out, size, "no item");
	for (uint32_t i = 0; i < qy_value_width(q); i++) {
		if (v->at[i] == 0)
			continue;
		if (!append(out, size, &used, shown++, i < q->categories ? q->category[i] : QY_NONE_LABEL)) {
			(void)snprintf(out + used, size - used, ", ...");
			return;
		}
	}
}

void qy_value_text(const struct qy_query *q, const struct qy_value *v, char *out, size_t size)
{
	switch (q->kind) {
	case QY_HISTOGRAM:
		(void)snprintf(out, size, "%s", v->x < q->categories ? q->category[v->x] : QY_NONE_LABEL);
		break;
	case QY_PREFIXES:
		if (v->x < q->categories)
			(void)snprintf(out, size, "%s..", q->category[v->x]);
		else
			(void)snprintf(out, size, "another");
		break;
	case QY_VECTOR:
	case QY_MARGINALS:
		list_text(q, v, out, size);
		break;
	case QY_SETS:
		set_text(q, v, out, size);
		break;
	case QY_PLACES:
		qy_place_text(q, v->x, out, size);
		break;
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
		if (v->x == QY_NUMBER_NONE) {
			(void)snprintf(out, size, "%s", QY_NONE_LABEL);
			break;
		}
		(void)snprintf(out, size, "%.6g", q->low + (q->high - q->low) * ((double)v->x * 0x1p-32));
		break;
	}
}
