/* acct_abi_parts.h - what the files of the handle interface share.  Not installed. */
#pragma once

#include "acct_spec.h"

/* Where a caller's sentence goes; text may be NULL with room 0. */
struct acct_abi_why {
	char *text;
	size_t room;
};

/* Write the sentence and return rc. */
enum acct_rc acct_abi_say(struct acct_abi_why why, enum acct_rc rc, const char *sentence);

/* The round `times` times, at most `most` repetitions in all. */
ACCT_CHECK enum acct_rc acct_abi_round(
	const char *text, uint64_t times, uint64_t most, struct acct_spec *spec, struct acct_abi_why why);
