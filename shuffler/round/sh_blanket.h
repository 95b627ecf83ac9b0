/* sh_blanket.h - adds the dummies to a round whose descriptor prescribes some.
 *
 * Each dummy is a record of the protocol's dummy(), sealed to the round's key as a client seals.  In the
 * vault it looks like a client's message: bucket, order and block do not reveal who made it.  Dummies are
 * added in slices.  Each slice is stored in one transaction with its number, so after a crash the round
 * continues at the right place: no dummy is missing and none is there twice. */
#pragma once

#include "sh_round.h"

/* Messages per slice; a slice takes some 0.1 s of one core, and a fsync. */
#define SH_BLANKET_SLICE 8192u

/* Check that the round prescribes no dummies, or that its key can be sealed to.  CM_EDATA: it cannot. */
CM_CHECK enum cm_rc sh_blanket_possible(const struct rd_descriptor *d, struct cm_err *err);
/* Number of messages in the next slice.  0: the round can be sealed, will be void or erased, or sh_route_next
 * has a step first. */
uint32_t sh_blanket_next(const struct sh_round *r);
/* Seal n messages and store them durably together with their number: all or none.  Any thread, while no other
 * thread uses the vault. */
CM_CHECK enum cm_rc sh_blanket_commit(
	struct sh_round *r, uint32_t n, const struct cr_rng *rng, struct cm_err *err);
/* Count a slice that was stored. */
void sh_blanket_committed(struct sh_round *r, uint32_t n);
