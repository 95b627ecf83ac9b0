/* test_turn.c - each turner makes what the words of pt_rotated.h say, in every dimension. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pt_rotated.h"
#include "pt_turn.h"

#define LONGEST 4096u

/* Number k of the transform, by its definition. */
static int64_t number(const int64_t *v, uint32_t d, uint32_t k)
{
	int64_t sum = 0;

	for (uint32_t j = 0; j < d; j++)
		sum += __builtin_parity(j & k) ? -v[j] : v[j];
	return sum;
}

static void sign(int64_t *v, uint32_t d, uint32_t rotation, uint32_t pass)
{
	for (uint32_t j = 0; j < d; j++)
		v[j] = pt_turn_sign(rotation, pass, j) ? -v[j] : v[j];
}

static void turns(const struct pt_turner *turner, uint32_t d, uint32_t rotation)
{
	static _Alignas(64) int64_t v[LONGEST], out[LONGEST];
	static int64_t signed_once[LONGEST], expected[LONGEST];
	static _Alignas(64) uint8_t row[PT_TURN_ROW(LONGEST)];
	static _Alignas(64) uint8_t rows[PT_ROTATIONS_MAX * PT_TURN_ROW(LONGEST)];
	static struct pt_turn_signs signs = { .row = rows };
	int64_t divisor = 1;

	memset(v, 0, sizeof v);
	for (uint32_t j = 0; j < d; j++)
		v[j] = (j * INT64_C(0x2545f491) & 0x7fffffff) - (INT64_C(1) << 30);
	while (4 * divisor * divisor <= d)
		divisor *= 2;
	memcpy(signed_once, v, sizeof v);
	sign(signed_once, d, rotation, 0);
	for (uint32_t k = 0; k < d; k++) {
		int64_t x = number(signed_once, d, k), down = x / divisor;

		expected[k] = down - (x < down * divisor);
	}
	sign(expected, d, rotation, 1);
	pt_turn_signs(&signs, PT_ROTATIONS_MAX, d);
	turner->pick(&signs, rotation, row);
	turner->half(v, row, out, d);
	assert_memory_equal(out, expected, d * sizeof *out);
	for (uint32_t k = 0; k < d; k++)
		assert_true(turner->coordinate(out, k, d) == number(expected, d, k));
	turner->half(v, row, v, d);
	assert_memory_equal(v, expected, d * sizeof *v);
}

static void all_turn_alike(void **state)
{
	const struct pt_turner *turner;

	(void)state;
	assert_ptr_equal(pt_turner_of(0), pt_turner_here());
	for (size_t t = 0; (turner = pt_turner_of(t)); t++)
		for (uint32_t d = 2; d <= LONGEST; d *= 2) {
			turns(turner, d, PT_ROTATIONS_MAX - 1);
			/* By the definition the longest take long. */
			if (d <= 512) {
				turns(turner, d, 0);
				turns(turner, d, 7);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_turn_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
