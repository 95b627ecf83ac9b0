/* test_acct_state_with.c - several candidates at once on top of a growing list of rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_examples.h"
#include "acct_state.h"
#include "failing_memory.h"
#include "random_rounds.h"

#define DELTA 1e-6
#define MOST  16u

/* ---- rounds ---- */

/* Rounds of a handful of kinds with many reports, so that lists have much in common. */
static struct acct_round some(void)
{
	struct acct_round r;

	switch (below(6)) {
	case 0:
		r = bins(16, 20000 + 1000 * below(3));
		break;
	case 1:
		r = generic(0.3, 4999);
		r.defect = 1e-9 * below(3);
		break;
	case 2:
		r = generic(1, 20000);
		r.level[0] = (struct acct_level){ .share = 0.5, .count = 500 };
		r.levels = below(2);
		break;
	case 3:
		r = generic(1, 9999);
		r.sampling = below(2) ? 0.25 : 0;
		break;
	default:
		r = generic(0.5 + 0.5 * below(3), 30000);
		break;
	}
	r.count = 1 + below(3);
	return r;
}

static size_t list(struct acct_round r[MOST], unsigned most)
{
	size_t n = 1 + below(most);

	for (size_t i = 0; i < n; i++)
		r[i] = some();
	return n;
}

static struct acct_state *new_state(void)
{
	struct acct_state *s = acct_state_new(DELTA);

	assert_non_null(s);
	return s;
}

static struct acct_bound with(struct acct_state *s, const struct acct_round *r, size_t n)
{
	struct acct_bound b = { -1, -1 };

	assert_int_equal(acct_state_epsilon_with(s, r, n, &b), ACCT_OK);
	assert_true(b.lower >= 0 && b.lower <= b.upper);
	return b;
}

static void same(struct acct_bound a, struct acct_bound b)
{
	assert_memory_equal(&a, &b, sizeof a);
}

/* Two intervals for one truth, the first within the stated tolerance of the second. */
static void agree(struct acct_bound have, struct acct_bound want)
{
	assert_true(have.upper >= want.lower && want.upper >= have.lower);
	assert_true(have.upper <= (1 + ACCT_STATE_WIDTH) * want.upper);
}

static struct acct_bound anew(const struct acct_round *r, size_t n)
{
	struct acct_bound b;

	assert_int_equal(acct_epsilon(r, n, DELTA, &b), ACCT_OK);
	return b;
}

/* ---- */

/* Lists of candidates one after the other, each composed anew with everything before it. */
static void every_answer_agrees_with_composing_anew(void **state)
{
	static struct acct_round all[5 * MOST];

	(void)state;
	for (unsigned run = 0; run < 2; run++) {
		struct acct_state *s = new_state();
		size_t n = 0;

		seed = 100 + run;
		for (unsigned step = 0; step < 5; step++) {
			size_t more = list(&all[n], step < 3 ? 4 : MOST);
			struct acct_bound b = with(s, &all[n], more);

			agree(b, anew(all, n + more));
			for (size_t i = 0; i < more; i++)
				assert_int_equal(acct_state_add(s, &all[n + i]), ACCT_OK);
			n += more;
			agree(with(s, NULL, 0), b);
			agree(b, with(s, NULL, 0));
		}
		acct_state_free(s);
	}
}

/* Exotic cells: losses that are infinite, one-sided, absent, or a coarse lattice. */
static void any_cells_will_do(void **state)
{
	(void)state;
	seed = 77;
	for (unsigned run = 0; run < 3; run++) {
		struct acct_state *s = new_state();
		struct acct_round r[6];

		for (size_t i = 0; i < 6; i++) {
			r[i] = random_round(8);
			r[i].count = 1 + below(3);
		}
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(acct_state_add(s, &r[i]), ACCT_OK);
		for (size_t n = 0; n <= 3; n++) {
			struct acct_bound have = with(s, &r[3], n), want = anew(r, 3 + n);

			assert_true(have.upper >= want.lower && want.upper >= have.lower);
		}
		acct_state_free(s);
	}
}

static void one_candidate_is_a_list_of_one(void **state)
{
	struct acct_state *a = new_state(), *b = new_state();
	struct acct_bound one;

	(void)state;
	seed = 5;
	for (unsigned i = 0; i < 10; i++) {
		struct acct_round r = some();

		assert_int_equal(acct_state_epsilon(a, &r, &one), ACCT_OK);
		same(with(b, &r, 1), one);
		assert_int_equal(acct_state_add(a, &r), ACCT_OK);
		assert_int_equal(acct_state_add(b, &r), ACCT_OK);
		assert_int_equal(acct_state_epsilon(a, NULL, &one), ACCT_OK);
		same(with(b, NULL, 0), one);
	}
	acct_state_free(a);
	acct_state_free(b);
}

/* Equal rounds among the candidates, and between candidates and the list. */
static void equal_rounds_add_up(void **state)
{
	struct acct_round r[4] = { generic(1, 9999), generic(1, 9999), generic(2, 9999), generic(1, 9999) };
	struct acct_round joined[2] = { generic(1, 9999), generic(2, 9999) };
	struct acct_state *s = new_state();

	(void)state;
	r[1].count = 5;
	joined[0].count = 7;
	agree(with(s, r, 4), anew(joined, 2));
	assert_int_equal(acct_state_add(s, &r[1]), ACCT_OK);
	joined[0].count = 12;
	agree(with(s, r, 4), anew(joined, 2));
	assert_int_equal(acct_state_rounds(s), 5);
	agree(with(s, NULL, 0), anew(&r[1], 1));
	acct_state_free(s);
}

/* The answer for the rounds alone stays the same to the bit, whatever was asked in between. */
static void questions_leave_no_trace(void **state)
{
	struct acct_state *asked = new_state(), *plain = new_state();
	struct acct_round r[MOST];

	(void)state;
	seed = 31;
	for (unsigned i = 0; i < 12; i++) {
		struct acct_round one = some();
		size_t n = list(r, MOST);

		(void)with(asked, r, n);
		assert_int_equal(acct_state_add(asked, &one), ACCT_OK);
		assert_int_equal(acct_state_add(plain, &one), ACCT_OK);
		(void)with(asked, r, n);
		assert_int_equal(acct_state_rounds(asked), acct_state_rounds(plain));
	}
	acct_state_rebuild(asked);
	acct_state_rebuild(plain);
	same(with(asked, NULL, 0), with(plain, NULL, 0));
	/* With the candidates it is as if they had been there. */
	for (unsigned i = 0; i < 3; i++) {
		size_t n = list(r, 4);

		for (size_t k = 0; k < n; k++)
			assert_int_equal(acct_state_add(plain, &r[k]), ACCT_OK);
		acct_state_rebuild(plain);
		agree(with(asked, r, n), with(plain, NULL, 0));
		for (size_t k = n; k-- > 0;)
			assert_int_equal(acct_state_remove(plain, &r[k]), ACCT_OK);
	}
	acct_state_rebuild(asked);
	acct_state_rebuild(plain);
	same(with(asked, NULL, 0), with(plain, NULL, 0));
	acct_state_free(asked);
	acct_state_free(plain);
}

static void a_list_with_a_fault_is_refused_whole(void **state)
{
	struct acct_round r[3] = { generic(1, 9999), generic(2, 999), generic(3, 99) };
	struct acct_state *s = new_state();
	struct acct_bound b = { -1, -1 }, before;

	(void)state;
	assert_int_equal(acct_state_add(s, &r[0]), ACCT_OK);
	assert_int_equal(acct_state_add(s, &r[2]), ACCT_OK);
	before = with(s, NULL, 0);
	r[2].cell[0].omega = NAN;
	assert_int_equal(acct_state_epsilon_with(s, r, 3, &b), ACCT_EDOMAIN);
	r[2] = r[1];
	r[1].count = ACCT_MAX_COUNT;
	assert_int_equal(acct_state_epsilon_with(s, r, 3, &b), ACCT_ELIMIT);
	assert_true(b.lower == -1 && b.upper == -1);
	same(with(s, NULL, 0), before);
	assert_int_equal(acct_state_rounds(s), 2);
	acct_state_free(s);
}

static void without_memory_there_is_no_answer_and_no_damage(void **state)
{
	struct acct_round r[3] = { generic(1, 9999), generic(2, 999), generic(0.5, 9999) };
	struct acct_state *s = new_state();
	struct acct_bound b = { -1, -1 };
	long n = 1;

	(void)state;
	assert_int_equal(acct_state_add(s, &r[0]), ACCT_OK);
	for (; n < 400; n++) {
		fail_after = n;
		enum acct_rc rc = acct_state_epsilon_with(s, r, 3, &b);
		fail_after = -1;
		if (rc == ACCT_OK)
			break;
		assert_int_equal(rc, ACCT_ENOMEM);
		assert_true(b.upper == -1);
		assert_int_equal(acct_state_rounds(s), 1);
	}
	assert_in_range(n, 10, 399);
	agree(b, anew((struct acct_round[]){ r[0], r[0], r[1], r[2] }, 4));
	agree(with(s, NULL, 0), anew(r, 1));
	acct_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_agrees_with_composing_anew),
		cmocka_unit_test(any_cells_will_do),
		cmocka_unit_test(one_candidate_is_a_list_of_one),
		cmocka_unit_test(equal_rounds_add_up),
		cmocka_unit_test(questions_leave_no_trace),
		cmocka_unit_test(a_list_with_a_fault_is_refused_whole),
		cmocka_unit_test(without_memory_there_is_no_answer_and_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
