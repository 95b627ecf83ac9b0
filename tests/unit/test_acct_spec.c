/* test_acct_spec.c - rounds as text: the cells of each protocol, and one sentence for every fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_named.h"
#include "acct_parsed.h"

/* The charge by the list of cells alone. */
static struct acct_round cells_of(const char *text)
{
	struct acct_round r = parsed(text).round;

	r.messages = ACCT_ANY_MESSAGES;
	r.family = NULL;
	memset(r.shape, 0, sizeof r.shape);
	return r;
}

static void same_epsilon_of(
	struct acct_round x, const char *a, struct acct_round y, const char *b, double rtol)
{
	struct acct_bound p, q;

	assert_int_equal(acct_epsilon(&x, 1, 1e-6, &p), ACCT_OK);
	assert_int_equal(acct_epsilon(&y, 1, 1e-6, &q), ACCT_OK);
	if (!(fabs(p.upper - q.upper) <= rtol * q.upper && fabs(p.lower - q.lower) <= rtol * q.upper))
		fail_msg("%s and %s differ: %.12g, %.12g", a, b, p.upper, q.upper);
}

static void same_epsilon(const char *a, const char *b, double rtol)
{
	same_epsilon_of(parsed(a).round, a, parsed(b).round, b, rtol);
}

static void same_cells(const char *a, const char *b, double rtol)
{
	same_epsilon_of(cells_of(a), a, cells_of(b), b, rtol);
}

static void n_count_and_dummies_become_reports(void **state)
{
	struct acct_round r = parsed("mixbins:k=16,eps0=3,dummies=70,n=1000,count=9").round;

	(void)state;
	assert_true(r.others == 999 && r.dummies == 70 && r.count == 9 && r.cells == 3);
	r = parsed("grr:k=3,eps0=1,n=1").round;
	assert_true(r.others == 0 && r.dummies == 0 && r.count == 1);
	r = parsed("bins:k=16,dummies=1e4,n=500").round; /* truthful participants hide nobody */
	assert_true(r.others == 0 && r.dummies == 10000);
	r = parsed("mixbins:k=16,eps0=inf,dummies=10,n=500").round;
	assert_true(r.others == 0 && r.dummies == 10);
}

static void protocols_that_coincide_have_equal_answers(void **state)
{
	(void)state;
	same_epsilon("rr:eps0=2,n=1000", "grr:k=2,eps0=2,n=1000", 1e-9);
	same_epsilon("rr:eps0=2,n=1000", "vrr:s=1,d=1,eps0=2,n=1000", 1e-9);
	same_epsilon("rr:eps0=2,n=1000", "duchi:eps0=2,n=1000", 1e-9);
	/* Bits with public labels; too few participants for the bound of labels have the cells'. */
	same_epsilon("harmony:d=4,eps0=2,n=1000", "vrr:s=1,eps0=2,n=1000", 1e-9);
	same_epsilon("harmony:d=4,eps0=2,n=1000", "words:w=1,eps0=2,n=1000", 1e-9);
	same_epsilon("harmony:d=4,eps0=2,n=1000", "duchi:d=3,eps0=2,n=1000", 1e-9);
	same_epsilon("generic:eps0=2,n=100", "vrr:s=1,eps0=2,n=100", 1e-9);
	same_epsilon("grr:k=5,eps0=1,n=500", "mixbins:k=5,eps0=1,dummies=0,n=500", 1e-9);
	same_epsilon("bins:k=16,dummies=9999", "mixbins:k=16,eps0=inf,dummies=9999", 1e-9);
	same_epsilon(
		"mixbins:k=8,eps0=2,dummies=50,n=700", "words:w=3,eps0=2,groups=9,dummies=50,n=700", 1e-9);
	same_epsilon("bins:k=4,dummies=900,count=5", "words:w=2,eps0=inf,dummies=900,count=5", 1e-9);
	/* k-ary response is the pair with q = p, q2 = 1, beta = (p-1)/(p+k-1): p = 3, k = 4 */
	same_epsilon("grr:k=4,eps0=1.0986122886681098,n=1000",
		"pair:p=3,beta=0.33333333333333331,q=3,q2=1,n=1000", 1e-9);
	/* vector response of two bits: three cells, q2 = sqrt(p) */
	same_cells("vrr:s=2,eps0=2,n=10000",
		"pair:p=7.3890560989306495,beta=0.46211715726000979,q=7.3890560989306495,q2=2."
		"7182818284590451,n=10000",
		1e-9);
	same_epsilon("pair:p=3,beta=0.5,q=3,n=100", "cells:omega=.25/.25,u=3/1,v=1/3,n=100", 1e-6);
}

/* Values of the literature's table, three or four digits. */
static void known_values_of_level_cells_are_met(void **state)
{
	static const struct {
		const char *text;
		double eps;
	} known[] = { { "grr:k=3,eps0=1,n=1000", 0.1307 }, { "grr:k=16,eps0=3,n=1000", 0.5903 },
		{ "grr:k=256,eps0=3,n=10000", 0.05693 }, { "vrr:s=2,eps0=2,n=10000", 0.0875 },
		{ "vrr:s=2,eps0=2,n=10000,count=256", 1.712 }, { "vrr:s=4,eps0=4,n=10000", 0.2525 },
		{ "vrr:s=4,eps0=4,n=10000,count=256", 5.14 }, { "rappor:d=16,eps0=3,n=1000", 0.669 } };

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct acct_round r = cells_of(known[i].text);
		struct acct_bound eps;

		assert_int_equal(acct_epsilon(&r, 1, 1e-6, &eps), ACCT_OK);
		assert_true(fabs(eps.upper - known[i].eps) < 2e-3 * known[i].eps);
	}
}

static void faults_are_named(void **state)
{
	(void)state;
	refused("", "no such protocol");
	refused("nonsense:n=3", "no such protocol 'nonsense'");
	refused("GRR:k=3,eps0=1,n=3", "no such protocol");
	refused("grr", "n= is missing");
	refused("grr:n=5", "k= is missing");
	refused("grr:k=3,eps0=1", "n= is missing");
	refused("grr:k=3,n=10", "eps0= is missing");
	refused("grr:k=3,eps0=1,n=10,n=11", "twice");
	refused("grr:k=3,eps0=1,n=10,q=2", "no such key 'q'");
	refused("grr:k=3,eps0=1,n=10,dummies=3", "no such key 'dummies'");
	refused("grr:k=3,eps0=1,n=10,hello", "not key=value");
	refused("grr:k=3,eps0=1,n=10,=4", "no such key ''");
	refused("grr:k=3,eps0=1,n=10,", "'' is not key=value");
	refused("grr:k=3,,eps0=1,n=10", "'' is not key=value");
	refused("grr:", "'' is not key=value");
	refused("rr:eps0=1,n=10,k=2", "no such key 'k'");
	refused("cells:omega= .5/.5,u=2/0,v=0/2,n=5", "separated by /");
	refused("cells:omega=nan,u=1,v=1,n=5", "omega");
	refused("cells:omega=1,u=inf,v=1,n=5", "finite");
	refused("grr:k=3,eps0=1,n=1e400", "n=1e400");
	refused("grr:k=3,eps0=1e-400,n=9", "eps0=1e-400");
	refused("bins:k=1e13,dummies=1", "k=1e13");
	refused("mixbins:k=4,eps0=1,n=1e12,dummies=1e12", "1e12");
	refused("grr:k=1,eps0=1,n=10", "k=1");
	refused("grr:k=2.5,eps0=1,n=10", "whole number");
	refused("grr:k=3,eps0=1,n=0", "n=0");
	refused("grr:k=3,eps0=1,n=-4", "n=-4");
	refused("grr:k=3,eps0=1,n=1e13", "n=1e13");
	refused("grr:k=3,eps0=1,n=ten", "not a number");
	refused("grr:k=3,eps0=1,n=", "not a number");
	refused("grr:k=3,eps0=1,n=nan", "not a number");
	refused("grr:k=3,eps0=1,n= 5", "not a number");
	refused("grr:k=3,eps0=1,n=10x", "not a number");
	refused("grr:k=3,eps0=1,n=10,count=0", "count=0");
	refused("grr:k=3,eps0=1,n=10,count=1000001", "count=1000001");
	refused("grr:k=3,eps0=0,n=10", "eps0=0");
	refused("grr:k=3,eps0=inf,n=10", "eps0=inf");
	refused("mixbins:k=3,eps0=-inf,n=10", "eps0=-inf");
	refused("generic:eps0=701,n=10", "eps0=701");
	refused("bins:k=16", "dummies= is missing");
	refused("bins:k=16,dummies=-1", "dummies=-1");
	refused("pair:p=1,beta=.1,q=2,n=5", "p must");
	refused("pair:p=3,beta=.6,q=3,n=5", "beta");
	refused("pair:p=3,beta=.25,q=1.1,n=5", "q must");
	refused("pair:p=3,beta=.25,q=3,q2=4,n=5", "q2");
	refused("vrr:s=0,eps0=1,n=5", "s=0");
	refused("vrr:s=2,d=1,eps0=1,n=5", "s is at most d");
	refused("vrr:s=64,eps0=1,n=5", "s=64");
	refused("rappor:d=1,eps0=1,n=5", "d=1");
	refused("cells:omega=.5/.5,u=2/0,n=5", "v= is missing");
	refused("cells:omega=.5/.5,u=2/0,v=0,n=5", "equally many");
	refused("cells:omega=.5/.5,u=2/x,v=0/2,n=5", "separated by /");
	refused("cells:omega=.5/.5/,u=2/0,v=0/2,n=5", "separated by /");
	refused("cells:omega=.5/.5,u=2/1,v=0/2,n=5", "omega*u");
	refused("cells:omega=.7/.7,u=1/1,v=1/1,n=5", "at most 1");
}

/* A key that may be left out is listed with a value; chance= and others_ are not keys of that kind.  d= of
 * balcer-cheu takes the place of k=. */
static bool is_said(const char *keys, const struct acct_param *p)
{
	char key[40];

	(void)snprintf(key, sizeof key, ",%s=", p->key);
	const char *at = strstr(keys, key);

	if (!p->optional || (!at && strstr(keys, "|,d=]")))
		return true;
	if (!at)
		return false;
	return strcmp(p->key, "chance") == 0 || strncmp(p->key, "others_", 7) == 0 || strstr(keys, "|,d=]") ||
	       (at[strlen(key)] != ']' && at[strlen(key)] != ',');
}

/* A key that is left out has the value that `names` says, and `names` says one for every key that may be left
 * out. */
static void a_name_or_key_that_was_meant_is_suggested(void **state)
{
	(void)state;
	refused("krr:k=3,eps0=1,n=3", "no such protocol 'krr'; did you mean grr?");
	refused("rapor:d=3,eps0=1,n=3", "did you mean rappor?");
	refused("grr:k=3,eps=1,n=3", "grr: no such key 'eps'; did you mean eps0=?");
	refused("mixbins:k=3,eps0=1,n=3,dumies=4", "did you mean dummies=?");
	refused("noise:eps=1,mean=9", "no such key 'eps'; there are epsilon=,mean= and n=");
	refused("oue:d=4,eps0=1,users=9", "did you mean n=?");
	refused("oue:d=4,eps0=1,n=9,k=3", "no such key 'k'; there are d=,eps0= and n=");
}

static void what_is_left_out_is_what_names_says(void **state)
{
	static const char *const text[][2] = {
		{ "cheu:f=.2,n=9", ",fakes=1,dummies=0" },
		{ "balcer-cheu:t=.1,n=9", ",k=1,coins=1" },
		{ "hadamard:d=5,eps0=1,n=9", ",blocks=1" },
		{ "duchi:eps0=1,n=9", ",d=1" },
		{ "harmony:eps0=1,n=9", ",d=77" },
		{ "words:w=2,eps0=1,n=9", ",slots=1,dummies=0,groups=77" },
		{ "mixbins:k=3,eps0=1,n=9", ",dummies=0" },
		{ "hashed:b=4,dummies=9", ",collision=.25" },
		{ "olh:l=4,eps0=1,n=9", ",collision=.25,d=77" },
		{ "pair:p=3,beta=.2,q=4,n=9", ",q2=4" },
		{ "parallel:k=2/3,eps0=1,n=9", ",share=.5/.5" },
		{ "rr:eps0=1,n=9", ",count=1,defect=0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		char whole[200];

		(void)snprintf(whole, sizeof whole, "%s%s", text[i][0], text[i][1]);
		struct acct_spec a = parsed(text[i][0]), b = parsed(whole);
		assert_true(acct_round_equal(&a.round, &b.round) && a.round.count == b.round.count);
	}
	for (size_t i = 0; acct_named_row(i); i++)
		for (size_t k = 0; k < ACCT_NAMED_PARAMS && acct_named_row(i)->param[k].key; k++)
			if (!is_said(acct_named_row(i)->keys, &acct_named_row(i)->param[k]))
				fail_msg("%s: nothing is said of %s=", acct_named_row(i)->name,
					acct_named_row(i)->param[k].key);
	refused("ss-topk:k=500001,levels=3,eps0=1,padded=9", "slots, times count");
	refused("words:w=2,eps0=1,n=9,slots=1000000,count=2", "slots, times count");
}

static void the_common_keys_reach_the_round(void **state)
{
	struct acct_round r = parsed("oue:d=8,eps0=1,n=50,count=3,sampling=.25,defect=1e-9").round;

	(void)state;
	assert_true(r.count == 3 && r.others == 49);
	assert_true(fabs(r.sampling - 0.25) < 1e-15 && fabs(r.defect - 1e-9) < 1e-24);
	r = parsed("bins:k=3,dummies=5,defect=0").round;
	assert_true(r.sampling <= 0 && r.defect <= 0);
	refused("rr:eps0=1,n=9,sampling=0", "sampling=0");
	refused("rr:eps0=1,n=9,sampling=1", "sampling=1");
	refused("rr:eps0=1,n=9,sampling=-1", "sampling=-1");
	refused("rr:eps0=1,n=9,defect=1", "defect");
	refused("rr:eps0=1,n=9,defect=-1e-9", "defect");
	refused("rr:eps0=1,n=9,defect=nan", "defect=nan");
}

/* 1/Z of every symbol is blanket, Z = e^eps + k - 1. */
static void others_with_their_own_guarantee_become_levels(void **state)
{
	struct acct_round r = parsed("grr:k=4,eps0=1,n=1000,others_eps=.5/2,others_n=200/100").round;
	double z = exp(1) + 3;
	struct acct_spec s;
	char why[200];

	(void)state;
	assert_true(r.others == 699 && r.levels == 2 && r.level[0].count == 200 && r.level[1].count == 100);
	assert_true(fabs(r.level[0].share - z / (exp(.5) + 3)) < 1e-14);
	assert_true(fabs(r.level[1].share - z / (exp(2) + 3)) < 1e-14);
	same_epsilon("rr:eps0=1,n=500,others_eps=1,others_n=499", "rr:eps0=1,n=500", 1e-6);
	assert_int_equal(acct_spec_parse("rr:eps0=1,n=5,others_eps=3,others_n=2", &s, why, sizeof why), 0);
	assert_true(s.eps0 >= 3 && s.eps0 <= 3 && s.p <= 0 && s.participants == 5); /* of every participant */
	refused("rr:eps0=1,n=5,others_eps=3,others_n=5", "n - 1");
	refused("rr:eps0=1,n=5,others_eps=3/2,others_n=4/1", "n - 1");
	refused("rr:eps0=1,n=5,others_eps=3/2,others_n=4", "equally many");
	refused("rr:eps0=1,n=5,others_eps=3", "equally many");
	refused("rr:eps0=1,n=5,others_n=3", "equally many");
	refused("rr:eps0=1,n=5,others_eps=inf,others_n=3", "others_eps=inf");
	refused("rr:eps0=1,n=5,others_eps=2,others_n=0", "others_n=0");
	refused("rr:eps0=1,n=5,others_eps=2,others_n=.5", "others_n=.5");
	refused("rr:eps0=1,n=5,others_eps=2,others_n=1,sampling=.5", "sampling");
	refused("mixbins:k=2,eps0=1,n=5,others_eps=2,others_n=1", "others_eps");
}

/* A list of cells gives the share of each level itself. */
static void cells_have_levels_too(void **state)
{
	struct acct_spec s =
		parsed("cells:omega=.25/.25,u=3/1,v=1/3,n=1000,others_share=2/.5,others_n=200/100");

	(void)state;
	assert_true(s.round.others == 699 && s.round.levels == 2 && s.participants == 1000);
	assert_true(
		s.round.level[0].count == 200 && s.round.level[0].share >= 2 && s.round.level[0].share <= 2);
	assert_true(s.round.level[1].count == 100 && s.round.level[1].share >= .5 &&
		    s.round.level[1].share <= .5);
	/* The others of share .5 have that much in common with the blanket: 3 times it is 6 times theirs. */
	assert_true(fabs(s.eps0 - log(6)) < 1e-14 && s.p <= 0 && s.q <= 0 && s.beta <= 0);
	same_epsilon("cells:omega=.25/.25,u=3/1,v=1/3,n=500,others_share=1,others_n=499",
		"cells:omega=.25/.25,u=3/1,v=1/3,n=500", 1e-6);
	assert_int_equal(parsed("cells:omega=1,u=1,v=1,n=5,others_share=1,others_n=0").round.levels, 1);
	refused("cells:omega=.5,u=2,v=2,n=5,others_share=2.1,others_n=1", "share of every level");
	refused("cells:omega=1,u=1,v=1,n=5,others_share=1,others_n=5", "n - 1");
	refused("cells:omega=1,u=1,v=1,n=5,others_share=1/1,others_n=1", "equally many");
	refused("cells:omega=1,u=1,v=1,n=5,others_share=1", "equally many");
	refused("cells:omega=1,u=1,v=1,n=5,others_n=1", "equally many");
}

static void every_round_has_a_text(void **state)
{
	static const char *const text[] = { "grr:k=7,eps0=1.1,n=1000", "bins:k=16,dummies=400,count=1000000",
		"mixbins:k=16,eps0=3,dummies=70,n=1000,count=9",
		"vrr:s=63,eps0=2,n=77,sampling=.1,defect=1e-300",
		"grr:k=4,eps0=1,n=1000,others_eps=.5/2,others_n=200/100,defect=.1",
		"cells:omega=1,u=1,v=1,n=1000000000001" };
	struct acct_round none = { 0 };
	char out[ACCT_SPEC_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_round r = parsed(text[i]).round, back;

		assert_int_equal(acct_spec_text(&r, out), ACCT_OK);
		back = parsed(out).round;
		assert_true(acct_round_equal(&r, &back) && r.count == back.count);
	}
	assert_int_equal(acct_spec_text(&none, out), ACCT_EDOMAIN);
	/* Keys that say nothing are left out. */
	none = parsed("cells:omega=.5/.5,u=2/0,v=0/2,n=10").round;
	assert_int_equal(acct_spec_text(&none, out), ACCT_OK);
	assert_string_equal(out, "cells:omega=0.5/0.5,u=2/0,v=0/2,n=10");
}

static void what_the_analyses_need_is_known(void **state)
{
	static const struct {
		const char *text;
		double eps0, p, beta, q, k;
	} known[] = { { "grr:k=5,eps0=2,n=9", 2, 7.38905609893065, 6.38905609893065 / 11.38905609893065,
			      7.38905609893065, 5 },
		{ "levels:b=4,eps0=2,n=9", 2, 7.38905609893065, 6.38905609893065 / 11.38905609893065,
			7.38905609893065, 5 },
		{ "bins:k=5,dummies=9", INFINITY, INFINITY, 1, 5, 0 },
		{ "balcer-cheu:t=.2,n=3", INFINITY, INFINITY, 1, 5, 0 },
		{ "hashed:b=4,dummies=3", INFINITY, INFINITY, .75, 4, 0 },
		{ "pair:p=3,beta=.25,q=8,n=5", 2.0794415416798357, 3, .25, 8, 0 },
		{ "cells:omega=.25/.25,u=3/1,v=1/3,n=10", 1.0986122886681098, 3, .5, 3, 0 },
		{ "parallel:k=2/4,eps0=1/2,n=9", 2, 7.38905609893065,
			.5 * 0.46211715726000975 + .5 * 6.38905609893065 / 10.38905609893065,
			7.38905609893065, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct acct_spec s;
		char why[200];
		const double want[] = { known[i].eps0, known[i].p, known[i].beta, known[i].q, known[i].k };

		assert_int_equal(acct_spec_parse(known[i].text, &s, why, sizeof why), ACCT_OK);
		const double got[] = { s.eps0, s.p, s.beta, s.q, s.k };
		for (size_t j = 0; j < 5; j++)
			if (!(isinf(want[j]) ? isinf(got[j]) : fabs(got[j] - want[j]) <= 1e-12))
				fail_msg("%s: fact %zu is %.15g", known[i].text, j, got[j]);
		assert_true(strncmp(known[i].text, s.name, strlen(s.name)) == 0);
	}
}

static void faults_of_the_other_names_are_named(void **state)
{
	(void)state;
	refused("subset:d=4,k=4,eps0=1,n=9", "k must be below d");
	refused("subset:d=4,k=0,eps0=1,n=9", "k=0");
	refused("privset:d=4,k=2,s=3,eps0=1,n=9", "k + s");
	refused("olh:l=1,eps0=1,n=9", "l=1");
	refused("olh:l=4,eps0=1,n=9,collision=1", "collision");
	refused("olh:l=4,eps0=1,n=9,collision=-.1", "collision");
	refused("olh:l=4,eps0=1,n=9,d=1", "d=1");
	refused("hashed:b=4,n=9", "dummies= is missing");
	refused("hadamard:d=1,eps0=1,n=9", "d=1");
	refused("hadamard:d=4,eps0=1,n=9,blocks=5", "blocks must");
	refused("duchi:eps0=1,d=0,n=9", "d=0");
	refused("duchi:eps0=1,d=4097,n=9", "d=4097");
	refused("levels:b=0,eps0=1,n=9", "b=0");
	refused("laplace-levels:b=2.5,eps0=1,n=9", "whole number");
	refused("staircase:b=4,r=5,eps0=1,n=9", "r must be at most b");
	refused("piecewise:b=4,w=0,eps0=1,n=9", "w=0");
	refused("balcer-cheu:t=1,n=9", "t=1");
	refused("balcer-cheu:t=.5", "n= is missing");
	refused("balcer-cheu:t=.5,n=9,k=3,sampling=.5", "sampling with k");
	refused("balcer-cheu:t=.5,n=9,k=3,count=500001", "count");
	refused("cheu:f=.5,n=9", "f=.5");
	refused("cheu:f=.1,n=1e9,fakes=1e9", "at most 1e12");
	refused("hierarchy:f=10,H=13,eps0=1,n=9", "1e12 nodes");
	refused("hierarchy:f=2,H=41,eps0=1,n=9", "H=41");
	refused("parallel:k=4/1,eps0=1,n=9", "k=4/1");
	refused("parallel:k=4/8/9,eps0=1/2,n=9", "one for each k");
	refused("parallel:k=4/8,eps0=1,share=.5/.6,n=9", "sum to 1");
	refused("parallel:k=4/8,eps0=1,share=1,n=9", "share");
	refused("parallel:k=4/8,eps0=0/1,n=9", "eps0=0/1");
	refused("grr:k=3/4,eps0=1,n=9", "k=3/4 is not a number");
	refused("mixbins:k=4,eps0=1", "n= is missing");
	refused("oue:d=4,eps0=1,n=9,k=3", "no such key 'k'");
}

static void too_many_different_sub_queries_are_refused(void **state)
{
	char text[1000] = "parallel:eps0=1";
	size_t at = strlen(text);

	(void)state;
	for (int i = 0; i < 39; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "/%g", 1 + 0.01 * i);
	at += (size_t)snprintf(text + at, sizeof text - at, ",n=9,k=3");
	for (int i = 0; i < 39; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "/%d", 4 + i);
	refused(text, "64 cells");
}

/* An eps0 so small that e^eps0 rounds to 1, and one near the largest that is answered. */
static void the_ends_of_the_range_of_eps0_are_read(void **state)
{
	static const char *const text[] = { "generic:", "rr:", "grr:k=7,", "mixbins:k=7,", "levels:b=9,",
		"rappor:d=7,", "oue:d=7,", "subset:d=9,k=3,", "privset:d=100,k=3,s=4,", "olh:l=9,",
		"olh:l=9,d=9,", "hadamard:d=9,", "hadamard:d=9,blocks=3,", "duchi:d=8,",
		"harmony:", "words:w=3,", "vrr:s=9,", "laplace-levels:b=9,", "laplace-levels:b=1e12,",
		"staircase:b=9,", "piecewise:b=9,", "hierarchy:f=3,H=4,", "parallel:k=3/4," };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		char low[100], high[100];
		struct acct_round r;
		struct acct_bound eps;

		snprintf(low, sizeof low, "%seps0=1e-17,n=4", text[i]);
		snprintf(high, sizeof high, "%seps0=650,n=4", text[i]);
		r = parsed(low).round;
		assert_int_equal(acct_epsilon(&r, 1, 1e-3, &eps), ACCT_OK);
		assert_true(eps.lower <= 1e-17 && eps.upper < 1e-10);
		/* The loss is not 0 where delta is below the distance of two inputs. */
		assert_int_equal(acct_epsilon(&r, 1, 1e-40, &eps), ACCT_OK);
		assert_true(eps.lower <= 1e-17 && eps.upper >= 1e-17);
		r = parsed(high).round;
		assert_int_equal(acct_epsilon(&r, 1, 1e-3, &eps), ACCT_OK);
		assert_true(eps.upper > 600 && eps.upper < 651);
	}
}

static void the_longest_list_is_read(void **state)
{
	static const char *const key[] = { "omega", "u", "v" };
	char text[8192] = "cells:n=9";
	size_t at = strlen(text);

	(void)state;
	for (size_t k = 0; k < 3; k++)
		for (size_t j = 0; j < ACCT_MAX_CELLS; j++)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s%.17e", j > 0 ? "/" : ",",
				j > 0 ? "" : key[k], j > 0 ? "" : "=", k > 0 ? 1 : 1.0 / ACCT_MAX_CELLS);
	assert_int_equal(parsed(text).round.cells, ACCT_MAX_CELLS);
}

static void a_text_that_never_ends_is_refused(void **state)
{
	char *text = malloc(100001);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 100000);
	text[100000] = '\0';
	refused(text, "longer");
	memcpy(text, "cells:omega=", 12);
	for (size_t i = 12; i < 4000; i += 2)
		memcpy(text + i, "1/", 2);
	text[4000] = '1';
	memcpy(text + 4001, ",u=1,v=1,n=2", 13);
	refused(text, "more than 64");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(n_count_and_dummies_become_reports),
		cmocka_unit_test(protocols_that_coincide_have_equal_answers),
		cmocka_unit_test(known_values_of_level_cells_are_met),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(a_name_or_key_that_was_meant_is_suggested),
		cmocka_unit_test(what_is_left_out_is_what_names_says),
		cmocka_unit_test(the_common_keys_reach_the_round),
		cmocka_unit_test(others_with_their_own_guarantee_become_levels),
		cmocka_unit_test(cells_have_levels_too),
		cmocka_unit_test(every_round_has_a_text),
		cmocka_unit_test(what_the_analyses_need_is_known),
		cmocka_unit_test(faults_of_the_other_names_are_named),
		cmocka_unit_test(too_many_different_sub_queries_are_refused),
		cmocka_unit_test(the_ends_of_the_range_of_eps0_are_read),
		cmocka_unit_test(the_longest_list_is_read),
		cmocka_unit_test(a_text_that_never_ends_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
