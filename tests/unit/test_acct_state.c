/* test_acct_state.c - the composed loss of a growing list of rounds against composing them anew, and against
 * exact laws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>

#include "acct_examples.h"
#include "acct_state.h"
#include "acct_states.h"

/* ---- rounds ---- */

/* A three-cell list whose two directions differ. */
static struct acct_round lopsided(uint64_t others)
{
	struct acct_round r = { .cells = 2, .others = others, .count = 1 };

	r.cell[0] = (struct acct_cell){ 0.25, 2, 0.8 };
	r.cell[1] = (struct acct_cell){ 0.5, 1, 1.6 };
	return r;
}

static struct acct_round kind(unsigned i)
{
	switch (i % 6) {
	case 0:
		return generic(1, 9999);
	case 1:
		return generic(2, 999);
	case 2:
		return generic(0.3, 4999);
	case 3:
		return bins(16, 20000);
	case 4:
		return generic(1.5, 99999);
	default:
		return lopsided(20000);
	}
}

static struct acct_bound anew(const struct acct_round *r, size_t n, double delta)
{
	struct acct_bound b;

	assert_int_equal(acct_epsilon(r, n, delta, &b), ACCT_OK);
	return b;
}

static void same(struct acct_bound a, struct acct_bound b)
{
	assert_memory_equal(&a, &b, sizeof a);
}

/* ---- */

static void every_answer_agrees_with_composing_anew(void **state)
{
	static const double deltas[] = { 1e-6, 1e-12 };
	static const unsigned most[] = { 200, 50 };
	(void)state;

	for (size_t d = 0; d < 2; d++) {
		struct acct_state *s = new_state(deltas[d]);
		struct acct_round r[6];
		uint32_t seed = 7;
		size_t different = 0;
		double last = 0;

		for (unsigned i = 0; i < most[d]; i++) {
			seed = seed * 1664525u + 1013904223u;
			struct acct_round one = kind(seed >> 16);
			size_t k = 0;

			while (k < different && (r[k].others != one.others || r[k].dummies != one.dummies))
				k++;
			if (k == different)
				r[different++] = one;
			else
				r[k].count++;
			struct acct_bound before = with(s, &one);
			add(s, one);
			struct acct_bound b = with(s, NULL);
			agree(before, b);
			agree(b, before);
			assert_true(b.upper >= last); /* rounds only add: within tolerance, by far */
			last = b.lower;
			if ((i & (i + 1)) == 0 || i + 1 == most[d])
				agree(b, anew(r, different, deltas[d]));
		}
		assert_int_equal(acct_state_rounds(s), most[d]);
		acct_state_free(s);
	}
}

static void an_empty_state_has_lost_nothing(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r = generic(1, 9999);

	(void)state;
	same(with(s, NULL), (struct acct_bound){ 0, 0 });
	assert_int_equal(acct_state_rounds(s), 0);
	same(with(s, &r), anew(&r, 1, 1e-6));
	same(with(s, NULL), (struct acct_bound){ 0, 0 });
	acct_state_free(s);
	acct_state_free(NULL);
}

static void a_candidate_changes_nothing(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_bound before, after;

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		add(s, kind(i));
	before = with(s, NULL);
	for (unsigned i = 0; i < 8; i++) {
		struct acct_round r = generic(0.5 + 0.7 * i, 1000 + i);
		struct acct_bound b = with(s, &r);

		assert_true(b.upper > before.lower);
		assert_int_equal(acct_state_rounds(s), 12);
	}
	after = with(s, NULL);
	agree(after, before);
	agree(before, after);
	acct_state_rebuild(s);
	after = with(s, NULL);
	acct_state_rebuild(s);
	same(with(s, NULL), after);
	acct_state_free(s);
}

static void order_and_history_do_not_matter(void **state)
{
	struct acct_state *a = new_state(1e-6), *b = new_state(1e-6);
	struct acct_round extra = generic(0.8, 2222);

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		add(a, kind(i * i));
		if (i % 7 == 0)
			(void)with(a, NULL);
	}
	add(b, extra);
	for (unsigned i = 40; i-- > 0;) {
		add(b, kind(i * i));
		if (i % 5 == 0)
			(void)with(b, &extra);
	}
	assert_int_equal(acct_state_remove(b, &extra), ACCT_OK);
	agree(with(a, NULL), with(b, NULL));
	agree(with(b, NULL), with(a, NULL));
	acct_state_rebuild(a);
	acct_state_rebuild(b);
	same(with(a, NULL), with(b, NULL));
	acct_state_free(a);
	acct_state_free(b);
}

static void what_is_taken_back_does_not_count(void **state)
{
	struct acct_state *s = new_state(1e-6), *plain = new_state(1e-6);
	struct acct_round early = generic(2, 3000), late = bins(8, 5000), unknown = generic(1, 1);
	struct acct_bound want;

	(void)state;
	add(s, early);
	for (unsigned i = 0; i < 30; i++) {
		add(s, kind(i));
		add(plain, kind(i));
		(void)with(s, NULL);
	}
	add(s, late);
	want = with(plain, NULL);
	assert_true(with(s, NULL).lower > want.upper);
	assert_int_equal(acct_state_remove(s, &late), ACCT_OK); /* a recent one */
	(void)with(s, NULL);
	assert_int_equal(acct_state_remove(s, &late), ACCT_EDOMAIN);
	assert_int_equal(acct_state_remove(s, &early), ACCT_OK); /* one multiplied in long ago */
	agree(with(s, NULL), want);
	agree(want, with(s, NULL));
	assert_int_equal(acct_state_remove(s, &unknown), ACCT_EDOMAIN);
	early.count = 2;
	add(s, generic(2, 3000));
	assert_int_equal(acct_state_remove(s, &early), ACCT_EDOMAIN);
	assert_int_equal(acct_state_rounds(s), 31);
	acct_state_free(s);
	acct_state_free(plain);
}

static void equal_rounds_one_by_one_are_a_round_with_a_count(void **state)
{
	struct acct_state *one = new_state(1e-8), *many = new_state(1e-8);
	struct acct_round r = generic(1.2, 4000);

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		add(one, r);
		if (i % 10 == 0)
			(void)with(one, NULL);
	}
	r.count = 300;
	add(many, r);
	assert_int_equal(acct_state_rounds(many), 300);
	agree(with(one, NULL), with(many, NULL));
	agree(with(many, NULL), with(one, NULL));
	acct_state_rebuild(one);
	acct_state_rebuild(many);
	same(with(one, NULL), with(many, NULL));
	acct_state_free(one);
	acct_state_free(many);
}

/* Binary randomized response without company: the loss of K rounds is (2j - K) epsilon0, j of Bin(K, p). */
static double exact_delta(int rounds, double epsilon0, double epsilon)
{
	long double keep = 1 / (1 + expl(-(long double)epsilon0)), sum = 0, choose = 1;

	for (int j = 0; j <= rounds; j++) {
		long double loss = (2 * j - rounds) * (long double)epsilon0;

		if (loss > epsilon)
			sum += choose * powl(keep, j) * powl(1 - keep, rounds - j) *
			       -expm1l((long double)epsilon - loss);
		choose = choose * (rounds - j) / (j + 1);
	}
	return (double)sum;
}

static void it_holds_the_exact_loss_of_randomized_response(void **state)
{
	struct acct_state *s = new_state(1e-5);

	(void)state;
	for (int k = 1; k <= 40; k++) {
		double low = 0, high = 0.25 * k;

		add(s, generic(0.25, 0));
		for (int i = 0; i < 60; i++) {
			double middle = (low + high) / 2;

			if (exact_delta(k, 0.25, middle) > 1e-5)
				low = middle;
			else
				high = middle;
		}
		struct acct_bound b = with(s, NULL);
		assert_true(b.lower <= high * (1 + 1e-12) && b.upper >= low * (1 - 1e-12));
		assert_true(b.upper <= 1.05 * high);
	}
	acct_state_free(s);
}

/* Rounds that differ in only one of these are different rounds. */
static void levels_defects_and_sampling_count(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		r[i] = generic(1, 9999);
	r[1].level[0] = (struct acct_level){ 0.5, 5000 };
	r[1].levels = 1;
	r[2].defect = 1e-7;
	r[3].sampling = 0.1;
	for (size_t i = 0; i < 4; i++)
		add(s, r[i]);
	agree(with(s, NULL), anew(r, 4, 1e-6));
	for (size_t i = 4; i-- > 1;) {
		struct acct_bound before = with(s, NULL);

		assert_int_equal(acct_state_remove(s, &r[i]), ACCT_OK);
		assert_int_equal(acct_state_remove(s, &r[i]), ACCT_EDOMAIN);
		agree(with(s, NULL), anew(r, i, 1e-6));
		assert_true(with(s, NULL).upper < before.upper);
	}
	acct_state_free(s);
}

static void infinite_losses_are_counted(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r = bins(4, 50); /* infinite with chance (3/4)^50 = 5.6e-7 */

	(void)state;
	add(s, r);
	assert_true(with(s, NULL).upper < INFINITY);
	assert_true(with(s, &r).lower >= INFINITY); /* 1.1e-6: no epsilon reaches delta */
	add(s, r);
	assert_true(with(s, NULL).lower >= INFINITY);
	assert_int_equal(acct_state_remove(s, &r), ACCT_OK);
	assert_true(with(s, NULL).upper < INFINITY);
	acct_state_free(s);
}

static void rounds_without_loss_are_neutral(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round none = { .cells = 1, .cell = { { 1, 1, 1 } }, .others = 10, .count = 1000 };
	struct acct_bound before;

	(void)state;
	add(s, none);
	same(with(s, NULL), (struct acct_bound){ 0, 0 });
	for (unsigned i = 0; i < 3; i++)
		add(s, generic(1, 9999));
	before = with(s, NULL);
	add(s, none);
	agree(with(s, NULL), before);
	agree(before, with(s, NULL));
	acct_state_free(s);
}

static void rough_rounds_are_answered_by_finer_grids_or_anew(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r[3] = { generic(6, 3), generic(4, 20), generic(5, 0) };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		add(s, r[i]);
		agree(with(s, NULL), anew(r, i + 1, 1e-6));
	}
	acct_state_free(s);
}

/* Both ends are those of a new composition. */
static void is_as_wide(struct acct_bound b, struct acct_bound want)
{
	assert_true(fabs(b.upper - want.upper) <= ACCT_STATE_WIDTH * want.upper);
	assert_true(fabs(b.lower - want.lower) <= ACCT_STATE_WIDTH * want.lower);
}

/* For labelled bits the two bounds themselves are apart, so no width says whether a grid still fits. */
static void rounds_with_wide_bounds_are_as_wide_however_many(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r[2] = { { .cells = 2,
					   .cell = { { 0.25, 3, 1 }, { 0.25, 1, 3 } },
					   .others = 9999,
					   .count = 1,
					   .messages = ACCT_LABELLED_BITS },
		generic(1, 9999) };
	const struct acct_round one = r[0];

	(void)state;
	add(s, r[1]);
	for (r[0].count = 1; r[0].count <= 64; r[0].count++) {
		add(s, one);
		struct acct_bound b = with(s, NULL);
		if ((r[0].count & (r[0].count - 1)) == 0)
			is_as_wide(b, anew(r, 2, 1e-6));
	}
	r[0].count = 60;
	assert_int_equal(acct_state_remove(s, &r[0]), ACCT_OK);
	r[0].count = 4;
	is_as_wide(with(s, NULL), anew(r, 2, 1e-6));
	/* Beside a round whose loss takes few values, the grid decides how wide the answer is. */
	r[1] = generic(6, 4);
	r[0].count = 1;
	acct_state_free(s);
	s = new_state(1e-6);
	add(s, r[0]);
	add(s, r[1]);
	is_as_wide(with(s, NULL), anew(r, 2, 1e-6));
	acct_state_free(s);
}

static void faults_are_refused(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r = generic(1, 10);
	struct acct_bound b = { -1, -1 };

	(void)state;
	assert_null(acct_state_new(0));
	assert_null(acct_state_new(1));
	assert_null(acct_state_new(-1e-6));
	assert_null(acct_state_new(1e-300));
	assert_null(acct_state_new((double)NAN));
	r.count = 0;
	assert_int_equal(acct_state_add(s, &r), ACCT_EDOMAIN);
	assert_int_equal(acct_state_remove(s, &r), ACCT_EDOMAIN);
	assert_int_equal(acct_state_epsilon(s, &r, &b), ACCT_EDOMAIN);
	r = generic(1, 10);
	r.cell[0].u = (double)NAN;
	assert_int_equal(acct_state_add(s, &r), ACCT_EDOMAIN);
	r = generic(1, 10);
	r.count = ACCT_MAX_COUNT;
	add(s, r);
	r.count = 1;
	assert_int_equal(acct_state_add(s, &r), ACCT_ELIMIT);
	assert_int_equal(acct_state_rounds(s), ACCT_MAX_COUNT);
	assert_true(b.lower < 0 && b.upper < 0);
	acct_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_state_has_lost_nothing),
		cmocka_unit_test(every_answer_agrees_with_composing_anew),
		cmocka_unit_test(a_candidate_changes_nothing),
		cmocka_unit_test(order_and_history_do_not_matter),
		cmocka_unit_test(what_is_taken_back_does_not_count),
		cmocka_unit_test(equal_rounds_one_by_one_are_a_round_with_a_count),
		cmocka_unit_test(it_holds_the_exact_loss_of_randomized_response),
		cmocka_unit_test(levels_defects_and_sampling_count),
		cmocka_unit_test(infinite_losses_are_counted),
		cmocka_unit_test(rounds_without_loss_are_neutral),
		cmocka_unit_test(rough_rounds_are_answered_by_finer_grids_or_anew),
		cmocka_unit_test(rounds_with_wide_bounds_are_as_wide_however_many),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
