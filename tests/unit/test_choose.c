/* test_choose.c - protocol "auto" chooses what is best where that is known, and never what does not fit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pl_choose.h"
#include "pl_mu.h"
#include "pl_why.h"

/* Derivation and error look at the number of categories alone. */
static struct qy_query histogram(uint32_t categories)
{
	return (struct qy_query){ .kind = QY_HISTOGRAM, .categories = categories };
}

static struct pl_need need(const struct qy_query *q, uint64_t n, double epsilon0, uint64_t bytes)
{
	return (struct pl_need){ q, n, n, 1, 1e-8, epsilon0, bytes, false, 0, 0 };
}

static double epsilon_of(const struct pl_need *n, const struct pt_randomizer *p)
{
	struct pt_loss loss;
	struct acct_bound b = { 0, INFINITY };
	struct cm_err err = { 0 };

	assert_int_equal(pt_loss(p, n->honest, &loss, &err), CM_OK);
	return acct_epsilon(loss.part, loss.parts, n->delta, &b) == ACCT_OK ? b.upper : (double)INFINITY;
}

static struct pl_choice chosen(const struct pl_need *n)
{
	struct pl_choice c;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	if (pl_choose(n, &c, &err) != CM_OK)
		fail_msg("%s", err.msg);
	/* Whatever is chosen is within every limit, and is what its request derives. */
	assert_true(epsilon_of(n, &c.best.randomizer) < n->epsilon);
	assert_true(c.best.protocol->device->epsilon0(&c.best.randomizer) <= n->epsilon0);
	assert_true(pl_bytes(c.best.protocol, &c.best.randomizer) <= n->max_bytes);
	assert_int_equal(pt_derive(c.best.protocol, n->query, &c.best.request, &p, &err), CM_OK);
	assert_memory_equal(&p, &c.best.randomizer, sizeof p);
	assert_true(!c.next.protocol || c.next.error >= c.best.error * 0.97);
	return c;
}

static double dummies_of(const struct pl_candidate *c)
{
	return pt_dummies_each(c->randomizer.mixbins.dummies, c->randomizer.mixbins.dummy_chance);
}

/* Published and recomputed optima at (1, 1e-8): one message of k-ary randomized response with
 * epsilon0 about ln(n / V), level bins with b about (6 n / V)^(1/3) levels and that root mean square error of
 * the sum, V = 62 dummies a bin where they are cheap. */
static void without_dummies_the_local_guarantee_is_tuned(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t d;
		double epsilon0;
	} row[] = { { 10000, 16, 5.2 }, { 100000, 16, 7.4 }, { 1000000, 16, 9.7 }, { 10000, 256, 5.8 },
		{ 10000, 4096, 7.1 }, { 1000000, 4096, 9.9 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct qy_query q = histogram(row[i].d);
		struct pl_need n = need(&q, row[i].n, INFINITY, 70);
		struct pl_choice c = chosen(&n);

		assert_string_equal(c.best.protocol->device->name, "grr");
		if (fabs(c.best.request.epsilon0 - row[i].epsilon0) > 0.06)
			fail_msg("%u: epsilon0 %g", (unsigned)row[i].d, c.best.request.epsilon0);
		assert_int_equal(c.best.bytes, 64);
	}
}

static void cheap_dummies_are_taken_as_few_as_will_do(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t d;
		double dummies; /* 62.1 for each category, all together */
		uint32_t messages;
		uint64_t bytes;
	} row[] = { { 10000, 256, 1.590, 3, 600 }, { 100000, 4096, 2.544, 4, 16384 },
		{ 1000000, 4096, 0.2544, 2, 16384 }, { 1000000, 16, 0.000994, 2, 16384 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct qy_query q = histogram(row[i].d);
		struct pl_need n = need(&q, row[i].n, INFINITY, row[i].bytes);
		struct pl_choice c = chosen(&n);
		struct pt_request fewer = c.best.request;
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		assert_string_equal(c.best.protocol->device->name, "bins");
		assert_true(fabs(dummies_of(&c.best) / row[i].dummies - 1) < 0.015);
		assert_int_equal(c.best.bytes, 64 * row[i].messages);
		/* The choice is as good as with dummies of the shuffler, whatever the participants and
		 * categories. */
		assert_true(c.best.error > 7.5 && c.best.error < 7.95);
		pt_request_dummies(&fewer, dummies_of(&c.best) * 0.985);
		assert_int_equal(pt_derive(c.best.protocol, &q, &fewer, &p, &err), CM_OK);
		assert_true(epsilon_of(&n, &p) > 1);
	}
}

/* A device answers all levels, or one that it draws: that has the whole of a small local guarantee, and is
 * one message; with a weak one and messages enough all levels are better.  So it is with marginals. */
static void a_tree_is_answered_whole_or_a_level_of_it(void **state)
{
	static struct qy_column column[] = { { .name = "a", .categories = 2 },
		{ .name = "b", .categories = 3 } };
	static uint32_t marginal[] = { 3, 1, 2 };
	const struct qy_query asked[] = {
		{ .kind = QY_RANGES, .low = 0, .high = 125, .leaves = 64, .fanout = 2 },
		{ .kind = QY_MARGINALS, .column = column, .columns = 2, .marginal = marginal, .marginals = 3 }
	};
	static const struct {
		const char *one, *all;
		uint32_t slots;
	} row[] = { { "hierarchy", "ranges", 6 }, { "parallel", "marginals", 3 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pl_need n = need(&asked[i], 50000, 2, 16384);
		struct pl_choice c = chosen(&n);

		assert_string_equal(c.best.protocol->device->name, row[i].one);
		assert_string_equal(c.next.protocol->device->name, row[i].all);
		assert_int_equal(c.limit, PL_LIMIT_LOCAL);
		assert_int_equal(c.best.bytes, 64);
		assert_true(c.next.error > 1.5 * c.best.error);
		n = need(&asked[i], 50000, INFINITY, 64 * row[i].slots - 1); /* no room for all */
		c = chosen(&n);
		assert_string_equal(c.best.protocol->device->name, row[i].one);
		assert_null(c.next.protocol);
		n = need(&asked[i], 50000, INFINITY, 16384);
		c = chosen(&n);
		assert_string_equal(c.best.protocol->device->name, row[i].all);
		assert_string_equal(c.next.protocol->device->name, row[i].one);
		assert_int_equal(c.best.bytes % (64 * row[i].slots), 0);
	}
}

static void a_cap_on_the_local_guarantee_binds(void **state)
{
	struct qy_query q = histogram(256);
	struct pl_need n = need(&q, 10000, 8, 16384);
	struct pl_choice c = chosen(&n);

	(void)state;
	assert_string_equal(c.best.protocol->device->name, "mixbins");
	assert_true(c.best.request.epsilon0 <= 8);
	n = need(&q, 1000000, 3, 70);
	c = chosen(&n);
	assert_string_equal(c.best.protocol->device->name, "grr");
	assert_int_equal(c.limit, PL_LIMIT_LOCAL);
	assert_true(c.best.epsilon < 0.01);
	/* Many categories in one message: a hash of them has the lighter tail of heavy ones. */
	q = histogram(4096);
	n = need(&q, 10000, 8, 100);
	c = chosen(&n);
	assert_string_equal(c.best.protocol->device->name, "olh");
	assert_string_equal(c.next.protocol->device->name, "grr");
	q = histogram(256);
	/* The limit on bytes binds where more dummies would be better. */
	n = need(&q, 1000, 8, 400);
	c = chosen(&n);
	assert_int_equal(c.limit, PL_LIMIT_BYTES);
	assert_in_range(c.best.randomizer.mixbins.dummies, 4, 5);
}

static struct qy_query vector(uint32_t dimension)
{
	return (struct qy_query){
		.kind = QY_VECTOR, .name = "v", .field = "f", .low = -1, .high = 1, .dimension = dimension
	};
}

/* The error with the largest epsilon0 that fits, to a hundredth. */
static double error_of_words(const struct pl_need *n, uint32_t slots, uint32_t size)
{
	const struct pt_protocol *row = pt_find("words");
	struct pt_request r = { .slots = slots, .size = size, .min_reports = n->reports };
	double low = 0, high = fmin(n->epsilon0 / slots, 16), best = INFINITY;

	for (int i = 0; i < 7; i++) {
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		r.epsilon0 = i == 0 ? high : (low + high) / 2;
		assert_int_equal(pt_derive(row, n->query, &r, &p, &err), CM_OK);
		if (epsilon_of(n, &p) < n->epsilon && row->device->epsilon0(&p) <= n->epsilon0) {
			low = r.epsilon0;
			best = fmin(best, pt_expected_error(n->query, &p, n->reports));
		} else {
			high = r.epsilon0;
		}
	}
	return best;
}

static void a_vector_has_the_slots_and_words_that_are_best(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t d;
		double epsilon0;
		uint64_t bytes;
		enum pl_limit limit;
	} row[] = { { 10000, 784, INFINITY, 1024, PL_LIMIT_BYTES }, { 100000, 784, 8, 2048, PL_LIMIT_BUDGET },
		{ 1000000, 64, 4, 4096, PL_LIMIT_LOCAL } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct qy_query q = vector(row[i].d);
		struct pl_need n = need(&q, row[i].n, row[i].epsilon0, row[i].bytes);
		struct pl_choice c = chosen(&n);
		double best = INFINITY;

		assert_string_equal(c.best.protocol->device->name, "words");
		if (c.limit != row[i].limit)
			fail_msg("vector %zu: %d binds", i, (int)c.limit);
		/* Half the slots or twice as many, shorter words or longer ones. */
		for (uint32_t k = 0; k < 9; k++) {
			uint32_t slots = (c.best.request.slots << k % 3) / 2,
				 size = c.best.request.size + k / 3 - 1;

			if (slots >= 1 && slots <= row[i].d && 64 * slots <= row[i].bytes && size >= 1 &&
				size * slots <= row[i].d)
				best = fmin(best, error_of_words(&n, slots, size));
		}
		if (c.best.error > best * 1.05)
			fail_msg("vector %zu: errs by %g, not %g", i, c.best.error, best);
	}
}

static void a_mean_has_the_levels_that_are_known_to_be_best(void **state)
{
	static const struct {
		uint64_t n;
		double rmse_of_sum;
		uint32_t least, most;
	} row[] = { { 10000, 15.0, 4, 9 }, { 100000, 21.3, 9, 17 }, { 1000000, 30.6, 25, 65 } };
	struct qy_query q = { .kind = QY_MEAN, .low = 0, .high = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct pl_need n = need(&q, row[i].n, INFINITY, 100);
		struct pl_choice c = chosen(&n);

		assert_string_equal(c.best.protocol->device->name, "levels");
		assert_in_range(c.best.randomizer.mixbins.bins, row[i].least, row[i].most);
		/* The reference error is a typical one, not the worst; ours is never much above it. */
		assert_true(c.best.error * (double)row[i].n < row[i].rmse_of_sum * 1.05);
	}
}

/* Noise of the shuffler has the error of a central mechanism, 2.8, at no byte of a device; V dummies a bin,
 * in all, have that of a Gaussian one. */
static void a_trusted_shuffler_adds_what_the_devices_need_not(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t d;
	} row[] = { { 10000, 16 }, { 1000000, 256 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct qy_query q = histogram(row[i].d);
		struct pl_need n = need(&q, row[i].n, INFINITY, 100);
		struct pl_choice c;
		struct pt_randomizer fewer;

		n.shuffler = true;
		n.noise_delta = n.delta / 64;
		c = chosen(&n);
		assert_string_equal(c.best.protocol->device->name, "bins");
		assert_true(
			c.best.randomizer.shuffler.noise_mean > 0 && c.best.randomizer.mixbins.dummies == 0);
		assert_true(fabs(c.best.error / 2.8 - 1) < 0.01);
		assert_true(c.best.epsilon > 0.99);
		/* Without it. */
		n.noise_delta = 0;
		c = chosen(&n);
		assert_string_equal(c.best.protocol->device->name, "bins");
		assert_true(
			c.best.randomizer.shuffler.noise_mean == 0 && c.best.randomizer.mixbins.dummies == 0);
		/* sqrt(V (1 - 1/d)), V = 62.1 */
		assert_true(fabs(c.best.error / sqrt(62.1 * (1 - 1.0 / row[i].d)) - 1) < 0.01);
		fewer = c.best.randomizer;
		fewer.shuffler.dummies--;
		assert_true(epsilon_of(&n, &fewer) >= 1 - 1e-6);
	}
}

/* ---- against all rows there are ---- */

/* Least error of a row over all that it can be told, on a grid finer than needed. */
static double best_of(const struct pl_need *n, const struct pt_protocol *row)
{
	double best = INFINITY;

	for (uint32_t m = 0; m <= 2; m++) {
		double low = 0, high;
		struct pt_request r = { .dummies = m, .min_reports = n->reports };
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		r.epsilon0 = INFINITY;
		if (isinf(n->epsilon0) && pt_derive(row, n->query, &r, &p, &err) == CM_OK &&
			pl_bytes(row, &p) <= n->max_bytes && epsilon_of(n, &p) < n->epsilon)
			best = fmin(best, pt_expected_error(n->query, &p, n->reports));
		/* Search from below in ever finer steps, because large answers take longest. */
		for (double step = 1.6; step > 0.01; step /= 4)
			for (high = low + step; high <= fmin(n->epsilon0, 16); low = high, high += step) {
				r.epsilon0 = high;
				if (pt_derive(row, n->query, &r, &p, &err) != CM_OK ||
					pl_bytes(row, &p) > n->max_bytes || epsilon_of(n, &p) >= n->epsilon)
					break;
				best = fmin(best, pt_expected_error(n->query, &p, n->reports));
			}
	}
	return best;
}

static void no_other_row_is_much_better_at_equal_bytes_and_trust(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t d;
		double epsilon0;
		uint64_t bytes;
	} cell[] = { { 10000, 256, INFINITY, 200 }, { 100000, 256, 8, 130 } };

	(void)state;
	for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
		struct qy_query q = histogram(cell[i].d);
		struct pl_need n = need(&q, cell[i].n, cell[i].epsilon0, cell[i].bytes);
		struct pl_choice c = chosen(&n);
		const struct pt_protocol *row;

		for (size_t j = 0; (row = pt_row(j)); j++)
			if (row->device->kinds & QY_HISTOGRAM && best_of(&n, row) < c.best.error * 0.95)
				fail_msg("cell %zu: %s errs by %g, %s by %g", i, row->device->name,
					best_of(&n, row), c.best.protocol->device->name, c.best.error);
	}
}

/* ---- what it says ---- */

static void equal_questions_have_equal_answers(void **state)
{
	struct qy_query q = histogram(100);
	struct pl_need n = need(&q, 100000, 6, 200);
	struct pl_choice a = chosen(&n), b = chosen(&n);
	char one[PL_WHY_LEN], two[PL_WHY_LEN];

	(void)state;
	pl_choice_why(&a, one);
	pl_choice_why(&b, two);
	assert_string_equal(one, two);
	assert_memory_equal(&a.best.randomizer, &b.best.randomizer, sizeof a.best.randomizer);
}

static void the_reason_says_what_came_next_and_what_binds(void **state)
{
	struct qy_query q = histogram(256);
	struct pl_need n = need(&q, 10000, INFINITY, 600);
	struct pl_choice c = chosen(&n);
	char why[PL_WHY_LEN];

	(void)state;
	pl_choice_why(&c, why);
	assert_non_null(strstr(why, "bins (no epsilon0, 1.59 dummies): error 7.87, 192 bytes; next "));
	assert_non_null(strstr(why, "the budget binds"));
	n.max_bytes = 64;
	c = chosen(&n);
	pl_choice_why(&c, why);
	assert_non_null(strstr(why, "nothing else fits; max_bytes binds"));
}

static void what_cannot_be_is_said_with_what_could(void **state)
{
	struct qy_query q = histogram(256);
	struct pl_need n = need(&q, 10000, INFINITY, 63);
	struct pl_choice c;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pl_choose(&n, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "max_bytes 63 is less than one sealed message: at least 64"));
	n = need(&q, 1, INFINITY, 64);
	n.epsilon = 0.0005;
	assert_int_equal(pl_choose(&n, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "nothing fits epsilon 0.0005 at delta 1e-08 with 1 honest"));
	/* The parameters that are said to suffice do. */
	n.epsilon = 0.001 * (1 + 2e-6);
	assert_int_equal(pl_choose(&n, &c, &err), CM_OK);
}

/* Gaussian mechanisms: delta = 1e-6 at epsilon 1 takes sigma 4.22 (Balle and Wang 2018); inverse of each
 * other. */
static void the_yardstick_is_the_gaussian_mechanism(void **state)
{
	(void)state;
	for (double e = 0.01; e < 20; e *= 1.7)
		assert_true(fabs(pl_mu_epsilon(pl_mu(e, 1e-7), 1e-7) / e - 1) < 1e-9);
	/* 2 / mu^2 = 52.0 and 4220 at (1, 1e-8) and (0.1, 1e-8). */
	assert_true(fabs(2 / pow(pl_mu(1, 1e-8), 2) - 52.0) < 0.05);
	assert_true(fabs(2 / pow(pl_mu(0.1, 1e-8), 2) - 4220) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_dummies_the_local_guarantee_is_tuned),
		cmocka_unit_test(cheap_dummies_are_taken_as_few_as_will_do),
		cmocka_unit_test(a_tree_is_answered_whole_or_a_level_of_it),
		cmocka_unit_test(a_cap_on_the_local_guarantee_binds),
		cmocka_unit_test(a_vector_has_the_slots_and_words_that_are_best),
		cmocka_unit_test(a_mean_has_the_levels_that_are_known_to_be_best),
		cmocka_unit_test(a_trusted_shuffler_adds_what_the_devices_need_not),
		cmocka_unit_test(no_other_row_is_much_better_at_equal_bytes_and_trust),
		cmocka_unit_test(equal_questions_have_equal_answers),
		cmocka_unit_test(the_reason_says_what_came_next_and_what_binds),
		cmocka_unit_test(what_cannot_be_is_said_with_what_could),
		cmocka_unit_test(the_yardstick_is_the_gaussian_mechanism),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
