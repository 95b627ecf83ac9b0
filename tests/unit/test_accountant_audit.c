/* test_accountant_audit.c - tombola-accountant audit on a real export (tests/data/ledger-export.jsonl: rounds
 * settled, void and refused, in schema tombola.ledger/1), and on what is left of it after somebody touched
 * it. */
#define EXPORT TEST_DATA "/ledger-export.jsonl"
#include "audited.h"

static void an_honest_ledger_passes(void **state)
{
	(void)state;
	succeeds("audit '" EXPORT "'");
	assert_non_null(strstr(printed, "audit passed: 13 records, 3 rounds hold budget, 1 void, 1 refused"));
	assert_non_null(strstr(printed, "population test"));
	succeeds("audit - <'" EXPORT "'");
	assert_non_null(strstr(printed, "audit passed"));
}

static void the_object_says_what_was_recomputed(void **state)
{
	json_t *j = answers("audit --json '" EXPORT "'"), *row;
	size_t i;

	(void)state;
	assert_string_equal(text(j, "verdict"), "passed");
	assert_true(json_array_size(json_object_get(j, "rounds")) == 4);
	json_array_foreach(json_object_get(j, "rounds"), i, row)
	{
		assert_true(number(row, "epsilon_round_lower") <= number(row, "epsilon_round"));
		assert_true(number(row, "epsilon_total_lower") <= number(row, "epsilon_total"));
		assert_true(number(row, "epsilon_round_upper") > 0);
	}
	/* The void round gives its reservation back: the total at the end is less. */
	row = json_array_get(json_object_get(j, "rounds"), 3);
	assert_true(number(j, "epsilon_upper") < number(row, "epsilon_total"));
	json_decref(j);
}

static void a_number_made_smaller_is_found_in_its_line(void **state)
{
	(void)state;
	edit(2, "\"epsilon_round\":0.2417", "\"epsilon_round\":0.2317");
	blames(2, "epsilon_round is recorded as 0.2317", 65);
	edit(5, "\"epsilon_total\":0.30", "\"epsilon_total\":0.20");
	blames(5, "epsilon_total is recorded as 0.200", 65);
	edit(6, "\"epsilon_total\":0.30", "\"epsilon_total\":0.20");
	blames(6, "reserved in line 5", 65);
	edit(9, "\"epsilon_round\":0.08", "\"epsilon_round\":0.09");
	blames(9, "reserved in line 8", 65);
	assert_non_null(strstr(printed, "audit WRONG"));
}

static void cover_that_is_not_there_is_found(void **state)
{
	(void)state;
	edit(2, "\"n\":2000", "\"n\":2001");
	blames(2, "cells and spec do not say the same", 65);
	edit(2, "\"u\":7.389", "\"u\":6.389");
	blames(2, "account", 65);
	edit(5, "\"dummies\":4000", "\"dummies\":4001");
	blames(5, "cells and spec", 65);
	edit(2, "\"min_reports\":2000", "\"min_reports\":1999");
	blames(2, "n is 2000, but the minimum guarantees 1999", 65);
	edit(2, "\"colluders\":0", "\"colluders\":7");
	blames(2, "guarantees 1993", 65);
	edit(5, "\"dummies_per_client\":2", "\"dummies_per_client\":1");
	blames(5, "4000 dummies", 65);
	edit(5, "\"dummies_per_client\":2", "\"dummies_per_client\":1,\"shuffler_dummies\":1999");
	blames(5, "4000 dummies", 65);
	edit(5, "\"dummies_per_client\":2", "\"dummies_per_client\":1,\"shuffler_dummies\":2000");
	assert_int_equal(audit(""), 0);
	edit(3, "\"participants\":2000", "\"participants\":1999");
	blames(3, "1999 participants were charged", 65);
	/* A key that this program does not know could stand for a loss. */
	edit(2, "\"dummies\":0", "\"defect\":0.5,\"dummies\":0");
	blames(2, "no such key 'defect'", 65);
}

/* The same rounds under a filter: their totals do not promise its whole budget. */
static void a_filter_promises_its_budget_or_nothing(void **state)
{
	(void)state;
	edit(1, "\"mode\":\"plan\"", "\"mode\":\"adaptive.gdp\"");
	blames(2, "epsilon_total is recorded as 0.2417", 65);
	assert_non_null(strstr(printed, "of the filter's budget held"));
	edit(1, "\"mode\":\"plan\"", "\"mode\":\"adaptive.renyi\"");
	/* Balls into bins may reveal everything: they have no Renyi divergence, and so no price. */
	blames(5, "inf of the filter's budget", 65);
}

static void a_limit_that_is_exceeded_ends_with_3(void **state)
{
	(void)state;
	edit(1, "\"epsilon_limit\":0.59999999999999998", "\"epsilon_limit\":0.3");
	blames(5, "above the limit 0.3", 3);
	assert_non_null(strstr(printed, "audit OVER THE LIMIT"));
	assert_int_equal(audit("--json"), 3);
	assert_non_null(strstr(printed, "\"verdict\":\"over\""));
}

static void records_are_whole_in_order_and_once(void **state)
{
	const char *second = strchr(ledger, '\n') + 1, *third = strchr(second, '\n') + 1;
	char changed[sizeof ledger];
	int len;

	(void)state;
	put(ledger, 0);
	blames(1, "empty", 65);
	put(second, strlen(second));
	blames(1, "seq is 2, not 1", 65);
	len = snprintf(changed, sizeof changed, "%.*s%s", (int)(second - ledger), ledger, third);
	put(changed, (size_t)len);
	blames(2, "a record is missing", 65);
	put(ledger, strlen(ledger) - 1);
	blames(13, "cut off", 65);
	put(ledger, strlen(ledger) - 40);
	blames(13, "cut off", 65);
	edit(1, "\"mode\":\"plan\"", "\"mode\":\"magic\"");
	blames(1, "no such mode: 'magic'", 65);
	edit(3, "\"kind\":\"charge\"", "\"kind\":\"settle\"");
	blames(3, "not charged", 65);
	edit(4, "\"kind\":\"settle\"", "\"kind\":\"frob\"");
	blames(4, "no such kind", 65);
	edit(1, "tombola.ledger/1", "tombola.ledger/9");
	blames(1, "schema", 65);
	edit(2, "\"kind\":\"reserve\",\"head\":\"", "\"kind\":\"reserve\",\"head\":\"x");
	blames(2, "head is not 64", 65);
	edit(2, "\"seq\":2", "\"seq\":2,\"seq\":2");
	blames(2, "duplicate", 65);
	edit(2, "\"round\":1", "\"round\":-1");
	blames(2, "round is not a whole number", 65);
	edit(2, "\"round_id\":\"", "\"round_id\":\"zz");
	blames(2, "round_id", 65);
	edit(5, "\"epsilon_total\":0.3", "\"epsilon_total\":\"nan\",\"x\":0.3");
	blames(5, "epsilon_total is not a number", 65);
	edit(2, "\"omega\":0.0", "\"omega\":-0.0");
	blames(2, "account", 65);
	edit(2, "{", "[{");
	blames(2, "", 65);
}

static void files_that_cannot_be_read_are_answered(void **state)
{
	(void)state;
	refuses("audit /nonexistent", 66, "/nonexistent");
	refuses("audit /tmp", 66, "/tmp");
	refuses("audit", 64, "missing argument: FILE");
	refuses("audit a b", 64, "'b' is one argument too many");
	refuses("audit --delta .1 a", 64, "unrecognized option '--delta'");
	refuses("audit /dev/null", 65, "/dev/null:1: the ledger is empty");
	refuses("audit - </dev/null", 65, "standard input:1: ");
	refuses("audit - </dev/zero", 65, "longer than");
	assert_int_equal(run("audit '" EXPORT "' >/dev/full"), 74);
}

/* Bytes are changed, cut and doubled anywhere: the audit answers or refuses, never crashes, and misses no
 * loss except in fields that it does not read. */
static void any_bytes_are_survived(void **state)
{
	static const unsigned char junk[] = { 0, 0xff, '"', '{', '}', '[', ',', '9', '-', 'e', '\\', '\n',
		0xc3 };
	char changed[sizeof ledger];
	size_t len = strlen(ledger);
	uint32_t x = 12345;

	(void)state;
	for (int i = 0; i < 60; i++) {
		memcpy(changed, ledger, len);
		for (int k = 0; k <= i % 3; k++) {
			x = x * 1664525u + 1013904223u;
			changed[x % len] = (char)junk[(x >> 8) % sizeof junk];
		}
		x = x * 1664525u + 1013904223u;
		put(changed, i % 4 == 3 ? x % len : len);
		int code = audit("");
		if (code != 0 && code != 3 && code != 65)
			fail_msg("change %d: code %d: %s", i, code, blamed);
		if (code != 0)
			assert_non_null(strstr(blamed, copy));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_honest_ledger_passes),
		cmocka_unit_test(the_object_says_what_was_recomputed),
		cmocka_unit_test(a_number_made_smaller_is_found_in_its_line),
		cmocka_unit_test(cover_that_is_not_there_is_found),
		cmocka_unit_test(a_filter_promises_its_budget_or_nothing),
		cmocka_unit_test(a_limit_that_is_exceeded_ends_with_3),
		cmocka_unit_test(records_are_whole_in_order_and_once),
		cmocka_unit_test(files_that_cannot_be_read_are_answered),
		cmocka_unit_test(any_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
