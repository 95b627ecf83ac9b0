/* cm_rc.c - writes the caller's error message, and maps result codes to exit codes. */
#include "cm_rc.h"

#include <stdarg.h>
#include <stdio.h>

#include "cm_text.h"

static void set(struct cm_err *err, enum cm_rc code, const char *key, const char *fmt, va_list ap)
{
	char text[sizeof err->msg];

	err->code = code;
	err->said = false;
	err->key = key;
	(void)vsnprintf(text, sizeof text, fmt, ap);
	/* Make one line that every terminal and log shows as it is: names in it may come from a file or a
	 * peer. */
	cm_text_copy(err->msg, sizeof err->msg, text);
}

enum cm_rc(cm_fail)(struct cm_err *err, enum cm_rc code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, NULL, fmt, ap);
	va_end(ap);
	return code;
}

enum cm_rc(cm_fail_key)(struct cm_err *err, enum cm_rc code, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, key, fmt, ap);
	va_end(ap);
	return code;
}

enum cm_rc cm_context(struct cm_err *err, const char *fmt, ...)
{
	char text[sizeof err->msg], whole[2 * sizeof err->msg + 2];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)snprintf(whole, sizeof whole, "%s: %s", text, err->msg);
	cm_text_copy(err->msg, sizeof err->msg, whole); /* cut at the end of a character */
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
