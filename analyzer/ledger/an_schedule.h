/* an_schedule.h - computes when recurring rounds open, and which of them were missed.  No I/O, no clock.
 *
 * A recurrence may open from its instant until that of the next one, `every` later.  Instants are unix
 * time, so daylight saving has no effect.  Everything follows from ledger and clock, so a clock that was
 * wrong for a while leaves no trace.  A recurrence that was not answered in its period is missed.  It keeps
 * its entry, and runs only if an operator asks for it, because its readings would be of a later day than
 * its answer claims. */
#pragma once

#include <stdio.h>

#include "an_state.h"

/* The time from which the round may open.  INT64_MIN: any time, when it is its turn; INT64_MAX: unknown
 * until its plan is pinned. */
int64_t an_round_opens_ms(const struct an_round_state *r);
/* Whether the round may still be tried and waits for an operator who gives its payload. */
bool an_round_waits(const struct an_round_state *r);
/* Whether the round may still be tried but its period is over. */
bool an_round_missed(const struct an_round_state *r, int64_t now_ms);
/* Whether the round may open now without an operator. */
bool an_round_due(const struct an_round_state *r, int64_t now_ms);
/* These look at the rounds of the plan file: the first that will open by itself after now_ms (NULL if there
 * is none); how many will; how many wait for a payload; how many were missed. */
const struct an_round_state *an_schedule_next(const struct an_state *s, int64_t now_ms);
size_t an_schedule_later(const struct an_state *s, int64_t now_ms);
size_t an_schedule_waiting(const struct an_state *s);
size_t an_schedule_missed(const struct an_state *s, int64_t now_ms);
/* When the period of the last missed round ended; 0 if none was missed. */
int64_t an_schedule_missed_ms(const struct an_state *s, int64_t now_ms);
/* Print a line for each recurring query: how many recurrences fit, were answered and were missed, and when
 * the next opens. */
void an_schedule_print(const struct an_state *s, int64_t now_ms, FILE *out);
