/* acct_screen.h - finds the nodes of the inversion that are negligible, with rotations instead of
 * exponentials.  Private to acct_invert.c. */
#pragma once

#include "acct_path.h"

#define ACCT_NEGLIGIBLE 35.0 /* exp(-35): the height at which the error bound counts a skipped node */

struct acct_screen {
	double cosine[ACCT_MAX_CELLS], sine[ACCT_MAX_CELLS]; /* rotation of one step */
	double re[ACCT_MAX_CELLS], im[ACCT_MAX_CELLS]; /* tilted probabilities, rotated to the current node */
	double weight[ACCT_MAX_CELLS];
	double total;                    /* sum of weight */
	double count, plain, once, both; /* sum of count |B/B(c)|^2 = plain + once Re + both |.|^2 */
	double scale_c, largest;
	double decay;                /* variance of the tilted sum */
	double quiet_from, quiet_to; /* every node between these is negligible */
};

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step);

/* Start at node t.  The caller calls this at least every 32 nodes, which bounds the rounding of the
 * rotations. */
void acct_screen_aim(struct acct_screen *f, const struct acct_path *w, double t);

/* The distance from t from which every node is below exp(-ACCT_NEGLIGIBLE) of the top: negative if the node
 * at t is not.  Moves on to the next node. */
ACCT_CHECK double acct_screen_next(struct acct_screen *f, const struct acct_path *w, double t);
