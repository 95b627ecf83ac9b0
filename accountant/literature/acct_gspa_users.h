/* acct_gspa_users.h - classes of participants, checked, as shares of blanket around one victim.
 * Private to acct_gspa*.c. */
#pragma once

#include "acct_gspa_sum.h"

struct acct_gspa_users {
	struct acct_gspa_share *share; /* one for each class of the others */
	double epsilon, delta;         /* the victim's guarantee */
};

/* Check the classes and compute their shares.  Returns the errors of acct_gspa_round. */
ACCT_CHECK enum acct_rc acct_gspa_users_init(struct acct_gspa_users *u, const struct acct_gspa_class *cls,
	size_t n, double k, size_t victim, const char **why);
void acct_gspa_users_fini(struct acct_gspa_users *u);

/* Check the ranges of classes, whose counts must sum to at least `least`. */
ACCT_CHECK enum acct_rc acct_gspa_check(
	const struct acct_gspa_class *cls, size_t n, uint64_t least, const char **why);

/* The law of the victim's own message over two symbols. */
struct acct_gspa_victim acct_gspa_victim(double epsilon, double delta);

/* Set the cells of k-ary response, the canonical randomizer over k symbols; their omegas sum to one. */
void acct_gspa_cells(double epsilon, double k, struct acct_round *r);

/* Sort n shares and join equal ones.  Returns how many are left: 0 when all counts are 0. */
size_t acct_gspa_join(struct acct_gspa_share *s, size_t n);

/* Set the levels of a round from n >= 1 joined shares: exactly up to ACCT_MAX_LEVELS shares, with more in
 * groups. */
void acct_gspa_levels(const struct acct_gspa_share *s, size_t n, struct acct_round *r);
