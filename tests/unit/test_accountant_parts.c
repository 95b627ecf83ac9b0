/* test_accountant_parts.c - tombola-accountant audit on a real export of rounds with several parts
 * (tests/data/ledger-parts.jsonl: marginals and digits; settled, void and refused). */
#define EXPORT TEST_DATA "/ledger-parts.jsonl"
#include "audited.h"

#include <math.h>

#include "acct_filter.h"

static void an_honest_ledger_passes(void **state)
{
	(void)state;
	succeeds("audit '" EXPORT "'");
	assert_non_null(strstr(printed, "audit passed: 16 records, 4 rounds hold budget, 1 void, 1 refused"));
}

/* The parts of line `line`, by their members alone. */
static size_t parts_of(size_t line, struct acct_round *r)
{
	const char *at = ledger;
	json_t *record, *parts, *part, *cell;
	size_t n, i, j;

	for (size_t k = 1; k < line; k++)
		at = strchr(at, '\n') + 1;
	record = json_loadb(at, (size_t)(strchr(at, '\n') - at), 0, NULL);
	parts = json_object_get(json_object_get(record, "account"), "parts");
	n = json_array_size(parts);
	json_array_foreach(parts, i, part)
	{
		r[i] = (struct acct_round){ .cells = json_array_size(json_object_get(part, "cells")),
			.others = (uint64_t)number(part, "n") - 1,
			.dummies = (uint64_t)number(part, "dummies"),
			.count = (uint64_t)number(part, "count") };
		json_array_foreach(json_object_get(part, "cells"), j, cell) r[i].cell[j] =
			(struct acct_cell){ number(cell, "omega"), number(cell, "u"), number(cell, "v") };
	}
	json_decref(record);
	return n;
}

/* The parts of a reservation are a list of rounds, and all earlier ones are composed with it. */
static void the_numbers_are_those_of_the_parts(void **state)
{
	static const size_t lines[] = { 2, 5, 8, 10, 13 };
	json_t *j = answers("audit --json '" EXPORT "'"), *rows = json_object_get(j, "rounds");
	struct acct_round all[64];
	size_t n = 0;

	(void)state;
	assert_int_equal(json_array_size(rows), 5);
	for (size_t i = 0; i < 5; i++) {
		const json_t *row = json_array_get(rows, i);
		struct acct_bound b;
		size_t more = parts_of(lines[i], &all[n]);

		assert_in_range(more, 2, 16);
		assert_int_equal(acct_epsilon(&all[n], more, 1e-6, &b), ACCT_OK);
		assert_true(fabs(number(row, "epsilon_round_upper") - b.upper) <= 1e-12 * b.upper);
		assert_int_equal(acct_epsilon(all, n + more, 1e-6, &b), ACCT_OK);
		assert_true(number(row, "epsilon_total_upper") >= b.lower &&
			    number(row, "epsilon_total_lower") <= b.upper);
		if (lines[i] != 8) /* void */
			n += more;
	}
	json_decref(j);
}

static void a_part_that_is_left_out_is_missed(void **state)
{
	static const char last[] = ",{\"cells\":[{\"omega\":0.119";
	char changed[sizeof ledger];
	const char *at = strstr(ledger, last), *close = strstr(at, "]}}");

	(void)state;
	/* Change the charge, so that it differs from its reservation. */
	edit(3, "\"parts\":[{", "\"parts\":[],\"x\":[{");
	blames(3, "no such key 'x'", 65);
	edit(10, "\"count\":1,\"spec\":\"", "\"count\":2,\"spec\":\"");
	blames(10, "cells and spec do not say the same", 65);
	/* Change the reservation; the charge keeps the old value. */
	int len = snprintf(changed, sizeof changed, "%.*s%s", (int)(at - ledger), ledger, close);
	put(changed, (size_t)len);
	blames(3, "the account is not the one reserved in line 2", 65);
}

/* Raise a count, in the text as well: the recorded total is less than that. */
static void a_count_counts(void **state)
{
	char changed[sizeof ledger];
	const char *spec, *end;

	(void)state;
	spec = strstr(ledger, "\"count\":1,\"spec\":\"");
	end = strchr(spec + strlen("\"count\":1,\"spec\":\""), '"');
	int len = snprintf(changed, sizeof changed, "%.*s\"count\":3%.*s,count=3%s", (int)(spec - ledger),
		ledger, (int)(end - spec) - 9, spec + 9, end);
	put(changed, (size_t)len);
	blames(2, "epsilon_round is recorded as 0.198", 65);
}

static void members_are_what_they_must_be(void **state)
{
	(void)state;
	edit(2, "\"account\":{\"parts\":[{", "\"account\":{\"x\":1,\"parts\":[{");
	blames(2, "account: no such key 'x'", 65);
	edit(2, "\"account\":{\"parts\":[{", "\"account\":{\"parts\":[{\"x\":1,");
	blames(2, "account: no such key 'x'", 65);
	edit(2, "\"account\":{\"parts\":[{", "\"account\":{\"parts\":[7,{");
	blames(2, "a part is not an object", 65);
	edit(2, "\"account\":{\"parts\":[{", "\"account\":{\"parts\":{},\"x\":[{");
	blames(2, "no such key 'x'", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"defect\":0.25,");
	blames(2, "cells and spec do not say the same", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"sampling\":0.25,");
	blames(2, "cells and spec do not say the same", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"defect\":-1,");
	blames(2, "defect must", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"levels\":[{\"share\":0.5,\"count\":7}],");
	blames(2, "cells and spec do not say the same", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"levels\":[{\"share\":0.5,\"count\":6000}],");
	blames(2, "levels are more than the others", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"levels\":[],");
	blames(2, "levels is not a list", 65);
	edit(2, "\"parts\":[{", "\"parts\":[{\"levels\":[{\"share\":0.5,\"count\":7,\"x\":1}],");
	blames(2, "no such key 'x'", 65);
}

static void cover_that_is_not_there_is_found(void **state)
{
	(void)state;
	edit(2, "\"min_reports\":6000", "\"min_reports\":5999");
	blames(2, "n is 6000, but the minimum guarantees 5999", 65);
	/* The messages of a tag that the shuffler leaves are cover, whoever sent none of them; those that
	 * colluders sent are not. */
	edit(2, "\"min_reports\":6000", "\"tags\":2,\"tag_messages\":5999,\"min_reports\":5000");
	blames(2, "n is 6000, but a tag has 5999 messages", 65);
	edit(2, "\"min_reports\":6000", "\"tags\":2,\"tag_messages\":6000,\"min_reports\":5000");
	assert_int_equal(audit(""), 0);
	edit(2, "\"colluders\":0", "\"tags\":2,\"tag_messages\":6000,\"colluders\":1");
	blames(2, "n is 6000, but a tag has 5999 messages", 65);
	/* Three dummies each in two batches: together, and in one of them. */
	edit(13, "\"dummies\":3,\"keep_always\"", "\"dummies\":2,\"keep_always\"");
	blames(13, "36000 dummies, but 6000 participants send 5 each and the shuffler adds 0", 65);
	edit(13, "\"slots\":[{\"count\":1,\"groups\":1,\"bins\":2,\"dummies\":3",
		"\"slots\":[{\"count\":9,\"groups\":1,\"bins\":2,\"dummies\":2");
	assert_int_equal(audit(""), 0); /* enough, and three in the other batch */
	edit(13, "\"slots\":[", "\"x\":[");
	blames(13, "36000 dummies, but 6000 participants send 0 each", 65);
	edit(13, "\"slots\":[", "\"tags\":2,\"tag_messages\":17999,\"x\":[");
	blames(13, "the shuffler adds 35998", 65);
	edit(13, "\"slots\":[", "\"tags\":2,\"tag_messages\":18000,\"x\":[");
	assert_int_equal(audit(""), 0);
	edit(2, "\"slots\":[{\"count\":1", "\"slots\":[{\"count\":0");
	blames(2, "slots: count is 0", 65);
	edit(2, "\"slots\":[{", "\"slots\":[7,{");
	blames(2, "is missing", 65);
	edit(2, "\"slots\":[{", "\"slots\":{},\"x\":[{");
	blames(2, "slots is not a list", 65);
}

/* The price of a filter leaves no part out. */
static void a_filter_is_paid_for_every_part(void **state)
{
	struct acct_round part[16];
	struct acct_filter f;
	json_t *j;

	(void)state;
	assert_int_equal(acct_filter_init(ACCT_FILTER_GDP, 6, 1e-6, &f), ACCT_OK);
	edit(1, "\"mode\":\"plan\"", "\"mode\":\"adaptive.gdp\"");
	blames(2, "epsilon_total is recorded as 0.198", 65);
	assert_int_equal(audit("--json"), 65);
	j = json_loads(printed, 0, NULL);
	assert_non_null(j);
	for (size_t i = 0; i < 2; i++) {
		struct acct_price sum = { 0, 0 }, one;
		size_t n = parts_of(i ? 13 : 2, part);
		double share = number(json_array_get(json_object_get(j, "rounds"), i ? 4 : 0), "share");

		for (size_t k = 0; k < n; k++) {
			assert_int_equal(acct_filter_price(&f, &part[k], &one), ACCT_OK);
			sum = acct_price_add(sum, one);
		}
		assert_true(fabs(share / acct_price_share(sum) - 1) < 1e-9);
	}
	json_decref(j);
}

static void a_part_of_a_first_ledger_is_no_part_here(void **state)
{
	(void)state;
	edit(2, "tombola.ledger/2", "tombola.ledger/1");
	blames(2, "account: no such key 'parts'", 65);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_honest_ledger_passes),
		cmocka_unit_test(the_numbers_are_those_of_the_parts),
		cmocka_unit_test(a_part_that_is_left_out_is_missed),
		cmocka_unit_test(a_count_counts),
		cmocka_unit_test(members_are_what_they_must_be),
		cmocka_unit_test(cover_that_is_not_there_is_found),
		cmocka_unit_test(a_filter_is_paid_for_every_part),
		cmocka_unit_test(a_part_of_a_first_ledger_is_no_part_here),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
