/* test_rare.c - dummies that come by chance: the chance, the messages, what is counted. */
#include "encode_in_room.h"
#include "rare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pt_mixbins_analysis.h"
#include "pt_words_analysis.h"
#include "queries.h"
#include "scripted_rng.h"

static struct cm_err err;

static void these_rows_have_such_dummies(void **state)
{
	static const char *const names[] = { "levels", "bins", "mixbins", "hashed", "words", "prefixes" };
	const struct pt_protocol *row;
	struct pt_request r;
	size_t found = 0;

	(void)state;
	for (size_t i = 0; next_rare_row(&i, &row, &r); found++) {
		bool listed = false;

		for (size_t j = 0; j < sizeof names / sizeof *names; j++)
			listed = listed || strcmp(row->device->name, names[j]) == 0;
		assert_true(listed);
	}
	assert_int_equal(found, sizeof names / sizeof *names);
}

/* The whole part stays; the rest is never below what was asked for, and less than 2^-64 above. */
static void a_number_is_dummies_and_the_chance_of_one_more(void **state)
{
	static const struct {
		double number;
		uint32_t whole;
		uint64_t chance;
	} some[] = { { 0, 0, 0 }, { 3, 3, 0 }, { 1023, 1023, 0 }, { 0.25, 0, QUARTER }, { 2.25, 2, QUARTER },
		{ 0.5, 0, UINT64_C(1) << 63 }, { 1 - DBL_EPSILON / 2, 0, UINT64_MAX - 2047 },
		{ 1e-300, 0, 1 }, { 0x1p-64, 0, 1 }, { 0x1.8p-64, 0, 2 },
		{ 0.05, 0, UINT64_C(0x0ccccccccccccd00) } };

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		struct pt_request r = { .dummies = 77, .dummy_chance = 77 };

		pt_request_dummies(&r, some[i].number);
		assert_int_equal(r.dummies, some[i].whole);
		assert_true(r.dummy_chance == some[i].chance);
		assert_true(fabs(pt_dummies_each(r.dummies, r.dummy_chance) - some[i].number) <= 0x1p-64);
	}
}

static void whole_dummies_are_what_they_were(void **state)
{
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(pt_mixbins_derive(pt_find("bins"), 5, INFINITY, 2, &p, &err), CM_OK);
	assert_true(p.mixbins.dummy_chance == 0);
	assert_int_equal(pt_mixbins_messages(&p), 3);
	for (unsigned i = 0; i < 200; i++) {
		uint8_t seed[CR_SEED_LEN] = { (uint8_t)i };
		struct cr_rng ra, rb;
		struct cr_rng_seeded *a = cr_rng_seeded_new(seed, &ra), *b = cr_rng_seeded_new(seed, &rb);
		uint8_t records[3 * PT_RECORD_LEN];
		uint64_t place;

		assert_true(a && b);
		place = cr_rng_below(&rb, 3);

		pt_mixbins_encode(&p.mixbins, 4, &ra, records);
		for (uint64_t m = 0; m < 3; m++) {
			uint64_t dummy = cr_rng_below(&rb, 5);

			assert_true(cm_get_le64(records + m * PT_RECORD_LEN + 8) == (m == place ? 4 : dummy));
		}
		assert_true(cr_rng_u64(&ra) == cr_rng_u64(&rb));
		cr_rng_seeded_free(a);
		cr_rng_seeded_free(b);
	}
}

/* With a chance of a quarter a draw below 2^62 gives a dummy, and 2^62 gives none; everything else is the
 * same, draw by draw. */
static void the_threshold_decides_and_nothing_else_changes(void **state)
{
	const uint64_t bounds[2] = { QUARTER - 1, QUARTER };
	struct pt_request r = { .epsilon0 = 2, .dummies = 1, .dummy_chance = QUARTER };
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(pt_mixbins_request(pt_find("mixbins"), 4, &r, &p, &err), CM_OK);
	assert_int_equal(pt_mixbins_messages(&p), 3);
	for (uint64_t place = 0; place < 3; place++)
		for (uint64_t other = 0; other < 2; other++)
			for (uint64_t bin = 0; bin < 4; bin++) {
				uint8_t records[2][3 * PT_RECORD_LEN];
				uint64_t at = other + (other >= place);
				size_t used[2];

				for (int i = 0; i < 2; i++) {
					/* keep and the bin not kept; the two places; the coin; the
					 * dummies. */
					uint64_t script[] = { 0, draw_for(1, 3), draw_for(place, 3),
						draw_for(other, 2), bounds[i], draw_for(1, 4), draw_for(2, 4),
						draw_for(3, 4) };
					struct scripted_rng s = { script, 8, 0, SCRIPT_END };
					struct cr_rng rng = scripted_rng(&s);

					pt_mixbins_encode(&p.mixbins, bin, &rng, records[i]);
					used[i] = s.used;
				}
				assert_true(used[0] == 8 && used[1] == 8);
				for (uint64_t m = 0; m < 3; m++) {
					const uint8_t *came = records[0] + m * PT_RECORD_LEN,
						      *not = records[1] + m * PT_RECORD_LEN;

					assert_true(cm_get_le64(came + 8) == (m == place ? bin : m + 1));
					assert_memory_equal(came, not, 8);
					assert_true(pt_record_is_null(not ) == (m == at));
					assert_true(m == at || memcmp(came, not, PT_RECORD_LEN) == 0);
				}
			}
}

/* For all batches of a row's clients: how many have a NULL, and in how many it comes first or last. */
struct nulls {
	double batches, seen, first, last;
};

static uint64_t sum_of(const uint64_t *counts, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

/* NULL, or counted as ever.  A round without the chance (`whole`) has no NULL: it is garbage there. */
static bool is_null_or_counted(const struct pt_protocol *row, const struct pt_randomizer *p,
	const struct pt_randomizer *whole, const uint8_t *record, uint64_t *counts)
{
	bool null = cm_get_le64(record + 8) == PT_RECORD_NULL;
	uint64_t before = sum_of(counts, row->tallies(p)), none[64] = { 0 };

	assert_int_equal(row->tally(p, record, counts, &err), CM_OK);
	assert_true((before == sum_of(counts, row->tallies(p))) == null);
	if (null) {
		assert_true(row->tallies(whole) <= 64);
		assert_int_equal(row->tally(whole, record, none, &err), CM_EDATA);
		assert_memory_equal(none, (uint64_t[64]){ 0 }, sizeof none);
	}
	return null;
}

/* The messages of 6000 clients that hold every value in turn. */
static struct nulls nulls_of(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const struct pt_randomizer *whole)
{
	uint32_t at[QUERIES_DIMENSION], m = row->device->messages(p), len = row->device->record_len(p),
					batches = m / 3;
	uint8_t *records = calloc(m, len);
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	struct nulls all = { 0 };
	struct cr_rng rng;

	assert_true(records && counts);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t n = 0; n < 6000; n++) {
		struct qy_value v = query_value(q, n % query_values(q), at);
		uint32_t here = 0;

		memset(records, 0xaa, (size_t)m * len);
		encode_in_room(row->device, q, p, &v, &rng, records);
		for (uint32_t k = 0; k < m; k++) {
			bool null = is_null_or_counted(row, p, whole, records + (size_t)k * len, counts);

			here += null;
			all.first += null && k % 3 == 0;
			all.last += null && k % 3 == 2;
		}
		assert_true(here <= batches);
		all.seen += here;
		all.batches += batches;
	}
	free(records);
	free(counts);
	return all;
}

/* Every value, every row: as many messages of one length, of which one per batch is NULL three times in four;
 * and what is not NULL is counted as ever. */
static void messages_are_as_many_and_as_long_whatever_comes(void **state)
{
	const struct pt_protocol *row;
	struct pt_request r;

	(void)state;
	for (size_t i = 0; next_rare_row(&i, &row, &r);) {
		struct qy_query q = query_of_row(row);
		struct pt_randomizer p, whole;
		struct nulls all;

		r.dummies = 1;
		p = derived(row, &q, &r);
		r.dummy_chance = 0;
		whole = derived(row, &q, &r);
		assert_int_equal(row->device->messages(&p), 3 * (row->device->messages(&whole) / 2));
		assert_int_equal(row->device->record_len(&p), row->device->record_len(&whole));
		all = nulls_of(row, &q, &p, &whole);
		/* 7.5 standard deviations: chance 1e-13. */
		assert_true(fabs(all.seen - 0.75 * all.batches) < 7.5 * sqrt(all.batches * 0.75 * 0.25));
		assert_true(fabs(all.first - all.seen / 3) < 7.5 * sqrt(all.seen * 2 / 9));
		assert_true(fabs(all.last - all.seen / 3) < 7.5 * sqrt(all.seen * 2 / 9));
	}
}

/* The NULL is all ones, and nothing near it. */
static void null_is_no_garbage_and_garbage_no_null(void **state)
{
	const struct pt_protocol *row;
	struct pt_request r;

	(void)state;
	for (size_t i = 0; next_rare_row(&i, &row, &r);) {
		struct qy_query q = query_of_row(row);
		struct pt_randomizer p = derived(row, &q, &r);
		uint32_t len = row->device->record_len(&p);
		uint64_t counts[64] = { 0 };
		uint8_t good[64], record[64];

		assert_true(len <= sizeof record && row->tallies(&p) <= 64);
		memset(good, 0xff, sizeof good);
		pt_record_begin(good);
		assert_int_equal(row->tally(&p, good, counts, &err), CM_OK);
		for (uint32_t bit = 0; bit < 8 * len; bit++) {
			memcpy(record, good, sizeof good);
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
			/* Another slot's, where there are some. */
			if (p.row->parameters == &pt_slots_layout && bit >= 16 && bit < 32 &&
				1u << (bit - 16) < row->device->messages(&p) / 2)
				assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
			else
				assert_int_equal(row->tally(&p, record, counts, &err), CM_EDATA);
		}
		assert_memory_equal(counts, (uint64_t[64]){ 0 }, sizeof counts);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = 1022, .dummy_chance = 1 };
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_OK);
	assert_int_equal(pt_mixbins_messages(&p), 1024);
	assert_int_equal(pt_mixbins_check(&p, &err), CM_OK);
	p.mixbins.dummies++;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.dummies = UINT32_MAX;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	r.dummies++;
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_ECONFIG);
	/* Noise cannot be combined with dummies, and dummies by chance are dummies. */
	p = (struct pt_randomizer){ .row = pt_device_find("bins"),
		.mixbins = { .bins = 5, .keep_always = true, .dummy_chance = 1 } };
	assert_int_equal(pt_mixbins_check(&p, &err), CM_OK);
	p.shuffler.noise_mean = 30;
	p.shuffler.noise_decay = UINT64_C(0x9b4597e37cb04ff3);
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.dummy_chance = 0;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_OK);
	r = (struct pt_request){
		.epsilon0 = INFINITY, .noise_epsilon = 1, .noise_delta = 1e-6, .dummy_chance = 1
	};
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_ECONFIG);
	r = (struct pt_request){ .epsilon0 = INFINITY };
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_ECONFIG);
	/* In a round with slots only the slots have the chance. */
	struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_protocol *words = pt_find("words");

	r = (struct pt_request){ .epsilon0 = 1, .slots = 1, .size = 1, .dummies = 1022, .dummy_chance = 1 };
	assert_int_equal(pt_derive(words, &q, &r, &p, &err), CM_OK);
	assert_int_equal(words->device->check(&q, &p, &err), CM_OK);
	p.mixbins.dummy_chance = 1;
	assert_int_equal(words->device->check(&q, &p, &err), CM_EPROTO);
	p.mixbins.dummy_chance = 0;
	p.slots.slot[0].each.dummies++;
	assert_int_equal(words->device->check(&q, &p, &err), CM_EPROTO);
	r.dummies++;
	assert_int_equal(pt_derive(words, &q, &r, &p, &err), CM_ECONFIG);
}

/* Messages that are not NULL, less one of each participant; never fewer or more than there can be. */
static void the_estimate_knows_how_many_came(void **state)
{
	struct pt_randomizer p = { .mixbins.bins = 3,
		.mixbins.dummies = 2,
		.mixbins.dummy_chance = QUARTER,
		.shuffler.dummies = 7,
		.mixbins.keep_always = true };

	(void)state;
	assert_true(pt_mixbins_dummies(&p, 100) == 232);
	assert_true(pt_mixbins_dummies_among(&p, 100 + 207 + 31, 100) == 238);
	assert_true(pt_mixbins_dummies_among(&p, 100 + 207, 100) == 207);
	assert_true(pt_mixbins_dummies_among(&p, 5, 100) == 207);
	assert_true(pt_mixbins_dummies_among(&p, 100 + 207 + 100, 100) == 307);
	assert_true(pt_mixbins_dummies_among(&p, UINT64_MAX, 100) == 307);
	p.mixbins.dummy_chance = 0;
	assert_true(pt_mixbins_dummies_among(&p, 5, 100) == 207);
}

/* The expected number is that of the slot that has most; intervals are those of the slot of which least is
 * known. */
static void words_take_the_slot_with_most(void **state)
{
	struct qy_query q = query_of_kind(QY_VECTOR);
	struct pt_request r = { .epsilon0 = 1, .slots = 2, .size = 1, .dummies = 1, .dummy_chance = QUARTER };
	struct pt_randomizer p = derived(pt_find("words"), &q, &r);
	uint64_t counts[12] = { 0 }, *cells = counts + 6;

	(void)state;
	assert_int_equal(pt_words_tallies(&p), 12);
	assert_true(pt_words_signs(&p, 100).dummies == 125);
	/* Three groups of two slots. */
	cells[0] = 80, cells[2] = 70, cells[4] = 71;
	cells[1] = 79, cells[3] = 70, cells[5] = 80;
	assert_true(pt_words_signs_among(&p, counts, 100).dummies == 129);
	cells[1] = 10000;
	assert_true(pt_words_signs_among(&p, counts, 100).dummies == 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(these_rows_have_such_dummies),
		cmocka_unit_test(a_number_is_dummies_and_the_chance_of_one_more),
		cmocka_unit_test(whole_dummies_are_what_they_were),
		cmocka_unit_test(the_threshold_decides_and_nothing_else_changes),
		cmocka_unit_test(messages_are_as_many_and_as_long_whatever_comes),
		cmocka_unit_test(null_is_no_garbage_and_garbage_no_null),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(the_estimate_knows_how_many_came),
		cmocka_unit_test(words_take_the_slot_with_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
