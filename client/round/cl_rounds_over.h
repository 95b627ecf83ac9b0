/* cl_rounds_over.h - remembers which rounds are over for this client.  It reads the clock and does no other
 * I/O. */
#pragma once

#include "cl_judge.h"

struct cl_rounds_over {
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
uint64_t cl_rounds_over_by_clock(const struct cl_rounds_over *over);
/* The round after which the next one is requested.  If the last round was passed over by a clock that has
 * been set right since, the result is the number before it: the round is judged again, as after a restart,
 * and was not charged. */
uint64_t cl_rounds_over_after(const struct cl_rounds_over *over);
/* Record that this client takes no part in this round. */
void cl_rounds_over_refuse(struct cl_rounds_over *over, const struct cl_judgement *j);
