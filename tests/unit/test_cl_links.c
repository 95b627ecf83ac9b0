/* test_cl_links.c - the order in which a client tries its shuffler's addresses: each is as likely as any
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cl_links.h"
#include "scripted_rng.h"

/* The draws below 2 and below 3 decide the order of three: six pairs of draws, six orders. */
static void each_order_comes_of_as_many_draws_as_any_other(void **state)
{
	unsigned seen[27] = { 0 }, orders = 0;

	(void)state;
	for (uint64_t a = 0; a < 2; a++) {
		for (uint64_t b = 0; b < 3; b++) {
			const uint64_t script[] = { draw_for(a, 2), draw_for(b, 3) };
			struct scripted_rng draws = { .script = script, .len = 2 };
			struct cr_rng rng = scripted_rng(&draws);
			unsigned order[3] = { 9, 9, 9 };

			cl_links_order(&rng, 3, order);
			assert_int_equal(draws.used, 2);
			assert_true(order[0] < 3 && order[1] < 3 && order[2] < 3);
			assert_true(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
			orders += seen[order[0] * 9 + order[1] * 3 + order[2]]++ == 0;
		}
	}
	assert_int_equal(orders, 6);
}

static void one_address_needs_no_draw(void **state)
{
	struct scripted_rng draws = { .script = NULL };
	struct cr_rng rng = scripted_rng(&draws);
	unsigned order = 9;

	(void)state;
	cl_links_order(&rng, 1, &order);
	assert_int_equal(order, 0);
	assert_int_equal(draws.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_order_comes_of_as_many_draws_as_any_other),
		cmocka_unit_test(one_address_needs_no_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
