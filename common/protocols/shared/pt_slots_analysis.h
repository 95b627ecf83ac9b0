/* pt_slots_analysis.h - what a round of slots costs (pt_slots.h), and counts of every symbol of every slot.
 *
 * counts: slot after slot, group after group, word after word. */
#pragma once

#include "es_histogram.h"
#include "pt_protocol.h"
#include "pt_slots.h"

/* The columns of a row whose rounds are slots, and of one that counts every symbol. */
#define PT_SLOTS_ANALYSIS       .loss = pt_slots_loss
#define PT_SLOTS_COUNT_ANALYSIS .tallies = pt_slots_symbols, .tally = pt_slots_tally, PT_SLOTS_ANALYSIS

/* How the bins of *slot are told, from a request, towards more noise; count, groups and each.bins are given.
 * A request's epsilon0 is each slot's, at most PT_EPSILON0_MAX: what the thresholds are exact enough for.
 * Their sum has no limit but the one a client's policy sets.  CM_ECONFIG names what is out of range. */
CM_CHECK enum cm_rc pt_slots_request(
	const struct pt_protocol *row, const struct pt_request *r, struct pt_slot *slot, struct cm_err *err);
/* The last step of derive(): pt_slots_limits, CM_ECONFIG. */
CM_CHECK enum cm_rc pt_slots_limit(const struct pt_randomizer *p, struct cm_err *err);
/* Writes the slots that a query asks about: kinds, count, groups and each.bins. */
typedef void pt_slots_of(const struct qy_query *q, struct pt_randomizer *p);
/* derive() of a row whose slots these are, for a query that the row has checked: pt_slots_request of each,
 * then pt_slots_limit. */
CM_CHECK enum cm_rc pt_slots_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, pt_slots_of *slots, struct pt_randomizer *out, struct cm_err *err);

/* A slot of p without its groups, as a round of MIXBINS: they do not enter its privacy. */
struct pt_randomizer pt_slot_alone(const struct pt_randomizer *p, const struct pt_slot *s);
/* A part for each kind of slot, repeated as often as there are slots of it: a neighbour's value may differ in
 * all of them. */
CM_CHECK enum cm_rc pt_slots_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);

/* groups * bins over all slots, which pt_slots_count_check holds to PR_TALLIES_MAX. */
uint32_t pt_slots_symbols(const struct pt_randomizer *p);
/* A record counts as its symbol. */
CM_CHECK enum cm_rc pt_slots_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
/* CM_EDATA when there are no participants, too many, or more messages than they can have sent.  A slot may
 * have more than its share: whoever sends all of its messages to one must not undo the round. */
CM_CHECK enum cm_rc pt_slots_totals(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct cm_err *err);

/* estimate() of a row whose messages are counted by symbol: pt_slots_totals, then *e, which has its
 * `reports`, is filled.  What `fill` left in *e when it failed is freed. */
typedef enum cm_rc pt_slots_fill(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, struct es_estimate *e, struct cm_err *err);
CM_CHECK enum cm_rc pt_slots_estimate(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, pt_slots_fill *fill, struct es_estimate *out,
	struct cm_err *err);

/* A message of slot s as support of a set of `words` of its bins, of a slot with one group: its holders hold
 * one of them. */
struct es_support pt_slot_support(const struct pt_slot *s, uint64_t reports, uint32_t words);
/* The same of one word, when counts[bins] came of the slot. */
typedef struct es_support pt_slot_law(const struct pt_slot *s, const uint64_t *counts, uint64_t reports);
/* Where every participant answers every slot. */
pt_slot_law pt_slots_support;
/* What is to be expected of a slot before the round; where every participant answers every slot. */
typedef struct es_support pt_slot_before(
	const struct pt_randomizer *p, const struct pt_slot *s, uint64_t participants);
pt_slot_before pt_slots_before;
