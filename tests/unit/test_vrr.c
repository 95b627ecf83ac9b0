/* test_vrr.c - vector randomized response: the exact law of its messages, its cells, its records. */
#include <math.h>

#include "cm_buf.h"
#include "encode_in_room.h"
#include "exact_batch.h"
#include "vector_rows.h"

#define CORNERS 16u

/* Chance of every record value >> 16 * 2^size + signs, for a corner. */
static void law_of_vrr(
	const struct qy_query *q, const struct pt_randomizer *p, uint32_t x, long double law[BATCH_SYMBOLS])
{
	uint64_t keep = p->vrr.keep;
	uint32_t d = q->dimension;

	memset(law, 0, BATCH_SYMBOLS * sizeof *law);
	for (uint32_t t = 0; t < d << p->vrr.size; t++) {
		uint64_t script[1 + 2 * 16] = { draw_for(t >> p->vrr.size, d) }, value;
		struct scripted_rng draws;
		struct cr_rng rng;
		long double chance = 1.0L / d;
		uint8_t record[PT_RECORD_LEN];
		uint32_t at[64];
		struct qy_value v = corner(x, d, at);

		for (uint32_t i = 0; i < p->vrr.size; i++) {
			uint32_t kept = t >> i & 1;

			script[1 + 2 * i] = keep - kept;
			chance *= ldexpl((long double)(kept ? keep : UINT64_C(0) - keep), -64);
		}
		draws = (struct scripted_rng){ .script = script, .len = 1 + 2 * p->vrr.size };
		rng = scripted_rng(&draws);
		encode_in_room(pt_find("vrr")->device, q, p, &v, &rng, record);
		assert_int_equal(draws.used, draws.len);
		value = cm_get_le64(record + 8);
		law[(value >> 16 << p->vrr.size) + (value & 0xffff)] += chance;
	}
}

static void the_cells_of_a_vector_response_are_those_of_its_law(void **state)
{
	static const struct {
		uint32_t dimension, size;
	} shapes[] = { { 2, 1 }, { 3, 2 }, { 4, 3 }, { 2, 2 }, { 3, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		uint32_t d = shapes[i].dimension, s = shapes[i].size, corners = 1u << d, symbols = d << s;
		struct qy_query q = vector(d);
		struct pt_request r = { .epsilon0 = 2.5, .size = s };
		struct pt_randomizer p = made("vrr", &q, &r);
		long double law[CORNERS][BATCH_SYMBOLS], omega[BATCH_SYMBOLS], want[17] = { 0 };
		struct pt_loss loss;

		for (uint32_t x = 0; x < corners; x++)
			law_of_vrr(&q, &p, x, law[x]);
		assert_int_equal(pt_find("vrr")->loss(&p, 3, &loss, &err), CM_OK);
		assert_true(loss.parts == 1 && loss.part[0].count == 1 && loss.part[0].others == 2);
		assert_int_equal(loss.part[0].cells, s + 1);
		for (uint32_t y = 0; y < symbols; y++) {
			uint32_t ones = (uint32_t)__builtin_popcount(y & ((1u << s) - 1));
			const struct acct_cell *cell = &loss.part[0].cell[ones];

			omega[y] = 1;
			for (uint32_t x = 0; x < corners; x++)
				omega[y] = fminl(omega[y], law[x][y]);
			want[ones] += omega[y];
			/* Inputs 0 and all ones: cell k has k of the second's signs. */
			assert_true(fabsl(law[0][y] / omega[y] / cell->u - 1) < 1e-14L);
			assert_true(fabsl(law[corners - 1][y] / omega[y] / cell->v - 1) < 1e-14L);
			assert_true(cell->u * (1 + 1e-18L) >= law[0][y] / omega[y]);
		}
		for (uint32_t k = 0; k <= s; k++) {
			assert_true(loss.part[0].cell[k].omega <= want[k]);
			assert_true(fabsl(loss.part[0].cell[k].omega / want[k] - 1) < 1e-14L);
		}
		assert_true(pt_find("vrr")->device->epsilon0(&p) <= 2.5 &&
			    pt_find("vrr")->device->epsilon0(&p) > 2.5 - 1e-8);
		/* Any two values of the victim, any of the other two; of many symbols some of them. */
		for (uint32_t t = 0; t < corners * corners * 4; t++) {
			struct batch b = { .symbols = symbols, .messages = 3 };
			uint32_t one = t % corners, two = t / corners % corners,
				 other = (t * 5 + one) % corners;

			if (one == two || (symbols > 16 && t % 71 != 3))
				continue;
			memcpy(b.law[0][0], law[one], sizeof law[one]);
			memcpy(b.law[1][0], law[two], sizeof law[two]);
			for (size_t x = 0; x < 2; x++) {
				memcpy(b.law[x][1], law[other], sizeof law[other]);
				memcpy(b.law[x][2], law[t / 7 % corners], sizeof law[other]);
			}
			expect_bound(&loss.part[0], &b, false);
		}
	}
}

static void every_coordinate_is_in_the_same_number_of_subsets(void **state)
{
	(void)state;
	for (uint32_t d = 2; d <= 40; d++) {
		for (uint32_t s = 1; s <= 16 && s <= d; s++) {
			struct qy_query q = vector(d);
			struct pt_request r = { .epsilon0 = 1, .size = s };
			struct pt_randomizer p = made("vrr", &q, &r);
			uint64_t counts[80] = { 0 };

			for (uint64_t start = 0; start < d; start++) {
				uint8_t record[PT_RECORD_LEN];

				pt_record_put(record, start << 16 | ((1u << s) - 1));
				assert_int_equal(pt_find("vrr")->tally(&p, record, counts, &err), CM_OK);
				for (uint32_t c = 0; c < d; c++)
					assert_true(counts[c] <= start + 1);
			}
			for (uint32_t c = 0; c < d; c++)
				assert_true(counts[c] == s && counts[d + c] == 1);
		}
	}
}

static void malformed_vector_responses_are_refused_and_count_nothing(void **state)
{
	struct qy_query q = vector(5);
	struct pt_request r = { .epsilon0 = 1, .size = 3 };
	struct pt_randomizer p = made("vrr", &q, &r);
	uint64_t counts[10] = { 0 }, none[10] = { 0 };
	uint8_t record[PT_RECORD_LEN];
	static const uint64_t bad[] = { UINT64_C(5) << 16, 8, 0x8000, UINT64_C(4) << 16 | 9, UINT64_MAX,
		UINT64_C(1) << 63, UINT64_C(1) << 32 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		pt_record_put(record, bad[i]);
		assert_int_equal(pt_find("vrr")->tally(&p, record, counts, &err), CM_EDATA);
	}
	pt_record_put_slot(record, 1, 0);
	assert_int_equal(pt_find("vrr")->tally(&p, record, counts, &err), CM_EDATA);
	assert_memory_equal(counts, none, sizeof none);
	pt_record_put(record, UINT64_C(4) << 16 | 7);
	assert_int_equal(pt_find("vrr")->tally(&p, record, counts, &err), CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cells_of_a_vector_response_are_those_of_its_law),
		cmocka_unit_test(every_coordinate_is_in_the_same_number_of_subsets),
		cmocka_unit_test(malformed_vector_responses_are_refused_and_count_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
