/* test_multi.c - the rows of one wide message among wide dummies: their laws by enumeration of the draws. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "multi_rows.h"
#include "pt_hash_analysis.h"

/* a x + b by long multiplication, modulo the prime, and its cell. */
static uint64_t cell_of(uint64_t a, uint64_t b, uint64_t x, uint32_t cells)
{
	__extension__ unsigned __int128 v = ((unsigned __int128)a * x + b) % PT_HASH_POINTS;

	return (uint64_t)(v * cells >> 61);
}

/* Every place and every value: the message there is the value's cell under its own hash, all others are what
 * was drawn. */
static void a_hashed_value_is_at_its_place_and_dummies_are_what_was_drawn(void **state)
{
	static const uint64_t a[] = { 0x0123456789abcdef, 1, 0x1abcdef012345678, 0 };
	static const uint64_t b[] = { 7, PT_HASH_POINTS - 2, 0x0fedcba987654321, 0x1000000000000000 };
	const uint32_t cells = 5, m = 4;
	struct pt_randomizer p = hashed(40, cells, m - 1);
	uint8_t records[4 * PT_HASH_RECORD_LEN], one[PT_HASH_RECORD_LEN];

	(void)state;
	assert_int_equal(pt_find("hashed")->device->messages(&p), m);
	assert_int_equal(pt_find("hashed")->device->record_len(&p), PT_HASH_RECORD_LEN);
	for (uint64_t place = 0; place < m; place++) {
		for (uint64_t x = 0; x < 40; x++) {
			uint64_t script[13] = { draw_for(place, m) };

			for (uint32_t i = 0; i < m; i++) {
				script[1 + 3 * i] = draw_for(a[i], PT_HASH_POINTS);
				script[2 + 3 * i] = draw_for(b[i], PT_HASH_POINTS);
				script[3 + 3 * i] = draw_for((x + i) % cells, cells);
			}
			client(&p, x, script, 13, records);
			for (uint32_t i = 0; i < m; i++) {
				const uint8_t *r = records + i * PT_HASH_RECORD_LEN;
				struct scripted_rng s = {
					.script = script + 1 + 3 * i, .len = 3, .fallback = SCRIPT_END
				};
				struct cr_rng rng = scripted_rng(&s);

				assert_true(cm_get_le64(r + 8) == a[i] && cm_get_le64(r + 16) == b[i]);
				assert_int_equal(cm_get_le64(r + 24),
					i == place ? cell_of(a[i], b[i], x, cells) : (x + i) % cells);
				pt_find("hashed")->device->dummy(&p, 0, &rng, one);
				assert_int_equal(s.used, 3);
				if (i != place)
					assert_memory_equal(one, r, sizeof one);
			}
		}
	}
}

/* A message supports exactly the categories whose cell it names. */
static void a_hashed_message_counts_for_the_categories_of_its_cell(void **state)
{
	struct pt_randomizer p = hashed(300, 7, 1);
	struct pt_hash h = { 0x1123456789abcdef, 0x0badcafe12345678 };
	uint8_t record[PT_HASH_RECORD_LEN];
	uint64_t counts[300] = { 0 }, all = 0;

	(void)state;
	for (uint64_t cell = 0; cell < 7; cell++) {
		uint64_t before[300];

		memcpy(before, counts, sizeof before);
		pt_hash_put(record, &h, cell);
		assert_int_equal(pt_find("hashed")->tally(&p, record, counts, &err), CM_OK);
		for (uint64_t x = 0; x < 300; x++)
			assert_int_equal(counts[x] - before[x], cell_of(h.a, h.b, x, 7) == cell);
	}
	for (size_t x = 0; x < 300; x++)
		all += counts[x];
	assert_int_equal(all, 300);
}

/* At every place the value's message has the law of unary encoding, and the others that of no value, which is
 * what the shuffler's dummies have. */
static void a_fake_users_report_is_that_of_no_value(void **state)
{
	struct pt_randomizer p = cheu(3, 1.5, 2);
	uint64_t script[3];
	uint8_t record[16];

	(void)state;
	for (uint64_t place = 0; place < 3; place++) {
		for (uint64_t x = 0; x < 3; x++) {
			long double real[SYMBOLS], fake[SYMBOLS], f = chance(p.cheu.other), sum = 0;

			bit_law(&p, place, x, real, true);
			bit_law(&p, place, x, fake, false);
			for (uint32_t y = 0; y < 8; y++) {
				int ones = __builtin_popcount(y);

				close_to((double)fake[y], powl(f, ones) * powl(1 - f, 3 - ones), 1e-15);
				sum += real[y];
			}
			assert_true(fabsl(sum - 1) < 1e-17L);
		}
	}
	for (uint32_t y = 0; y < 8; y++) {
		struct scripted_rng s = { .script = script, .len = 3, .fallback = SCRIPT_END };
		struct cr_rng rng = scripted_rng(&s);

		for (uint32_t i = 0; i < 3; i++)
			script[i] = (y >> i & 1) != 0 ? p.cheu.other - 1 : p.cheu.other;
		pt_find("cheu")->device->dummy(&p, 0, &rng, record);
		assert_int_equal(s.used, 3);
		assert_int_equal(record[PT_RECORD_HEAD], y);
	}
}

static void every_value_and_outcome_uses_the_same_number_of_draws(void **state)
{
	struct pt_randomizer h = hashed(300, 9, 3), c = cheu(300, 2, 3);
	static uint8_t records[4 * 64];

	(void)state;
	for (uint64_t x = 0; x < 300; x += 23) {
		const uint64_t first[] = { draw_for(0, 4), draw_for(3, 4) };

		for (size_t i = 0; i < 2; i++) {
			uint64_t script[1 + 4 * 300] = { first[i] };

			for (size_t j = 1; j < sizeof script / sizeof script[0]; j++)
				script[j] = x % 2 == 0 ? SCRIPT_END : j % 3 == 0 ? 0 : UINT64_MAX - 1;
			client(&c, x, script, 1 + 4 * 300, records);
			for (size_t j = 1; j < 13; j++)
				script[j] = SCRIPT_END;
			client(&h, x, script, 13, records);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hashed_value_is_at_its_place_and_dummies_are_what_was_drawn),
		cmocka_unit_test(a_hashed_message_counts_for_the_categories_of_its_cell),
		cmocka_unit_test(a_fake_users_report_is_that_of_no_value),
		cmocka_unit_test(every_value_and_outcome_uses_the_same_number_of_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
