/* acct_screen.h - nodes of the inversion that cannot matter, found with rotations instead of exponentials.
 * Private to acct_invert.c. */
#pragma once

#include "acct_path.h"

#define ACCT_NEGLIGIBLE 35.0 /* exp(-35): a skipped node is charged at this height */

struct acct_screen {
	double cosine[ACCT_MAX_CELLS], sine[ACCT_MAX_CELLS]; /* of one step */
	double re[ACCT_MAX_CELLS], im[ACCT_MAX_CELLS]; /* tilted probabilities, turned to the current node */
	double weight[ACCT_MAX_CELLS];
	double total;                    /* sum of weight */
	double count, plain, once, both; /* sum of count |B/B(c)|^2 = plain + once Re + both |.|^2 */
	double scale_c, largest;
	double decay;                /* variance of the tilted sum */
	double quiet_from, quiet_to; /* between these every node is negligible */
};

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step);

/* Point at node t; needed every 32 nodes at the latest. */
void acct_screen_aim(struct acct_screen *f, const struct acct_path *w, double t);

/* How far from t on every node is below exp(-ACCT_NEGLIGIBLE) of the top: negative if the one at t is not.
 * Moves on to the next node. */
ACCT_CHECK double acct_screen_next(struct acct_screen *f, const struct acct_path *w, double t);
