/* an_tally.h - counts of opened records.  No I/O. */
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
