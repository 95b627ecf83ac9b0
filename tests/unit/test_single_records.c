/* test_single_records.c - the rows of one wide message: hashes, draws, lengths, and records nobody sends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_bits.h"
#include "pt_hash_analysis.h"
#include "pt_record.h"
#include "scripted_rng.h"
#include "single_rows.h"

/* a x + b by long multiplication, modulo the prime. */
static uint64_t line(uint64_t a, uint64_t x, uint64_t b)
{
	__extension__ unsigned __int128 v = (unsigned __int128)a * x + b;

	return (uint64_t)(v % PT_HASH_POINTS);
}

static void a_hash_is_a_line_and_the_next_point_is_the_next_categorys(void **state)
{
	static const uint64_t ends[] = { 0, 1, 2, PT_HASH_POINTS / 2, PT_HASH_POINTS - 2, PT_HASH_POINTS - 1,
		0x123456789abcdef };

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		for (size_t j = 0; j < 7; j++) {
			struct pt_hash h = { ends[i], ends[j] };
			uint64_t point = pt_hash_point(&h, 0);

			for (uint64_t x = 0; x < 4096; x++) {
				assert_true(pt_hash_point(&h, x) == line(h.a, x, h.b));
				assert_true(point == line(h.a, x, h.b));
				point = pt_hash_next(&h, point);
			}
		}
	}
}

/* The points of each cell, counted by where its number changes: kappa times l is 1 but for the stated
 * excess. */
static void every_cell_has_its_share_of_points(void **state)
{
	__extension__ typedef unsigned __int128 u128;

	(void)state;
	for (uint32_t l = 2; l <= 4096; l = l < 70 ? l + 1 : l * 3 - 5) {
		uint64_t first = 0, total = 0, excess = 0;

		for (uint32_t cell = 0; cell < l; cell++) {
			uint64_t low = first, high = PT_HASH_POINTS, points;
			int64_t away;

			/* The first point of the next cell. */
			while (low < high) {
				uint64_t mid = low + (high - low) / 2;

				if (pt_hash_cell(mid, l) > cell)
					high = mid;
				else
					low = mid + 1;
			}
			points = low - first;
			total += points;
			/* l times (points - M/l): below 2l either way. */
			away = (int64_t)((u128)points * l - PT_HASH_POINTS);
			assert_true(away < 2 * (int64_t)l && away > -2 * (int64_t)l);
			excess += (uint64_t)(away * away);
			first = low;
		}
		assert_true(total == PT_HASH_POINTS);
		/* kappa - 1/l = sum of (away / (l M))^2. */
		assert_true((double)excess / l / l / 0x1p122 * 1.01 < 0x1p-107);
	}
}

/* A record says what the sender drew: the randomized cell of its value under its hash. */
static void a_local_hash_report_is_randomized_response_on_the_cells(void **state)
{
	(void)state;
	for (uint32_t cells = 2; cells <= 5; cells++) {
		struct pt_randomizer p = made("olh", 40, 1, cells);

		for (uint64_t x = 0; x < 40; x++) {
			const uint64_t a = UINT64_C(0x1abcdef012345678), b = UINT64_C(0x0123456789abcdef);
			uint64_t own = line(a, x, b), hits = 0;
			uint8_t record[64];

			own = (uint64_t)((__extension__(unsigned __int128) own * cells) >> 61);
			for (uint64_t o = 0; o + 1 < cells; o++) {
				uint64_t script[] = { draw_for(a, PT_HASH_POINTS),
					draw_for(b, PT_HASH_POINTS), p.single.keep - 1,
					draw_for(o, cells - 1) };

				scripted_report(&p, x, script, 4, record);
				assert_true(cm_get_le64(record + 8) == a && cm_get_le64(record + 16) == b);
				assert_int_equal(cm_get_le64(record + 24), own);
				script[2] = p.single.keep;
				scripted_report(&p, x, script, 4, record);
				assert_true(cm_get_le64(record + 24) != own);
				hits |= UINT64_C(1) << cm_get_le64(record + 24);
			}
			assert_int_equal(hits, ((UINT64_C(1) << cells) - 1) & ~(UINT64_C(1) << own));
		}
	}
}

/* Every value and every outcome takes the same draws: lengths of scripts above, and longer domains here. */
static void every_value_and_outcome_uses_the_same_number_of_draws(void **state)
{
	static const uint32_t draws[] = { 300, 300, 300, 4, 2 };
	const uint64_t hash = SCRIPT_END;
	static uint8_t record[RECORD_MAX];

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct pt_randomizer p = made(rows[i], 300, 1, 0);
		struct qy_query q = histogram(300);

		for (uint64_t x = 0; x < 300; x += 13) {
			const uint64_t first[] = { 0, p.single.keep - 1, p.single.keep, UINT64_MAX - 1 };

			for (size_t j = 0; j < 4; j++) {
				/* A hash is drawn before anything of the value. */
				const uint64_t script[] = { hash, hash, first[j] };
				size_t skip = strcmp(rows[i], "olh") == 0 ? 0 : 2;
				struct scripted_rng s = {
					.script = script + skip, .len = 3 - skip, .fallback = SCRIPT_END
				};
				struct cr_rng rng = scripted_rng(&s);
				struct qy_value v = { .x = x };

				encode_in_room(pt_find(rows[i])->device, &q, &p, &v, &rng, record);
				assert_int_equal(s.used, draws[i]);
			}
		}
	}
}

/* Domains at the ends of words, every value: the record opens, has its length and holds its own zeros. */
static void every_value_of_every_domain_gives_a_record_of_one_length(void **state)
{
	static const uint32_t domains[] = { 2, 3, 63, 64, 65, 128, 200, 4096 };
	static uint64_t counts[TALLIES_MAX];
	static uint8_t record[RECORD_MAX];
	const uint8_t seed[CR_SEED_LEN] = { 7 };
	struct cr_rng rng;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);

	(void)state;
	assert_non_null(g);
	for (size_t i = 0; i < ROWS; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);

		for (size_t j = 0; j < sizeof domains / sizeof domains[0]; j++) {
			struct pt_randomizer p = made(rows[i], domains[j], 3, 0);
			struct qy_query q = histogram(domains[j]);
			uint32_t len = row->device->record_len(&p), step = domains[j] > 200 ? 409 : 1;

			assert_true(len <= RECORD_MAX);
			assert_true(row->tallies(&p) <= TALLIES_MAX && row->device->messages(&p) == 1);
			for (uint64_t x = 0; x < domains[j]; x += step) {
				struct qy_value v = { .x = x };

				memset(record, 0xa5, sizeof record);
				encode_in_room(row->device, &q, &p, &v, &rng, record);
				for (size_t k = len; k < sizeof record; k++)
					assert_int_equal(record[k], 0xa5);
				assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
			}
		}
	}
	cr_rng_seeded_free(g);
}

/* Refused, and nothing is counted. */
static void expect_bad(const struct pt_randomizer *p, const uint8_t *record)
{
	static uint64_t counts[TALLIES_MAX];

	assert_int_equal(pt_protocol_of(p->row)->tally(p, record, counts, &err), CM_EDATA);
	for (size_t i = 0; i < TALLIES_MAX; i++)
		assert_true(counts[i] == 0);
}

static void malformed_records_add_nothing(void **state)
{
	static uint8_t record[64];
	const uint8_t seed[CR_SEED_LEN] = { 8 };
	struct cr_rng rng;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);

	(void)state;
	assert_non_null(g);
	for (size_t i = 0; i < ROWS; i++) {
		struct pt_randomizer p = made(rows[i], 5, 1, 0);
		struct qy_query q = histogram(5);
		struct qy_value v = { .x = 3 };
		const struct pt_protocol *row = pt_find(rows[i]);
		bool bits = row->device->record_len(&p) == 16 && i < 3;

		encode_in_room(row->device, &q, &p, &v, &rng, record);
		for (size_t bit = 0; bit < 64; bit++) {
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
			expect_bad(&p, record);
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		/* Bits of no item, or columns and cells beyond the last. */
		for (size_t bit = bits ? 5 : 3; bit < 64; bit++) {
			size_t at = 8 * (row->device->record_len(&p) - 8) + bit;

			record[at / 8] ^= (uint8_t)(1u << at % 8);
			expect_bad(&p, record);
			record[at / 8] ^= (uint8_t)(1u << at % 8);
		}
	}
	cr_rng_seeded_free(g);
}

static void a_subset_has_its_size_and_a_hash_is_of_the_family(void **state)
{
	struct pt_randomizer p = made("subset", 5, 1, 2);
	uint64_t counts[5] = { 0 };
	uint8_t record[64];

	(void)state;
	for (uint32_t set = 0; set < 32; set++) {
		pt_bits_clear(record, 5);
		record[PT_RECORD_HEAD] = (uint8_t)set;
		if (__builtin_popcount(set) == 2)
			assert_int_equal(pt_find("subset")->tally(&p, record, counts, &err), CM_OK);
		else
			expect_bad(&p, record);
	}
	p = made("olh", 5, 1, 4);
	for (uint64_t word = 0; word < 3; word++) {
		const uint64_t limit = word < 2 ? PT_HASH_POINTS : 4;

		memset(record, 0, sizeof record);
		pt_record_begin(record);
		cm_put_le64(record + 8 + 8 * word, limit - 1);
		assert_int_equal(pt_find("olh")->tally(&p, record, counts, &err), CM_OK);
		cm_put_le64(record + 8 + 8 * word, limit);
		expect_bad(&p, record);
		cm_put_le64(record + 8 + 8 * word, UINT64_MAX);
		expect_bad(&p, record);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hash_is_a_line_and_the_next_point_is_the_next_categorys),
		cmocka_unit_test(every_cell_has_its_share_of_points),
		cmocka_unit_test(a_local_hash_report_is_randomized_response_on_the_cells),
		cmocka_unit_test(every_value_and_outcome_uses_the_same_number_of_draws),
		cmocka_unit_test(every_value_of_every_domain_gives_a_record_of_one_length),
		cmocka_unit_test(malformed_records_add_nothing),
		cmocka_unit_test(a_subset_has_its_size_and_a_hash_is_of_the_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
