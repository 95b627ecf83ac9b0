/* sh_witness.h - the analyzer's ledger as this shuffler has seen it: its head, and the fate of its rounds.
 * No I/O.
 *
 * The analyzer's ledger is authoritative, but restoring an old copy of it would return spent budget.  So the
 * shuffler keeps every record that it has seen, and accepts only extensions that the analyzer signed.  It
 * composes nothing here: plans are pinned (sh_plans.h), rounds are looked up.
 *
 * Memory per record: less than its stored bytes plus about 100 bytes. */
#pragma once

#include "rd_record.h"
#include "sh_plans.h"
#include "sh_refusal.h"
#include "sh_store.h"

enum sh_fate {
	SH_FATE_NONE, /* no reservation of this round was seen */
	SH_FATE_RESERVED,
	SH_FATE_CHARGED,
	SH_FATE_SETTLED,
	SH_FATE_VOID,
};

struct sh_witness;

/* population: whose ledger it is; copied.  plans: receives the PLAN records; borrowed. */
CM_CHECK enum cm_rc sh_witness_new(
	const char *population, struct sh_plans *plans, struct sh_witness **out, struct cm_err *err);
void sh_witness_free(struct sh_witness *w);

/* The last record seen; seq 0 and a zero head if none. */
struct rd_chain sh_witness_head(const struct sh_witness *w);

/* One ExtendLedger, borrowed. */
struct sh_extend {
	uint64_t first; /* number of the first of the records */
	const struct cr_span *records;
	size_t n;
	struct cr_span signature;
};
/* Check that the analyzer signed the head after the last of these records, and that they extend the witnessed
 * ledger.  The signature is verified before anything is parsed.  Records already witnessed must be identical;
 * *skip says how many there are.  Changes nothing: the caller makes records[*skip..n) durable and then calls
 * sh_witness_apply for exactly these.  CM_EPROTO with ERROR_SIGNATURE, or with ERROR_LEDGER: a fork, a gap,
 * or a record that breaks the rules (a charge without reservation, a void after the charge, a reservation or
 * plan out of order, another population...). */
CM_CHECK enum cm_rc sh_witness_check(const struct sh_witness *w, const struct sh_extend *e,
	const struct cr_verifier *analyzer, size_t *skip, struct sh_refusal *no, struct cm_err *err);
/* Apply the next record, which was checked before or comes from the store (CM_EDATA: it is damaged). */
CM_CHECK enum cm_rc sh_witness_apply(
	struct sh_witness *w, const uint8_t *bytes, size_t len, struct cm_err *err);

/* Where a head that a client stated lies: within this ledger, beyond its end, or on another branch. */
enum sh_head_place { SH_HEAD_HERE, SH_HEAD_BEYOND, SH_HEAD_FORK };
enum sh_head_place sh_witness_place(const struct sh_witness *w, const struct sh_head_row *head);
/* From now on sh_witness_check requires the ledger to contain this head: it accepts only extensions that lead
 * to it.  The head is copied.  NULL: no requirement. */
void sh_witness_demand(struct sh_witness *w, const struct sh_head_row *head);

/* The fate of a round according to the ledger. */
enum sh_fate sh_witness_fate(const struct sh_witness *w, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Check that the ledger reserves exactly this descriptor, right after the head that the descriptor states,
 * and has not voided it since.  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc sh_witness_reserved(
	const struct sh_witness *w, const struct rd_descriptor *d, struct sh_refusal *no);
/* Check that record `seq` is the charge of this round and manifest, with this head after it.  CM_EPROTO
 * otherwise. */
CM_CHECK enum cm_rc sh_witness_charged(const struct sh_witness *w, uint64_t seq,
	const uint8_t head[PR_HASH_LEN], const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t manifest_hash[PR_HASH_LEN], struct sh_refusal *no);
