/* cl_done.h - which rounds are over for this client.  No I/O but the clock. */
#pragma once

#include "cl_judge.h"

struct cl_done {
	uint64_t after; /* rounds up to this sequence number are finished */
	uint64_t
		late; /* round passed over because its deadline late_until had passed by our clock; 0: none */
	int64_t late_until;
};
/* The round after which the next one is requested.  If the last round was refused as late by a clock that has
 * since been set back, the result is the number before it: the round is judged again, as after a restart, and
 * was not charged. */
uint64_t cl_done_with(const struct cl_done *d);
/* This round was not taken part in. */
void cl_done_refused(struct cl_done *d, const struct cl_judgement *j);
