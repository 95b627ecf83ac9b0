/* acct_sets.h - the family of sets: ACCT_SETS of acct_families.h. */
#pragma once

#include "acct_family.h"
#include "acct_kinds.h"

extern const struct acct_family acct_sets_family;

/* The kinds of a list of sets.  *k is overwritten. */
void acct_sets_kinds(const struct acct_list *l, struct acct_kinds *k);
