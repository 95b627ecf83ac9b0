/* sh_blanket.h - the messages a shuffler adds to a round whose descriptor prescribes some.
 *
 * Each is a record of the protocol's dummy(), sealed to the round's key as a client seals, and lies in the
 * vault as a client's does: bucket, order and block say nothing of who sent it.  They come in slices, each
 * durable whole together with the number it has, so that after any crash the round goes on where it was: none
 * is missing, none is there twice. */
#pragma once

#include "sh_round.h"

/* Of one slice: less than 0.1 s of one core. */
#define SH_BLANKET_SLICE 1024u

/* CM_EDATA: the round prescribes messages, and its key is none that can be sealed to. */
CM_CHECK enum cm_rc sh_blanket_possible(const struct rd_descriptor *d, struct cm_err *err);
/* Messages of the next slice; 0 when the round can be sealed, or will be void or erased, or sh_route_next. */
uint32_t sh_blanket_next(const struct sh_round *r);
/* Seal n messages and make them durable with their number: all or none.  Any thread, nothing else touching
 * the vault. */
CM_CHECK enum cm_rc sh_blanket_commit(
	struct sh_round *r, uint32_t n, const struct cm_rng *rng, struct cm_err *err);
/* Count a slice that is durable. */
void sh_blanket_committed(struct sh_round *r, uint32_t n);
