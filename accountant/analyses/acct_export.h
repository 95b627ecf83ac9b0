/* acct_export.h - makes a privacy-loss distribution of a composition, for other tools.
 *
 * The distribution dominates the composition: at every epsilon its delta is at least the certified upper end
 * of the composition's delta.  It has chords between the losses of a grid, at the corners of their lower hull
 * (doc/accounting.md, "Loss grid").  It is symmetric: it also holds with the inputs exchanged. */
#pragma once

#include <stddef.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

struct acct_pld {
	double step;
	long lower; /* p[i]: the mass of the loss (lower + i) * step under the first input */
	double *p;
	size_t size;
	double infinite;
};

/* Compute the distribution of n rounds.  points: number of losses above 0, 2..4096.  range: the largest
 * finite loss, (0, 600]; 0: the loss at which delta is `tail`.  The upper end of delta there becomes the
 * mass of the infinite loss.  Errors: as acct_deltas.  Free *out with acct_pld_fini.  Cost: a composition,
 * and a transform or more for every 20 points. */
ACCT_CHECK enum acct_rc acct_export_pld(const struct acct_round *rounds, size_t n, double range, double tail,
	size_t points, struct acct_pld *out);
void acct_pld_fini(struct acct_pld *p);

#ifdef __cplusplus
}
#endif
