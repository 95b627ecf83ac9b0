/* pt_slots.h - MIXBINS in several batches of one round: groups of bins, slots of groups.
 *
 * Slot i of a round, by params.slot: its alphabet is groups * bins symbols, group * bins + word.  A client
 * draws a group uniformly, takes its word there, keeps it with chance keep / 2^64 or takes another word of
 * the group, and sends that symbol among `dummies` messages uniform on the whole alphabet (with dummy_chance,
 * one more or a NULL).  The slot's number
 * stands in the record, so every slot is a batch with its own permutation, and the slots of a round compose.
 * The group is drawn whatever the value is: only a group's k bins enter the privacy, G does not
 * (doc/protocols.md, "Slots"). */
#pragma once

#include "pt_protocol.h"

/* The word, below bins, that a client has in a group of slot `i`.  Constant time in the value and in the
 * group, which was drawn: a scan with masks; `rng` for rounding. */
typedef uint64_t pt_word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng);

/* keep and dummies of *slot from a request, towards more noise; count, groups and bins are given.  A
 * request's epsilon0 is each slot's, at most PT_EPSILON0_MAX: what the thresholds are exact enough for. Their
 * sum has no limit but the one a client's policy sets.  CM_ECONFIG names what is out of range. */
CM_CHECK enum cm_rc pt_slots_request(
	const char *name, const struct pt_request *r, struct pt_slot *slot, struct cm_err *err);
/* The last step of derive(): not too many kinds of slots, nor messages of one device.  CM_ECONFIG. */
CM_CHECK enum cm_rc pt_slots_limit(const struct pt_params *p, struct cm_err *err);
/* Are a peer's slots possible, and is there nothing where rows with slots have nothing?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_slots_check(const char *name, const struct pt_params *p, struct cm_err *err);

uint32_t pt_slots_total(const struct pt_params *p); /* slots of the round: the sum of the counts */
/* What slot i is like, i < pt_slots_total. */
const struct pt_slot *pt_slots_at(const struct pt_params *p, uint32_t i);
uint32_t pt_slots_messages(const struct pt_params *p); /* of one client */
uint32_t pt_slots_record_len(const struct pt_params *p);
/* Rounded up; the slots of a device add up. */
double pt_slots_epsilon0(const struct pt_params *p);
/* A part for each kind of slot, repeated as often as there are slots of it: a neighbour's value may differ in
 * all of them. */
CM_CHECK enum cm_rc pt_slots_loss(
	const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);
/* Slot after slot, and in each the message at a uniform place among its dummies. */
void pt_slots_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	pt_word *word, const struct cm_rng *rng, uint8_t *records);

/* One record of the round. */
struct pt_cell {
	uint32_t slot, group, word;
	bool null; /* of the slot, and about nothing; only with dummy_chance */
};
/* CM_EDATA if it is none of this round's. */
CM_CHECK enum cm_rc pt_slots_read(
	const struct pt_params *p, const uint8_t *record, struct pt_cell *out, struct cm_err *err);

/* P and Q of a slot, exactly as drawn. */
double pt_slot_keep(const struct pt_slot *s);
double pt_slot_other(const struct pt_slot *s);
/* Local guarantee of one message, rounded up. */
double pt_slot_epsilon0(const struct pt_slot *s);

#define PT_SLOTS_COLUMNS                                                                                 \
	.messages = pt_slots_messages, .record_len = pt_slots_record_len, .epsilon0 = pt_slots_epsilon0, \
	.loss = pt_slots_loss
