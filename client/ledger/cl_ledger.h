/* cl_ledger.h - the client's append-only ledger: rounds that it saw, refused, and was charged for.
 *
 * cl_reports_put writes a charge in the transaction that stores the first sealed bytes.  A charge is never
 * removed.  In mode plan it records that the client took part in this try of the entry (cl_tries.h); in
 * adaptive modes it is one round of the plan's filter. */
#pragma once

#include "rd_account.h"
#include "rd_plan.h"

struct cl_db;

/* What a charge records in addition to the descriptor. */
struct cl_charge {
	struct pt_loss loss; /* the round's loss as this client computes it */
	double epsilon_round, epsilon_total;
	const uint8_t *
		key_hash; /* of the certificate's key, by which the shuffler knows the reports; may be NULL */
};

/* Record the first sight of a descriptor; durable on return, before anything else is done with it.  CM_EPERM:
 * it contradicts earlier descriptors: a second one with this sequence number, a sequence number or ledger
 * position that decreased, or a wrong hash of the previous descriptor.  CM_OK if the same one was seen
 * before. */
CM_CHECK enum cm_rc cl_ledger_see(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);
/* Store a verified descriptor with its signature, for the population's life.  If the analyzer signs
 * descriptors that differ under one sequence number, the first two are kept as proof. */
CM_CHECK enum cm_rc cl_ledger_keep(struct cl_db *db, const struct rd_descriptor *d, const uint8_t *bytes,
	size_t len, const uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
/* The newest stored descriptor and its signature; *out is empty if there is none. */
CM_CHECK enum cm_rc cl_ledger_newest(
	struct cl_db *db, struct cm_buf *out, uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
/* Record that this client does not take part, or cannot as things stand, with the reason in one line.
 * Recorded once for each descriptor, so a shuffler that offers it repeatedly does not grow the ledger. */
CM_CHECK enum cm_rc cl_ledger_refuse(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *why, struct cm_err *err);
/* Append a charge; the caller holds the transaction. */
CM_CHECK enum cm_rc cl_ledger_charge(struct cl_db *db, const struct rd_descriptor *d,
	const struct cl_charge *charge, int64_t now_ms, struct cm_err *err);
/* Checksum of the fields that say to which round, entry and try a charge belongs. */
void cl_ledger_seal(uint64_t sequence, const uint8_t descriptor_hash[PR_HASH_LEN],
	const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t plan_hash[PR_HASH_LEN], uint64_t plan_entry,
	uint64_t attempt, uint8_t out[PR_HASH_LEN]);
/* Record that the round is over for this client; note: its counts.  The caller holds the transaction. */
CM_CHECK enum cm_rc cl_ledger_over(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms,
	const char *note, struct cm_err *err);

/* Build an account from every charge of this plan.  For an adaptive plan it says how much of the filter is
 * used. */
CM_CHECK enum cm_rc cl_ledger_account(
	struct cl_db *db, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err);
/* The same account from a cache, which reads and composes only the charges added since the last call.
 * Borrowed; valid until the next call with this db. */
CM_CHECK enum cm_rc cl_ledger_kept(
	struct cl_db *db, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err);
/* *charged: whether any round was charged, or the one with this sequence number. */
CM_CHECK enum cm_rc cl_ledger_any(struct cl_db *db, bool *charged, struct cm_err *err);
CM_CHECK enum cm_rc cl_ledger_charged(struct cl_db *db, uint64_t sequence, bool *charged, struct cm_err *err);
/* Number of rounds charged at or after since_ms. */
CM_CHECK enum cm_rc cl_ledger_recent(
	struct cl_db *db, int64_t since_ms, uint64_t *rounds, struct cm_err *err);
/* Sequence number of the last round that is over, 0 if none; the client asks for rounds after it. */
CM_CHECK enum cm_rc cl_ledger_last(struct cl_db *db, uint64_t *sequence, struct cm_err *err);
/* The fields of this round's charge; all zero if it was not charged. */
CM_CHECK enum cm_rc cl_ledger_charge_of(struct cl_db *db, uint64_t sequence, double *epsilon_round,
	double *epsilon_total, struct cm_err *err);
/* Whether this round was charged while the certificate had another key than this one.  A charge without a
 * key_hash counts as one with this key. */
CM_CHECK enum cm_rc cl_ledger_other_key(struct cl_db *db, uint64_t sequence,
	const uint8_t key_hash[PR_HASH_LEN], bool *other, struct cm_err *err);
/* How many entries the ledger has, and when the last round ended (0: no round has). */
CM_CHECK enum cm_rc cl_ledger_extent(
	struct cl_db *db, int64_t *records, int64_t *over_ms, struct cm_err *err);
/* The descriptor of each charged round, in the order of the charges.  CM_EDATA: one is damaged. */
typedef void cl_charged_fn(void *user, const struct rd_descriptor *d);
CM_CHECK enum cm_rc cl_ledger_each_charged(
	struct cl_db *db, cl_charged_fn *each, void *user, struct cm_err *err);
