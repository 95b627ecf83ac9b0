/* sh_overdue.h - decides whether the end of a round must wait that was due before this start.
 *
 * A clock that is wrong when the shuffler starts would end the try of every round that is open.  So such an
 * end waits for a while, in which an operator or NTP may correct the clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SH_OVERDUE_WAIT_MS 30000

/* All zero at the start. */
struct sh_overdue {
	bool decided; /* no end waits any more */
	/* until when the end waits, by the monotonic clock; 0: it was not looked at yet */
	int64_t until_ms;
};

/* Look at the collecting round once more.  over_ms says how long its deadline has passed by the wall clock,
 * negative before it and when there is no round; `enough` says whether as many take part as it needs.
 * True: its end waits, and *begun says whether this is the first look.  The first round that is not late,
 * has enough or has waited decides for good. */
bool sh_overdue_waits(struct sh_overdue *l, int64_t over_ms, bool enough, int64_t mono_ms, bool *begun);
