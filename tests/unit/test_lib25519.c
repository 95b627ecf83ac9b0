/* test_lib25519.c - whether lib25519 is used, on a processor without vectors of ours: when it is right, and
 * unasked when it has vectors.
 *
 * One program for each library of tests/support/lib25519.c; WANT_HERE and WANT_QUICK say what it is.  Lanes
 * that are never here stand in for those of this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cr_rand.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"
#include "cr_x25519_many.h"

static bool never(void)
{
	return false;
}

const struct cr_lanes cr_lanes_eight = { .lanes = 8, .here = never };
const struct cr_lanes cr_lanes_four = { .lanes = 4, .here = never };

static void it_is_chosen_unasked_only_when_it_is_right_and_quick(void **state)
{
	const char *line;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_x25519_lib25519_here(), WANT_HERE);
	assert_int_equal(cr_x25519_lib25519_quick(), WANT_QUICK);
	assert_int_equal(cr_x25519_begin(&line, &err), CM_OK);
	assert_string_equal(cr_x25519_way(), WANT_QUICK ? "lib25519" : "openssl");
	assert_non_null(strstr(line, WANT_QUICK ? "lib25519" : "OpenSSL"));
}

static void it_can_be_forced_only_when_it_is_right(void **state)
{
	(void)state;
	assert_false(cr_x25519_use("avx512"));
	assert_false(cr_x25519_use("avx2"));
	assert_int_equal(cr_x25519_use("lib25519"), WANT_HERE);
	assert_true(cr_x25519_use("openssl"));
}

/* Uses the library if there is one; without it both are libcrypto's. */
static void products_are_libcryptos_and_low_order_is_refused(void **state)
{
	static const uint8_t low[CR_X25519_LEN] = { 1 };
	uint8_t public_key[2][3][CR_X25519_LEN], out[2][3][CR_X25519_LEN], point[CR_X25519_LEN];
	const char *ways[2] = { "openssl", WANT_HERE ? "lib25519" : "openssl" };
	struct cr_key secret[3];
	struct cr_x25519_point of_low, of_point;
	struct cr_rng rng;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	rng.fill(rng.ctx, secret, sizeof secret);
	rng.fill(rng.ctx, point, sizeof point);
	for (size_t w = 0; w < 2; w++) {
		assert_true(cr_x25519_use(ways[w]));
		cr_x25519_point_init(&of_low, low);
		cr_x25519_point_init(&of_point, point);
		assert_int_equal(
			cr_x25519_scalars(secret, 3, &of_low, public_key[w], out[w], &err), CM_EDATA);
		assert_int_equal(cr_x25519_scalars(secret, 3, &of_point, public_key[w], out[w], &err), CM_OK);
	}
	assert_memory_equal(public_key[1], public_key[0], sizeof public_key[0]);
	assert_memory_equal(out[1], out[0], sizeof out[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_chosen_unasked_only_when_it_is_right_and_quick),
		cmocka_unit_test(it_can_be_forced_only_when_it_is_right),
		cmocka_unit_test(products_are_libcryptos_and_low_order_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
