/* sh_refusal.c - fills in the reason for which a peer's request is refused. */
#include "sh_refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "cm_text.h"

enum cm_rc sh_refuse(
	struct sh_refusal *no, Tombola__V1__ErrorCode code, uint32_t retry_after_ms, const char *fmt, ...)
{
	char text[sizeof no->text];

	no->code = code;
	no->retry_after_ms = retry_after_ms;
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	cm_text_copy(no->text, sizeof no->text, text); /* a peer refuses a frame whose text is not UTF-8 */
	return CM_EPROTO;
}

enum cm_rc sh_refuse_unverified(struct sh_refusal *no, enum cm_rc rc, const struct cm_err *err)
{
	if (rc == CM_OK || rc == CM_EINTERNAL)
		return rc;
	return sh_refuse(no,
		rc == CM_EPERM ? TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE
			       : TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE,
		0, "%.190s", err->msg);
}
