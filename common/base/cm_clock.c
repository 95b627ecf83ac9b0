/* cm_clock.c - reads both clocks, and converts times from and to text. */
#include "cm_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	/* These clocks exist on every system that runs this; clock_gettime has no other failure. */
	if (clock_gettime(id, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t read_ms(clockid_t id)
{
	return read_ns(id) / 1000000;
}

int64_t cm_clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t cm_clock_mono_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

int64_t cm_clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t cm_clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

void cm_clock_text(int64_t wall_ms, char out[32])
{
	int64_t seconds = wall_ms / 1000 - (wall_ms % 1000 < 0);
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(out, 32, "%lld s", (long long)seconds);
}

bool cm_clock_instant(const char *text, int64_t *wall_ms)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ"; /* the form of a time: d stands for a digit */
	size_t n = strlen(text);
	char whole[32], again[32];
	struct tm tm = { 0 };

	if (n != 10 && n != sizeof form - 1)
		return false;
	(void)snprintf(whole, sizeof whole, "%s%s", text, n == 10 ? "T00:00:00Z" : "");
	for (size_t i = 0; i < sizeof form - 1; i++)
		if (form[i] == 'd' ? whole[i] < '0' || whole[i] > '9' : whole[i] != form[i])
			return false;
	tm.tm_year = (int)strtol(whole, NULL, 10) - 1900;
	tm.tm_mon = (int)strtol(whole + 5, NULL, 10) - 1;
	tm.tm_mday = (int)strtol(whole + 8, NULL, 10);
	tm.tm_hour = (int)strtol(whole + 11, NULL, 10);
	tm.tm_min = (int)strtol(whole + 14, NULL, 10);
	tm.tm_sec = (int)strtol(whole + 17, NULL, 10);
	if (tm.tm_year < 100 || tm.tm_year > 299)
		return false;
	*wall_ms = (int64_t)timegm(&tm) * 1000;
	/* a date that does not exist, such as the 30th of February, comes back as another day */
	cm_clock_text(*wall_ms, again);
	return strcmp(again, whole) == 0;
}

static const struct {
	const char *name;
	int64_t ms;
} unit[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };

void cm_clock_duration_text(int64_t ms, char out[32])
{
	size_t i = sizeof unit / sizeof unit[0] - 1;

	while (i > 0 && ms % unit[i].ms != 0)
		i--;
	(void)snprintf(out, 32, "%lld%s", (long long)(ms / unit[i].ms), unit[i].name);
}

bool cm_clock_duration(const char *text, int64_t *ms)
{
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
