/* cl_done.h - which rounds are over for this client.  No I/O but the clock. */
#pragma once

#include "cl_judge.h"

struct cl_done {
	uint64_t after; /* rounds up to this sequence number are finished */
	/* The round passed over by our clock, and its times; sequence 0: none. */
	struct {
		uint64_t sequence;
		int64_t opens_ms, deadline_ms;
	} by_clock;
};
/* The newest round, if it was passed over by our clock; 0 else. */
uint64_t cl_done_passed_over(const struct cl_done *d);
/* The round after which the next one is requested.  If the last round was passed over by a clock that has
 * been set right since, the result is the number before it: the round is judged again, as after a restart,
 * and was not charged. */
uint64_t cl_done_with(const struct cl_done *d);
/* This round was not taken part in. */
void cl_done_refused(struct cl_done *d, const struct cl_judgement *j);
