/* cm_clock.h - the two clocks, read by main-like code only and passed to cores; and times as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int64_t cm_clock_wall_ms(void); /* unix time */
int64_t cm_clock_mono_ms(void); /* for timers and rates */
/* "2026-11-21T02:30:17Z" into out. */
void cm_clock_text(int64_t wall_ms, char out[32]);
/* Milliseconds of "250ms" "90s" "15m" "24h" "7d", INT64_MAX when that is too long for them; false when it is
 * no such text. */
bool cm_clock_duration(const char *text, int64_t *ms);
