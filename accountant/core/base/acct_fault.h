/* acct_fault.h - refuses a question with a sentence.  Private to this tree. */
#pragma once

#include "acct_round.h"

/* Returns ACCT_EDOMAIN and sets *why to the sentence, which is static; why may be NULL. */
static inline enum acct_rc acct_fault(const char **why, const char *sentence)
{
	if (why)
		*why = sentence;
	return ACCT_EDOMAIN;
}
