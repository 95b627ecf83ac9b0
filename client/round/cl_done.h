/* cl_done.h - remembers which rounds are over for this client.  It reads the clock and does no other
 * I/O. */
#pragma once

#include "cl_judge.h"

struct cl_done {
	uint64_t after; /* rounds up to this sequence number are finished */
	/* The last round that this client passed over because of its own clock, and its times; sequence is
	 * 0 if there is none. */
	struct {
		uint64_t sequence;
		int64_t opens_ms, deadline_ms;
	} by_clock;
};
/* The sequence number of the newest round, if this client passed it over because of its own clock;
 * otherwise 0. */
uint64_t cl_done_passed_over(const struct cl_done *d);
/* The round after which the next one is requested.  If the last round was passed over by a clock that has
 * been set right since, the result is the number before it: the round is judged again, as after a restart,
 * and was not charged. */
uint64_t cl_done_with(const struct cl_done *d);
/* Record that this client takes no part in this round. */
void cl_done_refused(struct cl_done *d, const struct cl_judgement *j);
