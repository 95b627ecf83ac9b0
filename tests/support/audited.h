/* audited.h - an exported ledger, EXPORT, and what tombola-accountant audit says of it once it is changed.
 * `begin` and `end` are of the group. */
#pragma once

#include <unistd.h>

#include "accountant_run.h"

static char ledger[1 << 17];
static char copy[64];

static void read_ledger(void)
{
	FILE *f = fopen(EXPORT, "r");

	assert_non_null(f);
	slurp(f, ledger, sizeof ledger);
	(void)fclose(f);
}

static int begin(void **state)
{
	(void)state;
	(void)snprintf(copy, sizeof copy, "/tmp/acct-audit-%ld.jsonl", (long)getpid());
	read_ledger();
	return 0;
}

static int end(void **state)
{
	(void)state;
	(void)remove(copy);
	return 0;
}

static void put(const char *bytes, size_t len)
{
	FILE *f = fopen(copy, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* The ledger with `from` replaced in line `line` (1..). */
static void edit(size_t line, const char *from, const char *to)
{
	char changed[sizeof ledger];
	const char *at = ledger;

	for (size_t i = 1; i < line; i++)
		at = strchr(at, '\n') + 1;
	const char *hit = strstr(at, from), *line_end = strchr(at, '\n');
	assert_true(hit && hit < line_end);
	int len = snprintf(
		changed, sizeof changed, "%.*s%s%s", (int)(hit - ledger), ledger, to, hit + strlen(from));
	put(changed, (size_t)len);
}

static int audit(const char *options)
{
	char args[200];

	(void)snprintf(args, sizeof args, "audit '%s' %s", copy, options);
	return run(args);
}

/* Assert that the audit names line `line` with these words. */
static void blames(size_t line, const char *part, int code)
{
	char place[100];
	int got = audit("");

	(void)snprintf(place, sizeof place, "%s:%zu: ", copy, line);
	if (got != code || !strstr(blamed, place) || !strstr(blamed, part))
		fail_msg("code %d, '%s', not %d %s%s", got, blamed, code, place, part);
}
