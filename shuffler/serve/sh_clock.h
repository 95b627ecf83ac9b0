/* sh_clock.h - the time for the core.
 *
 * While a round is open it does not follow a wall clock that is set, so that the round ends neither early nor
 * late; between rounds it is the wall clock.  A shuffler that starts past the deadline of its open round,
 * which would be void, holds the time before that deadline for half a minute: a machine that has just booted
 * may not have its time yet.  It goes on if the clock is put right meanwhile. */
#pragma once

#include "cm_clock.h"
#include "cm_steady.h"
#include "sh_core.h"
#include "sh_overdue.h"

struct sh_clock {
	struct cm_steady steady; /* clock of the open round */
	bool held;               /* a round is open, and `steady` gives the time */
	struct sh_overdue late;
};

int64_t sh_clock_now(struct sh_clock *c, const struct sh_core *core);
