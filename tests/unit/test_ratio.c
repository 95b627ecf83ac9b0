/* test_ratio.c - products of 128 bits, and the logarithms of ratios of chances: the least double at or above
 * the true value, whatever a long double of this machine has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cm_wide.h"
#include "pt_ratio.h"

static void expect_product(uint64_t a, uint64_t b, uint64_t high, uint64_t low)
{
	struct cm_wide one = cm_wide_product(a, b), two = cm_wide_product_of_halves(a, b);

	assert_true(one.high == high && one.low == low);
	assert_true(two.high == high && two.low == low);
}

static void products_have_all_their_bits(void **state)
{
	(void)state;
	expect_product(UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1);
	expect_product(UINT64_MAX, 0, 0, 0);
	expect_product(UINT64_C(1) << 32, UINT64_C(1) << 32, 1, 0);
	/* 2^96 - 2^64 - 2^32 + 1: both middle products carry */
	expect_product(
		UINT64_MAX, (UINT64_C(1) << 32) - 1, (UINT64_C(1) << 32) - 2, UINT64_MAX - UINT32_MAX + 1);
	/* 10^19 * 10^19 = 10^38 */
	expect_product(UINT64_C(10000000000000000000), UINT64_C(10000000000000000000),
		UINT64_C(0x4b3b4ca85a86c47a), UINT64_C(0x098a224000000000));
	for (uint64_t a = 1, i = 0; i < 100000;
		i++, a = a * UINT64_C(6364136223846793005) + 1442695040888963407) {
		struct cm_wide p = cm_wide_product(a, ~a >> (i % 64));

		expect_product(a, ~a >> (i % 64), p.high, p.low);
	}
}

static void sums_and_differences_carry(void **state)
{
	struct cm_wide a = { .high = 3, .low = 1 }, b = { .high = 1, .low = 2 };
	struct cm_wide less = cm_wide_difference(a, b), more = cm_wide_sum(less, b);

	(void)state;
	assert_true(less.high == 1 && less.low == UINT64_MAX);
	assert_true(more.high == 3 && more.low == 1);
	assert_true(cm_wide_below(b, a) == 1 && cm_wide_below(a, b) == 0 && cm_wide_below(a, a) == 0);
	assert_true(cm_wide_below((struct cm_wide){ 1, 1 }, b) == 1);
	assert_true(cm_wide_right(a, 61) == 24);
	assert_true(cm_wide_left((struct cm_wide){ .low = UINT64_MAX }, 63).high == UINT64_MAX >> 1);
}

static void logarithms_are_the_least_doubles_above_the_true_ones(void **state)
{
	/* 400 bits of each logarithm were computed, and rounded up. */
	static const struct {
		struct cm_wide over, under;
		double log;
	} known[] = {
		{ { 0, 2 }, { 0, 1 }, 0x1.62e42fefa39f0p-1 },
		{ { 0, 3 }, { 0, 1 }, 0x1.193ea7aad030bp+0 },
		{ { 0, 10 }, { 0, 1 }, 0x1.26bb1bbb55516p+1 },
		{ { 1, 0 }, { 0, 1 }, 0x1.62e42fefa39f0p+5 },
		{ { 0, 1048577 }, { 0, 1048576 }, 0x1.fffff00000aabp-21 },
		{ { UINT64_MAX, UINT64_MAX }, { 0, 1 }, 0x1.62e42fefa39f0p+6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		assert_true(
			pt_ratio_log((struct pt_ratio){ known[i].over, known[i].under }, 1) == known[i].log);
	/* 3 ln 10 = ln 1000; and a ratio below 1 has no guarantee to speak of */
	assert_true(pt_ratio_log((struct pt_ratio){ { 0, 10 }, { 0, 1 } }, 3) ==
		    pt_ratio_log((struct pt_ratio){ { 0, 1000 }, { 0, 1 } }, 1));
	assert_true(pt_ratio_log((struct pt_ratio){ { 0, 2 }, { 0, 3 } }, 1) < 1e-20);
	assert_true(pt_ratio_log((struct pt_ratio){ { 0, 1 }, { 0, 1 } }, 1) > 0);
	/* one without a bound is not finite, and chance 0 ends, too */
	assert_true(isinf(pt_ratio_log((struct pt_ratio){ { 0, 1 }, { 0, 0 } }, 1)));
	assert_true(pt_ratio_log((struct pt_ratio){ { 0, 0 }, { 0, 1 } }, 1) < 1e-20);
}

/* Thresholds that lie 64 units below the ideal ones of these epsilon0, as PT_THRESHOLD_MARGIN says.  Where a
 * double is coarser than the margin, the guarantee is the epsilon0 that was asked for, and never more. */
static void a_threshold_keeps_the_epsilon0_that_was_asked_for(void **state)
{
	static const struct {
		double asked;
		uint32_t bins;
		uint64_t keep;
		double epsilon0;
	} known[] = {
		{ 0.001, 2, UINT64_C(0x8010624dbc099a02), 0x1.0624dd2f1a9bcp-10 },
		{ 0.001, 7, UINT64_C(0x249a503ac8b4d9d9), 0x1.0624dd2f1a97ap-10 },
		{ 0.001, 4096, UINT64_C(0x100418d815883e), 0x1.0624dd2f0a9bdp-10 },
		{ 0.01, 2, UINT64_C(0x80a3d6b0c32d43a6), 0x1.47ae147ae1473p-7 },
		{ 0.01, 7, UINT64_C(0x24e2d222092e28d6), 0x1.47ae147ae146bp-7 },
		{ 0.01, 4096, UINT64_C(0x102927c3eb2112), 0x1.47ae147adf488p-7 },
		{ 0.5, 2, UINT64_C(0x9f597ea69a1c85b1), 0.5 },
		{ 0.5, 7, UINT64_C(0x372e9f554925b265), 0.5 },
		{ 0.5, 4096, UINT64_C(0x1a6017ca7f1176), 0x1.fffffffffff64p-2 },
		{ 1, 2, UINT64_C(0xbb26a7aead15e68a), 1 },
		{ 1, 7, UINT64_C(0x4fd188fd7d37f20a), 1 },
		{ 1, 4096, UINT64_C(0x2b7969dea75e4e), 0x1.fffffffffffd1p-1 },
		{ 2.5, 2, UINT64_C(0xec948eedacb7b85d), 2.5 },
		{ 2.5, 7, UINT64_C(0xab85ec7dcc10f1b6), 2.5 },
		{ 2.5, 4096, UINT64_C(0xc263a2b0b3b984), 0x1.3fffffffffffep+1 },
		{ 16, 2, UINT64_C(0xfffffe1caa47e164), 0x1.fffffffffbbf6p+3 },
		{ 16, 7, UINT64_C(0xfffff4abfe1a3a0e), 0x1.ffffffffff49dp+3 },
		{ 16, 4096, UINT64_C(0xffe1d01749d042bc), 0x1.ffffffffffffcp+3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		double epsilon0 = pt_ratio_log(pt_ratio_of(known[i].keep, known[i].bins - 1, 1), 1);

		assert_true(epsilon0 == known[i].epsilon0);
		assert_true(epsilon0 <= known[i].asked);
	}
}

/* The exact value of 0.1 is above a tenth by 2^-54 * 0.4; of three together the double above is the sum. */
static void a_sum_of_guarantees_is_rounded_up_once(void **state)
{
	struct cm_wide sum = pt_guarantees(0.1, 3);

	(void)state;
	assert_true(pt_guarantees_up(sum) == 0.30000000000000004);
	assert_true(pt_guarantees_up(pt_guarantees(0.5, 8)) == 4);
	/* 1 + 2^-60 is no double */
	sum = cm_wide_sum(pt_guarantees(1, 1), pt_guarantees(0x1p-60, 1));
	assert_true(pt_guarantees_up(sum) == nextafter(1, 2));
	sum = cm_wide_sum(pt_guarantees(1, 1), pt_guarantees(0x1p-60, 256));
	assert_true(pt_guarantees_up(sum) == nextafter(1, 2));
	assert_true(pt_guarantees_up(pt_guarantees(0, 1)) == 0);
	assert_true(pt_guarantees_up(pt_guarantees(0x1p-90, 1)) == 0x1p-72);
}

static void a_ratio_has_the_value_of_its_chances(void **state)
{
	struct pt_ratio r = pt_ratio_of(UINT64_C(3) << 62, 7, 2);

	(void)state;
	assert_true(pt_ratio_value(r) == 10.5L);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_have_all_their_bits),
		cmocka_unit_test(sums_and_differences_carry),
		cmocka_unit_test(logarithms_are_the_least_doubles_above_the_true_ones),
		cmocka_unit_test(a_threshold_keeps_the_epsilon0_that_was_asked_for),
		cmocka_unit_test(a_sum_of_guarantees_is_rounded_up_once),
		cmocka_unit_test(a_ratio_has_the_value_of_its_chances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
