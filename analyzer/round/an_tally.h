/* an_tally.h - counts of opened records, and which encapsulations were seen.  No I/O. */
#pragma once

#include <stdbool.h>

#include "pt_protocol.h"

/* Counts and nothing else: no record outlives its turn. */
struct an_tally {
	uint64_t *count; /* counts of them, owned */
	uint32_t counts;
	uint64_t counted, bad, duplicates;
};

CM_CHECK enum cm_rc an_tally_init(struct an_tally *t, uint32_t counts, struct cm_err *err);
void an_tally_fini(struct an_tally *t);
/* t += other, of as many counts; duplicates included. */
void an_tally_add(struct an_tally *t, const struct an_tally *other);
/* One opened record: counted, or as bad when it is none of this round's.  CM_EINTERNAL only. */
CM_CHECK enum cm_rc an_tally_record(
	struct an_tally *t, const struct pt_randomizer *p, const uint8_t *record, struct cm_err *err);
/* Participants the counted messages stand for, of a batch of `messages`: one that was not counted takes its
 * share of a participant's messages_each with it. */
uint64_t an_tally_reports(
	const struct an_tally *t, uint64_t messages, uint64_t participants, uint32_t messages_each);

/* A set of encapsulated keys, 16 bytes each (a prefix collision between honest keys has chance n^2 2^-128,
 * and a client can only collide with itself).  Slots are chosen under a secret of this process, so that
 * nobody can aim keys at one slot.  At most 43 bytes per key. */
struct an_seen {
	uint8_t (*slot)[16];
	size_t room, n; /* room: a power of two, or 0 */
	bool zero;      /* the all-zero key, which marks a free slot otherwise */
	uint64_t k0, k1;
};
void an_seen_init(struct an_seen *s, const struct cr_rng *rng);
void an_seen_fini(struct an_seen *s);
/* *again: it was there already. */
CM_CHECK enum cm_rc an_seen_add(struct an_seen *s, const uint8_t enc[32], bool *again, struct cm_err *err);
