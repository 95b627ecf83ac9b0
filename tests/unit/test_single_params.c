/* test_single_params.c - the rows of one wide message: what they derive and what they refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "single_rows.h"

static void expect_close(const struct pt_randomizer *p, double asked, double relative)
{
	double got = p->row->epsilon0(p);
	struct acct_round round;
	const char *why;

	assert_true(got <= asked && got > asked * (1 - relative));
	assert_int_equal(pt_protocol_of(p->row)->cells(p, 100000, &round, &err), CM_OK);
	if (acct_round_check(&round, &why) != ACCT_OK)
		fail_msg("%s, epsilon0 %g, %u categories, size %u: %s", p->row->name, asked, p->single.bins,
			p->olh.size, why);
}

/* At every epsilon0, domain and size the guarantee is at most what was asked, and close, and the accountant
 * can answer. */
static void the_local_guarantee_is_at_most_what_was_asked(void **state)
{
	static const uint32_t domains[] = { 2, 3, 100, 4096 };

	(void)state;
	for (double e = 16; e >= 1e-4; e /= 1.21) {
		for (size_t j = 0; j < 4; j++) {
			uint32_t d = domains[j];
			struct pt_randomizer p;

			for (size_t i = 0; i < ROWS; i++) {
				p = made(rows[i], d, e, 0);
				expect_close(&p, e, 1e-9);
			}
			for (uint32_t size = 2; size <= 4096; size = size * 2 - size / 3) {
				p = made("olh", d, e, size);
				expect_close(&p, e, 1e-9);
				p = made("subset", d, e, size < d ? size : d - 1);
				expect_close(&p, e, 1e-6);
			}
		}
	}
}

/* The noise on an empty category per participant is q(1-q)/(p-q)^2 with the published p and q: no other size
 * is better than the row's choice. */
static void the_size_chosen_is_the_best_one(void **state)
{
	static const uint32_t domains[] = { 2, 3, 7, 40, 333 };

	(void)state;
	for (double e = 0.05; e < 9; e *= 1.7) {
		double best = INFINITY, had = INFINITY, x = exp(e);

		for (size_t j = 0; j < 5; j++) {
			double d = domains[j], least = INFINITY, chosen = 0;
			struct pt_randomizer p = made("subset", domains[j], e, 0);

			for (uint32_t k = 1; k < domains[j]; k++) {
				double keep = k * x / (k * x + d - k), q = (k - keep) / (d - 1);
				double noise = q * (1 - q) / ((keep - q) * (keep - q));

				least = fmin(least, noise);
				chosen = k == p.olh.size ? noise : chosen;
			}
			assert_true(chosen > 0 && chosen <= least * (1 + 1e-9));
		}
		for (uint32_t l = 2; l <= 4096; l++) {
			double keep = x / (x + l - 1), q = 1.0 / l;
			double noise = q * (1 - q) / ((keep - q) * (keep - q));

			best = fmin(best, noise);
			had = l == made("olh", 5, e, 0).olh.size ? noise : had;
		}
		assert_true(had <= best * (1 + 1e-9));
	}
	assert_int_equal(made("olh", 5, 16, 0).olh.size, 4096);
}

static void what_a_row_cannot_do_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *row;
		struct pt_request request;
		const char *said;
	} bad[] = {
		{ "rappor", { .epsilon0 = (double)INFINITY }, "rappor: epsilon0 must be above 0" },
		{ "oue", { .epsilon0 = 0 }, "oue: epsilon0 must be above 0" },
		{ "olh", { .epsilon0 = (double)NAN }, "olh: epsilon0 must be above 0" },
		{ "hadamard", { .epsilon0 = 16.001 }, "hadamard: epsilon0 must be above 0" },
		{ "subset", { .epsilon0 = 1, .dummies = 1 }, "subset: dummies must be 0" },
		{ "subset", { .epsilon0 = 1, .size = 6 }, "subset: size 6, must be 1 to 5" },
		{ "olh", { .epsilon0 = 1, .size = 1 }, "olh: size 1, must be 2 to 4096" },
		{ "olh", { .epsilon0 = 1, .size = 4097 }, "olh: size 4097, must be 2 to 4096" },
		{ "rappor", { .epsilon0 = 1e-18 }, "too small to say anything" },
		{ "oue", { .epsilon0 = 1e-18 }, "too small to say anything" },
		{ "subset", { .epsilon0 = 1e-18 }, "too small to say anything" },
		{ "olh", { .epsilon0 = 1e-18 }, "too small to say anything" },
		{ "hadamard", { .epsilon0 = 1e-18 }, "too small to say anything" },
	};
	struct qy_query q = histogram(6), m = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };
	struct pt_randomizer p = { .single.bins = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(pt_derive(pt_find(bad[i].row), &q, &bad[i].request, &p, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, bad[i].said));
		assert_int_equal(p.single.bins, 77);
	}
	for (size_t i = 0; i < ROWS; i++) {
		struct pt_request r = { .epsilon0 = 1 };

		assert_int_equal(pt_derive(pt_find(rows[i]), &m, &r, &p, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, "answers histograms only"));
	}
}

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	struct qy_query q = histogram(6), five = histogram(5);
	struct qy_query m = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);
		const struct pt_randomizer good = made(rows[i], 6, 1, 0);
		struct pt_randomizer p = good;

		assert_int_equal(row->device->check(&q, &good, &err), CM_OK);
		assert_int_equal(row->device->check(&m, &good, &err), CM_EPROTO);
		assert_int_equal(row->device->check(&five, &good, &err), CM_EPROTO);
		REFUSED(p.single.bins = 5);
		REFUSED(p.single.bins = 0);
		REFUSED(p.single.bins = UINT32_MAX);
		REFUSED(p.shuffler.dummies = 1);
		REFUSED(p.single.keep = 0);
		REFUSED(p.single.keep = UINT64_MAX);
		REFUSED(p.single.keep = 1);
		if (strcmp(rows[i], "subset") == 0 || strcmp(rows[i], "olh") == 0) {
			REFUSED(p.olh.size = 0);
			REFUSED(p.olh.size = CATEGORIES_MAX + 1);
			REFUSED(p.olh.size = UINT32_MAX);
		} else if (strcmp(rows[i], "hadamard") != 0) {
			REFUSED(p.unary.other = 0);
			REFUSED(p.unary.other = UINT64_MAX);
		}
	}
}

/* A report that is no likelier than by chance says nothing, and one that is slightly likelier says hardly
 * anything. */
static void probabilities_that_say_nothing_are_refused(void **state)
{
	static const struct {
		const char *row;
		uint32_t size;
		uint64_t chance;
	} cases[] = { { "subset", 2, UINT64_MAX / 3 }, { "olh", 4, UINT64_C(1) << 62 },
		{ "hadamard", 0, UINT64_C(1) << 63 } };
	struct qy_query q = histogram(6);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct pt_protocol *row = pt_find(cases[i].row);
		const struct pt_randomizer good = made(cases[i].row, 6, 1, cases[i].size);
		struct pt_randomizer p;

		REFUSED(p.single.keep = cases[i].chance);
		REFUSED(p.single.keep = cases[i].chance + 1);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);
		const struct pt_randomizer good = made(rows[i], 6, 1, 0);
		struct pt_randomizer p;

		REFUSED(p.single.keep -= 1);
		REFUSED(p.unary.other = p.single.keep);
		REFUSED((p.single.keep = UINT64_C(1) << 63, p.unary.other = UINT64_C(1) << 63));
	}
}

static void sizes_out_of_range_are_refused(void **state)
{
	struct qy_query q = histogram(6);

	(void)state;
	{
		const struct pt_protocol *row = pt_find("subset");
		const struct pt_randomizer good = made("subset", 6, 1, 2);
		struct pt_randomizer p;

		REFUSED(p.olh.size = 6);
	}
	{
		const struct pt_protocol *row = pt_find("olh");
		const struct pt_randomizer good = made("olh", 6, 1, 4);
		struct pt_randomizer p;

		REFUSED(p.olh.size = 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_local_guarantee_is_at_most_what_was_asked),
		cmocka_unit_test(the_size_chosen_is_the_best_one),
		cmocka_unit_test(what_a_row_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(probabilities_that_say_nothing_are_refused),
		cmocka_unit_test(sizes_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
