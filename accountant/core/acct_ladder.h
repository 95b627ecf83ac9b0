/* acct_ladder.h - the kinds of levels with discrete Laplace noise (ACCT_LADDER): doc/imitation.md. */
#pragma once

#include "acct_kinds.h"

#define ACCT_LADDER_MOST 10u /* levels but one, beyond which the work is too much */

/* Of the victim's inputs 0 and b the kinds of all levels. */
void acct_ladder_ends(const struct acct_list *l, struct acct_kinds *k);

/* To these kinds, thinned (`part` of the blanket, eta in all), it adds those of all other pairs that may lose
 * more at this eps.  False: too many, or no memory.  *work: added to. */
bool acct_ladder_between(const struct acct_list *l, double part, double eta, double eps,
	struct acct_kinds *thin, double *work);
