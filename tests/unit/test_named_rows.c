/* test_named_rows.c - every row of the protocol table has a name in the accountant's grammar, which derives
 * the same privacy on its own from the same parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "acct_named.h"
#include "pt_loss.h"
#include "queries.h"

#define N         1000
#define DELTA     1e-6
#define MOST      64
#define LEAST     2 /* sets of parameters of a row */
#define PRECISION 1e-6
#define EPS0(e)   .epsilon0 = (e), .min_reports = N
#define CLASSES                                                                        \
	.epsilon0 = 2, .min_reports = N, .classes = 3, .class_epsilon0 = { .5, 1, 2 }, \
	.class_least = { 300, 200, 100 }

/* A request, and what it is as text; n=1000 and, of noise, mean= are appended. */
static const struct one {
	const char *row, *text;
	uint32_t size; /* categories, or coordinates; 0: those of queries.h */
	struct pt_request request;
} cases[] = {
	{ "grr", "grr:k=5,eps0=3", 0, { EPS0(3) } },
	{ "grr", "grr:k=64,eps0=.5", 64, { EPS0(.5) } },
	{ "levels", "levels:b=8,eps0=2", 0, { EPS0(2), .levels = 9 } },
	{ "levels", "levels:b=1,eps0=1,dummies=2000", 0, { EPS0(1), .levels = 2, .dummies = 2 } },
	{ "levels", "levels:b=16,eps0=inf,dummies=9007", 0,
		{ EPS0((double)INFINITY), .levels = 17, .dummies = 9, .shuffler_dummies = 7 } },
	{ "bins", "bins:k=5,dummies=3000", 0, { EPS0((double)INFINITY), .dummies = 3 } },
	{ "bins", "bins:k=2,dummies=500", 2, { EPS0((double)INFINITY), .shuffler_dummies = 500 } },
	{ "bins", "noise:epsilon=1", 0, { EPS0((double)INFINITY), .noise_epsilon = 1, .noise_delta = 1e-8 } },
	{ "bins", "noise:epsilon=.125", 0,
		{ EPS0((double)INFINITY), .noise_epsilon = .125, .noise_delta = 1e-7 } },
	{ "mixbins", "mixbins:k=5,eps0=1,dummies=3007", 0, { EPS0(1), .dummies = 3, .shuffler_dummies = 7 } },
	{ "mixbins", "mixbins:k=64,eps0=inf,dummies=8000", 64, { EPS0((double)INFINITY), .dummies = 8 } },
	{ "rappor", "rappor:d=5,eps0=1", 0, { EPS0(1) } },
	{ "rappor", "rappor:d=2,eps0=4", 2, { EPS0(4) } },
	{ "oue", "oue:d=5,eps0=1", 0, { EPS0(1) } },
	{ "oue", "oue:d=2,eps0=4", 2, { EPS0(4) } },
	{ "subset", "subset:d=5,k=2,eps0=1", 0, { EPS0(1), .size = 2 } },
	{ "subset", "subset:d=64,k=63,eps0=3", 64, { EPS0(3), .size = 63 } },
	{ "olh", "olh:l=4,eps0=1", 0, { EPS0(1), .size = 4 } },
	{ "olh", "olh:l=9,eps0=3,d=2", 2, { EPS0(3), .size = 9 } },
	{ "hadamard", "hadamard:d=5,eps0=1", 0, { EPS0(1) } },
	{ "hadamard", "hadamard:d=64,eps0=4", 64, { EPS0(4) } },
	{ "hashed", "hashed:b=16,dummies=2000", 0, { EPS0((double)INFINITY), .size = 16, .dummies = 2 } },
	{ "hashed", "hashed:b=2,dummies=1500", 64,
		{ EPS0((double)INFINITY), .size = 2, .dummies = 1, .shuffler_dummies = 500 } },
	{ "cheu", "cheu:f=0.26894142136999512", 0, { EPS0(2), .dummies = 1 } },
	{ "cheu", "cheu:f=0.11920292202211756,fakes=3,dummies=70", 64,
		{ EPS0(4), .dummies = 3, .shuffler_dummies = 70 } },
	{ "balcer-cheu", "balcer-cheu:t=.25,d=5", 0, { EPS0((double)INFINITY), .size = 4, .dummies = 1 } },
	{ "balcer-cheu", "balcer-cheu:t=.0625,d=64,coins=3", 64,
		{ EPS0((double)INFINITY), .size = 16, .dummies = 3 } },
	{ "duchi", "duchi:eps0=1", 0, { EPS0(1) } },
	{ "duchi", "duchi:eps0=4", 0, { EPS0(4) } },
	{ "laplace-levels", "laplace-levels:b=8,eps0=1", 0, { EPS0(1), .levels = 9 } },
	{ "laplace-levels", "laplace-levels:b=1,eps0=3", 0, { EPS0(3), .levels = 2 } },
	{ "staircase", "staircase:b=8,r=3,eps0=1", 0, { EPS0(1), .levels = 9, .size = 3 } },
	{ "staircase", "staircase:b=63,r=40,eps0=4", 0, { EPS0(4), .levels = 64, .size = 40 } },
	{ "piecewise", "piecewise:b=8,w=3,eps0=1", 0, { EPS0(1), .levels = 9, .size = 3 } },
	{ "piecewise", "piecewise:b=63,w=9,eps0=3", 0, { EPS0(3), .levels = 64, .size = 9 } },
	{ "digits", "digits:base=2,digits=8,eps0=1", 0, { EPS0(1), .levels = 256, .size = 2 } },
	{ "digits", "digits:base=4,digits=4,eps0=.5,dummies=1000", 0,
		{ EPS0(.5), .levels = 256, .size = 4, .dummies = 1 } },
	{ "digits", "digits:base=8,digits=2,eps0=inf,dummies=5000", 0,
		{ EPS0((double)INFINITY), .levels = 64, .size = 8, .dummies = 5 } },
	{ "ranges", "ranges:leaves=9,fanout=3,eps0=1", 0, { EPS0(1) } },
	{ "ranges", "ranges:leaves=9,fanout=3,eps0=inf,dummies=20000", 0,
		{ EPS0((double)INFINITY), .dummies = 20 } },
	{ "marginals", "marginals:k=6/2,eps0=1", 0, { EPS0(1) } },
	{ "marginals", "marginals:k=2/6,eps0=.5,dummies=4000", 0, { EPS0(.5), .dummies = 4 } },
	{ "hierarchy", "hierarchy:f=3,H=2,eps0=1", 0, { EPS0(1) } },
	{ "hierarchy", "hierarchy:f=3,H=2,eps0=4", 0, { EPS0(4) } },
	{ "parallel", "parallel:k=6/2,eps0=1", 0, { EPS0(1) } },
	{ "parallel", "parallel:k=2/6,eps0=.5", 0, { EPS0(.5) } },
	{ "privset", "privset:d=7,k=1,s=2,eps0=1", 0, { EPS0(1), .size = 2 } },
	{ "privset", "privset:d=10,k=1,s=5,eps0=.5", 0, { EPS0(.5), .size = 5 } },
	{ "privset", "privset:d=6,k=1,s=1,eps0=4", 0, { EPS0(4), .size = 1 } },
	{ "planar", "planar:w=3,h=2,eps0=1", 0, { EPS0(1) } },
	{ "planar", "planar:w=3,h=2,eps0=6", 0, { EPS0(6) } },
	{ "planar", "planar:w=9,h=7,eps0=4", 9, { EPS0(4) } },
	{ "prefixes", "prefixes:k=4,eps0=1", 0, { EPS0(1) } },
	{ "prefixes", "prefixes:k=4,eps0=inf,dummies=2000", 0, { EPS0((double)INFINITY), .dummies = 2 } },
	{ "words", "words:w=1,slots=6,groups=1,eps0=1", 0, { EPS0(1), .slots = 6, .size = 1 } },
	{ "words", "words:w=3,groups=11,slots=2,eps0=2,dummies=3000", 64,
		{ EPS0(2), .slots = 2, .size = 3, .dummies = 3 } },
	{ "words", "words:w=4,eps0=inf,dummies=9000", 64,
		{ EPS0((double)INFINITY), .slots = 1, .size = 4, .dummies = 9 } },
	{ "harmony", "harmony:d=6,eps0=1", 0, { EPS0(1) } },
	{ "harmony", "harmony:eps0=4,d=64", 64, { EPS0(4) } },
	{ "vrr", "vrr:s=1,eps0=1", 0, { EPS0(1), .size = 1 } },
	{ "vrr", "vrr:s=5,eps0=4", 64, { EPS0(4), .size = 5 } },
	{ "rotated", "rotated:w=2,slots=4,eps0=1", 0, { EPS0(1), .slots = 4, .size = 2 } },
	{ "rotated", "rotated:w=3,slots=2,eps0=2,dummies=3000", 64,
		{ EPS0(2), .slots = 2, .size = 3, .dummies = 3 } },
	{ "ss-simple", "ss-simple:d=6,levels=3,eps0=1", 0, { EPS0(1), .levels = 3 } },
	{ "ss-simple", "ss-simple:d=64,levels=2,eps0=.25", 64, { EPS0(.25), .levels = 2 } },
	{ "ss-double", "ss-double:k=2,levels=5,eps0=1", 0, { EPS0(1), .slots = 2, .levels = 5 } },
	{ "ss-double", "ss-double:k=16,levels=2,eps0=2", 64, { EPS0(2), .slots = 16, .levels = 2 } },
	{ "ss-topk", "ss-topk:k=1,levels=3,eps0=1,padded=1000", 0,
		{ EPS0(1), .size = 1, .levels = 3, .padded = 1000 } },
	{ "ss-topk", "ss-topk:k=4,levels=2,eps0=2,padded=5000", 64,
		{ EPS0(2), .size = 4, .levels = 2, .padded = 5000, .dummies = 3 } },
	{ "gspa-classes", "gspa-classes:k=5,eps0=.5/1/2,least=300/200/100", 0, { CLASSES } },
	{ "gspa-classes", "gspa-classes:k=64,eps0=1/.5/2,least=200/300/100", 64, { CLASSES } },
	{ "gspa-pooled", "gspa-pooled:k=5,eps0=.5/1/2,least=300/200/100", 0, { CLASSES } },
	{ "gspa-pooled", "gspa-pooled:k=64,eps0=1/.5/2,least=200/300/100", 64, { CLASSES } },
};

#define CASES (sizeof cases / sizeof *cases)

static struct qy_query query_for(const struct pt_protocol *row, uint32_t size)
{
	static char label[MOST][8];
	static char *names[MOST];
	static struct qy_column larger[QY_PLACE_AXES];
	struct qy_query q = query_of_readings(row);

	for (uint32_t i = 0; i < MOST; i++) {
		(void)snprintf(label[i], sizeof label[i], "c%u", (unsigned)i);
		names[i] = label[i];
	}
	assert_true(size <= MOST);
	if (size > 0 && q.kind == QY_VECTOR)
		q.dimension = size;
	if (size > 0 && q.kind == QY_PLACES) {
		larger[0] = q.column[0];
		larger[1] = q.column[1];
		larger[0].cells = size;
		larger[1].cells = size - 2;
		q.column = larger;
	}
	if (size > 0 && q.kind == QY_HISTOGRAM) {
		q.category = names;
		q.categories = size;
	}
	return q;
}

static struct acct_bound of_row(const struct one *c, uint32_t *mean)
{
	static uint32_t swapped[2] = { 4, 3 };
	const struct pt_protocol *row = pt_find(c->row);
	struct qy_query q = query_for(row, c->size);
	struct pt_randomizer p;
	struct pt_loss loss = { .parts = 0 };
	struct acct_bound eps;
	struct cm_err err = { 0 };

	if (strstr(c->text, "k=2/6"))
		q.marginal = swapped;
	if (pt_derive(row, &q, &c->request, &p, &err) != CM_OK || pt_loss(&p, N, &loss, &err) != CM_OK)
		fail_msg("%s: %s", c->text, err.msg);
	*mean = p.shuffler.noise_mean;
	assert_int_equal(acct_epsilon(loss.part, loss.parts, DELTA, &eps), ACCT_OK);
	return eps;
}

static struct acct_bound of_text(const struct one *c, uint32_t mean)
{
	struct acct_spec part[ACCT_SPEC_PARTS];
	struct acct_round round[ACCT_SPEC_PARTS];
	struct acct_bound eps;
	char text[256], why[256] = "";
	size_t parts;
	int at = snprintf(text, sizeof text, "%s,n=%d", c->text, N);

	if (mean > 0)
		(void)snprintf(text + at, sizeof text - (size_t)at, ",mean=%u", (unsigned)mean);
	if (acct_spec_parts(text, part, &parts, why, sizeof why))
		fail_msg("%s: %s", text, why);
	for (size_t i = 0; i < parts; i++)
		round[i] = part[i].round;
	assert_int_equal(acct_epsilon(round, parts, DELTA, &eps), ACCT_OK);
	return eps;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= PRECISION * fmax(fabs(a), fabs(b));
}

static void every_row_has_a_name(void **state)
{
	(void)state;
	for (size_t i = 0; pt_row(i); i++) {
		const char *name = pt_row(i)->device->name;
		size_t own = 0;

		if (!acct_named_find(name))
			fail_msg("the accountant has no name for the row %s", name);
		for (size_t k = 0; k < CASES; k++)
			own += strcmp(cases[k].row, name) == 0 &&
			       strncmp(cases[k].text, name, strlen(name)) == 0 &&
			       cases[k].text[strlen(name)] == ':';
		if (own < LEAST)
			fail_msg("%s: fewer than %d sets of parameters are compared", name, LEAST);
	}
}

static void names_cost_what_rows_cost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		uint32_t mean = 0;
		struct acct_bound row = of_row(&cases[i], &mean), name = of_text(&cases[i], mean);

		assert_true(row.upper > 0 && isfinite(row.upper));
		if (!near(row.upper, name.upper) || !near(row.lower, name.lower))
			fail_msg("%s: %.12g to %.12g, the row %.12g to %.12g", cases[i].text, name.lower,
				name.upper, row.lower, row.upper);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_a_name),
		cmocka_unit_test(names_cost_what_rows_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
