/* analyses.h - rows "key=value;key=value" of the reference files of the classical analyses. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "params.h"

/* The number behind a key; NaN when there is none. */
static inline double row_value(const char *params, const char *key)
{
	const char *text = params_text(params, key);

	return text ? strtod(text, NULL) : NAN;
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
