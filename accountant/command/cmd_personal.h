/* cmd_personal.h - rounds of participants who each have a guarantee of their own. */
#pragma once

#include "acct_spec.h"

/* Read k-ary response with the guarantees of a file, one number of nats a line; empty lines, and lines that
 * begin with #, are skipped.  rest: the round's other keys, with k= among them.  ACCT_EDOMAIN: why names
 * the file and the line. */
ACCT_CHECK enum acct_rc cmd_personal(const char *path, const char *rest,
	struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);
