/* test_acct_slots.c - rounds of slots, of classes and of the shuffler's noise as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_parsed.h"

/* The cells are those of the response on as many symbols; others, dummies and count are as the text says. */
static const struct {
	const char *text;
	struct {
		const char *like;
		uint64_t count;
	} part[4];
} cases[] = {
	{ "digits:base=4,digits=3,eps0=1,n=9,dummies=5,count=2",
		{ { "mixbins:k=4,eps0=1,n=9,dummies=5", 2 }, { "mixbins:k=4,eps0=1,n=9,dummies=20", 2 },
			{ "mixbins:k=4,eps0=1,n=9,dummies=80", 2 } } },
	{ "digits:base=4,digits=2,eps0=1,n=9,dummies=5,none=1",
		{ { "mixbins:k=5,eps0=1,n=9,dummies=5", 1 }, { "mixbins:k=5,eps0=1,n=9,dummies=20", 1 } } },
	{ "digits:base=2,digits=1,eps0=1,n=9,none=0", { { "grr:k=2,eps0=1,n=9", 1 } } },
	{ "ranges:leaves=9,fanout=3,eps0=2,n=9,none=1",
		{ { "grr:k=4,eps0=2,n=9", 1 }, { "grr:k=10,eps0=2,n=9", 1 } } },
	{ "digits:base=8,digits=1,eps0=inf,dummies=5,sampling=.5",
		{ { "bins:k=8,dummies=5,sampling=.5", 1 } } },
	{ "ranges:leaves=27,fanout=3,eps0=2,n=9",
		{ { "grr:k=3,eps0=2,n=9", 1 }, { "grr:k=9,eps0=2,n=9", 1 }, { "grr:k=27,eps0=2,n=9", 1 } } },
	{ "marginals:k=6/6/4,eps0=inf,dummies=7",
		{ { "bins:k=6,dummies=7", 1 }, { "bins:k=6,dummies=7", 1 }, { "bins:k=4,dummies=7", 1 } } },
	{ "words:w=3,slots=5,eps0=1,n=9,count=2,defect=.01", { { "grr:k=8,eps0=1,n=9,defect=.01", 10 } } },
	{ "rotated:w=3,eps0=inf,dummies=70", { { "bins:k=8,dummies=70", 1 } } },
	{ "ss-simple:d=6,levels=3,eps0=1,n=9", { { "grr:k=3,eps0=1,n=9", 6 } } },
	{ "ss-double:k=6,levels=3,eps0=1,n=9", { { "grr:k=3,eps0=1,n=9", 6 } } },
	{ "ss-topk:k=6,levels=3,eps0=1,padded=50,n=9", { { "grr:k=3,eps0=1,n=50", 12 } } },
	{ "gspa-pooled:k=4,eps0=2,least=9", { { "grr:k=4,eps0=2,n=9", 1 } } },
	{ "gspa-pooled:k=4,eps0=1/2/.5,least=9/5/7,n=30",
		{ { "grr:k=4,eps0=2,n=30,others_eps=1/.5,others_n=9/7", 1 } } },
	{ "gspa-pooled:k=4,eps0=1/2,least=1/5", { { "grr:k=4,eps0=2,n=6,others_eps=1,others_n=1", 1 } } },
	{ "prefixes:k=4,eps0=1,n=9,dummies=3", { { "mixbins:k=4,eps0=1,n=9,dummies=3", 1 } } },
	{ "levels:b=4,eps0=inf,dummies=3", { { "bins:k=5,dummies=3", 1 } } },
};

static void slots_become_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct acct_spec part[ACCT_SPEC_PARTS];
		char why[256] = "";
		size_t parts = 0, want = 0;

		if (acct_spec_parts(cases[i].text, part, &parts, why, sizeof why))
			fail_msg("%s: %s", cases[i].text, why);
		for (; want < 4 && cases[i].part[want].like; want++) {
			struct acct_spec like = parsed(cases[i].part[want].like);

			assert_true(want < parts);
			if (!acct_round_equal(&part[want].round, &like.round))
				fail_msg("%s: part %zu is not %s", cases[i].text, want,
					cases[i].part[want].like);
			assert_int_equal(part[want].round.count, cases[i].part[want].count);
			assert_true(part[want].eps0 == like.eps0);
		}
		assert_int_equal(parts, want);
	}
}

/* By hand: a = 1/2, two messages about each count: chances 1, 2, 4, 2, 1 of 10. */
static void noise_is_two_binary_responses_with_a_defect(void **state)
{
	struct acct_spec s = parsed("noise:epsilon=1.3862943611198906,mean=2,count=3");

	(void)state;
	assert_int_equal(s.round.count, 6);
	assert_int_equal(s.round.cells, 2);
	assert_true(s.round.others == 0 && s.round.dummies == 0 && isinf(s.eps0));
	assert_true(fabs(s.round.defect - .1) < 1e-15);
	assert_true(fabs(s.round.cell[0].omega - 1. / 3) < 1e-15 && fabs(s.round.cell[0].u - 2) < 1e-15 &&
		    s.round.cell[0].v == 1);
	s = parsed("noise:epsilon=1.3862943611198906,mean=2,defect=.5");
	assert_true(fabs(s.round.defect - .55) < 1e-15);
}

/* The largest of the classes' own curves at every epsilon, also where they cross; its text reads back. */
static void classes_apart_lose_what_the_worst_of_them_loses(void **state)
{
	static const struct {
		const char *text, *own[3];
	} of[] = {
		{ "gspa-classes:k=4,eps0=1/2/.5,least=9/5/7",
			{ "grr:k=4,eps0=1,n=9", "grr:k=4,eps0=2,n=5", "grr:k=4,eps0=.5,n=7" } },
		{ "gspa-classes:k=4,eps0=1/2,least=9/5,n=3", { "grr:k=4,eps0=1,n=3", "grr:k=4,eps0=2,n=3" } },
		{ "gspa-classes:k=2,eps0=3/.5,least=10000/500", { "rr:eps0=3,n=10000", "rr:eps0=.5,n=500" } },
		{ "gspa-classes:k=16,eps0=4/2,least=400/3000",
			{ "grr:k=16,eps0=4,n=400", "grr:k=16,eps0=2,n=3000" } },
		{ "gspa-classes:k=3,eps0=2,least=50", { "grr:k=3,eps0=2,n=50" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct acct_round r = parsed(of[i].text).round;
		char text[ACCT_SPEC_MAX];

		assert_int_equal(acct_spec_text(&r, text), ACCT_OK);
		struct acct_round again = parsed(text).round;
		assert_true(acct_round_equal(&r, &again));
		for (double eps = 0; eps < 4; eps += 0.05) {
			struct acct_bound all, most = { 0, 0 };

			assert_int_equal(acct_delta(&r, 1, eps, &all), ACCT_OK);
			for (size_t k = 0; k < 3 && of[i].own[k]; k++) {
				struct acct_round one = parsed(of[i].own[k]).round;
				struct acct_bound b;

				assert_int_equal(acct_delta(&one, 1, eps, &b), ACCT_OK);
				most.lower = fmax(most.lower, b.lower);
				most.upper = fmax(most.upper, b.upper);
			}
			if (!(fabs(all.upper - most.upper) <= 1e-9 * most.upper + 1e-14 &&
				    fabs(all.lower - most.lower) <= 1e-9 * most.upper + 1e-14))
				fail_msg("%s at %g: %.12g to %.12g, not %.12g to %.12g", of[i].text, eps,
					all.lower, all.upper, most.lower, most.upper);
		}
	}
}

/* A defect is known exactly, so where delta is the defect the largest loss is the answer. */
static void classes_apart_with_a_defect_end(void **state)
{
	struct acct_round r = parsed("gspa-classes:k=2,eps0=5/0.5,least=10/20,defect=1e-7").round;
	struct acct_bound b;

	(void)state;
	assert_int_equal(acct_epsilon(&r, 1, 1e-7, &b), ACCT_OK);
	assert_true(b.upper >= 5 && b.upper < 5.001);
}

/* A participant hides among those who can hide it, whatever n says. */
static void who_hides_a_participant_is_not_overstated(void **state)
{
	(void)state;
	assert_int_equal(parsed("ss-topk:k=2,levels=3,eps0=1,padded=50,n=1e6").participants, 50);
	assert_int_equal(parsed("gspa-classes:k=4,eps0=1/2,least=9/5,n=1e6").participants, 5);
	assert_true(parsed("ss-topk:k=2,levels=3,eps0=1,padded=50").k == 0);
}

static void rounds_of_slots_that_are_none_are_refused(void **state)
{
	(void)state;
	refused("digits:base=2,digits=4,eps0=1,n=9", "4 different slots, where one is wanted");
	refused("digits:base=2,digits=17,eps0=1,n=9", "digits=17");
	refused("digits:base=2,digits=2,eps0=1", "n= is missing");
	refused("digits:base=2,digits=2,eps0=1,n=9,sampling=.5", "sampling with several slots");
	refused("digits:base=1000,digits=9,eps0=1,n=9,dummies=1", "more than 1e12 dummies");
	refused("digits:base=2,digits=2,eps0=1,n=9,none=2", "none=2");
	refused("ranges:leaves=10,fanout=3,eps0=1,n=9", "power of fanout");
	refused("ranges:leaves=131072,fanout=2,eps0=1,n=9", "more than 16 levels");
	refused("marginals:k=2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2,eps0=1,n=9", "more than 16 marginals");
	refused("marginals:k=2/1,eps0=1,n=9", "k=2/1");
	refused("words:w=2,slots=2,eps0=1,n=9,sampling=.5", "sampling with several slots");
	refused("words:w=2,slots=1e6,eps0=1,n=9,count=2", "count");
	refused("ss-simple:d=6,levels=1,eps0=1,n=9", "levels=1");
	refused("ss-double:k=6,levels=3,eps0=inf,n=9", "eps0=inf");
	refused("ss-topk:k=6,levels=3,eps0=1,n=9", "padded= is missing");
	refused("ss-topk:k=6,levels=3,eps0=1,padded=0", "padded=0");
	refused("ss-topk:k=6,levels=3,eps0=1,padded=9,sampling=.1", "sampling with several messages");
	refused("gspa-classes:k=4,eps0=1/2,least=9", "equally many");
	refused("gspa-classes:k=4,eps0=1/2,least=9/9,n=50,sampling=.1", "sampling with classes");
	refused("gspa-pooled:k=4,eps0=1/2,least=9/9,n=17", "n must be at least");
	refused("gspa-pooled:k=4,eps0=1,least=1", "2 or more");
	refused("gspa-pooled:k=4,eps0=1/2,least=1e12/1e12", "at most 1e12");
	refused("noise:epsilon=0,mean=3", "epsilon=0");
	refused("noise:epsilon=1,mean=3,sampling=.1", "sampling with noise");
	refused("balcer-cheu:t=.5,n=9,k=3,d=3", "k, counters");
	refused("balcer-cheu:t=.5,n=1e9,d=3,coins=1e9", "at most 1e12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_become_parts),
		cmocka_unit_test(noise_is_two_binary_responses_with_a_defect),
		cmocka_unit_test(classes_apart_lose_what_the_worst_of_them_loses),
		cmocka_unit_test(classes_apart_with_a_defect_end),
		cmocka_unit_test(who_hides_a_participant_is_not_overstated),
		cmocka_unit_test(rounds_of_slots_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
