/* acct_parsed.h - parses a round from its text, and checks that texts are refused. */
#pragma once

#include <string.h>

#include "acct_spec.h"

static inline struct acct_spec parsed(const char *text)
{
	struct acct_spec s;
	char why[256] = "";

	if (acct_spec_parse(text, &s, why, sizeof why))
		fail_msg("%s: %s", text, why);
	return s;
}

/* Assert that it is refused with one line that contains `part`. */
static inline void refused(const char *text, const char *part)
{
	struct acct_spec s;
	char why[200] = "";

	if (acct_spec_parse(text, &s, why, sizeof why) != ACCT_EDOMAIN)
		fail_msg("%s is not refused", text);
	if (!strstr(why, part))
		fail_msg("%s: '%s' does not say '%s'", text, why, part);
	assert_null(strchr(why, '\n'));
}
