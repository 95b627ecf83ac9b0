/* cm_metrics.c - stores the values of a table of metrics, and prints them. */
#include "cm_metrics.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX 128u
#define LINE_MAX 512u

struct cm_metrics {
	const struct cm_metric_row *row;
	size_t n;
	/* for each row the index of its first series among the values; for an info among the texts */
	size_t *first;
	double *cell;
	char (*text)[TEXT_MAX];
};

static size_t count_values(const struct cm_metric_row *r)
{
	size_t n = 0;

	while (r->values && r->values[n])
		n++;
	return r->label || r->kind == CM_METRIC_INFO ? n : 1;
}

static size_t count_bounds(const struct cm_metric_row *r)
{
	size_t n = 1;

	while (!isinf(r->bounds[n - 1]))
		n++;
	return n;
}

/* A histogram has one value for each bucket, and then the sum. */
static size_t count_cells(const struct cm_metric_row *r)
{
	return r->kind == CM_METRIC_HISTOGRAM ? count_bounds(r) + 1 : count_values(r);
}

struct cm_metrics *cm_metrics_new(const struct cm_metric_row *rows, size_t n)
{
	struct cm_metrics *m = calloc(1, sizeof *m);
	size_t cells = 0, texts = 0;

	if (!m)
		return NULL;
	m->row = rows;
	m->n = n;
	m->first = calloc(n + 1, sizeof *m->first);
	for (size_t i = 0; i < n && m->first; i++) {
		size_t *at = rows[i].kind == CM_METRIC_INFO ? &texts : &cells;

		m->first[i] = *at;
		*at += count_cells(&rows[i]);
	}
	m->cell = calloc(cells + 1, sizeof *m->cell);
	m->text = calloc(texts + 1, sizeof *m->text);
	if (!m->first || !m->cell || !m->text) {
		cm_metrics_free(m);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; rows[i].kind == CM_METRIC_GAUGE && k < count_cells(&rows[i]); k++)
			m->cell[m->first[i] + k] = NAN;
	return m;
}

void cm_metrics_free(struct cm_metrics *m)
{
	if (!m)
		return;
	free(m->first);
	free(m->cell);
	free(m->text);
	free(m);
}

/* ---- values ---- */

static double *cell_of(const struct cm_metrics *m, size_t row, size_t series)
{
	assert(row < m->n && m->row[row].kind != CM_METRIC_INFO && series < count_cells(&m->row[row]));
	return &m->cell[m->first[row] + series];
}

void cm_metrics_add(struct cm_metrics *m, size_t row, size_t series, double more)
{
	double *c = cell_of(m, row, series);

	*c = isnan(*c) ? more : *c + more;
}

void cm_metrics_set(struct cm_metrics *m, size_t row, size_t series, double value)
{
	*cell_of(m, row, series) = value;
}

void cm_metrics_choose(struct cm_metrics *m, size_t row, size_t series)
{
	for (size_t i = 0; i < count_values(&m->row[row]); i++)
		*cell_of(m, row, i) = i == series;
}

void cm_metrics_observe(struct cm_metrics *m, size_t row, double value)
{
	size_t n = count_bounds(&m->row[row]), i = 0;

	while (i + 1 < n && value > m->row[row].bounds[i])
		i++;
	*cell_of(m, row, i) += 1;
	*cell_of(m, row, n) += value;
}

void cm_metrics_info(struct cm_metrics *m, size_t row, size_t label, const char *text)
{
	assert(row < m->n && m->row[row].kind == CM_METRIC_INFO && label < count_values(&m->row[row]));
	(void)snprintf(m->text[m->first[row] + label], TEXT_MAX, "%s", text);
}

double cm_metrics_get(const struct cm_metrics *m, size_t row, size_t series)
{
	return *cell_of(m, row, series);
}

/* ---- text ---- */

static enum cm_rc put(struct cm_buf *out, const char *fmt, ...) CM_PRINTF(2, 3);

static enum cm_rc put(struct cm_buf *out, const char *fmt, ...)
{
	char line[LINE_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < sizeof line);
	return cm_buf_put(out, line, (size_t)n);
}

/* Print whole numbers in full, others in the fewest digits that read back to the same double. */
static const char *number(double v, char text[32])
{
	if (isinf(v))
		return v > 0 ? "+Inf" : "-Inf";
	if (fabs(v) < 1e15 && v == floor(v)) {
		(void)snprintf(text, 32, "%.0f", v);
		return text;
	}
	for (int digits = 6; digits <= 17; digits++) {
		(void)snprintf(text, 32, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	return text;
}

static enum cm_rc print_histogram(const struct cm_metrics *m, size_t row, struct cm_buf *out)
{
	const struct cm_metric_row *r = &m->row[row];
	size_t n = count_bounds(r);
	char bound[32], value[32];
	double below = 0;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < n && rc == CM_OK; i++) {
		below += *cell_of(m, row, i);
		rc = put(out, "%s_bucket{le=\"%s\"} %s\n", r->name, number(r->bounds[i], bound),
			number(below, value));
	}
	if (rc == CM_OK)
		rc = put(out, "%s_sum %s\n", r->name, number(*cell_of(m, row, n), value));
	return rc == CM_OK ? put(out, "%s_count %s\n", r->name, number(below, value)) : rc;
}

static enum cm_rc print_info(const struct cm_metrics *m, size_t row, struct cm_buf *out)
{
	const struct cm_metric_row *r = &m->row[row];
	enum cm_rc rc = put(out, "%s{", r->name);

	for (size_t i = 0; i < count_values(r) && rc == CM_OK; i++) {
		rc = put(out, "%s%s=\"", i > 0 ? "," : "", r->values[i]);
		for (const char *c = m->text[m->first[row] + i]; *c != '\0' && rc == CM_OK; c++) {
			if (*c == '\n')
				rc = put(out, "\\n");
			else
				rc = put(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
		}
		if (rc == CM_OK)
			rc = put(out, "\"");
	}
	return rc == CM_OK ? put(out, "} 1\n") : rc;
}

static enum cm_rc print_values(const struct cm_metrics *m, size_t row, struct cm_buf *out)
{
	const struct cm_metric_row *r = &m->row[row];
	enum cm_rc rc = CM_OK;
	char value[32];

	for (size_t i = 0; i < count_values(r) && rc == CM_OK; i++) {
		double v = *cell_of(m, row, i);

		if (isnan(v))
			continue;
		if (r->label)
			rc = put(
				out, "%s{%s=\"%s\"} %s\n", r->name, r->label, r->values[i], number(v, value));
		else
			rc = put(out, "%s %s\n", r->name, number(v, value));
	}
	return rc;
}

enum cm_rc cm_metrics_print(const struct cm_metrics *m, struct cm_buf *out)
{
	static const char *const type[] = { "counter", "gauge", "histogram", "gauge" };
	static enum cm_rc (*const print[])(const struct cm_metrics *, size_t,
		struct cm_buf *) = { print_values, print_values, print_histogram, print_info };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < m->n && rc == CM_OK; i++) {
		const struct cm_metric_row *r = &m->row[i];

		rc = put(out, "# HELP %s %s\n# TYPE %s %s\n", r->name, r->help, r->name, type[r->kind]);
		if (rc == CM_OK)
			rc = print[r->kind](m, i, out);
	}
	return rc;
}
