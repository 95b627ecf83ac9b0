/* sh_noise.h - how many dummies of each bin a shuffler adds to a round with noise.
 *
 * Drawn from a stream that the round's key determines, so that a shuffler that was killed draws the same
 * again, and nobody who has not the key can tell them. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

struct sh_round;

/* Draw them: r->noise[b] is how many of bins 0..b together.  Any thread.  CM_EINTERNAL: none are drawn. */
CM_CHECK enum cm_rc sh_noise_draw(struct sh_round *r, struct cm_err *err);
/* Wipe and free; fine without any. */
void sh_noise_forget(struct sh_round *r);
/* The bin of number `made` of them. */
uint32_t sh_noise_bin(const struct sh_round *r, uint64_t made);
