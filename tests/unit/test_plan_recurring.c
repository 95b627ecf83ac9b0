/* test_plan_recurring.c - rounds that recur: how they are read, when they open, and that all of them together
 * cost what as many rounds written out one by one cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "pl_cost.h"
#include "pl_load.h"
#include "pl_make.h"
#include "pl_plan.h"

#define DAY 86400000
/* Python: datetime(2026, 12, 1, 6, tzinfo=timezone.utc).timestamp() * 1000 */
#define START 1796104800000

static enum cm_rc parse(const char *text, struct pl_plan *p, struct cm_err *err)
{
	return pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, p, err);
}

/* A plan with this budget and this list of rounds. */
static const char *plan_of(double epsilon, const char *rounds)
{
	static char text[1 << 16];

	(void)snprintf(text, sizeof text,
		"name = \"p\"; population = \"devices\"; budget = { epsilon = %.17g; delta = 1e-6; "
		"};\nrounds = (%s);\n",
		epsilon, rounds);
	return text;
}

#define KEYS(name, more)                                                                                    \
	"{ query = \"" name "\"; type = \"histogram\"; protocol = \"grr\"; field = \"f\"; epsilon0 = 2.0; " \
	"min_reports = 50000; values = [\"a\", \"b\"]; window = \"1h\"; " more "}"

static void read_plan(const char *text, struct pl_plan *p)
{
	struct cm_err err = { 0 };

	if (parse(text, p, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void expect_fault(const char *rounds, const char *where, const char *what)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	assert_int_equal(parse(plan_of(1.0, rounds), &p, &err), CM_ECONFIG);
	if (strncmp(err.msg, where, strlen(where)) != 0 || !strstr(err.msg, what))
		fail_msg("'%s' is not '%s ... %s'", err.msg, where, what);
	pl_plan_fini(&p);
}

static void one_round_of_the_file_is_as_many_of_the_plan_as_it_says(void **state)
{
	struct pl_plan p;

	(void)state;
	read_plan(plan_of(8.0, KEYS("before", "") ", " KEYS("t",
				       "every = \"24h\"; count = 3; "
				       "start = \"2026-12-01T06:00:00Z\"; ") ", " KEYS("once",
				       "every = \"1h\"; count = 1; ")),
		&p);
	assert_int_equal(p.rounds, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(p.round[i].number, i + 1);
	assert_string_equal(p.round[0].label, "before");
	assert_string_equal(p.round[1].label, "t#1");
	assert_string_equal(p.round[3].label, "t#3");
	assert_string_equal(p.round[3].query.name, "t");
	assert_string_equal(p.round[4].label, "once");
	assert_int_equal(p.round[0].recurrence, 0);
	assert_int_equal(p.round[3].recurrence, 3);
	assert_int_equal(p.round[3].recurrences, 3);
	assert_false(pl_repeats(&p, 0) || pl_repeats(&p, 1) || pl_repeats(&p, 4));
	assert_true(pl_repeats(&p, 2) && pl_repeats(&p, 3));
	/* Without every a round has no instant; without start the first opens when the plan is pinned. */
	assert_true(pl_opens_ms(&p.round[0], 77) == INT64_MIN);
	assert_true(pl_opens_ms(&p.round[1], 77) == START);
	assert_true(pl_opens_ms(&p.round[3], 77) == START + 2 * (int64_t)DAY);
	assert_true(pl_opens_ms(&p.round[4], 77) == 77);
	pl_plan_fini(&p);
}

static void faults_have_their_place_and_the_limits(void **state)
{
	(void)state;
	expect_fault(KEYS("t", "every = \"30m\"; count = 2; "), "plan.conf:2", "'every' is below 'window'");
	expect_fault(
		KEYS("t", "every = \"1h\"; "), "plan.conf:2", "'every' needs 'count': how often, 1 to 1000");
	expect_fault(KEYS("t", "count = 2; "), "plan.conf:2", "'count' is of a round with 'every'");
	expect_fault(
		KEYS("t", "start = \"2026-12-01\"; "), "plan.conf:2", "'start' is of a round with 'every'");
	expect_fault(KEYS("t", "every = \"1h\"; count = 0; "), "plan.conf:2", "(1 to 1000)");
	expect_fault(KEYS("t", "every = \"1h\"; count = 1001; "), "plan.conf:2", "(1 to 1000)");
	expect_fault(KEYS("t", "every = \"367d\"; count = 2; "), "plan.conf:2", "every");
	expect_fault(
		KEYS("t", "every = \"1h\"; count = 600; ") ",\n" KEYS("u", "every = \"1h\"; count = 401; "),
		"plan.conf:3", "has 1001 rounds up to here, with all that recur, and may have 1000");
	expect_fault(KEYS("t", "every = \"1h\"; count = 2; ") ", " KEYS("t", ""), "plan.conf:2",
		"is round 1 already");
	expect_fault(KEYS("t", "every = \"1h\"; count = 2; start = \"2026-12-01T06:00:00+01:00\"; "),
		"plan.conf:2", "'start' must be an instant in UTC");
}

static void candidates_that_extend_others_do_not_recur(void **state)
{
#define PREFIXES(name, bits, more)                                                                  \
	"{ query = \"" name                                                                         \
	"\"; type = \"prefixes\"; field = \"f\"; epsilon0 = 2.0; min_reports = 50000; bits = " bits \
	"; window = \"1h\"; " more "}"
	(void)state;
	expect_fault(PREFIXES("a", "4", "") ", " PREFIXES(
			     "b", "8", "after = \"a\"; keep = 2; every = \"1h\"; count = 2; "),
		"plan.conf:2", "a round with 'after' cannot recur");
	expect_fault(PREFIXES("a", "4", "every = \"1h\"; count = 2; ") ", " PREFIXES(
			     "b", "8", "after = \"a\"; keep = 2; "),
		"plan.conf:2", "'a' recurs");
}

static void a_plan_too_long_to_be_signed_is_a_fault_of_the_file(void **state)
{
	static char values[40000], rounds[50000];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(values + n, sizeof values - n, "%s\"%0100d\"", i > 0 ? ", " : "", i);
	(void)snprintf(rounds, sizeof rounds,
		"{ query = \"t\"; type = \"histogram\"; field = \"f\"; epsilon0 = 2.0; min_reports = "
		"50000; values = [%s]; every = \"1h\"; count = 30; }",
		values);
	expect_fault(rounds, "plan.conf:2", "bytes, a plan has 524288 at most");
}

/* ---- costs ---- */

#define COUNT 30
#define LAST                                                                                                \
	"{ query = \"last\"; type = \"mean\"; field = \"f\"; epsilon0 = 0.2; min_reports = 50000; range = " \
	"[0.0, 1.0]; }"

/* The same rounds, written out one by one under names of their own: nothing is known to repeat there. */
static const char *written_out(double epsilon)
{
	static char rounds[1 << 15];
	size_t n = 0;

	for (int i = 0; i < COUNT; i++)
		n += (size_t)snprintf(rounds + n, sizeof rounds - n, KEYS("t%d", "") ", ", i);
	(void)snprintf(rounds + n, sizeof rounds - n, LAST);
	return plan_of(epsilon, rounds);
}

static size_t compare(double epsilon)
{
	static struct pl_cost a[COUNT + 1], b[COUNT + 1];
	struct pl_plan recurring, out;
	struct cm_err err = { 0 };
	size_t fit = 0;

	read_plan(plan_of(epsilon, KEYS("t", "every = \"24h\"; count = 30; ") ", " LAST), &recurring);
	read_plan(written_out(epsilon), &out);
	assert_int_equal(recurring.rounds, out.rounds);
	if (pl_plan_cost(&recurring, a, &err) != CM_OK || pl_plan_cost(&out, b, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < out.rounds; i++) {
		assert_int_equal(a[i].run, b[i].run);
		/* What is judged again between them may round otherwise: eta of acct_compose.h, far below
		 * this. */
		assert_true(fabs(a[i].verdict.total - b[i].verdict.total) < 1e-9);
		assert_true(fabs(a[i].largest_epsilon0 - b[i].largest_epsilon0) < 1e-9);
		assert_int_equal(a[i].least_dummies, b[i].least_dummies);
		fit += i < COUNT && a[i].run;
	}
	pl_plan_fini(&recurring);
	pl_plan_fini(&out);
	return fit;
}

static void recurrences_cost_what_the_same_rounds_written_out_cost(void **state)
{
	size_t some = compare(0.1), all = compare(8.0);

	(void)state;
	assert_int_equal(all, COUNT);
	assert_true(some > 0 && some < COUNT);
	assert_int_equal(compare(0.001), 0);
}

/* The choice is greedy: the first ones fit, and one more would not. */
static void the_signed_plan_has_an_entry_for_each_that_fits(void **state)
{
	static const uint8_t previous[PR_HASH_LEN];
	size_t fit = compare(0.1), size = 0;
	struct pl_plan p;
	struct rd_plan sp;
	struct cm_err err = { 0 };
	struct cm_buf bytes;

	(void)state;
	read_plan(plan_of(0.1, KEYS("t", "every = \"24h\"; count = 30; ")), &p);
	cm_buf_init(&bytes, PR_PLAN_MAX);
	assert_int_equal(pl_plan_make(&p, 1, previous, NULL, &bytes, &err), CM_OK);
	assert_int_equal(rd_plan_decode(bytes.data, bytes.len, &sp, &err), CM_OK);
	assert_int_equal(sp.entries, fit);
	assert_int_equal(sp.refusals, COUNT - fit);
	assert_int_equal(rd_plan_size(&sp, &size, &err), CM_OK);
	assert_int_equal(size, bytes.len);
	for (size_t i = 0; i < fit; i++) {
		assert_int_equal(sp.entry[i].number, i + 1);
		assert_string_equal(sp.entry[i].query.name, "t");
		assert_true(pt_randomizer_equal(&sp.entry[i].randomizer, &sp.entry[0].randomizer));
	}
	assert_true(sp.entry[fit - 1].epsilon_total < 0.1 && sp.refused[0].epsilon_total >= 0.1);
	rd_plan_fini(&sp);
	cm_buf_fini(&bytes);
	pl_plan_fini(&p);
}

static void what_fits_is_said_in_one_line(void **state)
{
	bool fits[4] = { true, true, false, true };
	struct pl_plan p;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	read_plan(
		plan_of(8.0,
			KEYS("t", "every = \"24h\"; count = 3; start = \"2026-12-01T06:00:00Z\"; ") ", " KEYS(
				"u", "")),
		&p);
	pl_plan_print_recurring(&p, fits, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(
		text, "t every 1d from 2026-12-01T06:00:00Z: 2 of 3 fit, the last 1 are refused\n");
	free(text);
	pl_plan_fini(&p);
}

/* ---- instants ---- */

static void instants_are_read_as_they_are_written_and_nothing_else_is(void **state)
{
	static const char *const bad[] = { "", "2026", "2026-12-1T06:00:00Z", "2026-12-01 06:00:00Z",
		"2026-12-01T06:00:00", "2026-12-01T06:00:00z", "2026-13-01T06:00:00Z", "2026-02-29T06:00:00Z",
		"2026-12-01T24:00:00Z", "2026-12-01T06:60:00Z", "2026-12-01T06:00:60Z",
		"1999-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "2026-12-01T06:00:00Z ",
		"-026-12-01T06:00:00Z", "2026-+2-01T06:00:00Z", "2026-12-00" };
	int64_t ms = 0;
	char text[32];

	(void)state;
	assert_true(cm_clock_instant("2026-12-01T06:00:00Z", &ms) && ms == START);
	assert_true(cm_clock_instant("2028-02-29", &ms) && ms == 1835395200000);
	assert_true(cm_clock_instant("2000-01-01T00:00:00Z", &ms) && ms == 946684800000);
	assert_true(cm_clock_instant("2199-12-31T23:59:59Z", &ms) && ms == 7258118399000);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (cm_clock_instant(bad[i], &ms))
			fail_msg("'%s' was read", bad[i]);
	/* Over both changes of daylight saving of any place a day has 24 hours here. */
	assert_int_equal(setenv("TZ", "Europe/Berlin", 1), 0);
	for (int64_t t = START; t < START + 400 * (int64_t)DAY; t += DAY) {
		cm_clock_text(t, text);
		assert_string_equal(text + 10, "T06:00:00Z");
		assert_true(cm_clock_instant(text, &ms) && ms == t);
	}
}

static void durations_are_written_in_the_largest_whole_unit(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} all[] = { { DAY, "1d" }, { 90000, "90s" }, { 5400000, "90m" }, { 250, "250ms" },
		{ 3 * 3600000, "3h" } };
	char text[32];
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		cm_clock_duration_text(all[i].ms, text);
		assert_string_equal(text, all[i].text);
		assert_true(cm_clock_duration(text, &ms) && ms == all[i].ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_round_of_the_file_is_as_many_of_the_plan_as_it_says),
		cmocka_unit_test(faults_have_their_place_and_the_limits),
		cmocka_unit_test(candidates_that_extend_others_do_not_recur),
		cmocka_unit_test(a_plan_too_long_to_be_signed_is_a_fault_of_the_file),
		cmocka_unit_test(recurrences_cost_what_the_same_rounds_written_out_cost),
		cmocka_unit_test(the_signed_plan_has_an_entry_for_each_that_fits),
		cmocka_unit_test(what_fits_is_said_in_one_line),
		cmocka_unit_test(instants_are_read_as_they_are_written_and_nothing_else_is),
		cmocka_unit_test(durations_are_written_in_the_largest_whole_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
