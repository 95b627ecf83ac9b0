/* acct_known.h - an upper bound on the privacy curve of a round that knows every law that a report may have,
 * and not only the part that all have in common.
 *
 * Theorem and proof: doc/imitation.md.  The round's family (acct_family.h) knows the largest loss of reports
 * that are not thin; here are the choice of how many are, and what the data sets lose that it holds. */
#pragma once

#include "acct_thin.h"

struct acct_known;

/* Of a list that has a family. */
ACCT_CHECK enum acct_rc acct_known_new(const struct acct_list *l, struct acct_known **out);
void acct_known_free(struct acct_known *k); /* NULL is fine */

/* One point, before defect and sampling: above, the lesser of the bound and the cells'; below, what the data
 * sets lose. most, width: of struct acct_work.  Returns the work done. */
double acct_known_at(const struct acct_list *l, const struct acct_known *k, double eps, double most,
	double width, struct acct_point *at);

/* What the data sets lose, alone: in the direction that loses more. */
double acct_known_held_at(
	const struct acct_known *k, double eps, double most, double width, struct acct_point *at);
