/* acct_parsed.h - parses a round from its text, checks that texts are refused, and compares intervals. */
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

/* The references are printed with 10 digits in proved.csv, and solved to about 5e-9. */
#define REFERENCE_ERROR 1e-8

/* The reference interval and ours hold the same number, so they overlap; ours must also be narrow. */
static inline void overlap(const char *name, struct acct_bound got, double lower, double upper, double width)
{
	if (!(got.lower <= upper * (1 + REFERENCE_ERROR) && got.upper >= lower * (1 - REFERENCE_ERROR)))
		fail_msg(
			"%s: [%.12g, %.12g] misses [%.12g, %.12g]", name, got.lower, got.upper, lower, upper);
	if (!(got.upper - got.lower <= width * got.upper))
		fail_msg("%s: [%.12g, %.12g] is wide", name, got.lower, got.upper);
}
