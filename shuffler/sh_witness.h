/* sh_witness.h - the ledger as this shuffler has seen it: its head, and the account of its rounds.  No I/O.
 *
 * The analyzer's ledger is authoritative, but a restored old copy of it would hand spent budget back.  So the
 * shuffler keeps every record it was shown and takes only what extends them; its account counts every
 * reserved round that was not voided, from the descriptors in the records, with the shuffler's own limit. */
#pragma once

#include "rd_account.h"
#include "rd_record.h"
#include "sh_refusal.h"

enum sh_fate {
	SH_FATE_NONE, /* no reservation seen */
	SH_FATE_RESERVED,
	SH_FATE_CHARGED,
	SH_FATE_SETTLED,
	SH_FATE_VOID,
};

struct sh_witness;

/* population: the one whose ledger it is, copied.  limit, delta: as rd_account_new. */
CM_CHECK enum cm_rc sh_witness_new(
	const char *population, double limit, double delta, struct sh_witness **out, struct cm_err *err);
void sh_witness_free(struct sh_witness *w);

/* The last record seen: seq 0 and a zero head when none. */
struct rd_chain sh_witness_head(const struct sh_witness *w);

/* Would n records numbered first.. extend what is known?  Those known already must be the same.  *skip: how
 * many of them are known.  Nothing changes; the caller makes records[*skip..n) durable and then calls
 * sh_witness_apply with exactly these.  CM_EPROTO with ERROR_LEDGER: a fork, a gap, or a record that breaks
 * the rules (a charge without reservation, a void after the charge, another population...). */
CM_CHECK enum cm_rc sh_witness_check(const struct sh_witness *w, uint64_t first,
	const struct cm_span *records, size_t n, size_t *skip, struct sh_refusal *no, struct cm_err *err);
/* Take the next record, checked before (or read back from the store at start: CM_EDATA if it is damaged). */
CM_CHECK enum cm_rc sh_witness_apply(
	struct sh_witness *w, const uint8_t *bytes, size_t len, struct cm_err *err);

/* What the ledger says of a round. */
enum sh_fate sh_witness_fate(const struct sh_witness *w, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Does the ledger reserve exactly this descriptor, right after the head that the descriptor states, and has
 * it not voided it since?  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc sh_witness_reserved(
	const struct sh_witness *w, const struct rd_descriptor *d, struct sh_refusal *no);
/* Does this descriptor follow the newest one that the ledger reserves among its first d->ledger_seq records,
 * served here or not: the next sequence number, and that one's hash as its predecessor?  CM_EPROTO CONFLICT
 * otherwise. */
CM_CHECK enum cm_rc sh_witness_follows(
	const struct sh_witness *w, const struct rd_descriptor *d, struct sh_refusal *no);
/* Is record `seq` the charge of this round and manifest, with this head after it?  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc sh_witness_charged(const struct sh_witness *w, uint64_t seq,
	const uint8_t head[PR_HASH_LEN], const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t manifest_hash[PR_HASH_LEN], struct sh_refusal *no);
/* Does this reserved round fit the budget beside all others?  CM_EPROTO BUDGET_EXHAUSTED otherwise. */
CM_CHECK enum cm_rc sh_witness_judge(struct sh_witness *w, const struct rd_descriptor *d,
	struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err);
/* epsilon of all rounds that count, upper; for status. */
CM_CHECK enum cm_rc sh_witness_spent(const struct sh_witness *w, double *epsilon, struct cm_err *err);
/* As rd_account_share; and the mode of the ledger, plan before it is opened. */
CM_CHECK enum cm_rc sh_witness_share(const struct sh_witness *w, double *share, struct cm_err *err);
const char *sh_witness_mode(const struct sh_witness *w);
