/* cm_cli_number.c - reads numbers on the command line, and refuses text that is not a number throughout. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_cli.h"

enum cm_rc cm_cli_double(
	const char *text, const char *what, double min, double max, double *out, struct cm_err *err)
{
	char *end;
	double v;

	v = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(v))
		return cm_fail(err, CM_EUSAGE, "%s: '%.60s' is not a finite number", what, text);
	if (v < min || v > max)
		return cm_fail(err, CM_EUSAGE, "%s: %.60s is outside %g..%g", what, text, min, max);
	*out = v;
	return CM_OK;
}

enum cm_rc cm_cli_u64(
	const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct cm_err *err)
{
	uint64_t v = 0;
	bool over = false;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return cm_fail(err, CM_EUSAGE, "%s: '%.60s' is not a whole number", what, text);
	for (const char *c = text; *c != '\0'; c++)
		over = over || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		       __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v);
	if (over || v < min || v > max)
		return cm_fail(err, CM_EUSAGE, "%s: %.60s is outside %llu..%llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	*out = v;
	return CM_OK;
}
