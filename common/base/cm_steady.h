/* cm_steady.h - the clock of something that must end in time although the wall clock is set meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The clock of something that has begun and must end in time although the wall clock is set meanwhile: it
 * shows what the wall clock showed at its begin, and goes on with the time since the machine was started,
 * which counts while the machine sleeps. */
struct cm_steady {
	int64_t ahead_ms; /* of the time since the machine was started */
	bool said;
};
/* least_ms: the wall clock is wrong if it shows less, and this is taken. */
void cm_steady_begin(struct cm_steady *s, int64_t least_ms);
int64_t cm_steady_ms(const struct cm_steady *s);
/* Log once that the wall clock was set meanwhile, by more than ten seconds. */
void cm_steady_watch(struct cm_steady *s);
