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
	/* Of the certificates whose first devices of the round are among these; stands <= n. */
	const struct sh_stand *stand;
	size_t stands;
};
/* What was promised: the open round, the only one whose receipts are ever signed for an intake. */
struct sh_promise {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t sequence;
	uint8_t descriptor_hash[PR_HASH_LEN];
	uint64_t room; /* places that are left; also set when nothing is promised */
};
/* Promise places for its devices.  False: the epoch is over, the places do not suffice, or it has the
 * standing of a certificate that `intake` has not claimed in this epoch; nothing may be stored or signed. */
CM_CHECK bool sh_core_promise(
	struct sh_core *c, uint32_t intake, const struct sh_signing *s, struct sh_promise *out);
/* Store the standings of a batch that was promised, durably, and then sign its receipts, n signatures; one
 * thread at a time, beside every other call. */
CM_CHECK enum cm_rc sh_core_sign(const struct sh_core *c, const struct sh_promise *p,
	const struct sh_signing *s, uint8_t *signatures, struct cm_err *err);
/* Take note that an intake has stored this number of devices of the epoch.  Their receipts may be sent when
 * sh_core_mark has returned.  False: the epoch is over; a later epoch reads these devices from the store.
 * *all: number of devices stored in the round; *mark: the round's mark, which the caller frees with
 * sh_mark_free on this thread. */
CM_CHECK bool sh_core_stored(
	struct sh_core *c, uint64_t epoch, uint64_t devices, struct sh_mark **mark, uint64_t *all);
/* Write the number of the round's devices to its mark, on any thread and beside every other call.  CM_OK also
 * when the round is over. */
CM_CHECK enum cm_rc sh_core_mark(struct sh_mark *mark, uint64_t devices, struct cm_err *err);
