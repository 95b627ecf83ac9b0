/* cm_clock.h - reads the wall clock and the monotonic clock, and converts times from and to text.  Only
 * programs read clocks; they pass the time to cores. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int64_t cm_clock_wall_ms(void); /* wall clock, unix time in milliseconds */
int64_t cm_clock_mono_ms(void); /* monotonic clock, for timers and rates */
int64_t cm_clock_mono_ns(void); /* the same clock in nanoseconds, for slots of less than a millisecond */
/* The time since the machine was started, which nobody can set.  It goes on while the machine sleeps,
 * during which the monotonic clock stands still.  Use it for ages. */
int64_t cm_clock_boot_ms(void);
/* Write a time such as "2026-11-21T02:30:17Z" into out. */
void cm_clock_text(int64_t wall_ms, char out[32]);
/* The inverse: read such a text of the years 2000 to 2199, or "2026-11-21", which means the first instant
 * of that day.  Always UTC, so daylight saving does not matter.  False for any other text. */
bool cm_clock_instant(const char *text, int64_t *wall_ms);
/* Read milliseconds from "250ms" "90s" "15m" "24h" "7d"; INT64_MAX for a duration that does not fit.  False
 * for any other text. */
bool cm_clock_duration(const char *text, int64_t *ms);
/* The inverse, in the largest unit that gives a whole number: 24 hours are "1d". */
void cm_clock_duration_text(int64_t ms, char out[32]);
