/* pt_slots_count.h - what the rows share that count every symbol of every slot of their rounds.
 *
 * counts: slot after slot, group after group, word after word. */
#pragma once

#include "pt_histogram.h"
#include "pt_slots.h"

/* The columns of such a row. */
#define PT_SLOTS_COUNT_COLUMNS .tallies = pt_slots_symbols, .tally = pt_slots_tally, PT_SLOTS_COLUMNS

/* groups * bins over all slots, which pt_slots_count_check holds to PR_TALLIES_MAX. */
uint32_t pt_slots_symbols(const struct pt_params *p);
/* `code` if there are more symbols than a round may have. */
CM_CHECK enum cm_rc pt_slots_count_check(const struct pt_params *p, enum cm_rc code, struct cm_err *err);
/* A record counts as its symbol. */
CM_CHECK enum cm_rc pt_slots_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
/* CM_EDATA when there are no participants, too many, or more messages than they can have sent.  A slot may
 * have more than its share: whoever sends all of its messages to one must not undo the round. */
CM_CHECK enum cm_rc pt_slots_totals(
	const struct pt_params *p, const uint64_t *counts, uint64_t reports, struct cm_err *err);

/* A message of slot s as support of a set of `words` of its bins, of a slot with one group: its holders hold
 * one of them. */
struct pt_support pt_slot_support(const struct pt_slot *s, uint64_t reports, uint32_t words);
