/* sh_refusal.h - the reason for which a peer's request is refused, as the peer will read it.  No I/O. */
#pragma once

#include "cm_rc.h"
#include "pr_msg.h"

struct sh_refusal {
	Tombola__V1__ErrorCode code;
	uint32_t retry_after_ms; /* after how many milliseconds the peer may try again; 0: it must not */
	char text[PR_TEXT_MAX + 1];
};

/* Fill *no and return CM_EPROTO.  Every function here that takes a refusal returns CM_EPROTO exactly when *no
 * is filled.  Any other fault is the shuffler's own, is in err, and ends the daemon. */
enum cm_rc sh_refuse(struct sh_refusal *no, Tombola__V1__ErrorCode code, uint32_t retry_after_ms,
	const char *fmt, ...) CM_PRINTF(4, 5);
/* For what the verification of a signed document returned: a document that is not as it must be is refused
 * with err's text; CM_OK and CM_EINTERNAL are returned as they are. */
enum cm_rc sh_refuse_unverified(struct sh_refusal *no, enum cm_rc rc, const struct cm_err *err);
