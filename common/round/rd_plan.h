/* rd_plan.h - the signed plan: a document that fixes rounds of a population before the first answer.  No I/O.
 *
 * A population has a budget for life.  A plan takes a slice (epsilon, delta) of it.  The whole slice is spent
 * when a party pins the plan, that is, decides for good which entries it answers.  Slices add up, even if a
 * plan was chosen after answers to earlier ones (doc/accounting.md, "Plans").
 *
 * In mode plan the rounds are entries.  An entry fixes everything that decides its round's privacy loss:
 * randomizer, batches, honest participants.  Entries are answered in any order, each once, in one of at most
 * `tries` tries.  In adaptive modes a plan has no entries: its slice is the budget of a filter, which judges
 * each round.
 *
 * The bytes are signed and hashed as received and never re-serialized. */
#pragma once

#include <stdatomic.h>

#include "rd_descriptor.h"

struct rd_entry {
	uint32_t number; /* number of the round in the plan file; rises from entry to entry */
	struct qy_query query;
	struct pt_randomizer randomizer;
	struct qy_computing computing;
	uint64_t payload_max; /* most bytes of the payload of its rounds; 0: they have none */
	uint64_t min_reports, target;
	double epsilon0; /* local guarantee in nats; INFINITY: none */
	/* Upper bounds at the plan's delta, as the analyzer states them. */
	double epsilon_round; /* loss of this round alone */
	double epsilon_total; /* loss of this round together with the entries before it */
};
/* A round of the plan file that did not fit, and is no entry. */
struct rd_refused {
	uint32_t number;
	char query[65];
	double epsilon_round, epsilon_total; /* the same for the refused round; each may be INFINITY */
};
struct rd_plan {
	char population[PR_TEXT_MAX + 1], name[65], mode[RD_MODE_LEN], unit[33];
	uint64_t number;               /* its number among the population's plans, from 1 */
	uint8_t previous[PR_HASH_LEN]; /* hash of the population's plan before; zero for the first */
	double epsilon, delta;         /* the slice of the budget that the plan takes */
	double honest_fraction;
	uint64_t colluders;
	uint32_t tries;                 /* most tries of each entry, 1..PR_TRIES_MAX */
	uint8_t file_hash[PR_HASH_LEN]; /* SHA-256 of the plan file */
	struct rd_entry *entry;         /* owned */
	size_t entries;
	struct rd_refused *refused; /* owned */
	size_t refusals;
	uint8_t hash[PR_HASH_LEN]; /* SHA-256 of the bytes it was read from; descriptors refer to it */
};

/* Append the plan's bytes to out.  p->hash is ignored.  CM_EINTERNAL: rd_plan_decode would refuse them, or
 * they are more than PR_PLAN_MAX. */
CM_CHECK enum cm_rc rd_plan_encode(const struct rd_plan *p, struct cm_buf *out, struct cm_err *err);
/* Compute the number of these bytes, which may be above PR_PLAN_MAX.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc rd_plan_size(const struct rd_plan *p, size_t *out, struct cm_err *err);
/* Read and check every field, as rd_descriptor_decode does: each entry's parameters are possible for its
 * query, numbers rise, an adaptive plan has no entries.  Composes nothing.  CM_EPROTO names the field.  Free
 * with rd_plan_fini, also after a failure. */
CM_CHECK enum cm_rc rd_plan_decode(const uint8_t *bytes, size_t len, struct rd_plan *out, struct cm_err *err);
/* Verify the signature (purpose "tombola plan"; CM_EPERM), then decode. */
CM_CHECK enum cm_rc rd_plan_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_plan *out, struct cm_err *err);
void rd_plan_fini(struct rd_plan *p);
bool rd_plan_is_adaptive(const struct rd_plan *p);

/* The entry with this number; NULL: there is none. */
const struct rd_entry *rd_plan_entry(const struct rd_plan *p, uint32_t number);
/* Fill the part of a descriptor that entry i (from 0) fixes: population, query, randomizer, computing,
 * payload_max, batches, honest fraction, colluders, mode, unit, plan_hash, entry, messages_per_client,
 * record_len.  All else is zero.  The query is borrowed from the plan, so do not free *out. */
void rd_plan_descriptor(const struct rd_plan *p, size_t i, struct rd_descriptor *out);

/* Check that this descriptor's round is the one that its entry fixes.  Plan, population, mode, unit, honest
 * fraction and colluders must be the plan's.  Randomizer and computing (to the last bit), kind of query,
 * batches and payload_max must be the entry's.  The try must be within `tries`.  In adaptive modes there must
 * be no entry, and only the plan's part is compared.  CM_EPROTO says what differs. */
CM_CHECK enum cm_rc rd_plan_covers(
	const struct rd_plan *p, const struct rd_descriptor *d, struct cm_err *err);

/* A pin: which entries of a plan a party answers.  It decides so when it first sees the plan, and never
 * changes it. */
struct rd_pin {
	uint8_t taken[(PR_ENTRIES_MAX + 7) / 8]; /* a bit for each entry, by its index */
	size_t entries;                          /* number of the plan's entries */
	/* upper bound on the loss of the entries taken, at the plan's delta; of an adaptive plan, the
	 * epsilon of its slice */
	double epsilon;
};
bool rd_pin_has(const struct rd_pin *pin, size_t i);
size_t rd_pin_count(const struct rd_pin *pin);

/* Computes the loss of an entry (as rd_plan_descriptor fills d) by this party's own honest fraction,
 * colluders and trust.  CM_EPERM: its policy does not allow this entry. */
typedef enum cm_rc rd_entry_loss_fn(
	void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err);
/* Make this party's pin of the plan.  If all entries that its policy allows fit the slice together, it takes
 * all of them.  Otherwise it takes, in the plan's order, each that fits beside those taken before.  Each
 * entry costs one composition, so call it on a worker thread.  Another thread may set *stop to end it with
 * CM_ELATER; NULL: no thread will.  CM_EINTERNAL: the accountant could not answer.  An adaptive plan is taken
 * without composing. */
CM_CHECK enum cm_rc rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user,
	const atomic_bool *stop, struct rd_pin *out, struct cm_err *err);

/* The sums of the epsilons and of the deltas of slices.  They are sums of the decimals that were written
 * (acct_decimal.h), so five slices of 0.2 are exactly 1. */
struct rd_slices {
	double epsilon, delta;
};
/* Does the plan's slice fit the budget (epsilon, delta) beside the slices taken?  A sum that equals the
 * budget fits, since slices are decimals and no computed bounds.  A sum that exceeds it by any amount does
 * not fit. */
bool rd_slices_fit(const struct rd_slices *taken, const struct rd_plan *p, double epsilon, double delta);
void rd_slices_add(struct rd_slices *taken, const struct rd_plan *p);
/* The part of the budget (epsilon, delta) that the slices take, 0..1: the larger of both parts. */
double rd_slices_share(const struct rd_slices *taken, double epsilon, double delta);

/* Write the bytes that the analyzer signs to state a position of its ledger: population, a 0 byte, number of
 * the record (u64 big-endian), head. */
#define RD_HEAD_MAX (PR_TEXT_MAX + 1u + 8u + PR_HASH_LEN)
size_t rd_head_bytes(
	const char *population, uint64_t seq, const uint8_t head[PR_HASH_LEN], uint8_t out[RD_HEAD_MAX]);
/* Write the bytes that the shuffler signs to state the last round of a certificate: SHA-256 of the
 * certificate's key, sequence (u64 big-endian), descriptor hash (zero for sequence 0). */
#define RD_STANDING_LEN (PR_HASH_LEN + 8u + PR_HASH_LEN)
void rd_standing_bytes(const uint8_t key_hash[PR_HASH_LEN], uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], uint8_t out[RD_STANDING_LEN]);
