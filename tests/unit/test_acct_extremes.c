/* test_acct_extremes.c - epsilon up to 10^4 and beyond, delta from 1e-300 to 1 - 1e-12, the largest eps0 and
 * a million repetitions, against sums over all outcomes.
 *
 * The sums are in logarithms of long double: binary response of one participant, repeated, loses eps0 times a
 * binomial; of other rounds every outcome is listed from their cells, and every multiset of outcomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_method.h"
#include "acct_state.h"

#define MOST  1000000u
#define SLACK 1e-8 /* relative, of the sums here */

/* An outcome of all rounds: log of its chance under P, and its loss; INFINITY where Q never has it. */
struct outcome {
	long double log_p, loss;
};

struct truth {
	struct outcome *at;
	size_t size;
};

static void add(struct truth *t, long double log_p, long double loss)
{
	assert_true(t->size < MOST);
	t->at[t->size++] = (struct outcome){ log_p, loss };
}

static struct truth truth_new(void)
{
	struct truth t = { calloc(MOST, sizeof *t.at), 0 };

	assert_non_null(t.at);
	return t;
}

static long double delta_at(const struct truth *t, double epsilon)
{
	long double sum = 0;

	for (size_t i = 0; i < t->size; i++)
		if (t->at[i].loss > epsilon)
			sum += expl(t->at[i].log_p) * -expm1l(epsilon - t->at[i].loss);
	return sum;
}

/* Binary response of one participant, kept or turned, `count` times; turned so often as has a chance. */
static struct truth response(double eps0, double count)
{
	struct truth t = truth_new();
	long double turn = -log1pl(expl(eps0)), keep = -log1pl(expl(-(long double)eps0));

	for (double k = 0; k <= count && k < 100000; k++)
		add(&t,
			lgammal(count + 1.0L) - lgammal(k + 1.0L) - lgammal(count - k + 1.0L) + k * turn +
				(count - k) * keep,
			eps0 * (long double)(count - 2 * k));
	return t;
}

/* One round of up to 3 cells: b of the others in the blanket, then c[] messages in the cells. */
static void list_counts(const struct acct_round *r, long double log_b, unsigned messages, struct truth *t)
{
	long double blanket = 0;

	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	for (unsigned a = 0; a <= messages; a++)
		for (unsigned b = 0; a + b <= messages; b++) {
			unsigned c[3] = { a, b, messages - a - b };
			long double log_mass = log_b + lgammal(messages + 1.0L) + logl(blanket / messages);
			long double u = 0, v = 0;

			if (r->cells == 2 && c[2] > 0)
				continue;
			for (size_t j = 0; j < r->cells; j++) {
				log_mass += c[j] * logl(r->cell[j].omega / blanket) - lgammal(c[j] + 1.0L);
				u += c[j] * (long double)r->cell[j].u;
				v += c[j] * (long double)r->cell[j].v;
			}
			if (u > 0)
				add(t, log_mass + logl(u), v > 0 ? logl(u) - logl(v) : INFINITY);
		}
}

static struct truth one_round(const struct acct_round *r)
{
	struct truth t = truth_new();
	unsigned others = (unsigned)r->others;
	long double blanket = 0;

	assert_true(r->cells <= 3 && r->levels == 0 && others <= 3 && r->dummies <= 6);
	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	long double rest = blanket < 1 - 1e-15L ? 1 - blanket : 0;
	for (unsigned b = 0; b <= others; b++) {
		long double log_b = lgammal(others + 1.0L) - lgammal(b + 1.0L) - lgammal(others - b + 1.0L) +
				    b * logl(blanket);

		if (b < others)
			log_b += (others - b) * logl(rest); /* -INFINITY: never */
		if (log_b > -INFINITY)
			list_counts(r, log_b, 1 + b + (unsigned)r->dummies, &t);
	}
	return t;
}

/* Every multiset of `left` more outcomes from `from` on. */
static void compose(
	const struct truth *one, size_t from, unsigned left, struct outcome sofar, struct truth *all)
{
	if (left == 0) {
		add(all, sofar.log_p, sofar.loss);
		return;
	}
	for (size_t i = from; i < one->size; i++)
		for (unsigned k = 1; k <= left; k++) {
			struct outcome next = { sofar.log_p + k * one->at[i].log_p - lgammal(k + 1.0L),
				sofar.loss + k * one->at[i].loss };

			compose(one, i + 1, left - k, next, all);
		}
}

static struct truth repeated(const struct acct_round *r, unsigned count)
{
	struct truth one = one_round(r), all = truth_new();

	compose(&one, 0, count, (struct outcome){ lgammal(count + 1.0L), 0 }, &all);
	free(one.at);
	return all;
}

static struct acct_spec parse(const char *text)
{
	struct acct_spec s;
	char why[256] = "";

	if (acct_spec_parse(text, &s, why, sizeof why) != ACCT_OK)
		fail_msg("%s: %s", text, why);
	return s;
}

static unsigned answers, errors;

/* Whether the interval contains the exact value.  The exact answer may also be that there is no epsilon. */
static void delta_holds(const char *text, const char *method, const struct truth *t, double epsilon)
{
	struct acct_spec s = parse(text);
	struct acct_method_answer a = { .bound = { NAN, NAN } };
	const struct acct_method *m = acct_method_find(method);
	const char *why = NULL;
	long double truth = delta_at(t, epsilon);
	enum acct_rc rc = m->delta(&s, 1, epsilon, &a, &why);

	if (rc == ACCT_EPRECISION || rc == ACCT_ELIMIT || (rc == ACCT_EDOMAIN && why)) {
		errors++;
		return;
	}
	if (rc != ACCT_OK)
		fail_msg("%s: %s at epsilon %.17g: %s", text, method, epsilon, why ? why : acct_strerror(rc));
	answers++;
	if (!(a.bound.lower <= truth * (1 + SLACK) && a.bound.lower >= 0))
		fail_msg("%s: %s at epsilon %.17g: lower end %.17g, truth %.17Lg", text, method, epsilon,
			a.bound.lower, truth);
	if (a.worth == ACCT_PROVED && !(a.bound.upper >= truth * (1 - SLACK)))
		fail_msg("%s: %s at epsilon %.17g: upper end %.17g, truth %.17Lg", text, method, epsilon,
			a.bound.upper, truth);
}

static void epsilon_interval_holds(
	const char *what, const struct truth *t, double delta, struct acct_bound epsilon)
{
	/* delta at the upper end is not above the one asked for; just below the lower end it is. */
	if (!(epsilon.upper >= 0 && (isinf(epsilon.upper) ||
					    delta_at(t, epsilon.upper * (1 + 1e-12)) <= delta * (1 + SLACK))))
		fail_msg("%s at delta %.17g: upper end %.17g, delta there %.17Lg", what, delta, epsilon.upper,
			delta_at(t, epsilon.upper));
	if (!(epsilon.lower <= 0 ||
		    delta_at(t, fmin(epsilon.lower, 1e300) * (1 - 1e-9)) >= delta * (1 - SLACK)))
		fail_msg("%s at delta %.17g: lower end %.17g, delta there %.17Lg", what, delta, epsilon.lower,
			delta_at(t, epsilon.lower));
}

static void epsilon_holds(const char *text, const struct acct_method *m, const struct truth *t, double delta)
{
	struct acct_spec s = parse(text);
	struct acct_method_answer a = { .bound = { NAN, NAN } };
	const char *why = NULL;
	char what[300];
	enum acct_rc rc = m->epsilon(&s, 1, delta, &a, &why);

	if (rc != ACCT_OK || (a.worth != ACCT_PROVED && a.worth != ACCT_LOWER))
		return;
	if (a.worth == ACCT_LOWER)
		a.bound.upper = INFINITY;
	(void)snprintf(what, sizeof what, "%s: %s", text, m->name);
	epsilon_interval_holds(what, t, delta, a.bound);
}

/* The first two were reported: a proved 5.7e-11 where delta is 1, and a lower end of 1 where it is 0.5. */
static void one_participant_again_and_again(void **state)
{
	static const struct {
		double eps0;
		unsigned count;
		double epsilon[6]; /* up to the first 0, which is asked too */
	} row[] = {
		{ 20, 40, { 720, 709.9, 760.5, 799.9, 10000, 0 } },
		{ 20, 35, { 699.3, 690, 699.999, 0 } },
		{ 20, 500, { 9999.5, 0 } },
		{ 350, 30, { 10000, 10499.5, 0 } },
		{ 599, 17, { 10000, 0 } },
		{ 699.9, 2, { 1399, 0 } },
		{ 5, 2000, { 9999, 0 } },
		{ 1, 1000, { 450, 500, 720, 999, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct truth t = response(row[i].eps0, row[i].count);
		char text[100];

		(void)snprintf(text, sizeof text, "rr:eps0=%.17g,n=1,count=%u", row[i].eps0, row[i].count);
		for (size_t k = 0; k == 0 || row[i].epsilon[k - 1] > 0; k++)
			delta_holds(text, "pld", &t, row[i].epsilon[k]);
		free(t.at);
	}
}

static void the_composition_is_not_vacuous_far_out(void **state)
{
	struct acct_spec s = parse("rr:eps0=699,n=1000000");
	struct acct_bound d;

	(void)state;
	assert_int_equal(acct_epsilon(&s.round, 1, 1e-9, &d), ACCT_OK);
	assert_true(d.lower > 689 && d.upper >= d.lower && d.upper < 699.001); /* no loss is larger */
	s = parse("rr:eps0=20,n=1,count=40");
	assert_int_equal(acct_delta(&s.round, 1, 720, &d), ACCT_OK);
	assert_true(d.lower > 0.9999 && d.upper <= 1);
	s = parse("bins:k=2,dummies=1,count=2"); /* each bound shows the value or nothing */
	assert_int_equal(acct_delta(&s.round, 1, 720, &d), ACCT_OK);
	assert_true(d.lower > 0.7499999 && d.lower <= 0.75 && d.upper >= 0.75 && d.upper < 0.7500001);
	s = parse("rr:eps0=1,n=1,count=1000"); /* the bulk is at 462, and 30 deviations beyond it: 1e-200 */
	struct truth t = response(1, 1000);
	assert_int_equal(acct_delta(&s.round, 1, 720, &d), ACCT_OK);
	assert_true(d.lower > 0.9 * delta_at(&t, 720) && d.upper < 1.1 * delta_at(&t, 720));
	free(t.at);
}

/* Every analysis that answers epsilon, and a growing list's state. */
static void epsilon_of_every_method_at_extreme_deltas(void **state)
{
	static const struct {
		double eps0;
		unsigned count;
		double delta;
	} row[] = { { 20, 40, 1e-30 }, { 20, 1000000, 1 - 1e-12 }, { 49, 1, 1e-300 }, { 49, 1, 1 - 1e-12 },
		{ 349, 2, 1e-199 }, { 699.9, 1, 1e-199 }, { 699.9, 3, 0.5 }, { 1, 1000, 1 - 1e-12 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct truth t = response(row[i].eps0, row[i].count);
		struct acct_state *list = acct_state_new(row[i].delta);
		struct acct_bound e;
		char text[100];

		(void)snprintf(text, sizeof text, "rr:eps0=%.17g,n=1,count=%u", row[i].eps0, row[i].count);
		struct acct_spec s = parse(text);
		for (size_t m = 0; acct_method_row(m); m++)
			if (acct_method_row(m)->epsilon)
				epsilon_holds(text, acct_method_row(m), &t, row[i].delta);
		if (list) {
			assert_int_equal(acct_state_add(list, &s.round), ACCT_OK);
			if (acct_state_epsilon(list, NULL, &e) == ACCT_OK)
				epsilon_interval_holds(text, &t, row[i].delta, e);
		}
		acct_state_free(list);
		free(t.at);
	}
}

static void delta_of_every_method(void **state)
{
	static const char *const text[] = { "rr:eps0=49,n=1", "rr:eps0=349,n=1,count=3" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parse(text[i]);
		struct truth t = response(s.eps0, (double)s.round.count);

		for (size_t m = 0; acct_method_row(m); m++) {
			const struct acct_method *method = acct_method_row(m);

			if (!method->delta || (method->worth != ACCT_PROVED && method->worth != ACCT_LOWER))
				continue;
			delta_holds(text[i], method->name, &t, i == 0 ? 48.5 : 720);
		}
		free(t.at);
	}
}

/* Others, dummies and infinite losses: all outcomes from the cells, around every loss of the composition. */
static void small_rounds_of_every_kind(void **state)
{
	static const char *const text[] = {
		"generic:eps0=650,n=2",
		"generic:eps0=699.9,n=3",
		"rr:eps0=60,n=3",
		"grr:k=4,eps0=699,n=3",
		"levels:b=3,eps0=340,n=2",
		"levels:b=2,eps0=300,n=1,dummies=2",
		"mixbins:k=5,eps0=690,n=2,dummies=3",
		"bins:k=2,dummies=1",
		"bins:k=3,dummies=2",
		"bins:k=1000000,dummies=4",
	};
	static const double fixed[] = { 720, 0, 10000, 690, 709.5 };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		for (unsigned count = 1; count <= 1 + (i & 1); count++) { /* compositions are slow */
			char again[200];

			(void)snprintf(again, sizeof again, "%s,count=%u", text[i], count);
			struct acct_spec s = parse(again);
			struct truth t = repeated(&s.round, count);
			double most = 0;

			for (size_t k = 0; k < t.size; k++)
				most = isinf(t.at[k].loss) ? most : fmax(most, (double)t.at[k].loss);
			for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k += 2 * count - 1)
				delta_holds(again, "pld", &t, fixed[k]);
			delta_holds(again, "pld", &t, fmax(0, most - 0.5));
			if (count == 1)
				epsilon_holds(again, acct_method_find("pld"), &t, 1e-150);
			epsilon_holds(again, acct_method_find("pld"), &t, 0.01);
			for (size_t m = 0; count == 1 && m < 2; m++)
				epsilon_holds(again, acct_method_find(m == 0 ? "rdp" : "gdp"), &t, 1e-9);
			free(t.at);
		}
}

/* The loss before sampling is 575 more, where exp() has no room: delta is small, but no less than it is. */
static void sampling_hides_no_loss_beyond_exp(void **state)
{
	static const char *const text[] = { "rr:eps0=699,n=1,sampling=1e-250",
		"bins:k=2,dummies=0,sampling=1e-250" };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (double epsilon = 100; epsilon < 700 && (i > 0 || epsilon < 123); epsilon += 20) {
			struct acct_spec s = parse(text[i]);
			struct acct_bound d;

			/* E' = 1 + g (E - 1) and delta(E') = g delta(E), for either pair g; of one bit delta
			 * is P - E Q. */
			double truth = 1e-250 * (i == 0 ? -expm1(epsilon + 250 * log(10) - 699) : 1);

			assert_int_equal(acct_delta(&s.round, 1, epsilon, &d), ACCT_OK);
			assert_true(d.lower <= truth && d.upper >= truth * (1 - 1e-9 * (i == 0)));
			assert_true(d.upper <= 1e-250 * 1.001);
		}
}

/* Without this test an accountant that refuses everything would pass those above. */
static void hardly_anything_was_refused(void **state)
{
	(void)state;
	assert_true(answers > 80 && errors * 10 < answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_participant_again_and_again),
		cmocka_unit_test(the_composition_is_not_vacuous_far_out),
		cmocka_unit_test(epsilon_of_every_method_at_extreme_deltas),
		cmocka_unit_test(delta_of_every_method),
		cmocka_unit_test(small_rounds_of_every_kind),
		cmocka_unit_test(sampling_hides_no_loss_beyond_exp),
		cmocka_unit_test(hardly_anything_was_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
