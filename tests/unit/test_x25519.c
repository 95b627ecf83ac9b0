/* test_x25519.c - X25519 many at a time: each way against RFC 7748, a table of another implementation, and
 * libcrypto.
 *
 * Compiled three times: with the lanes and the lib25519 of this machine, where it has them; with the lanes'
 * emulation, which also says whether an operand of the instruction was ever too large; and with a lib25519
 * of the tests.
 *
 * test_x25519 [POINTS [million]]: so many random points by each way of ours; `million` also takes RFC 7748's
 * million steps, which is a minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_rand.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"
#include "cr_x25519_many.h"

#define MANY 130u /* more than a full call of the lanes */

static const char *ways[4];
static size_t ways_here;
#if defined CR_LANES_EMULATED || defined TOMBOLA_SANITIZED || defined WANT_LIBRARY /* which are slow */
static size_t points_to_draw = 1000;
#else
static size_t points_to_draw = 20000;
#endif
static bool a_million_times; /* RFC 7748's last line, too */
static struct cr_rng rng;

typedef uint8_t number[CR_X25519_LEN];

static void unhex(const char *hex, number out)
{
	assert_int_equal(cm_unhex(hex, out, CR_X25519_LEN), CM_OK);
}

static void draw(void *out, size_t n)
{
	rng.fill(rng.ctx, out, n);
}

/* One product by the way in use, in lane `lane` of a batch of 8 with random other lanes. */
static bool in_lane(size_t lane, const number secret, const number point, number out)
{
	number other[8], got[8];
	const uint8_t *at[8];
	bool good[8];
	struct cr_x25519 *k;
	struct cm_err err;

	draw(other, sizeof other);
	for (size_t i = 0; i < 8; i++)
		at[i] = i == lane ? point : other[i];
	assert_int_equal(cr_x25519_new(secret, &k, &err), CM_OK);
	assert_int_equal(cr_x25519_points(k, at, 8, got, good, &err), CM_OK);
	cr_x25519_free(k);
	for (size_t i = 0; i < 8; i++)
		assert_true(good[i] || i == lane);
	memcpy(out, got[lane], sizeof(number));
	return good[lane];
}

static void rfc7748_5_2_vectors_in_every_lane(void **state)
{
	static const char *const vectors[][3] = {
		{ "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
			"e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
			"c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552" },
		{ "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
			"e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
			"95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957" },
	};
	number secret, point, want, got;

	(void)state;
	for (size_t w = 0; w < ways_here; w++)
		for (size_t i = 0; i < 2; i++) {
			assert_true(cr_x25519_use(ways[w]));
			unhex(vectors[i][0], secret);
			unhex(vectors[i][1], point);
			unhex(vectors[i][2], want);
			for (size_t lane = 0; lane < 8; lane++) {
				assert_true(in_lane(lane, secret, point, got));
				assert_memory_equal(got, want, sizeof got);
			}
		}
}

/* Products of some scalars and a point: by a table of it, where the way has tables. */
static enum cm_rc scalars(const struct cr_key *secret, size_t n, const number point, bool by_table,
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN])
{
	struct cr_x25519_point p;
	struct cm_err err;
	enum cm_rc rc;

	cr_x25519_point_init(&p, point);
	if (by_table)
		cr_x25519_point_expect(&p, SIZE_MAX);
	rc = cr_x25519_scalars(secret, n, &p, public_key, out, &err);
	cr_x25519_point_fini(&p);
	return rc;
}

/* k, u = k * u, k; from 9. */
static void iterate(const char *way, unsigned times, const char *want_hex)
{
	struct cr_key k = { { 9 } }, next;
	number u = { 9 }, public_key[1], out[1], want;

	assert_true(cr_x25519_use(way));
	for (unsigned i = 0; i < times; i++) {
		assert_int_equal(scalars(&k, 1, u, false, public_key, out), CM_OK);
		memcpy(next.bytes, out[0], sizeof next.bytes);
		memcpy(u, k.bytes, sizeof u);
		k = next;
	}
	unhex(want_hex, want);
	assert_memory_equal(k.bytes, want, sizeof want);
}

static void rfc7748_5_2_iterated(void **state)
{
	(void)state;
	for (size_t w = 0; w < ways_here; w++) {
		iterate(ways[w], 1, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
		iterate(ways[w], 1000, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
		if (a_million_times && w + 1 == ways_here)
			iterate(ways[w], 1000000,
				"7c3911e0ab2586fd864497297e575e6f3bc601c0883c30df5f4dd2d24f665424");
	}
}

/* Every row by points and by scalars, in a lane that changes from row to row. */
static void check_row(
	size_t row, const char *class, const number secret, const number point, const number want)
{
	static const number zero;
	const bool refused = memcmp(want, zero, sizeof zero) == 0;
	struct cr_key keys[5];
	number got, public_key[5], out[5];

	assert_int_equal(refused, strcmp(class, "low_order") == 0);
	assert_int_equal(in_lane(row % 8, secret, point, got), !refused);
	assert_memory_equal(got, want, sizeof got);
	for (int by_table = 0; by_table < 2; by_table++) {
		draw(keys, sizeof keys);
		memcpy(keys[row % 5].bytes, secret, sizeof keys[0].bytes);
		assert_int_equal(
			scalars(keys, 5, point, by_table, public_key, out), refused ? CM_EDATA : CM_OK);
		assert_memory_equal(out[row % 5], want, sizeof got);
	}
}

static void the_table_of_edges(void **state)
{
	(void)state;
	for (size_t w = 0; w < ways_here; w++) {
		FILE *f = fopen(TEST_DATA "/x25519.txt", "r");
		char line[512], class[32], hex[3][65];
		number secret, point, want;
		size_t rows = 0;

		assert_non_null(f);
		assert_true(cr_x25519_use(ways[w]));
		while (fgets(line, sizeof line, f)) {
			if (line[0] == '#')
				continue;
			assert_int_equal(
				sscanf(line, "%31s %64s %64s %64s", class, hex[0], hex[1], hex[2]), 4);
			unhex(hex[0], secret);
			unhex(hex[1], point);
			unhex(hex[2], want);
			check_row(rows++, class, secret, point, want);
		}
		assert_int_equal(fclose(f), 0);
		assert_int_equal(rows, 421);
	}
}

/* What libcrypto makes of a point and a secret alone. */
static void alone(const number secret, const number point, number public_key, number out)
{
	struct cr_x25519 *k;
	struct cm_err err;

	assert_int_equal(cr_x25519_new(secret, &k, &err), CM_OK);
	memcpy(public_key, cr_x25519_public(k), sizeof(number));
	if (cr_x25519_derive(k, point, out, &err) != CM_OK)
		memset(out, 0, sizeof(number));
	cr_x25519_free(k);
}

/* n points and n secrets, at an address that is `shift` from an aligned one; bytes after the results stay. */
static void check_batch(size_t n, size_t shift)
{
	static uint8_t memory[4][(MANY + 1) * sizeof(number) + 8];
	static struct cr_key keys[MANY];
	uint8_t(*out)[CR_X25519_LEN] = (number *)(memory[0] + shift),
	(*point)[CR_X25519_LEN] = (number *)(memory[1] + shift);
	uint8_t(*public_key)[CR_X25519_LEN] = (number *)(memory[2] + shift);
	const uint8_t *at[MANY];
	bool good[MANY + 1];
	number want, want_public, same;
	struct cr_x25519 *k;
	struct cm_err err;

	draw(keys, sizeof keys);
	draw(memory, sizeof memory);
	for (size_t i = 0; i < n; i++)
		at[i] = point[n - 1 - i];
	memset(same, 0xa5, sizeof same);
	memcpy(out[n], same, sizeof same);
	memcpy(public_key[n], same, sizeof same);
	good[n] = false;
	assert_int_equal(cr_x25519_new(keys[0].bytes, &k, &err), CM_OK);
	assert_int_equal(cr_x25519_points(k, at, n, out, good, &err), CM_OK);
	cr_x25519_free(k);
	for (size_t i = 0; i < n; i++) {
		alone(keys[0].bytes, at[i], want_public, want);
		assert_true(good[i]);
		assert_memory_equal(out[i], want, sizeof want);
	}
	assert_false(good[n]);
	assert_memory_equal(out[n], same, sizeof same);
	for (int by_table = 0; by_table < 2; by_table++) {
		assert_int_equal(scalars(keys, n, point[n], by_table, public_key, out), CM_OK);
		for (size_t i = 0; i < n; i++) {
			alone(keys[i].bytes, point[n], want_public, want);
			assert_memory_equal(public_key[i], want_public, sizeof want);
			assert_memory_equal(out[i], want, sizeof want);
		}
	}
	assert_memory_equal(out[n], same, sizeof same);
	assert_memory_equal(public_key[n], same, sizeof same);
}

static void batches_of_every_size_at_any_address(void **state)
{
	(void)state;
	for (size_t w = 0; w < ways_here; w++) {
		assert_true(cr_x25519_use(ways[w]));
		for (size_t n = 0; n <= 17; n++)
			check_batch(n, n % 8);
		for (size_t n = 31; n <= 33; n++)
			check_batch(n, 1);
		for (size_t n = 63; n <= 66; n++)
			check_batch(n, 3);
		check_batch(MANY - 2, 0);
		check_batch(MANY - 1, 7);
	}
}

static void points_of_low_order_do_not_disturb_their_neighbours(void **state)
{
	static const number low[2] = { { 0 }, { 1 } };

	(void)state;
	for (size_t w = 0; w < ways_here; w++)
		for (size_t which = 1; which < 16; which++) {
			number point[64], out[64], want, unused, secret;
			const uint8_t *at[64];
			bool good[64];
			struct cr_x25519 *k;
			struct cm_err err;

			assert_true(cr_x25519_use(ways[w]));
			draw(point, sizeof point);
			draw(secret, sizeof secret);
			/* In one lane of several groups, in all of one group, or everywhere. */
			for (size_t i = 0; i < 64; i++)
				at[i] = which == 15 || i % which == 0 || (which == 7 && i / 8 == 3)
						? low[i & 1]
						: point[i];
			assert_int_equal(cr_x25519_new(secret, &k, &err), CM_OK);
			assert_int_equal(cr_x25519_points(k, at, 64, out, good, &err), CM_OK);
			cr_x25519_free(k);
			for (size_t i = 0; i < 64; i++) {
				alone(secret, at[i], unused, want);
				assert_memory_equal(out[i], want, sizeof want);
				assert_int_equal(good[i], at[i] == point[i]);
			}
		}
}

/* One product of libcrypto is compared with those of all ways. */
static void random_points_as_libcrypto_has_them(void **state)
{
	(void)state;
	for (size_t left = points_to_draw; left > 0; left -= left < 64 ? left : 64) {
		number point[64], want[64], out[64], secret;
		const uint8_t *at[64];
		bool good[64];
		struct cr_x25519 *k;
		struct cm_err err;

		draw(point, sizeof point);
		draw(secret, sizeof secret);
		assert_int_equal(cr_x25519_new(secret, &k, &err), CM_OK);
		for (size_t i = 0; i < 64; i++) {
			at[i] = point[i];
			assert_int_equal(cr_x25519_derive(k, at[i], want[i], &err), CM_OK);
		}
		for (size_t w = 0; w < ways_here; w++) {
			if (strcmp(ways[w], "openssl") == 0)
				continue;
			assert_true(cr_x25519_use(ways[w]));
			assert_int_equal(cr_x25519_points(k, at, 64, out, good, &err), CM_OK);
			assert_memory_equal(out, want, sizeof want);
			for (size_t i = 0; i < 64; i++)
				assert_true(good[i]);
		}
		cr_x25519_free(k);
	}
}

/* A table of a random point, which is on the curve or on its twist, and scalars with every digit at its
 * edges. */
static void products_from_a_table_as_libcrypto_has_them(void **state)
{
	static const uint32_t repeated[3] = { 0x7df7df, 0x820820, 0x861861 }; /* 31, 32, 33 */

	(void)state;
	for (size_t left = points_to_draw / 20; left > 0; left -= left < 64 ? left : 64) {
		struct cr_key keys[64];
		number point, public_key[64], out[64], want[64], want_public[64];

		draw(point, sizeof point);
		draw(keys, sizeof keys);
		memset(keys[0].bytes, 0, sizeof keys[0].bytes);
		memset(keys[1].bytes, 0xff, sizeof keys[1].bytes);
		memset(keys[2].bytes, 0x88, sizeof keys[2].bytes);
		memset(keys[3].bytes, 0x77, sizeof keys[3].bytes);
		memset(keys[4].bytes, 0x78, sizeof keys[4].bytes);
		/* With digits of base 64 around the largest that stays positive. */
		for (size_t i = 0; i < 3 * sizeof keys[5].bytes; i++)
			keys[5 + i % 3].bytes[i / 3] = (uint8_t)(repeated[i % 3] >> i / 3 % 3 * 8);
		for (size_t i = 0; i < 64; i++)
			alone(keys[i].bytes, point, want_public[i], want[i]);
		for (size_t w = 0; w < ways_here; w++) {
			assert_true(cr_x25519_use(ways[w]));
			assert_int_equal(scalars(keys, 64, point, true, public_key, out), CM_OK);
			assert_memory_equal(public_key, want_public, sizeof want_public);
			assert_memory_equal(out, want, sizeof want);
		}
	}
}

/* After some hundred products the table is made unasked. */
static void a_point_that_is_used_often_gets_a_table(void **state)
{
	struct cr_key key = { { 9 } };
	struct cr_x25519_point p;
	number point = { 9 }, public_key[1], out[1], want, unused;
	struct cm_err err;

	(void)state;
	alone(key.bytes, point, unused, want);
	for (size_t w = 0; w < ways_here; w++) {
		assert_true(cr_x25519_use(ways[w]));
		cr_x25519_point_init(&p, point);
		for (size_t i = 0; i < 300; i++) {
			assert_int_equal(cr_x25519_scalars(&key, 1, &p, public_key, out, &err), CM_OK);
			assert_memory_equal(out[0], want, sizeof want);
			assert_true(i >= 100 || !p.table);
		}
		assert_int_equal(p.table != NULL, strncmp(ways[w], "avx", 3) == 0);
		cr_x25519_point_fini(&p);
	}
}

static void no_operand_of_the_instruction_was_too_large(void **state)
{
	(void)state;
#ifdef CR_LANES_EMULATED
	assert_int_equal(*cr_lanes_eight.beyond, 0);
	assert_int_equal(*cr_lanes_four.beyond, 0);
#endif
}

static void a_way_that_is_not_there_is_refused(void **state)
{
	const char *line;
	struct cm_err err;

	(void)state;
	assert_false(cr_x25519_use("abacus"));
	assert_true(cr_x25519_use("openssl"));
	assert_int_equal(cr_x25519_begin(&line, &err), CM_OK);
	assert_non_null(strstr(line, "OpenSSL"));
	assert_int_equal(cr_x25519_use("avx512"), cr_lanes_eight.here());
	assert_int_equal(cr_x25519_use("avx2"), cr_lanes_four.here());
	assert_int_equal(cr_x25519_use("lib25519"), cr_x25519_lib25519_here());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc7748_5_2_vectors_in_every_lane),
		cmocka_unit_test(rfc7748_5_2_iterated),
		cmocka_unit_test(the_table_of_edges),
		cmocka_unit_test(batches_of_every_size_at_any_address),
		cmocka_unit_test(points_of_low_order_do_not_disturb_their_neighbours),
		cmocka_unit_test(random_points_as_libcrypto_has_them),
		cmocka_unit_test(products_from_a_table_as_libcrypto_has_them),
		cmocka_unit_test(a_point_that_is_used_often_gets_a_table),
		cmocka_unit_test(no_operand_of_the_instruction_was_too_large),
		cmocka_unit_test(a_way_that_is_not_there_is_refused),
	};
	struct cm_err err;

	if (cr_rng_system(&rng, &err) != CM_OK)
		return 1;
#ifndef CR_LANES_EMULATED
	ways[ways_here++] = "openssl";
	if (cr_x25519_lib25519_here())
		ways[ways_here++] = "lib25519";
#ifdef WANT_LIBRARY
	else
		return 1;
#endif
#endif
	if (cr_lanes_eight.here())
		ways[ways_here++] = "avx512";
	if (cr_lanes_four.here())
		ways[ways_here++] = "avx2";
	if (argc > 1) {
		points_to_draw = strtoul(argv[1], NULL, 10);
		a_million_times = argc > 2 && strcmp(argv[2], "million") == 0;
	}
	for (size_t w = 0; w < ways_here; w++)
		print_message("way: %s\n", ways[w]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
