/* test_rare.c - dummies that come by chance: the chance, the messages, what is counted, and the loss by
 * enumeration. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acct_spec.h"
#include "cm_buf.h"
#include "pt_mixbins_analysis.h"
#include "pt_words_analysis.h"
#include "queries.h"
#include "scripted_rng.h"

#define QUARTER (UINT64_C(1) << 62)

static struct cm_err err;

/* The rows that have it, and a request that each takes. */
static bool next_row(size_t *i, const struct pt_protocol **row, struct pt_request *r)
{
	while ((*row = pt_row((*i)++)) != NULL && !(*row)->device->rare_dummy)
		;
	if (*row == NULL)
		return false;
	*r = (struct pt_request){ .epsilon0 = INFINITY, .min_batch = 1000, .dummy_chance = QUARTER };
	if (strcmp((*row)->device->name, "hashed") == 0)
		r->size = 4;
	return true;
}

static struct pt_randomizer derived(
	const struct pt_protocol *row, const struct pt_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;

	assert_int_equal(pt_derive(row, q, r, &p, &err), CM_OK);
	assert_int_equal(row->device->check(q, &p, &err), CM_OK);
	return p;
}

static void these_rows_have_such_dummies(void **state)
{
	static const char *const names[] = { "levels", "bins", "mixbins", "hashed", "words", "prefixes" };
	const struct pt_protocol *row;
	struct pt_request r;
	size_t found = 0;

	(void)state;
	for (size_t i = 0; next_row(&i, &row, &r); found++) {
		bool listed = false;

		for (size_t j = 0; j < sizeof names / sizeof *names; j++)
			listed = listed || strcmp(row->device->name, names[j]) == 0;
		assert_true(listed);
	}
	assert_int_equal(found, sizeof names / sizeof *names);
}

/* The whole part as ever; the rest never below what was asked for, and by less than 2^-64 above. */
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

		assert_true(a != NULL && b != NULL);
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

/* With a quarter the draw below 2^62 is a dummy, 2^62 is none; all else is the same, draw by draw. */
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

/* Of all batches of a row's clients: how many have a NULL, and in how many it comes first or last. */
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

/* What 6000 clients send who hold every value in turn. */
static struct nulls nulls_of(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_randomizer *p, const struct pt_randomizer *whole)
{
	uint32_t at[QUERIES_DIMENSION], m = row->device->messages(p), len = row->device->record_len(p),
					batches = m / 3;
	uint8_t *records = calloc(m, len);
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	struct nulls all = { 0 };
	struct cr_rng rng;

	assert_true(records != NULL && counts != NULL);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t n = 0; n < 6000; n++) {
		struct pt_value v = query_value(q, n % query_values(q), at);
		uint32_t here = 0;

		memset(records, 0xaa, (size_t)m * len);
		row->device->encode(q, p, &v, &rng, records);
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
	for (size_t i = 0; next_row(&i, &row, &r);) {
		struct pt_query q = query_of_row(row);
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

/* All ones, and nothing near them. */
static void null_is_no_garbage_and_garbage_no_null(void **state)
{
	const struct pt_protocol *row;
	struct pt_request r;

	(void)state;
	for (size_t i = 0; next_row(&i, &row, &r);) {
		struct pt_query q = query_of_row(row);
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
	/* Noise stands alone, and dummies by chance are some. */
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
	/* A round with slots has it in them alone. */
	struct pt_query q = query_of_kind(PT_VECTOR);
	const struct pt_protocol *words = pt_find("words");

	r = (struct pt_request){ .epsilon0 = 1, .slots = 1, .size = 1, .dummies = 1022, .dummy_chance = 1 };
	assert_int_equal(pt_derive(words, &q, &r, &p, &err), CM_OK);
	assert_int_equal(words->device->check(&q, &p, &err), CM_OK);
	p.mixbins.dummy_chance = 1;
	assert_int_equal(words->device->check(&q, &p, &err), CM_EPROTO);
	p.mixbins.dummy_chance = 0;
	p.slots.slot[0].each.dummies++;
	assert_int_equal(words->device->check(&q, &p, &err), CM_EPROTO);
	r.slots = 2;
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

/* Of the slot that has most: intervals are those of the least that is known. */
static void words_take_the_slot_with_most(void **state)
{
	struct pt_query q = query_of_kind(PT_VECTOR);
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

/* ---- the loss ---- */

static void the_accountant_is_given_the_chance_and_never_more(void **state)
{
	static const uint64_t chances[] = { 1, 3, QUARTER, 0x0ccccccccccccd00, 0x7fffffffffffffff,
		UINT64_MAX - 1, UINT64_MAX };
	const struct pt_protocol *row;
	struct pt_request r;

	(void)state;
	for (size_t i = 0; next_row(&i, &row, &r);)
		for (int finite = 0; finite < 2; finite++)
			for (size_t c = 0; c < sizeof chances / sizeof *chances; c++) {
				struct pt_query q = query_of_row(row);
				struct pt_randomizer p;
				struct pt_loss loss;
				double blanket = 0, truth = ldexp((double)chances[c], -64);
				const struct acct_round *a = &loss.part[0];

				if (finite && pt_find("bins")->device->kinds == row->device->kinds &&
					strcmp(row->device->name, "mixbins") != 0)
					continue;
				r.epsilon0 = finite ? 1 : INFINITY;
				r.dummy_chance = chances[c];
				p = derived(row, &q, &r);
				assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
				assert_int_equal(loss.parts, 1);
				assert_int_equal(acct_round_check(a, NULL), ACCT_OK);
				for (size_t j = 0; j < a->cells; j++)
					blanket += a->cell[j].omega;
				assert_int_equal(a->levels, 1);
				assert_int_equal(a->level[0].count, 1000);
				assert_int_equal(a->dummies, 0);
				assert_true(a->level[0].share * blanket <= truth * (1 - DBL_EPSILON));
				assert_true(a->level[0].share * blanket >= truth * (1 - 12 * DBL_EPSILON));
				assert_int_equal(
					pt_loss(&p, ACCT_MAX_REPORTS / 2 + 1, &loss, &err), CM_EPROTO);
			}
}

#define ACROSS 16 /* messages of one bin at most, and one */

/* Laws of the counts of three symbols. */
struct counted {
	double p[ACROSS][ACROSS][ACROSS];
};

/* One message more: symbol y with chance law[y], else none that is seen. */
static void add_message(struct counted *c, const double law[3])
{
	static struct counted next;
	double none = 1 - law[0] - law[1] - law[2];

	memset(&next, 0, sizeof next);
	for (int a = 0; a < ACROSS; a++)
		for (int b = 0; b < ACROSS; b++)
			for (int d = 0; d < ACROSS; d++) {
				double p = c->p[a][b][d];

				next.p[a][b][d] += p * none;
				if (a + 1 < ACROSS)
					next.p[a + 1][b][d] += p * law[0];
				if (b + 1 < ACROSS)
					next.p[a][b + 1][d] += p * law[1];
				if (d + 1 < ACROSS)
					next.p[a][b][d + 1] += p * law[2];
			}
	*c = next;
}

static double hockey_stick(const struct counted *p, const struct counted *q, double epsilon)
{
	double sum = 0;

	for (int a = 0; a < ACROSS; a++)
		for (int b = 0; b < ACROSS; b++)
			for (int d = 0; d < ACROSS; d++)
				sum += fmax(0, p->p[a][b][d] - exp(epsilon) * q->p[a][b][d]);
	return sum;
}

/* A round of three bins, what the accountant is told of it, and the law of the victim's own message when its
 * bin is 0 and when it is 1. */
struct small_round {
	uint32_t n;
	struct pt_randomizer p;
	struct acct_round told;
	double victim[2][3];
};

static struct small_round small_round_of(const struct pt_request *r, uint32_t n)
{
	struct small_round s = { .n = n };

	assert_int_equal(pt_mixbins_request(pt_find("mixbins"), 3, r, &s.p, &err), CM_OK);
	assert_int_equal(pt_mixbins_cells(&s.p, n, &s.told, &err), CM_OK);
	for (int bin = 0; bin < 2; bin++)
		for (int j = 0; j < 3; j++)
			s.victim[bin][j] =
				j == bin ? pt_mixbins_keep(&s.p.mixbins) : pt_mixbins_other(&s.p.mixbins);
	return s;
}

/* What n clients and the shuffler send: each client's own message by its law `real`, which may be none that
 * is seen, and dummies of any bin. */
static struct counted everybody(const struct pt_randomizer *p, uint32_t n, const double (*real)[3])
{
	static const double dummy[3] = { 1 / 3.0, 1 / 3.0, 1 / 3.0 };
	struct counted all = { .p = { { { 1 } } } };
	double f = ldexp((double)p->mixbins.dummy_chance, -64), rare[3];

	for (int y = 0; y < 3; y++)
		rare[y] = f * dummy[y];
	for (uint32_t i = 0; i < n; i++) {
		add_message(&all, real[i]);
		for (uint32_t d = 0; d < p->mixbins.dummies; d++)
			add_message(&all, dummy);
		add_message(&all, rare);
	}
	for (uint64_t d = 0; d < p->shuffler.dummies; d++)
		add_message(&all, dummy);
	return all;
}

/* Between the victim's two bins; real[0] is the victim's place. */
static double delta_among(const struct small_round *s, double (*real)[3], double epsilon)
{
	struct counted with[2];

	for (int bin = 0; bin < 2; bin++) {
		memcpy(real[0], s->victim[bin], sizeof s->victim[bin]);
		with[bin] = everybody(&s->p, s->n, (const double(*)[3])real);
	}
	return hockey_stick(&with[0], &with[1], epsilon);
}

/* By the counts of the cells, which say all: others' blanket, dummies', and the victim's. */
static double delta_of_cells(const struct small_round *s, double epsilon)
{
	double real[4][3];

	for (uint32_t k = 1; k < s->n; k++)
		for (int j = 0; j < 3; j++)
			real[k][j] = s->p.mixbins.keep_always ? 0 : pt_mixbins_other(&s->p.mixbins);
	return delta_among(s, real, epsilon);
}

/* By the round itself: the worst of all that the others can hold. */
static double delta_of_values(const struct small_round *s, double epsilon)
{
	double keep = pt_mixbins_keep(&s->p.mixbins), other = pt_mixbins_other(&s->p.mixbins), worst = 0,
	       real[4][3];
	uint32_t inputs = 1;

	for (uint32_t k = 1; k < s->n; k++)
		inputs *= 3;
	for (uint32_t x = 0; x < inputs; x++) {
		uint32_t rest = x;

		for (uint32_t k = 1; k < s->n; k++, rest /= 3)
			for (uint32_t j = 0; j < 3; j++)
				real[k][j] = j == rest % 3 ? keep : other;
		worst = fmax(worst, delta_among(s, real, epsilon));
	}
	return worst;
}

/* Fewer dummies are a greater loss, and a whole one in place of the chance a smaller. */
static void assert_between_whole_dummies(
	const struct small_round *s, double epsilon, const struct acct_bound *b)
{
	struct acct_round less = s->told, more = s->told;
	struct acct_bound l, m;

	less.levels = more.levels = 0;
	more.dummies += s->n;
	assert_int_equal(acct_delta(&less, 1, epsilon, &l), ACCT_OK);
	assert_int_equal(acct_delta(&more, 1, epsilon, &m), ACCT_OK);
	assert_true(l.upper >= b->lower && m.lower <= b->upper);
}

/* But for rounding. */
static bool at_most(double a, double b)
{
	return a <= b * (1 + 1e-9) + 1e-14;
}

static void assert_loss_is_enumerated(const struct small_round *s, size_t number, double epsilon)
{
	double truth = delta_of_cells(s, epsilon), worst = delta_of_values(s, epsilon);
	struct acct_bound b = { NAN, NAN };

	assert_int_equal(acct_delta(&s->told, 1, epsilon, &b), ACCT_OK);
	if (!at_most(b.lower, truth) || !at_most(truth, b.upper))
		fail_msg("round %zu, epsilon %g: %.12g not in [%.12g, %.12g]", number, epsilon, truth,
			b.lower, b.upper);
	if (!at_most(worst, b.upper))
		fail_msg("round %zu, epsilon %g: %.12g above %.12g", number, epsilon, worst, b.upper);
	if (s->p.mixbins.keep_always && fabs(worst - truth) > 1e-12)
		fail_msg("round %zu: truthful others hide somebody", number);
	if (s->p.mixbins.dummy_chance < UINT64_MAX && truth > 1e-12 && s->n > 1)
		assert_between_whole_dummies(s, epsilon, &b);
}

/* All outcomes of three bins and up to four clients.  How many messages are NULL is what is missing from the
 * sum. */
static void the_loss_is_the_enumerated_one(void **state)
{
	static const double epsilons[] = { 0, 0.1, 0.5, 1, 2, 4 };
	static const struct {
		double epsilon0;
		uint32_t n, dummies;
		uint64_t chance;
		uint32_t shuffler;
	} rounds[] = { { INFINITY, 1, 0, QUARTER, 0 }, { INFINITY, 3, 0, QUARTER, 0 },
		{ INFINITY, 4, 0, 3 * QUARTER, 0 }, { INFINITY, 3, 1, QUARTER, 0 },
		{ INFINITY, 2, 0, 0x0ccccccccccccd00, 5 }, { INFINITY, 3, 2, UINT64_MAX, 1 },
		{ 1, 3, 0, QUARTER, 0 }, { 3, 4, 0, 3 * QUARTER, 0 }, { 2, 3, 1, QUARTER, 1 },
		{ 0.3, 3, 0, 2 * QUARTER, 0 }, { 5, 2, 1, 0x0ccccccccccccd00, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		struct pt_request r = { .epsilon0 = rounds[i].epsilon0,
			.dummies = rounds[i].dummies,
			.dummy_chance = rounds[i].chance,
			.shuffler_dummies = rounds[i].shuffler };
		struct small_round s = small_round_of(&r, rounds[i].n);

		for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++)
			assert_loss_is_enumerated(&s, i, epsilons[e]);
	}
}

/* The same by name. */
static void a_name_has_the_cells_of_its_row(void **state)
{
	static const struct {
		const char *row, *text;
		double epsilon0;
		uint32_t dummies;
	} some[] = { { "bins", "bins:k=5,dummies=1000,chance=0.25,n=1000", INFINITY, 1 },
		{ "mixbins", "mixbins:k=5,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "mixbins", "mixbins:k=5,eps0=inf,dummies=2000,chance=0.25,n=1000", INFINITY, 2 },
		{ "levels", "levels:b=8,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "hashed", "hashed:b=4,dummies=0,chance=0.25,n=1000", INFINITY, 0 },
		{ "prefixes", "prefixes:k=4,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "words", "words:w=2,eps0=1,slots=3,dummies=1000,chance=0.25,n=1000", 1, 1 } };
	struct acct_spec s;
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		const struct pt_protocol *row = pt_find(some[i].row);
		struct pt_query q = query_of_readings(row);
		struct pt_request r = { .epsilon0 = some[i].epsilon0,
			.dummies = some[i].dummies,
			.dummy_chance = QUARTER,
			.min_batch = 1000 };
		struct pt_randomizer p;
		struct pt_loss loss;
		struct acct_bound ours, named;

		if (strcmp(row->device->name, "hashed") == 0)
			r.size = 4;
		if (strcmp(row->device->name, "levels") == 0)
			r.levels = 9;
		if (strcmp(row->device->name, "words") == 0)
			r.slots = 3, r.size = 2;
		p = derived(row, &q, &r);
		assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
		assert_int_equal(acct_spec_parse(some[i].text, &s, why, sizeof why), ACCT_OK);
		assert_int_equal(acct_epsilon(loss.part, 1, 1e-6, &ours), ACCT_OK);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &named), ACCT_OK);
		assert_true(fabs(ours.upper - named.upper) < 1e-6 * named.upper);
		assert_true(ours.upper < 10 && s.round.count == loss.part[0].count);
		assert_int_equal(s.round.levels, 1);
		assert_true(s.k < 2); /* nothing that is known of response alone */
	}
	assert_int_equal(acct_spec_parse("bins:k=5,dummies=9,chance=0.5", &s, why, sizeof why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "n= is missing"));
	for (size_t i = 0; i < 3; i++) {
		static const char *const bad[] = { "bins:k=5,dummies=9,n=9,chance=0",
			"bins:k=5,dummies=9,n=9,chance=1", "ranges:leaves=9,fanout=3,eps0=1,n=9,chance=0.5" };

		assert_int_equal(acct_spec_parse(bad[i], &s, why, sizeof why), ACCT_EDOMAIN);
		assert_non_null(strstr(why, "chance"));
	}
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
		cmocka_unit_test(the_accountant_is_given_the_chance_and_never_more),
		cmocka_unit_test(the_loss_is_the_enumerated_one),
		cmocka_unit_test(a_name_has_the_cells_of_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
