/* an_tally.h - counts opened records.  No I/O. */
#pragma once

#include <stdbool.h>

#include "pt_protocol.h"

/* Holds counts only: no record is kept after it was counted. */
struct an_tally {
	uint64_t *count; /* array of the counts, owned */
	uint32_t counts;
	uint64_t counted, bad, duplicates;
};

CM_CHECK enum cm_rc an_tally_init(struct an_tally *t, uint32_t counts, struct cm_err *err);
void an_tally_fini(struct an_tally *t);
/* Add `other`, which has as many counts, to t; duplicates included. */
void an_tally_add(struct an_tally *t, const struct an_tally *other);
/* Count one opened record.  It is counted as bad if it does not belong to this round.  CM_EINTERNAL is the
 * only fault. */
CM_CHECK enum cm_rc an_tally_record(
	struct an_tally *t, const struct pt_randomizer *p, const uint8_t *record, struct cm_err *err);
/* Number of participants whose messages were counted, in a batch of `messages`.  A message that was not
 * counted reduces it by one participant's part, 1 / messages_each. */
uint64_t an_tally_reports(
	const struct an_tally *t, uint64_t messages, uint64_t participants, uint32_t messages_each);
