/* cm_steady.h - a clock for things that must end in time even if the wall clock is set meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Begins with the time of the wall clock, and goes on with the time since the machine was started, which
 * nobody can set, and which goes on while the machine sleeps. */
struct cm_steady {
	int64_t ahead_ms; /* by how much it is ahead of the time since the machine was started */
	bool said;
};
/* Start the clock.  least_ms: if the wall clock shows less, it is wrong, and least_ms is taken. */
void cm_steady_begin(struct cm_steady *s, int64_t least_ms);
int64_t cm_steady_ms(const struct cm_steady *s);
/* Log, once, that the wall clock was set meanwhile, by more than ten seconds. */
void cm_steady_watch(struct cm_steady *s);
