/* rd_plan.h - the signed plan: the rounds of a population that are fixed before the first answer.  No I/O.
 *
 * A population has a budget for life.  A plan takes a slice (epsilon, delta) of it, spent whole when the plan
 * is pinned; slices add up, whatever was seen before (doc/accounting.md, "Plans").  An entry fixes everything
 * that decides the privacy loss of its round: randomizer, batches, honest participants.  It is answered once,
 * in any order and in one of at most `tries` tries.  In adaptive modes a plan has no entries: its slice is
 * the budget of a filter, which judges each round.
 *
 * The bytes are signed and hashed as received and never re-serialized. */
#pragma once

#include <stdatomic.h>

#include "rd_descriptor.h"

struct rd_entry {
	uint32_t number; /* of the round in the plan file, rising */
	struct qy_query query;
	struct pt_randomizer randomizer;
	struct qy_computing computing;
	uint64_t payload_max; /* bytes; 0: its rounds have no payload */
	uint64_t min_reports, target;
	double epsilon0;      /* local guarantee, INFINITY for none */
	double epsilon_round; /* alone, at the plan's delta, upper; as the analyzer states it */
	double epsilon_total; /* of the entries up to this one */
};
/* A round of the plan file that did not fit: it is known from the start. */
struct rd_refused {
	uint32_t number;
	char query[65];
	double epsilon_round, epsilon_total; /* may be INFINITY */
};
struct rd_plan {
	char population[PR_TEXT_MAX + 1], name[65], mode[RD_MODE_LEN], unit[33];
	uint64_t number;               /* of the population's plans, from 1 */
	uint8_t previous[PR_HASH_LEN]; /* hash of the plan before; zero for the first */
	double epsilon, delta;         /* the slice */
	double honest_fraction;
	uint64_t colluders;
	uint32_t tries;                 /* of each entry, 1..PR_TRIES_MAX */
	uint8_t file_hash[PR_HASH_LEN]; /* of the plan file */
	struct rd_entry *entry;         /* owned */
	size_t entries;
	struct rd_refused *refused; /* owned */
	size_t refusals;
	uint8_t hash[PR_HASH_LEN]; /* of the bytes this was read from: its name */
};

/* Serialize; appended to out.  hash is ignored.  CM_EINTERNAL if nobody would accept it, or it is longer than
 * PR_PLAN_MAX. */
CM_CHECK enum cm_rc rd_plan_encode(const struct rd_plan *p, struct cm_buf *out, struct cm_err *err);
/* How many bytes that would be, which may be more than PR_PLAN_MAX.  CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc rd_plan_size(const struct rd_plan *p, size_t *out, struct cm_err *err);
/* Read and check every field, as rd_descriptor_decode does: each entry's parameters are possible for its
 * query, numbers rise, an adaptive plan has no entries.  Nothing is composed.  CM_EPROTO names the field.
 * Free with rd_plan_fini, also after a failure. */
CM_CHECK enum cm_rc rd_plan_decode(const uint8_t *bytes, size_t len, struct rd_plan *out, struct cm_err *err);
/* Signature ("tombola plan"; CM_EPERM), then decode. */
CM_CHECK enum cm_rc rd_plan_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_plan *out, struct cm_err *err);
void rd_plan_fini(struct rd_plan *p);
bool rd_plan_is_adaptive(const struct rd_plan *p);

/* The entry with this number; NULL for none. */
const struct rd_entry *rd_plan_entry(const struct rd_plan *p, uint32_t number);
/* Entry i (0-based) as the part of a descriptor that it fixes: population, query, randomizer, computing,
 * payload_max, batches, honest fraction, colluders, mode, unit, plan_hash, entry, messages_per_client,
 * record_len.  All else is zero; the query is lent: do not fini. */
void rd_plan_descriptor(const struct rd_plan *p, size_t i, struct rd_descriptor *out);

/* Is this descriptor's round the one that its entry fixes?  The same plan, population, mode, unit, honest
 * fraction and colluders; the entry's randomizer and computing to the last bit, kind of query, batches and
 * payload_max; a try within `tries`.  CM_EPROTO says what differs.  In adaptive modes: no entry, and the same
 * but for it. */
CM_CHECK enum cm_rc rd_plan_covers(
	const struct rd_plan *p, const struct rd_descriptor *d, struct cm_err *err);

/* What a party takes of a plan: decided once, when it first sees it, and never changed (its pin). */
struct rd_pin {
	uint8_t taken[(PR_ENTRIES_MAX + 7) / 8]; /* a bit for each entry, by its index */
	size_t entries;                          /* of the plan */
	double epsilon; /* of what is taken, composed at the plan's delta, upper; adaptive: the slice */
};
bool rd_pin_has(const struct rd_pin *pin, size_t i);
size_t rd_pin_count(const struct rd_pin *pin);

/* What entry i costs as this party counts it, by its own honest fraction, colluders and trust; CM_EPERM: its
 * policy does not want this entry at all. */
typedef enum cm_rc rd_entry_loss_fn(
	void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err);
/* Compose the plan's entries as this party counts them.  If all that it wants fit the slice, all are taken;
 * else those that fit beside the ones taken before them, in the plan's order.  Costs one composition an
 * entry: call it off the loop.  *stop (NULL: nobody will) set by another thread ends it, CM_ELATER.
 * CM_EINTERNAL: the accountant could not answer.  An adaptive plan: nothing to compose, taken as it is. */
CM_CHECK enum cm_rc rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user,
	const atomic_bool *stop, struct rd_pin *out, struct cm_err *err);

/* The budget of a population and what plans took of it: sums of epsilons and of deltas, as the decimals that
 * were written (acct_decimal.h), so that five slices of 0.2 are 1. */
struct rd_slices {
	double epsilon, delta;
};
/* Does the plan's slice fit beside those taken?  A sum equal to the limit fits: slices are promises, not
 * computed bounds.  A sum that exceeds it as decimals never does. */
bool rd_slices_fit(const struct rd_slices *taken, const struct rd_plan *p, double epsilon, double delta);
void rd_slices_add(struct rd_slices *taken, const struct rd_plan *p);
/* The part of a budget that slices are, of epsilon or delta the larger; 1 is all of it. */
double rd_slices_share(const struct rd_slices *taken, double epsilon, double delta);

/* What the analyzer signs over a position of its ledger: population, 0, number (u64 big-endian), head. */
#define RD_HEAD_MAX (PR_TEXT_MAX + 1u + 8u + PR_HASH_LEN)
size_t rd_head_bytes(
	const char *population, uint64_t seq, const uint8_t head[PR_HASH_LEN], uint8_t out[RD_HEAD_MAX]);
/* What the shuffler signs over the last round of a certificate: the SHA-256 of its key, sequence (u64
 * big-endian), descriptor hash (zero for sequence 0). */
#define RD_STANDING_LEN (PR_HASH_LEN + 8u + PR_HASH_LEN)
void rd_standing_bytes(const uint8_t key_hash[PR_HASH_LEN], uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], uint8_t out[RD_STANDING_LEN]);
