/* test_slots.c - several batches in a round: exact outcomes, exact cells, records, hostile slots. */
#include <math.h>
#include <string.h>

#include "cm_buf.h"
#include "exact_batch.h"
#include "pt_record.h"
#include "pt_slots_analysis.h"
#include "scripted_rng.h"

static const char name[] = "words";

static struct pt_randomizer made(const struct pt_slot *kinds, uint32_t n, double epsilon0, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies };
	struct pt_randomizer p = { .slots = { .kinds = n } };
	struct cm_err err = { 0 };

	p.row = pt_device_find(name);
	for (uint32_t i = 0; i < n; i++) {
		p.slots.slot[i] = kinds[i];
		if (pt_slots_request(pt_find(name), &r, &p.slots.slot[i], &err) != CM_OK)
			fail_msg("%s", err.msg);
	}
	assert_int_equal(pt_slots_limit(&p, &err), CM_OK);
	if (pt_slots_check(&p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

static struct pt_randomizer one_kind(uint32_t groups, uint32_t bins, double epsilon0, uint32_t dummies)
{
	const struct pt_slot kind = { .count = 1, .groups = groups, .each.bins = bins };

	return made(&kind, 1, epsilon0, dummies);
}

/* The words of value x: its digits of base `bins`, the group's number modulo what there are. */
static uint64_t digit_of(uint64_t x, uint32_t bins, uint32_t group)
{
	while (group-- > 0)
		x /= bins;
	return x % bins;
}

static uint64_t digits(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	(void)q;
	(void)rng;
	(void)room;
	return digit_of(value->x, pt_slots_at(p, i)->each.bins, group);
}

/* Chance of every symbol of slot 0 for value x, without dummies, from scripted draws: group, keep, other. */
static void law_of(const struct pt_randomizer *p, uint64_t x, long double *law)
{
	const struct pt_slot *s = &p->slots.slot[0];

	memset(law, 0, sizeof(long double) * s->groups * s->each.bins);
	for (uint32_t g = 0; g < s->groups; g++) {
		for (uint32_t keep = 0; keep < 2; keep++) {
			for (uint32_t o = 0; o < s->each.bins - 1; o++) {
				/* The first draw that is not kept, and the last that is. */
				const uint64_t script[] = { draw_for(g, s->groups), s->each.keep - keep,
					draw_for(o, s->each.bins - 1) };
				struct scripted_rng r = {
					.script = script, .len = 3, .fallback = SCRIPT_END
				};
				struct cr_rng rng = scripted_rng(&r);
				struct qy_value v = { .x = x };
				uint8_t record[PT_RECORD_LEN];
				long double chance =
					keep ? ldexpl((long double)s->each.keep, -64)
					     : ldexpl((long double)(UINT64_C(0) - s->each.keep), -64);

				pt_slots_encode(NULL, p, &v, digits, &rng, record, NULL);
				/* Try whatever can be drawn: group, keep, other, place, and a dummy that is
				 * not used. */
				assert_int_equal(r.used, 5);
				law[cm_get_le64(record + 8)] += chance / (s->groups * (s->each.bins - 1));
			}
		}
	}
}

static const struct {
	uint32_t groups, width;
} shapes[] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 1 } };
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* All inputs of a slot of G groups of words of w bits. */
static uint32_t inputs_of(uint32_t groups, uint32_t width)
{
	return 1u << (groups * width);
}

static void a_round_has_the_cells_of_its_laws_whatever_the_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		uint32_t k = 1u << shapes[i].width, symbols = shapes[i].groups * k;
		uint32_t inputs = inputs_of(shapes[i].groups, shapes[i].width);
		struct pt_randomizer p = one_kind(shapes[i].groups, k, 1.3, 0);
		long double law[16][BATCH_SYMBOLS], omega[BATCH_SYMBOLS], want[3] = { 0 };
		struct pt_loss loss;
		struct cm_err err = { 0 };

		for (uint32_t x = 0; x < inputs; x++)
			law_of(&p, x, law[x]);
		for (uint32_t y = 0; y < symbols; y++) {
			omega[y] = 1;
			for (uint32_t x = 0; x < inputs; x++)
				omega[y] = fminl(omega[y], law[x][y]);
		}
		assert_int_equal(pt_slots_loss(&p, 100, &loss, &err), CM_OK);
		assert_int_equal(loss.parts, 1);
		assert_int_equal(loss.part[0].others, 99);
		assert_int_equal(loss.part[0].count, 1);
		assert_int_equal(loss.part[0].cells, k == 2 ? 2 : 3);
		/* 0 and all ones differ in every group. */
		for (uint32_t y = 0; y < symbols; y++) {
			long double u = law[0][y] / omega[y], v = law[inputs - 1][y] / omega[y];
			size_t c = u > 1.001L ? 0 : v > 1.001L ? 1 : 2;

			want[c] += omega[y];
			assert_true(fabsl(u - loss.part[0].cell[c].u) < 1e-14L);
			assert_true(fabsl(v - loss.part[0].cell[c].v) < 1e-14L);
		}
		for (size_t c = 0; c < loss.part[0].cells; c++) {
			assert_true(loss.part[0].cell[c].omega <= want[c]);
			assert_true(fabsl(loss.part[0].cell[c].omega - want[c]) < 1e-15L);
		}
		assert_true(pt_slots_epsilon0(&p) <= 1.3);
		assert_true(pt_slots_epsilon0(&p) > 1.3 - 1e-9);
	}
}

/* The victim with any two values, others that hold anything: never more than the accountant says. */
static void no_batch_of_any_values_loses_more_than_the_cells_say(void **state)
{
	static const double guarantees[] = { 0.5, 2.5 };

	(void)state;
	for (size_t i = 0; i < 2 * SHAPES; i++) {
		uint32_t groups = shapes[i / 2].groups, width = shapes[i / 2].width;
		uint32_t k = 1u << width, inputs = inputs_of(groups, width);
		struct pt_randomizer p = one_kind(groups, k, guarantees[i % 2], 0);
		long double law[16][BATCH_SYMBOLS];
		struct pt_loss loss;
		struct cm_err err = { 0 };

		for (uint32_t x = 0; x < inputs; x++)
			law_of(&p, x, law[x]);
		assert_int_equal(pt_slots_loss(&p, 3, &loss, &err), CM_OK);
		/* Every pair of the victim's, and the third a function of both and of i, so that all come
		 * up. */
		for (uint32_t t = 0; t < inputs * inputs * 2; t++) {
			struct batch b = { .symbols = groups * k, .messages = 3 };
			uint32_t a = t % inputs, c = t / inputs % inputs, other = (3 * a + c + t) % inputs;

			if (a == c || (inputs == 16 && t % 3 != 0))
				continue;
			memcpy(b.law[0][0], law[a], sizeof law[a]);
			memcpy(b.law[1][0], law[c], sizeof law[c]);
			for (size_t x = 0; x < 2; x++) {
				memcpy(b.law[x][1], law[other], sizeof law[other]);
				memcpy(b.law[x][2], law[t % inputs], sizeof law[a]);
			}
			expect_bound(&loss.part[0], &b, false);
		}
	}
}

/* Nobody but the victim and its dummies takes part: then the theorem is exact if all groups differ. */
static void dummies_hide_a_value_that_is_always_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		uint32_t groups = shapes[i].groups, k = 1u << shapes[i].width, symbols = groups * k;
		uint32_t inputs = inputs_of(groups, shapes[i].width);
		struct pt_randomizer p = one_kind(groups, k, INFINITY, 3);
		struct pt_loss loss;
		struct cm_err err = { 0 };

		assert_true(isinf(pt_slots_epsilon0(&p)));
		assert_int_equal(pt_slots_loss(&p, 1, &loss, &err), CM_OK);
		assert_int_equal(loss.part[0].dummies, 3);
		assert_int_equal(loss.part[0].others, 0);
		for (uint32_t c = 1; c < inputs; c++) {
			struct batch b = { .symbols = symbols, .messages = 4 };
			bool apart = true;

			for (uint32_t g = 0; g < groups; g++) {
				b.law[0][0][g * k] = 1.0L / groups;
				b.law[1][0][g * k + digit_of(c, k, g)] = 1.0L / groups;
				apart = apart && digit_of(c, k, g) != 0;
			}
			for (uint32_t m = 1; m < 4; m++)
				for (uint32_t y = 0; y < symbols; y++)
					b.law[0][m][y] = b.law[1][m][y] = 1.0L / symbols;
			expect_bound(&loss.part[0], &b, apart);
		}
	}
}

static const struct pt_slot kinds[] = { { .count = 2, .groups = 3, .each.bins = 4 },
	{ .count = 1, .groups = 1, .each.bins = 7 } };

static void slots_of_several_kinds_are_parts_of_the_loss_and_their_guarantees_add_up(void **state)
{
	struct pt_randomizer p = made(kinds, 2, 2, 5), one = made(kinds + 1, 1, 2, 5);
	struct pt_loss loss;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_slots_total(&p), 3);
	assert_int_equal(pt_slots_messages(&p), 18);
	assert_ptr_equal(pt_slots_at(&p, 1), &p.slots.slot[0]);
	assert_ptr_equal(pt_slots_at(&p, 2), &p.slots.slot[1]);
	assert_int_equal(pt_slots_loss(&p, 1000, &loss, &err), CM_OK);
	assert_int_equal(loss.parts, 2);
	assert_int_equal(loss.part[0].count, 2);
	assert_int_equal(loss.part[1].count, 1);
	assert_int_equal(loss.part[0].dummies, 5000);
	assert_true(pt_slots_epsilon0(&p) <= 6 * (1 + 1e-15) && pt_slots_epsilon0(&p) > 6 - 1e-8);
	assert_true(pt_slots_epsilon0(&p) > pt_slots_epsilon0(&one) * 2.9);
	assert_int_equal(pt_slots_loss(&p, 0, &loss, &err), CM_EPROTO);
	assert_int_equal(pt_slots_loss(&p, UINT64_MAX, &loss, &err), CM_EPROTO);
}

static void a_slots_messages_carry_its_number_and_one_of_them_is_real(void **state)
{
	struct pt_randomizer p = made(kinds, 2, INFINITY, 5);
	struct cm_err err = { 0 };
	struct cr_rng rng;
	uint32_t places[3][6] = { { 0 } };

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t t = 0; t < 3000; t++) {
		uint8_t records[18 * PT_RECORD_LEN];
		struct qy_value v = { .x = 2 + 4 * 2 + 16 * 2 };
		struct pt_cell c;

		pt_slots_encode(NULL, &p, &v, digits, &rng, records, NULL);
		for (uint32_t m = 0; m < 18; m++) {
			assert_int_equal(pt_slots_read(&p, records + m * PT_RECORD_LEN, &c, &err), CM_OK);
			assert_int_equal(c.slot, m / 6);
			assert_true(c.group < pt_slots_at(&p, c.slot)->groups);
			assert_true(c.word < pt_slots_at(&p, c.slot)->each.bins);
			places[c.slot][m % 6] += c.slot < 2 ? c.word == 2 : c.word == 42 % 7;
		}
	}
	/* At every place alike: 1/6 and 5/6 of a dummy's chance; 7 standard deviations. */
	for (uint32_t s = 0; s < 3; s++) {
		for (uint32_t m = 0; m < 6; m++) {
			double k = pt_slots_at(&p, s)->each.bins, chance = 1.0 / 6 + 5.0 / 6 / k;

			assert_true(fabs(places[s][m] - 3000 * chance) < 7 * sqrt(3000 * chance));
		}
	}
}

static void a_record_has_one_encoding_and_nothing_else_is_read(void **state)
{
	struct pt_randomizer p = made(kinds, 2, 2, 0);
	struct cm_err err = { 0 };
	struct pt_cell c = { .slot = 9, .group = 9, .word = 9 };
	uint8_t record[PT_RECORD_LEN];

	(void)state;
	for (uint32_t slot = 0; slot < 4; slot++) {
		uint64_t symbols = slot < 2 ? 12 : 7;

		for (uint64_t v = 0; v < 14; v++) {
			enum cm_rc want = slot < 3 && v < symbols ? CM_OK : CM_EDATA;

			pt_record_put_slot(record, (uint16_t)slot, v);
			assert_int_equal(record[0] | record[1] << 8 | record[2] << 16 | record[3] << 24,
				1 | (int)slot << 16);
			assert_int_equal(pt_slots_read(&p, record, &c, &err), want);
			if (want == CM_OK)
				assert_true(c.slot == slot &&
					    v == c.group * pt_slots_at(&p, slot)->each.bins + c.word);
		}
	}
	/* Any other head, and any value beyond 32 bits. */
	for (uint32_t i = 0; i < PT_RECORD_LEN; i++) {
		pt_record_put_slot(record, 1, 3);
		record[i] ^= 0x80;
		assert_int_equal(pt_slots_read(&p, record, &c, &err), CM_EDATA);
	}
	/* Rows without slots know only slot 0. */
	pt_record_put_slot(record, 1, 3);
	assert_int_equal(pt_record_opens(record, &err), CM_EDATA);
	pt_record_put_slot(record, 0, 3);
	assert_int_equal(pt_record_opens(record, &err), CM_OK);
}

static void refuse(const struct pt_randomizer *p, const char *said)
{
	struct cm_err err = { 0 };

	assert_int_equal(pt_slots_check(p, &err), CM_EPROTO);
	if (!strstr(err.msg, said))
		fail_msg("'%s' does not say '%s'", err.msg, said);
}

#define REFUSED(member, bad, said)      \
	do {                            \
		p = good;               \
		p.slots.member = (bad); \
		refuse(&p, said);       \
	} while (0)

static void slots_that_no_plan_gives_are_refused(void **state)
{
	const struct pt_randomizer good = made(kinds, 2, 2, 5), always = made(kinds, 2, INFINITY, 5);
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_slots_check(&good, &err), CM_OK);
	REFUSED(kinds, 0, "0 kinds");
	REFUSED(kinds, PT_SLOTS_MAX + 1, "17 kinds");
	REFUSED(kinds, UINT32_MAX, "kinds");
	REFUSED(slot[1].count, 0, "0 slots");
	REFUSED(slot[1].count, UINT32_MAX, "messages of a device");
	REFUSED(slot[1].count, 1364, "8196 messages of a device");
	REFUSED(slot[0].groups, 0, "0 groups");
	REFUSED(slot[0].groups, UINT32_MAX, "groups in a slot");
	REFUSED(slot[0].each.bins, 1, "1 bins");
	REFUSED(slot[0].each.bins, 4097, "4097 bins");
	REFUSED(slot[0].each.dummies, UINT32_MAX, "messages of a device");
	REFUSED(slot[0].each.keep, 0, "hardly above");
	REFUSED(slot[0].each.keep, UINT64_C(1) << 62, "hardly above");
	REFUSED(slot[0].each.keep, UINT64_MAX, "epsilon0 above");
	REFUSED(slot[1].each.keep_always, true, "both");
	p = good;
	p.shuffler.dummies = 1;
	refuse(&p, "the shuffler adds no dummies");
	p = always;
	p.slots.slot[1].each.dummies = 0;
	refuse(&p, "no noise of any kind");
}

static void requests_out_of_range_are_refused(void **state)
{
	static const struct {
		struct pt_slot slot;
		struct pt_request r;
		const char *said;
	} bad[] = { { { .count = 0, .groups = 1, .each.bins = 2 }, { .epsilon0 = 1 }, "0 slots" },
		{ { .count = 1, .groups = 0, .each.bins = 2 }, { .epsilon0 = 1 }, "0 groups" },
		{ { .count = 1, .groups = 1, .each.bins = 1 }, { .epsilon0 = 1 }, "1 bins" },
		{ { .count = 1, .groups = 1, .each.bins = 2 }, { .epsilon0 = 17 }, "epsilon0 must" },
		{ { .count = 1, .groups = 1, .each.bins = 2 }, { .epsilon0 = INFINITY }, "needs dummies" },
		{ { .count = 1, .groups = 1, .each.bins = 2 }, { .epsilon0 = 1, .shuffler_dummies = 1 },
			"the shuffler adds no dummies" } };
	struct pt_randomizer p = { .row = pt_device_find("words"),
		.slots = { .kinds = 1,
			.slot = { { .count = 4096, .groups = 1, .each = { .bins = 2, .dummies = 1 } } } } };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct pt_slot s = bad[i].slot;

		assert_int_equal(pt_slots_request(pt_find(name), &bad[i].r, &s, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, bad[i].said));
		assert_memory_equal(&s, &bad[i].slot, sizeof s);
	}
	assert_int_equal(pt_slots_limit(&p, &err), CM_OK);
	p.slots.slot[0].count++;
	assert_int_equal(pt_slots_limit(&p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "8194 messages of a device, at most 8192"));
	p.slots.slot[0].count = 1;
	p.slots.slot[0].each.dummies = 1023;
	assert_int_equal(pt_slots_limit(&p, &err), CM_OK);
	p.slots.slot[0].each.dummies++;
	assert_int_equal(pt_slots_limit(&p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "more than 1024 messages of a device in a slot"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_has_the_cells_of_its_laws_whatever_the_groups),
		cmocka_unit_test(no_batch_of_any_values_loses_more_than_the_cells_say),
		cmocka_unit_test(dummies_hide_a_value_that_is_always_sent),
		cmocka_unit_test(slots_of_several_kinds_are_parts_of_the_loss_and_their_guarantees_add_up),
		cmocka_unit_test(a_slots_messages_carry_its_number_and_one_of_them_is_real),
		cmocka_unit_test(a_record_has_one_encoding_and_nothing_else_is_read),
		cmocka_unit_test(slots_that_no_plan_gives_are_refused),
		cmocka_unit_test(requests_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
