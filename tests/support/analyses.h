/* analyses.h - rows "key=value;key=value" of the reference files of the classical analyses. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

/* The text after "key="; NULL when there is none. */
static inline const char *row_text(const char *params, const char *key)
{
	size_t length = strlen(key);

	for (const char *p = params; p; p = strchr(p, ';')) {
		p += *p == ';';
		if (strncmp(p, key, length) == 0 && p[length] == '=')
			return p + length + 1;
	}
	return NULL;
}

static inline double row_value(const char *params, const char *key)
{
	const char *text = row_text(params, key);

	return text ? strtod(text, NULL) : NAN;
}

static inline int row_is(const char *params, const char *key, const char *value)
{
	const char *text = row_text(params, key);
	size_t length = strlen(value);

	return text && strncmp(text, value, length) == 0 && (text[length] == ';' || text[length] == '\0');
}

static inline int starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* |got - want| <= rtol |want|; NaN is never close. */
static inline int is_close(double got, double want, double rtol)
{
	return fabs(got - want) <= rtol * fabs(want);
}
