/* acct_parsed.h - a round as its text says it. */
#pragma once

#include "acct_spec.h"

static inline struct acct_spec parsed(const char *text)
{
	struct acct_spec s;
	char why[256] = "";

	if (acct_spec_parse(text, &s, why, sizeof why))
		fail_msg("%s: %s", text, why);
	return s;
}
