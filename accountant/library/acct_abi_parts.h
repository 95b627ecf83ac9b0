/* acct_abi_parts.h - types and functions shared by the files of the handle interface.  Not installed. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "acct_abi.h"
#include "acct_spec.h"

/* A buffer for the sentence that the caller is to show; text may be NULL if room is 0. */
struct acct_abi_why {
	char *text;
	size_t room;
};

/* Write the sentence and return rc. */
static inline enum acct_rc acct_abi_say(struct acct_abi_why why, enum acct_rc rc, const char *sentence)
{
	if (why.room > 0)
		snprintf(why.text, why.room, "%s", sentence);
	return rc;
}

struct acct_abi_round {
	struct acct_spec part[ACCT_SPEC_PARTS];
	size_t parts;
};

/* Read the text of a round and repeat it `times` times, at most `most` repetitions of any part.  *out is
 * freed with free(); NULL on failure. */
ACCT_CHECK enum acct_rc acct_abi_round(const char *text, uint64_t times, uint64_t most,
	struct acct_abi_round **out, struct acct_abi_why why);

/* acct_abi_own.c: acct_abi_is_own: does the text name a kept curve or matrix?  acct_abi_own: make the round
 * of it. */
bool acct_abi_is_own(const char *text);
ACCT_CHECK enum acct_rc acct_abi_own(const char *text, struct acct_abi_round *out, struct acct_abi_why why);
