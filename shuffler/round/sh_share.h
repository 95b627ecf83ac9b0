/* sh_share.h - an intake's part of a round: the reports that it takes in one epoch (sh_spread.h).
 *
 * A share is made from what the head lends.  It loads the tags that are stored, and then takes reports as
 * sh_intake.h says, until it ends.  It ends with its epoch in any case: reports that are not stored are
 * then dropped, and their clients send them again.  I/O only through sh_store.h. */
#pragma once

#include "sh_intake.h"

/* What the head lends, borrowed for the call. */
struct sh_loan {
	struct cr_span descriptor; /* the descriptor, which the head has verified; borrowed */
	uint64_t epoch;
	uint64_t room;        /* number of devices for which the round still has places */
	uint64_t most_of_one; /* most devices that one certificate may have in the round */
	const struct sh_vault_keys *keys;
};

struct sh_share {
	struct rd_descriptor d;
	uint64_t epoch;
	const struct sh_store *store; /* where the reports are stored; borrowed */
	struct sh_vault_keys keys;    /* the keys that the head lends, until they are loaded */
	struct sh_vault vault;
	struct sh_intake intake;
	uint64_t room;
};

/* Make a share.  max_bytes: as in sh_limits.  CM_EPROTO: the descriptor is malformed. */
CM_CHECK enum cm_rc sh_share_new(const struct sh_store *store, const struct sh_loan *loan, size_t max_bytes,
	struct sh_share **out, struct cm_err *err);
/* Open the data and load every stored tag.  This is slow, and may run on any thread.  CM_ENOINPUT: the
 * round is erased. */
CM_CHECK enum cm_rc sh_share_load(struct sh_share *s, struct cm_err *err);
/* Set the number of places that the head has not promised to anybody.  The devices that have gathered here
 * still need places of these. */
void sh_share_room(struct sh_share *s, uint64_t room);
/* Store a batch that sh_intake_take took.  This is slow, and may run on any thread.  CM_ELATER: nothing was
 * stored, since the epoch is over. */
CM_CHECK enum cm_rc sh_share_store(
	struct sh_share *s, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err);
/* Wipe and free the share and its keys.  Accepts NULL. */
void sh_share_free(struct sh_share *s);
