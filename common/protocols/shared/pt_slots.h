/* pt_slots.h - MIXBINS in several batches of one round: groups of bins, slots of groups.
 *
 * The parameters describe slot i of a round.  Its alphabet has groups * bins symbols, group * bins + word.
 * A client draws a group uniformly, takes its word there, keeps it with chance keep / 2^64 or takes another
 * word of the group, and sends that symbol among `dummies` messages that are uniform on the whole alphabet
 * (with dummy_chance, one more or a NULL).  The slot's number is in the record, so every slot is a batch
 * with its own permutation, and the slots of a round compose.  The group is drawn whatever the value is,
 * and a word is found by reading all groups and masking.
 *
 * The number of groups, G, does not affect privacy.  The blanket is Q / G on every symbol: every word is
 * likelier under some input, and less likely under another.  An input's message has ratio p = P/Q on its
 * own word of each group, else 1.  Two inputs that differ in all groups have in each group one symbol of
 * ratios (p, 1), one of (1, p) and k - 2 of (1, 1).  Summed over the G groups these are the three cells of
 * MIXBINS with k bins.  A group where the inputs agree has (p, p) and (1, 1) in place of (p, 1) and (1, p).
 * With X = u - E v, E = e^eps, {p - pE, 1 - E} has the same sum as {p - E, 1 - pE} and lies between them: a
 * mean-preserving contraction.  Sums of independent X keep that order, so delta = E (sum X)+ / n can only
 * fall.  With P = 1 omega is that of the dummies, 1 / (G k), and the same holds with p = k and ratios 0.
 * Inputs rounded at random are mixtures of words; delta is jointly convex in the two laws, so the words
 * bound them.  tests/unit/test_slots.c compares small batches with the cells, over all pairs of inputs. */
#pragma once

#include "pt_mixbins.h"

/* Return the word, below bins, that a client has in a group of slot `i`.  The time is constant in the value
 * and in the group, which was drawn: a scan with masks.  `rng` is for rounding. */
typedef uint64_t pt_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, uint32_t i, uint32_t group, const struct cr_rng *rng, void *room);

extern const struct pt_layout pt_slots_layout, pt_rotated_layout, pt_topk_layout;

/* Check that a peer's slots are possible.  CM_EPROTO if not. */
CM_CHECK enum cm_rc pt_slots_check(const struct pt_randomizer *p, struct cm_err *err);
/* The parts of this check that derive() needs, too.  Returns `code` if there are too many slots of a kind
 * or too many groups; too many kinds of slots, or messages of one device; or more symbols in all than a
 * round may have counts (PR_TALLIES_MAX). */
CM_CHECK enum cm_rc pt_slots_size(
	const struct pt_device *row, const struct pt_slot *s, enum cm_rc code, struct cm_err *err);
CM_CHECK enum cm_rc pt_slots_limits(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);
CM_CHECK enum cm_rc pt_slots_count_check(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);

uint32_t pt_slots_total(const struct pt_randomizer *p); /* slots of the round: the sum of the counts */
/* The parameters of slot i, i < pt_slots_total. */
const struct pt_slot *pt_slots_at(const struct pt_randomizer *p, uint32_t i);
uint32_t pt_slots_messages(const struct pt_randomizer *p); /* number of messages of one client */
uint32_t pt_slots_record_len(const struct pt_randomizer *p);
/* Rounded up; the guarantees of a device's slots add up. */
double pt_slots_epsilon0(const struct pt_randomizer *p);
/* A slot of p without its groups, as a round of MIXBINS: groups do not affect privacy. */
struct pt_randomizer pt_slot_alone(const struct pt_randomizer *p, const struct pt_slot *s);
/* Make the messages slot after slot, and in each slot the message at a uniform place among its dummies. */
void pt_slots_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	pt_word *word, const struct cr_rng *rng, uint8_t *records, void *room);

/* One record of the round, as it was read. */
struct pt_cell {
	uint32_t slot, group, word;
	bool null; /* the record is a NULL of the slot, which only occurs with dummy_chance */
};
/* CM_EDATA if the record is not one of this round's. */
CM_CHECK enum cm_rc pt_slots_read(
	const struct pt_randomizer *p, const uint8_t *record, struct pt_cell *out, struct cm_err *err);

/* Initialisers for the columns of a device's row whose rounds are slots. */
#define PT_SLOTS_DEVICE \
	.messages = pt_slots_messages, .record_len = pt_slots_record_len, .epsilon0 = pt_slots_epsilon0
