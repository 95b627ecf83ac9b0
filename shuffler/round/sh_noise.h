/* sh_noise.h - draws how many dummies of each bin the shuffler adds to a round with noise.
 *
 * The numbers are drawn from a stream that the round's key determines.  So a shuffler that was killed draws
 * the same numbers again, and nobody without the key can know them. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

struct sh_round;

/* Draw the numbers: r->noise[b] is the sum over bins 0..b.  Any thread.  CM_EINTERNAL: nothing is drawn. */
CM_CHECK enum cm_rc sh_noise_draw(struct sh_round *r, struct cm_err *err);
/* Wipe and free the numbers, if there are any. */
void sh_noise_forget(struct sh_round *r);
/* The bin of the dummy with number `made`, from 0. */
uint32_t sh_noise_bin(const struct sh_round *r, uint64_t made);
