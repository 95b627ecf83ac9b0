/* cm_rc.c - result codes and the caller's error message. */
#include "cm_rc.h"

#include <stdio.h>
#include <string.h>

enum cm_rc(cm_fail)(struct cm_err *err, enum cm_rc code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->said = false;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	return code;
}

enum cm_rc cm_context(struct cm_err *err, const char *fmt, ...)
{
	struct cm_err old = *err;
	va_list ap;
	size_t at;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	/* Text that does not fit is cut. */
	at = n < 0 ? 0 : (size_t)n;
	for (const char *c = ": "; *c != '\0' && at + 1 < sizeof err->msg; c++)
		err->msg[at++] = *c;
	for (const char *c = old.msg; *c != '\0' && at + 1 < sizeof err->msg; c++)
		err->msg[at++] = *c;
	if (at < sizeof err->msg)
		err->msg[at] = '\0';
	return err->code;
}

int cm_exit_code(enum cm_rc rc)
{
	switch (rc) {
	case CM_OK:
		return 0;
	case CM_EBUDGET:
		return 3;
	case CM_EUSAGE:
		return 64;
	case CM_EDATA:
		return 65;
	case CM_ENOINPUT:
		return 66;
	case CM_EUNAVAIL:
		return 69;
	case CM_EINTERNAL:
		return 70;
	case CM_ECREATE:
		return 73;
	case CM_EIO:
		return 74;
	case CM_ELATER:
		return 75;
	case CM_EPROTO:
		return 76;
	case CM_EPERM:
		return 77;
	case CM_ECONFIG:
		return 78;
	case CM_EMORE:
	case CM_EOTHER:
		break;
	}
	return 1;
}
