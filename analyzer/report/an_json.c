/* an_json.c - makes parts of JSON documents, and prints documents. */
#include "an_json.h"

#include <math.h>
#include <stdlib.h>

#include "cm_buf.h"
#include "cm_oom.h"
#include "pr_limits.h"

json_t *an_json_real(double v)
{
	if (isnan(v))
		return json_string("nan");
	if (isinf(v))
		return json_string(v > 0 ? "inf" : "-inf");
	return json_real(v);
}

json_t *an_json_hex(const uint8_t *bytes, size_t n)
{
	char text[2 * PR_HASH_LEN + 1];

	if (n > PR_HASH_LEN)
		return NULL;
	cm_hex(bytes, n, text);
	return json_string(text);
}

char *an_json_text(json_t *doc, size_t flags)
{
	char *text = doc ? json_dumps(doc, flags | JSON_REAL_PRECISION(17)) : NULL;

	if (!cm_oom_happened())
		return text;
	free(text);
	return NULL;
}

enum cm_rc an_json_print(json_t *doc, int indent, FILE *out, struct cm_err *err)
{
	size_t flags = JSON_REAL_PRECISION(17) | (indent > 0 ? JSON_INDENT((size_t)indent) : JSON_COMPACT);

	(void)cm_oom_happened();
	bool bad = !doc || json_dumpf(doc, out, flags) != 0 || fputc('\n', out) == EOF;
	/* jansson may have left something out after an allocation failed. */
	if (cm_oom_happened())
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}
