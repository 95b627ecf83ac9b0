/* test_words.c - words: the exact law of their messages; of all rows of vectors what they refuse, and the
 * largest. */
#include <math.h>
#include <stdlib.h>

#include "encode_in_room.h"
#include "pr_limits.h"
#include "pt_slots_analysis.h"
#include "vector_rows.h"

/* ---- words ---- */

/* The real message of slot `slot` when nothing is flipped: its group and bits, by draws. */
static struct pt_cell sent(const struct qy_query *q, const struct pt_randomizer *p, uint32_t x, uint32_t slot,
	uint32_t group, uint64_t coin)
{
	uint64_t script[256];
	uint32_t width = (uint32_t)__builtin_ctz(p->slots.slot[0].each.bins), at[64], len = 0;
	uint8_t records[64 * PT_RECORD_LEN];
	struct qy_value v = corner(x, q->dimension, at);
	struct pt_cell cell;

	for (uint32_t i = 0; i < p->slots.slot[0].count; i++) {
		script[len++] = draw_for(group, p->slots.slot[0].groups);
		for (uint32_t b = 0; b < width; b++)
			script[len++] = coin;
		script[len++] = 0; /* keep */
		script[len++] = draw_for(0, p->slots.slot[0].each.bins - 1);
		script[len++] = draw_for(0, 1); /* place */
		script[len++] = draw_for(0, (uint64_t)p->slots.slot[0].groups * p->slots.slot[0].each.bins);
	}
	struct scripted_rng s = { .script = script, .len = len, .fallback = SCRIPT_END };
	struct cr_rng rng = scripted_rng(&s);

	encode_in_room(p->row, q, p, &v, &rng, records);
	assert_int_equal(s.used, len);
	assert_int_equal(pt_slots_read(p, records + (size_t)slot * PT_RECORD_LEN, &cell, &err), CM_OK);
	assert_int_equal(cell.slot, slot);
	return cell;
}

static void every_coordinate_is_one_bit_of_one_word(void **state)
{
	static const struct {
		uint32_t dimension, slots, size;
	} shapes[] = { { 11, 3, 2 }, { 6, 6, 1 }, { 7, 1, 7 }, { 16, 2, 2 }, { 5, 2, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		struct qy_query q = vector(shapes[i].dimension);
		struct pt_request r = { .epsilon0 = 1, .slots = shapes[i].slots, .size = shapes[i].size };
		struct pt_randomizer p = made("words", &q, &r);
		uint32_t seen[64] = { 0 }, bits = 0, fair = 0;

		assert_int_equal(pt_slots_total(&p), shapes[i].slots);
		for (uint32_t slot = 0; slot < shapes[i].slots; slot++) {
			for (uint32_t g = 0; g < p.slots.slot[0].groups; g++) {
				uint32_t low = sent(&q, &p, 0, slot, g, UINT64_MAX / 4).word;
				uint32_t high = sent(&q, &p, 0, slot, g, UINT64_MAX / 4 * 3).word;

				/* Signs that only fill a word follow the coin. */
				fair += (uint32_t)__builtin_popcount(low & ~high);
				assert_int_equal(high, 0);
				for (uint32_t c = 0; c < q.dimension; c++) {
					struct pt_cell cell =
						sent(&q, &p, 1u << c, slot, g, UINT64_MAX / 4 * 3);

					assert_int_equal(cell.group, g);
					assert_true(cell.word == 0 || (cell.word & (cell.word - 1)) == 0);
					seen[c] += cell.word != 0;
					bits += cell.word != 0;
				}
			}
		}
		for (uint32_t c = 0; c < q.dimension; c++)
			assert_int_equal(seen[c], 1);
		assert_int_equal(bits + fair, shapes[i].slots * shapes[i].size * p.slots.slot[0].groups);
	}
}

/* E S and E S^2 of each coordinate of one participant at every corner, over all that can be drawn. */
static void signs_have_exactly_the_mean_that_the_estimate_takes_off(void **state)
{
	struct qy_query q = vector(7);
	struct pt_request r = { .epsilon0 = 1.3, .slots = 1, .size = 2 };
	struct pt_randomizer p = made("words", &q, &r);
	const struct pt_slot *s = &p.slots.slot[0];
	const struct pt_protocol *row = pt_find("words");
	double slope = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each);

	(void)state;
	assert_int_equal(s->groups, 4);
	for (uint32_t x = 0; x < 128; x += 5) {
		double mean[7] = { 0 }, square[7] = { 0 };
		uint32_t at[64];
		struct qy_value v = corner(x, 7, at);

		for (uint32_t t = 0; t < 4 * 4 * 2 * 3; t++) {
			uint32_t g = t % 4, coins = t / 4 % 4, keep = t / 16 % 2, other = t / 32;
			const uint64_t script[] = { draw_for(g, 4), (uint64_t)(coins & 1) << 63,
				(uint64_t)(coins >> 1) << 63, s->each.keep - keep, draw_for(other, 3) };
			struct scripted_rng draws = { .script = script, .len = 5, .fallback = SCRIPT_END };
			struct cr_rng rng = scripted_rng(&draws);
			uint8_t record[PT_RECORD_LEN];
			uint64_t counts[64] = { 0 };
			double chance = (keep ? pt_mixbins_keep(&s->each) : 1 - pt_mixbins_keep(&s->each)) /
					(4 * 4 * 3);

			encode_in_room(row->device, &q, &p, &v, &rng, record);
			assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
			for (uint32_t c = 0; c < 7; c++) {
				/* Eight padded coordinates, then four groups. */
				double sign = 2 * (double)counts[c] - (double)counts[8 + c / 2];

				mean[c] += chance * sign;
				square[c] += chance * sign * sign;
			}
		}
		for (uint32_t c = 0; c < 7; c++) {
			assert_true(fabs(mean[c] - slope * ((x >> c & 1) != 0 ? 1 : -1) / 4) < 1e-14);
			assert_true(fabs(square[c] - 1.0 / 4) < 1e-14);
		}
	}
}

static void a_row_of_words_chooses_what_errs_least(void **state)
{
	struct qy_query q = vector(64);

	(void)state;
	for (double eps = 0.5; eps <= 12; eps *= 1.5) {
		struct pt_request r = { .epsilon0 = eps, .min_reports = 1000 };
		struct pt_randomizer best = made("words", &q, &r);
		double error = pt_expected_error(&q, &best, 1000);

		assert_int_equal(best.slots.slot[0].count, 8);
		for (r.size = 1; r.size <= 8; r.size++) {
			struct pt_randomizer p = made("words", &q, &r);

			assert_true(pt_expected_error(&q, &p, 1000) >= error);
		}
	}
	/* Without a guarantee: words as wide as the dummies hide, 62 in a bin of each of the eight slots. */
	for (uint32_t dummies = 1; dummies <= 64; dummies *= 2) {
		struct pt_request r = { .epsilon0 = INFINITY, .min_reports = 10000, .dummies = dummies };
		struct pt_randomizer p = made("words", &q, &r);
		double error = pt_expected_error(&q, &p, 10000);

		assert_true(10000.0 * dummies / p.slots.slot[0].each.bins >= 62 * 8);
		for (r.size = 1; r.size <= 8 && 10000.0 * dummies / (1u << r.size) >= 62 * 8; r.size++) {
			struct pt_randomizer wide = made("words", &q, &r);

			assert_true(pt_expected_error(&q, &wide, 10000) >= error);
		}
	}
}

/* ---- all rows ---- */

static const struct {
	const char *row;
	uint32_t dimension;
	struct pt_request r;
	const char *said;
} refused[] = {
	{ "words", 6, { .epsilon0 = 1, .slots = 7 }, "7 slots for 6 coordinates" },
	{ "words", 6, { .epsilon0 = 1, .slots = 2, .size = 4 }, "words of 4 coordinates, must be 1 to 3" },
	{ "words", 60, { .epsilon0 = 1, .slots = 2, .size = 13 }, "must be 1 to 12" },
	{ "words", 6, { .epsilon0 = INFINITY }, "needs dummies" },
	{ "words", 6, { .epsilon0 = 17 }, "epsilon0 must be" },
	{ "words", 6, { .epsilon0 = 1, .shuffler_dummies = 9 }, "the shuffler adds no dummies" },
	{ "words", 2000, { .epsilon0 = 1, .slots = 2000, .dummies = 4 }, "messages of a device" },
	{ "harmony", 6, { .epsilon0 = 1, .dummies = 1 }, "\"words\" has them" },
	{ "harmony", 6, { .epsilon0 = INFINITY }, "must be finite" },
	{ "harmony", 6, { .epsilon0 = 1, .slots = 2 }, "sends one sign" },
	{ "harmony", 6, { .epsilon0 = 1, .size = 2 }, "sends one sign" },
	{ "rotated", 6, { .epsilon0 = 1, .slots = 9 }, "9 slots for 8 coordinates" },
	{ "rotated", 6, { .epsilon0 = 1, .slots = 4, .size = 3 }, "words of 3 coordinates, must be 1 to 2" },
	{ "vrr", 6, { .epsilon0 = 1, .size = 7 }, "size 7, must be 1 to 6" },
	{ "vrr", 60, { .epsilon0 = 1, .size = 17 }, "must be 1 to 16" },
	{ "vrr", 6, { .epsilon0 = INFINITY }, "epsilon0 must be" },
	{ "vrr", 6, { .epsilon0 = 16.5, .size = 4 }, "epsilon0 must be" },
	{ "vrr", 6, { .epsilon0 = 1, .dummies = 1 }, "\"words\" has them" },
	{ "vrr", 6, { .epsilon0 = 1, .slots = 2 }, "sends one message" },
	{ "vrr", 6, { .epsilon0 = 1, .shuffler_dummies = 1 }, "the shuffler adds no dummies" },
};

static void what_a_row_cannot_do_is_refused_with_the_reason(void **state)
{
	struct qy_query number = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct qy_query q = vector(refused[i].dimension);
		struct pt_randomizer p = { .topk.size = 77 };

		assert_int_equal(pt_derive(pt_find(refused[i].row), &q, &refused[i].r, &p, &err), CM_ECONFIG);
		if (!strstr(err.msg, refused[i].said))
			fail_msg("'%s' does not say '%s'", err.msg, refused[i].said);
		assert_int_equal(p.topk.size, 77);
		assert_int_equal(
			pt_derive(pt_find(refused[i].row), &number, &refused[i].r, &p, &err), CM_ECONFIG);
	}
}

#define REFUSED(row, member, bad)                                                       \
	do {                                                                            \
		p = good;                                                               \
		p.member = (bad);                                                       \
		assert_int_equal(pt_find(row)->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	struct qy_query q = vector(20), smaller = vector(19);
	struct pt_request r = { .epsilon0 = 2, .slots = 2, .size = 2 };
	struct pt_randomizer good = made("words", &q, &r), p;

	(void)state;
	REFUSED("words", slots.kinds, 0);
	REFUSED("words", slots.kinds, 2);
	REFUSED("words", slots.slot[0].count, 3);
	REFUSED("words", slots.slot[0].count, 21);
	REFUSED("words", slots.slot[0].groups, 6);
	REFUSED("words", slots.slot[0].groups, 4);
	REFUSED("words", slots.slot[0].each.bins, 3);
	REFUSED("words", slots.slot[0].each.bins, 8);
	REFUSED("words", slots.slot[0].each.bins, 0);
	REFUSED("words", slots.slot[0].each.keep, 1);
	assert_int_equal(pt_find("words")->device->check(&q, &good, &err), CM_OK);
	assert_int_equal(pt_find("words")->device->check(&smaller, &good, &err), CM_OK);
	smaller = vector(16);
	assert_int_equal(pt_find("words")->device->check(&smaller, &good, &err), CM_EPROTO);
	good = made("harmony", &q, &(struct pt_request){ .epsilon0 = 2 });
	REFUSED("harmony", slots.slot[0].count, 2);
	REFUSED("harmony", slots.slot[0].each.bins, 4);
	REFUSED("harmony", slots.slot[0].groups, 19);
	REFUSED("harmony", slots.slot[0].each.dummies, 1);
	REFUSED("harmony", slots.kinds, 0);
	good = made("rotated", &q, &(struct pt_request){ .epsilon0 = 2, .slots = 4, .size = 2 });
	REFUSED("rotated", rotated.scale, 0);
	REFUSED("rotated", rotated.scale, (UINT64_C(1) << 20) - 1);
	REFUSED("rotated", rotated.scale, (UINT64_C(1) << 34) + 1);
	REFUSED("rotated", slots.slot[0].groups, 3); /* of 20 coordinates, not of 32 */
	REFUSED("rotated", slots.kinds, 0);
	q.low = -2;
	assert_int_equal(pt_find("rotated")->device->check(&q, &good, &err), CM_EPROTO);
	q.low = -1;
	good = made("vrr", &q, &(struct pt_request){ .epsilon0 = 12, .size = 3 });
	REFUSED("vrr", vrr.size, 0);
	REFUSED("vrr", vrr.size, 17);
	REFUSED("vrr", vrr.size, 5); /* 5 signs of 4 are 20 */
	REFUSED("vrr", vrr.dimension, 19);
	REFUSED("vrr", vrr.keep, 0);
	REFUSED("vrr", vrr.keep, UINT64_MAX);
	REFUSED("vrr", shuffler.dummies, 1);
}

static void counts_that_no_round_gives_are_refused(void **state)
{
	static const char *const rows[] = { "words", "harmony", "vrr" };
	struct qy_query q = vector(6);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pt_request r = { .epsilon0 = 2 };
		struct pt_randomizer p = made(rows[i], &q, &r);
		uint32_t n = pt_find(rows[i])->tallies(&p);
		uint64_t counts[32] = { 0 };
		struct es_estimate e;

		assert_int_equal(n, 12);
		assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_OK);
		es_estimate_fini(&e);
		assert_int_equal(pt_answer(&q, &p, counts, 0, &e, &err), CM_EDATA);
		counts[0] = 1; /* a one of no message */
		assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_EDATA);
		counts[0] = 0;
		counts[6] = 11; /* more than their share, which one participant can cause */
		assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), i == 0 ? CM_OK : CM_EDATA);
		if (i == 0)
			es_estimate_fini(&e);
		counts[6] = 61; /* more than all can have sent */
		assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_EDATA);
		counts[6] = UINT64_MAX;
		assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_EDATA);
	}
}

/* Two devices of the largest vector, the wire's limits kept. */
static void the_largest_vector_fits(void **state)
{
	static const char *const rows[] = { "words", "harmony", "vrr", "rotated" };
	uint32_t *at = calloc(PR_DIMENSION_MAX, sizeof *at);
	struct cr_rng rng;

	(void)state;
	assert_non_null(at);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t c = 0; c < PR_DIMENSION_MAX; c++)
		at[c] = c << 14;
	for (size_t i = 0; i < 4; i++) {
		/* A rotated vector has a coordinate more. */
		struct qy_query q =
			vector(strcmp(rows[i], "rotated") == 0 ? PR_DIMENSION_MAX - 1 : PR_DIMENSION_MAX);
		struct pt_request r = { .epsilon0 = 4, .slots = i == 0 ? 64 : 0 };
		struct pt_randomizer p = made(rows[i], &q, &r);
		const struct pt_protocol *row = pt_find(rows[i]);
		struct qy_value v = { .at = at };
		uint8_t *records = calloc(row->device->messages(&p), row->device->record_len(&p));
		uint64_t *counts = calloc(row->tallies(&p), sizeof *counts);
		struct es_estimate e;

		assert_true(records && counts);
		assert_true(row->tallies(&p) <= PR_TALLIES_MAX);
		for (uint32_t j = 0; j < 2; j++) {
			encode_in_room(row->device, &q, &p, &v, &rng, records);
			for (uint32_t m = 0; m < row->device->messages(&p); m++)
				assert_int_equal(row->tally(&p, records + m * row->device->record_len(&p),
							 counts, &err),
					CM_OK);
		}
		assert_int_equal(pt_answer(&q, &p, counts, 2, &e, &err), CM_OK);
		assert_int_equal(e.n, q.dimension);
		assert_int_equal(strtoul(e.item[e.n - 1].label, NULL, 10), q.dimension - 1);
		es_estimate_fini(&e);
		free(counts);
		free(records);
	}
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_coordinate_is_one_bit_of_one_word),
		cmocka_unit_test(signs_have_exactly_the_mean_that_the_estimate_takes_off),
		cmocka_unit_test(a_row_of_words_chooses_what_errs_least),
		cmocka_unit_test(what_a_row_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(counts_that_no_round_gives_are_refused),
		cmocka_unit_test(the_largest_vector_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
