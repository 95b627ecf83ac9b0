/* acct_known.h - an upper bound on the privacy curve of a round whose family knows every law that a report
 * may have, and not only the part that all have in common.
 *
 * Theorem and proof: doc/imitation.md.  The family (acct_family.h) knows the largest loss of the reports
 * that are not thin.  The functions here choose how many are thin, and compute what the family's data sets
 * lose. */
#pragma once

#include "acct_thin.h"

struct acct_known;

/* Prepare the bound of a list that has a family. */
ACCT_CHECK enum acct_rc acct_known_new(const struct acct_list *l, struct acct_known **out);
void acct_known_free(struct acct_known *k); /* NULL is fine */

/* Compute one point, before defect and sampling.  The upper end is the lesser of this bound and the cells',
 * the lower end is what the data sets lose.  most, width: as in struct acct_work.  Returns the work
 * done. */
double acct_known_at(const struct acct_list *l, const struct acct_known *k, double eps, double most,
	double width, struct acct_point *at);

/* Compute only what the data sets lose, in the direction that loses more. */
double acct_known_held_at(
	const struct acct_known *k, double eps, double most, double width, struct acct_point *at);
