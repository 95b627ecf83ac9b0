/* test_rd_together.c - the sum of epsilon0 over a device's reports is never below the true one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "pt_protocol.h"
#include "rd_together.h"

static double own; /* epsilon0 of the randomizer */

static double epsilon0(const struct pt_randomizer *p)
{
	(void)p;
	return own;
}

static const struct pt_device row = { .epsilon0 = epsilon0 };

static struct rd_descriptor stating(double stated, double has)
{
	struct rd_descriptor d = { .randomizer.row = &row };

	d.privacy.epsilon0 = stated;
	own = has;
	return d;
}

static void ten_tries_of_a_tenth_are_at_least_one(void **state)
{
	struct rd_together t = { .reports = 0 }, alone = { .reports = 0 };
	struct rd_descriptor d = stating(0.1, 0.1);
	char words[400];

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		rd_together_add(&t, &d, 1, "q");
	rd_together_add(&alone, &d, 10, "q");
	/* As doubles ten times 0.1 add up to less than 1. */
	assert_true(t.epsilon0 >= 1 && t.epsilon0 < 1 + 1e-12 && t.reports == 10);
	assert_true(alone.epsilon0 >= 1 && alone.epsilon0 < 1 + 1e-12 && alone.reports == 10);
	rd_together_words(&t, words, sizeof words);
	assert_non_null(strstr(words, "epsilon0 1.0001 summed over 10 reports"));
	rd_together_add(&t, &d, 0, "nobody was asked");
	assert_int_equal(t.reports, 10);
}

static void the_larger_of_what_is_stated_and_what_it_is_counts(void **state)
{
	struct rd_together t = { .reports = 0 };
	struct rd_descriptor d = stating(1 - 1e-10, 1);

	(void)state;
	rd_together_add(&t, &d, 1, "q");
	assert_true(t.epsilon0 >= 1);
	d = stating(3, 2);
	rd_together_add(&t, &d, 2, "q");
	assert_true(t.epsilon0 >= 7 && t.epsilon0 < 7 + 1e-9);
}

static void what_nothing_protects_is_named_and_unbounded(void **state)
{
	struct rd_together t = { .reports = 0 };
	struct rd_descriptor d = stating(2, 2);
	char words[400];

	(void)state;
	rd_together_add(&t, &d, 3, "first");
	d = stating(INFINITY, INFINITY);
	rd_together_add(&t, &d, 1, "bins");
	rd_together_add(&t, &d, 1, "hashed");
	assert_true(isinf(rd_together_epsilon0(&t)) && t.unbounded == 2 && t.reports == 5);
	rd_together_words(&t, words, sizeof words);
	assert_non_null(strstr(words, "unbounded: rounds bins, hashed have epsilon0 = inf"));
	assert_non_null(strstr(words, "the other 3 reports sum to epsilon0 6.0001"));
	for (unsigned i = 0; i < 40; i++)
		rd_together_add(&t, &d, 1, "another");
	assert_int_equal(t.unbounded, 42);
	assert_string_equal(t.unprotected + strlen(t.unprotected) - 3, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_tries_of_a_tenth_are_at_least_one),
		cmocka_unit_test(the_larger_of_what_is_stated_and_what_it_is_counts),
		cmocka_unit_test(what_nothing_protects_is_named_and_unbounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
