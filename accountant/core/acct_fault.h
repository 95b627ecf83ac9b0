/* acct_fault.h - saying what is wrong with what was asked.  Private to this tree. */
#pragma once

#include "acct.h"

/* ACCT_EDOMAIN; *why (why may be NULL) is the sentence, which is static. */
static inline enum acct_rc acct_fault(const char **why, const char *sentence)
{
	if (why)
		*why = sentence;
	return ACCT_EDOMAIN;
}
