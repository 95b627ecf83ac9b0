/* co_reading.c - a reading's texts to features and label. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "co_map.h"

static const char space[] = " \t\r\n";

/* The number that text begins with.  false: there is none, or none that a map is defined for. */
static bool number(const char *text, char **end, float *out)
{
	double x;

	if (!qy_number_read(text, end, &x) || !(fabs(x) <= (double)FLT_MAX))
		return false;
	*out = (float)x;
	return true;
}

/* Numbers with spaces between them, or one comma or semicolon: exactly n. */
static bool numbers(const char *text, uint32_t n, float *x)
{
	for (uint32_t i = 0; i < n; i++) {
		char *end;

		if (i > 0) {
			const char *next = text + strspn(text, space);

			next += *next == ',' || *next == ';';
			if (next == text)
				return false;
			text = next;
		}
		text += strspn(text, space);
		if (!number(text, &end, &x[i]))
			return false;
		text = end;
	}
	return text[strspn(text, space)] == '\0';
}

static bool is_text(const struct co_parameters *p, uint32_t class, const char *text)
{
	const uint8_t *name = p->bytes + p->name_at[class];

	return strlen(text) == name[-1] && memcmp(text, name, name[-1]) == 0;
}

/* Without names a class is its number in decimal digits. */
static bool numbered(const char *text, uint32_t classes, uint32_t *label)
{
	size_t n = strspn(text, "0123456789");
	unsigned long value;

	if (n == 0 || n > 4 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return false;
	value = strtoul(text, NULL, 10);
	*label = (uint32_t)value;
	return value < classes;
}

bool co_label(const struct co_maker *m, const char *text, uint32_t *label)
{
	const struct qy_query *q = m->q;

	if (q->kind == QY_VECTOR && !m->p.named)
		return numbered(text, m->p.classes, label);
	if (q->kind == QY_VECTOR) {
		for (*label = 0; *label < m->p.classes; ++*label)
			if (is_text(&m->p, *label, text))
				return true;
		return false;
	}
	for (*label = 0; *label < q->column[q->columns - 1].categories; ++*label)
		if (strcmp(q->column[q->columns - 1].category[*label], text) == 0)
			return true;
	return false;
}

bool co_reading(struct co_maker *m, const char *const *text, float *x, uint32_t *label)
{
	uint32_t fields = m->p.array ? 1 : m->p.features;
	char *end;

	*label = 0;
	for (uint32_t i = 0; i < fields; i++) {
		if (!text[i])
			return false;
		if (m->p.array ? !numbers(text[i], m->p.features, x)
			       : !number(text[i], &end, &x[i]) || *end != '\0')
			return false;
	}
	return !m->p.label || (text[fields] && co_label(m, text[fields], label));
}
