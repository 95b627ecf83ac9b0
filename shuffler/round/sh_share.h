/* sh_share.h - an intake's half of a round: the reports that it takes in one epoch (sh_spread.h).
 *
 * A share is made from what the head lends, loads the tags that are stored, and then takes reports as
 * sh_intake.h says, until it ends.  It ends with its epoch, whatever happens in it: what is not stored is
 * dropped then, and its clients send it again.  I/O only through sh_store.h. */
#pragma once

#include "sh_intake.h"

/* What the head lends, borrowed for the call. */
struct sh_loan {
	struct cr_span descriptor; /* as the head verified it */
	uint64_t epoch;
	uint64_t room;        /* devices that the round has places for */
	uint64_t most_of_one; /* devices of one certificate */
	const struct sh_vault_keys *keys;
};

struct sh_share {
	struct rd_descriptor d;
	uint64_t epoch;
	const struct sh_store *store; /* borrowed */
	struct sh_vault_keys keys;    /* until it is loaded */
	struct sh_vault vault;
	struct sh_intake intake;
	uint64_t room;
};

/* max_bytes: as in sh_limits.  CM_EPROTO: the descriptor is malformed. */
CM_CHECK enum cm_rc sh_share_new(const struct sh_store *store, const struct sh_loan *loan, size_t max_bytes,
	struct sh_share **out, struct cm_err *err);
/* Slow; any thread: open the data and load every stored tag.  CM_ENOINPUT: the round is erased. */
CM_CHECK enum cm_rc sh_share_load(struct sh_share *s, struct cm_err *err);
/* Set the number of places that the head has not promised to anybody.  The devices that have gathered here
 * still need places of these. */
void sh_share_room(struct sh_share *s, uint64_t room);
/* Slow; any thread: store a batch that sh_intake_take took.  CM_ELATER: nothing was stored, since the epoch
 * is over. */
CM_CHECK enum cm_rc sh_share_store(
	struct sh_share *s, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err);
/* Wipe and free; the keys are forgotten.  Accepts NULL. */
void sh_share_free(struct sh_share *s);
