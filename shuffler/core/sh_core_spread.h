/* sh_core_spread.h - the core's answers to intakes, where they take a round's reports (doc/intakes.md). */
#pragma once

#include "sh_core.h"
#include "sh_share.h"

/* How many intakes are there now; whenever one came or went, another epoch of the open round begins. */
void sh_core_intakes(struct sh_core *c, size_t intakes);

/* What an intake needs to take reports in the present epoch of the open round.  The descriptor is borrowed
 * until the next call of the core; the keys are the caller's to wipe.  CM_EMORE: no reports are to be taken
 * now. */
CM_CHECK enum cm_rc sh_core_lend(
	struct sh_core *c, struct sh_loan *out, struct sh_vault_keys *keys, struct cm_err *err);

/* As sh_spread_claim and sh_spread_leave, for the certificate with this key. */
CM_CHECK enum cm_rc sh_core_claim(struct sh_core *c, uint32_t intake, uint64_t epoch,
	const uint8_t key_hash[PR_HASH_LEN], int64_t now_ms, enum sh_claim *out, struct cm_err *err);
void sh_core_leave(struct sh_core *c, uint32_t intake, uint64_t epoch, const uint8_t key_hash[PR_HASH_LEN]);

/* A batch that an intake is about to store, borrowed: new devices, and of each answer the root that its
 * receipt signs and its number of outcomes (u64 little endian). */
struct sh_signing {
	uint64_t epoch;
	uint32_t devices;
	const uint8_t *receipts; /* n of PR_RECEIPT_LEN bytes */
	size_t n;                /* up to PR_RECEIPTS_MAX */
};
/* Promise places for its devices.  False: the epoch is over or the places do not suffice, and nothing may be
 * signed.  round_id: of the open round, the only one whose receipts are ever signed for an intake.  *room:
 * places that are left. */
CM_CHECK bool sh_core_promise(
	struct sh_core *c, const struct sh_signing *s, uint8_t round_id[PR_ROUND_ID_LEN], uint64_t *room);
/* Sign n receipts of a batch that was promised; any thread, beside every other call. */
CM_CHECK enum cm_rc sh_core_sign(const struct sh_core *c, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t *receipts, size_t n, uint8_t *signatures, struct cm_err *err);
/* So many devices of the epoch are stored, and their receipts may be sent when sh_core_mark has returned.
 * False: the epoch is over, and a later one knows them from the store.  *all: the devices of the round. */
CM_CHECK bool sh_core_stored(struct sh_core *c, uint64_t epoch, uint64_t devices,
	uint8_t round_id[PR_ROUND_ID_LEN], uint64_t *all);
/* Note beside the round's key that it has so many devices (sh_marks.h); any thread, beside every other call.
 * CM_OK also when the round is over. */
CM_CHECK enum cm_rc sh_core_mark(const struct sh_core *c, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint64_t devices, struct cm_err *err);
