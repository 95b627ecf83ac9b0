/* sh_core_spread.h - the core's answers to intakes, the processes that may accept a round's reports for it
 * (doc/intakes.md). */
#pragma once

#include "sh_core.h"
#include "sh_share.h"

/* Tell the core the number of intakes, whenever one came or went.  Another epoch of the open round then
 * begins. */
void sh_core_intakes(struct sh_core *c, size_t intakes);

/* Fill what an intake needs to accept reports in the present epoch of the open round.  The descriptor is
 * borrowed until the next call of the core; the caller wipes the keys.  CM_EMORE: intakes accept no reports
 * now. */
CM_CHECK enum cm_rc sh_core_lend(
	struct sh_core *c, struct sh_loan *out, struct sh_vault_keys *keys, struct cm_err *err);

/* Like sh_spread_claim and sh_spread_leave, for the certificate with this key. */
CM_CHECK enum cm_rc sh_core_claim(struct sh_core *c, uint32_t intake, uint64_t epoch,
	const uint8_t key_hash[PR_HASH_LEN], int64_t now_ms, enum sh_claim *out, struct cm_err *err);
void sh_core_leave(struct sh_core *c, uint32_t intake, uint64_t epoch, const uint8_t key_hash[PR_HASH_LEN]);

/* A batch that an intake is about to store, borrowed.  receipts: for each answer the root that its receipt
 * signs, and its number of outcomes (u64 little endian). */
struct sh_signing {
	uint64_t epoch;
	uint32_t devices;        /* number of new devices */
	const uint8_t *receipts; /* n of PR_RECEIPT_LEN bytes */
	size_t n;                /* up to PR_RECEIPTS_MAX */
	/* The certificates whose first devices of the round are in this batch; stands <= n. */
	const struct sh_stand *stand;
	size_t stands;
};
/* What was promised: places in the open round, the only one whose receipts are signed for an intake. */
struct sh_promise {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint64_t sequence;
	uint8_t descriptor_hash[PR_HASH_LEN];
	uint64_t room; /* places left for devices in the round; also set when nothing is promised */
};
/* Promise places in the round for the batch's devices.  False: the intake may neither store nor have signed
 * the batch, since the epoch is over, there are not enough places, or a certificate in `stand` was not
 * claimed by this intake in this epoch. */
CM_CHECK bool sh_core_promise(
	struct sh_core *c, uint32_t intake, const struct sh_signing *s, struct sh_promise *out);
/* Of a promised batch: an intake did not take so many devices of this certificate, which it has claimed. */
void sh_core_left_out(struct sh_core *c, uint32_t intake, uint64_t epoch, const struct cr_identity *who,
	uint64_t over_limit, uint64_t closed);
/* Store the standings of a promised batch durably, and then sign its n receipts.  One thread at a time,
 * which may be another than that of all other calls. */
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
