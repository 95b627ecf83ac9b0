/* acct_fault.h - refuses a question with a sentence.  Not installed. */
#pragma once

#include "acct_round.h"

/* Return ACCT_EDOMAIN and set *why to the sentence, which is static; why may be NULL. */
static inline enum acct_rc acct_fault(const char **why, const char *sentence)
{
	if (why)
		*why = sentence;
	return ACCT_EDOMAIN;
}
