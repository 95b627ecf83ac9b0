/* test_rd_figure.c - the figures of a budget are sums of decimals, and what people read of them is never less
 * loss than there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "rd_figure.h"

static struct rd_figure figure(double limit, double delta, double epsilon, unsigned slices, double used)
{
	const struct rd_plan slice = { .epsilon = epsilon, .delta = delta / 10 };
	struct rd_slices pinned = { 0, 0 };
	struct rd_figure out;

	for (unsigned i = 0; i < slices; i++)
		rd_slices_add(&pinned, &slice);
	rd_figure_make(&(struct rd_slices){ limit, delta }, &pinned, used, &out);
	return out;
}

static void what_is_free_is_a_difference_of_decimals(void **state)
{
	struct rd_figure f = figure(1, 1e-6, 0.1, 7, 0.35);

	(void)state;
	assert_true(f.limit == 1 && f.delta == 1e-6 && f.pinned == 0.7 && f.used == 0.35);
	assert_true(f.free == 0.3); /* in binary 1 - 0.7 is above it */
	assert_true(f.ratio == 0.35 && rd_figure_pinned(&f) == 0.7 && !rd_figure_full(&f));
	f = figure(1, 1e-6, 0.1, 10, 0.35);
	assert_true(f.free == 0 && f.free_delta == 0 && rd_figure_full(&f) && rd_figure_pinned(&f) == 1);
}

static void a_delta_that_is_all_pinned_leaves_no_room(void **state)
{
	struct rd_figure f = figure(4, 1e-6, 0.1, 10, 0.2);

	(void)state;
	assert_true(f.free == 3 && f.free_delta == 0 && rd_figure_full(&f));
	assert_true(rd_figure_pinned(&f) == 1 && rd_figure_free(&f) == 0);
	assert_true(f.ratio == 0.05); /* of the epsilons alone */
}

static void no_more_is_used_than_pinned_and_no_less_than_nothing_is_free(void **state)
{
	struct rd_figure f = figure(1, 1e-6, 0.5, 3, 9); /* a policy that was lowered after three plans */

	(void)state;
	assert_true(
		f.pinned == 1.5 && f.used == 1.5 && f.free == 0 && f.ratio == 1.5 && rd_figure_free(&f) == 0);
}

static void words_round_up_what_is_spent_and_down_what_is_free(void **state)
{
	struct rd_figure f = { .limit = 4,
		.delta = 1e-6,
		.pinned = 1.00001,
		.pinned_delta = 1e-7,
		.used = 0.50001,
		.free = 2.99999,
		.free_delta = 9e-7,
		.ratio = 0.1250025 };
	struct rd_figure_words w;

	(void)state;
	rd_figure_words(&f, 1, &w);
	assert_string_equal(w.budget, "epsilon 4.0000 at delta 1e-06, for life");
	assert_string_equal(w.pinned, "epsilon 1.0001 at delta 1e-07 by 1 plan");
	assert_string_equal(w.used, "epsilon 0.5001, 12.51 % of the budget");
	assert_string_equal(w.free,
		"epsilon 2.9999 at delta 9e-07 for other plans: slices are spent whole, whatever was answered");
	f.free_delta = 0;
	rd_figure_words(&f, 2, &w);
	assert_string_equal(w.pinned, "epsilon 1.0001 at delta 1e-07 by 2 plans");
	assert_string_equal(w.free,
		"epsilon 2.9999 at delta 0 for other plans, so none fits: slices are spent whole, "
		"whatever was answered");
}

static void a_pin_uses_what_the_plan_states_in_the_partys_own_count(void **state)
{
	const struct rd_pin same = { .epsilon = 0.9 }, careful = { .epsilon = 1.8 };

	(void)state;
	assert_true(rd_pin_used(&same, 0.3, 0.9) == 0.3 && rd_pin_used(&same, 0.9, 0.9) == 0.9);
	assert_true(rd_pin_used(&careful, 0.3, 0.9) == 0.6 && rd_pin_used(&careful, 0.9, 0.9) == 1.8);
	assert_true(rd_pin_used(&same, 0, 0.9) == 0);
	/* An entry after the last that this party took adds nothing, and a plan that states nothing is all
	 * used. */
	assert_true(rd_pin_used(&same, 1.2, 0.9) == 0.9 && rd_pin_used(&same, 0, 0) == 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_free_is_a_difference_of_decimals),
		cmocka_unit_test(a_delta_that_is_all_pinned_leaves_no_room),
		cmocka_unit_test(no_more_is_used_than_pinned_and_no_less_than_nothing_is_free),
		cmocka_unit_test(words_round_up_what_is_spent_and_down_what_is_free),
		cmocka_unit_test(a_pin_uses_what_the_plan_states_in_the_partys_own_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
