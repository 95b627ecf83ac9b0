/* rd_text.c - checks names and text for display that come from peers. */
#include "rd_text.h"

#include <string.h>

#include "cm_text.h"

bool rd_is_name(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && text[0] != '.' && text[0] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static enum cm_rc copy(const char *text, const char *field, char *out, size_t size, struct cm_err *err)
{
	size_t n = strlen(text);

	if (n == 0)
		return cm_fail(err, CM_EPROTO, "%s: missing", field);
	if (n >= size)
		return cm_fail(err, CM_EPROTO, "%s: %zu bytes, at most %zu", field, n, size - 1);
	memcpy(out, text, n + 1);
	return CM_OK;
}

enum cm_rc rd_copy_name(const char *text, const char *field, char *out, size_t size, struct cm_err *err)
{
	enum cm_rc rc = copy(text, field, out, size, err);

	if (rc == CM_OK && !rd_is_name(text))
		return cm_fail(err, CM_EPROTO, "%s: not a name of [a-z0-9._-]", field);
	return rc;
}

enum cm_rc rd_copy_text(const char *text, const char *field, char *out, size_t size, struct cm_err *err)
{
	enum cm_rc rc = copy(text, field, out, size, err);

	if (rc == CM_OK && !cm_text_is_printable(text))
		return cm_fail(err, CM_EPROTO, "%s: not printable text", field);
	return rc;
}
