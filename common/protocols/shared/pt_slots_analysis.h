/* pt_slots_analysis.h - computes the loss of a round of slots (pt_slots.h), and counts every symbol of
 * every slot.
 *
 * Counts go slot by slot, in each group by group, and in each word by word. */
#pragma once

#include "es_histogram.h"
#include "pt_protocol.h"
#include "pt_slots.h"

/* Initialisers for the columns of a row whose rounds are slots, and of one that counts every symbol. */
#define PT_SLOTS_ANALYSIS .loss = pt_slots_loss
#define PT_SLOTS_COUNT_ANALYSIS \
	.tallies = pt_slots_symbols, .tally = pt_slots_tally, .seen = pt_slots_seen, PT_SLOTS_ANALYSIS

/* Derive from a request how the bins of *slot are randomized, rounded towards more noise; count, groups and
 * each.bins are given.  A request's epsilon0 is that of each slot, and at most PT_EPSILON0_MAX, up to which
 * the thresholds are exact enough.  Their sum is limited only by a client's policy.  CM_ECONFIG names what
 * is out of range. */
CM_CHECK enum cm_rc pt_slots_request(
	const struct pt_protocol *row, const struct pt_request *r, struct pt_slot *slot, struct cm_err *err);
/* The last step of derive(): pt_slots_limits, CM_ECONFIG. */
CM_CHECK enum cm_rc pt_slots_limit(const struct pt_randomizer *p, struct cm_err *err);
/* Write the slots that a query asks about: kinds, count, groups and each.bins. */
typedef void pt_slots_of(const struct qy_query *q, struct pt_randomizer *p);
/* The derive() of a row with these slots, for a query that the row has checked: pt_slots_request for each,
 * then pt_slots_limit. */
CM_CHECK enum cm_rc pt_slots_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, pt_slots_of *slots, struct pt_randomizer *out, struct cm_err *err);

/* Make one part for each kind of slot, repeated as often as there are slots of it: a neighbour's value may
 * differ in all of them. */
CM_CHECK enum cm_rc pt_slots_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err);

/* groups * bins, summed over all slots; pt_slots_count_check limits it to PR_TALLIES_MAX. */
uint32_t pt_slots_symbols(const struct pt_randomizer *p);
/* How many devices lied for certain, by the slot that says most: the seen() of such a row. */
uint64_t pt_slots_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices);
/* Count a record at its symbol. */
CM_CHECK enum cm_rc pt_slots_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
/* CM_EDATA when there are no participants, too many, or more messages than they can have sent.  A slot may
 * have more than its share: a device that sends all of its messages to one slot must not void the round. */
CM_CHECK enum cm_rc pt_slots_totals(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct cm_err *err);

/* The estimate() of a row whose messages are counted by symbol: calls pt_slots_totals, and then fills *e,
 * which has its `reports`, by `fill`.  If `fill` fails, what it left in *e is freed. */
typedef enum cm_rc pt_slots_fill(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, struct es_estimate *e, struct cm_err *err);
CM_CHECK enum cm_rc pt_slots_estimate(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, pt_slots_fill *fill, struct es_estimate *out,
	struct cm_err *err);

/* How a message of slot s, which has one group, supports a set of `words` of its bins: a holder holds one
 * of them. */
struct es_support pt_slot_support(const struct pt_slot *s, uint64_t reports, uint32_t words);
/* The same for one word, when counts[bins] came in the slot. */
typedef struct es_support pt_slot_law(const struct pt_slot *s, const uint64_t *counts, uint64_t reports);
/* The law of a slot that every participant answers. */
pt_slot_law pt_slots_support;
/* What is expected of a slot before the round; the second where every participant answers every slot. */
typedef struct es_support pt_slot_before(
	const struct pt_randomizer *p, const struct pt_slot *s, uint64_t participants);
pt_slot_before pt_slots_before;

/* Set the items that the first n symbols of slot s are, among `joint`, of the honest devices.  counts: of all
 * symbols of the slot. */
typedef enum cm_rc pt_slot_honest(const struct pt_randomizer *p, const struct pt_slot *s,
	const uint64_t *counts, size_t n, const struct pt_crowd *crowd, size_t joint, struct es_honest *out,
	struct cm_err *err);
/* The same where every device fills the slot. */
pt_slot_honest pt_slots_honest;
