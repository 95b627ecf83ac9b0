/* an_sleep.h - waits for rounds that open at an instant, and logs those that were missed. */
#pragma once

#include "an_context.h"

struct an_sleep;
/* on_look is called at intervals from an_sleep_begin to an_sleep_end, to look whether a round may run
 * now. */
CM_CHECK enum cm_rc an_sleep_new(const struct an_context *context, void (*on_look)(void *user), void *user,
	struct an_sleep **out, struct cm_err *err);
void an_sleep_close(struct an_sleep *s);
void an_sleep_free(struct an_sleep *s);

/* Wait for the next scheduled round.  False if the run must not wait, or if no round is scheduled. */
bool an_sleep_begin(struct an_sleep *s);
void an_sleep_end(struct an_sleep *s);
/* The round that is waited for; NULL if the run does not wait. */
const struct an_round_state *an_sleep_next(const struct an_sleep *s);
/* Log the missed recurrences that were not logged yet.  an_sleep_say_later: at the end of a run, log the
 * rounds that are not due yet. */
void an_sleep_say_missed(struct an_sleep *s);
void an_sleep_say_later(const struct an_context *context);
