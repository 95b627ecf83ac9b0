/* pr_error.c - what an Error frame of a peer means here: one row for each code. */
#include "pr_error.h"

#include "cm_text.h"
#include "pr_limits.h"

static const struct {
	Tombola__V1__ErrorCode code;
	enum cm_rc rc;
	const char *name;
} errors[] = {
	{ TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED, CM_EOTHER, "unspecified" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, CM_ENOINPUT, "not found" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, CM_ELATER, "round closed" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, CM_EPROTO, "conflict" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, CM_EPERM, "policy refused" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, CM_EBUDGET, "budget exhausted" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL, CM_ELATER, "batch too small" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, CM_EPROTO, "bad message" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_BAD_ROLE, CM_EPROTO, "bad role" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, CM_ELATER, "busy" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_VERSION, CM_EPROTO, "version" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE, CM_EUNAVAIL, "storage" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, CM_EPERM, "ledger" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, CM_EPERM, "signature" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND, CM_EPROTO, "unknown kind" },
	{ TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK, CM_ELATER, "clock" },
};

enum cm_rc pr_error(const Tombola__V1__Error *e, struct cm_err *err)
{
	enum cm_rc rc = CM_EOTHER;
	const char *name = "unknown error";
	char text[PR_TEXT_MAX + 1];

	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		if (errors[i].code == e->code) {
			rc = errors[i].rc;
			name = errors[i].name;
		}
	}
	/* A peer chose the text, which may be printed on a terminal. */
	cm_text_copy(text, sizeof text, e->text ? e->text : "");
	return cm_fail(err, rc, "%s%s%s", name, text[0] != '\0' ? ": " : "", text);
}
