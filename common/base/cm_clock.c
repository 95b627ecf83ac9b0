/* cm_clock.c - the two clocks, and times as text. */
#include "cm_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
	struct timespec t;

	/* Both clocks exist on every system that runs this; clock_gettime has no other failure. */
	if (clock_gettime(id, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t cm_clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t cm_clock_mono_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

void cm_clock_text(int64_t wall_ms, char out[32])
{
	int64_t seconds = wall_ms / 1000 - (wall_ms % 1000 < 0);
	time_t t = (time_t)seconds;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(out, 32, "%lld s", (long long)seconds);
}

bool cm_clock_duration(const char *text, int64_t *ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} unit[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
	long long v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoll(text, &end, 10);
	for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
		if (strcmp(end, unit[i].name) != 0)
			continue;
		if (errno == ERANGE || __builtin_mul_overflow((int64_t)v, unit[i].ms, ms))
			*ms = INT64_MAX;
		return true;
	}
	return false;
}
