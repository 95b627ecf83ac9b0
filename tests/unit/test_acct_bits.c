/* test_acct_bits.c - rounds of bits against enumeration, independent values with many digits, and attacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bits_sum.h"
#include "acct_digits.h"
#include "acct_parsed.h"
#include "bit_laws.h"
#include "csv.h"

/* The largest delta over all inputs of the others, by enumerating them. */
static long double largest(size_t n, size_t coins, double eps0, double eps)
{
	long double p = 1 / (1 + expl(-(long double)eps0)), q = 1 / (1 + expl((long double)eps0)), most = 0;
	long double chance[MOST];

	for (size_t m = 0; m < n; m++) {
		for (size_t i = 0; i < n - 1 + coins; i++)
			chance[i] = i < m ? p : i < n - 1 ? q : 0.5L;
		most = fmaxl(most, delta_among(chance, n - 1 + coins, p, q, expl((long double)eps)));
	}
	return most;
}

static struct acct_round bits(double n, double coins, double eps0)
{
	char text[200];

	(void)snprintf(text, sizeof text, "mixbins:k=2,eps0=%.17g,n=%.0f,dummies=%.0f", eps0, n, coins);
	return parsed(text).round;
}

static void every_input_of_up_to_twelve(void **state)
{
	static const double eps0[] = { 1e-6, 0.1, 1, 3, 8, 14 }, part[] = { 0, 0.1, 0.4, 0.8, 0.99, 1.01 };

	(void)state;
	for (size_t n = 1; n <= 12; n++)
		for (size_t coins = 0; coins < 4; coins++)
			for (size_t i = 0; i < 6; i++)
				for (size_t k = 0; k < 6; k++) {
					struct acct_round r = bits((double)n, (double)coins, eps0[i]);
					double eps = part[k] * eps0[i];
					char what[100];

					(void)snprintf(what, sizeof what, "n=%zu coins=%zu eps0=%g eps=%g", n,
						coins, eps0[i], eps);
					/* At eps0 = 1e-6 rounding of the cells moves epsilon by 1e-7 of
					 * itself. */
					holds(delta_of(&r, eps), (double)largest(n, coins, eps0[i], eps),
						1e-6, what);
				}
}

/* Values rounded at random, other guarantees, correlated inputs: every chance from Q to P, and mixtures. */
static void no_input_loses_more(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t n = 1 + below(30), sets = 1 + below(3);
		double eps0 = exp(6 * uniform() - 3), eps = eps0 * uniform() * 0.9;
		long double p = 1 / (1 + expl(-(long double)eps0)), q = 1 - p, sum = 0;
		struct acct_round r = bits((double)n, 0, eps0);
		struct acct_bound b = delta_of(&r, eps);

		for (size_t s = 0; s < sets; s++) {
			long double chance[MOST];

			for (size_t k = 0; k + 1 < n; k++)
				chance[k] = below(3) == 0 ? p : below(2) == 0 ? q : q + (p - q) * uniform();
			sum += delta_among(chance, n - 1, q + (p - q) * (below(2) ? 1 : uniform()),
				q + (p - q) * (below(2) ? 0 : uniform()), expl((long double)eps));
		}
		if (!(sum / sets <= b.upper * (1 + SLACK) + 1e-15))
			fail_msg("n=%zu eps0=%.17g eps=%.17g: %.17Lg is above %.17g", n, eps0, eps,
				sum / sets, b.upper);
	}
}

static void reference_values_are_inside(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/binary.csv"));
	for (; csv_next(&c); rows++) {
		double n = strtod(csv_get(&c, "n"), NULL), eps0 = strtod(csv_get(&c, "eps0"), NULL),
		       delta = strtod(csv_get(&c, "delta"), NULL),
		       lower = strtod(csv_get(&c, "epsilon_lower"), NULL),
		       upper = strtod(csv_get(&c, "epsilon_upper"), NULL);
		struct acct_round r = bits(n, 0, eps0);
		struct acct_bound b;

		assert_int_equal(acct_epsilon(&r, 1, delta, &b), ACCT_OK);
		/* Both intervals hold the value, and either may be the narrower one. */
		if (!(b.lower <= upper && lower <= b.upper && b.upper <= upper * (1 + 1e-4) &&
			    b.lower >= lower * (1 - 1e-2)))
			fail_msg("n=%g eps0=%g: [%.13g, %.13g] misses [%.13g, %.13g]", n, eps0, b.lower,
				b.upper, lower, upper);
	}
	assert_true(rows >= 11);
	(void)fclose(c.file);

	/* In 50 decimal digits, over every m; narrower than the file's interval. */
	struct acct_round few = bits(10, 0, 1);
	struct acct_bound b;

	assert_int_equal(acct_epsilon(&few, 1, 1e-6, &b), ACCT_OK);
	assert_true(b.lower <= 0.99997706582073262 && 0.99997706582073262 <= b.upper);
}

static void bits_of_digits(const struct acct_digits *x)
{
	struct acct_round r = bits(x->n, x->coins, x->eps0);
	struct acct_bound b = delta_of(&r, x->eps);

	if (!(b.upper >= x->delta * (1 - SLACK) && b.lower <= x->delta * (1 + 1e-5)))
		fail_msg("n=%g coins=%g eps0=%g eps=%g: [%.13g, %.13g] misses %.13g", x->n, x->coins, x->eps0,
			x->eps, b.lower, b.upper, x->delta);
	if (!(b.upper <= x->delta * (1 + 2.5e-3)))
		fail_msg("n=%g eps0=%g eps=%g: %.13g is far above %.13g", x->n, x->eps0, x->eps, b.upper,
			x->delta);
}

static void sixty_digits_agree(void **state)
{
	(void)state;
	acct_digits_each(bits_of_digits);
}

/* The pair itself, from the lines (P(A), Q(A)) of all tests: atoms where the upper envelope turns. */
struct atoms {
	double p[4 * MOST * MOST], q[4 * MOST * MOST];
	size_t size;
};

static int by_chance(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (x[1] > y[1]) - (x[1] < y[1]);
}

static void pair_of(size_t n, double eps0, struct atoms *out)
{
	static double line[MOST * MOST][2], corner[MOST * MOST + 2][2];
	double p = 1 / (1 + exp(-eps0)), q = 1 / (1 + exp(eps0));
	size_t lines = 0, top = 0;

	for (size_t m = 0; m < n; m++) {
		long double law[2][MOST + 2] = { { 1 }, { 1 } };

		for (int way = 0; way < 2; way++) {
			size_t size = 0;

			for (size_t i = 0; i + 1 < n; i++)
				add_bit(law[way], &size, i < m ? p : q);
			add_bit(law[way], &size, way == 0 ? p : q);
		}
		long double a = 0, b = 0;
		for (size_t j = n + 1; j-- > 0;) {
			a += law[0][j];
			b += law[1][j];
			line[lines][0] = (double)a;
			line[lines++][1] = (double)b;
		}
	}
	qsort(line, lines, sizeof *line, by_chance);
	/* The corners of the most powerful tests: concave from (0, 0) to (1, 1). */
	corner[0][0] = corner[0][1] = 0;
	top = 1;
	for (size_t i = 0; i < lines; i++) {
		while (top > 1 &&
			(corner[top - 1][0] - corner[top - 2][0]) * (line[i][1] - corner[top - 1][1]) <=
				(line[i][0] - corner[top - 1][0]) * (corner[top - 1][1] - corner[top - 2][1]))
			top--;
		if (line[i][1] > corner[top - 1][1]) {
			corner[top][0] = line[i][0];
			corner[top++][1] = line[i][1];
		}
	}
	out->size = 0;
	for (size_t i = 1; i < top; i++) {
		out->p[out->size] = corner[i][0] - corner[i - 1][0];
		out->q[out->size++] = corner[i][1] - corner[i - 1][1];
	}
}

static double product_delta(const struct atoms *a, int rounds, double p, double q, double e)
{
	double sum = 0;

	if (rounds == 0)
		return fmax(0, p - e * q);
	for (size_t i = 0; i < a->size; i++)
		sum += product_delta(a, rounds - 1, p * a->p[i], q * a->q[i], e);
	return sum;
}

static void rounds_compose(void **state)
{
	static struct atoms a;

	(void)state;
	for (size_t n = 1; n <= 9; n += 2)
		for (int rounds = 2; rounds <= 3; rounds++)
			for (double eps0 = 0.5; eps0 < 5; eps0 *= 2.5) {
				struct acct_round r = bits((double)n, 0, eps0);

				pair_of(n, eps0, &a);
				r.count = (uint64_t)rounds;
				for (int k = 0; k < 4; k++) {
					double eps = eps0 * rounds * 0.22 * k,
					       truth = product_delta(&a, rounds, 1, 1, exp(eps));
					struct acct_bound b = delta_of(&r, eps);

					if (!(b.lower <= truth * (1 + 1e-9) + 1e-14 &&
						    b.upper >= truth * (1 - 1e-9) - 1e-14))
						fail_msg("n=%zu eps0=%g, %d rounds, eps=%g: [%.12g, %.12g] "
							 "misses %.12g",
							n, eps0, rounds, eps, b.lower, b.upper, truth);
				}
			}
}

/* 0.1 to 99.9 per cent of what binds: never above the cells, never falling with n. */
static void extremes(void **state)
{
	static const double eps0[] = { 1e-6, 0.5, 4, 50 }, n[] = { 1, 2, 1e3, 1e6, 1e9, 1e12 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		double before = INFINITY;

		for (size_t k = 0; k < 6; k++) {
			struct acct_round r = bits(n[k], 0, eps0[i]), cells = r;
			struct acct_bound b, c;

			cells.messages = ACCT_ANY_MESSAGES;
			assert_int_equal(acct_epsilon(&r, 1, 1e-8, &b), ACCT_OK);
			assert_int_equal(acct_epsilon(&cells, 1, 1e-8, &c), ACCT_OK);
			if (!(b.lower <= b.upper && b.upper <= c.upper * (1 + 1e-6) + 1e-13 &&
				    b.upper <= before * (1 + 1e-4)))
				fail_msg("n=%g eps0=%g: [%.12g, %.12g], cells [%.12g, %.12g], before %.12g",
					n[k], eps0[i], b.lower, b.upper, c.lower, c.upper, before);
			before = b.upper;
		}
	}
}

/* Dummies by chance: an average over their number, which is revealed. */
static void messages_by_chance(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		size_t n = 1 + below(8), sent = 1 + below(12);
		double eps0 = 0.3 + 3 * uniform(), eps = eps0 * uniform() * 0.8, share = uniform(), truth = 0,
		       chance;
		struct acct_round r = bits((double)n, 0, eps0);

		r.level[0] = (struct acct_level){ share, sent };
		r.levels = 1;
		share *= 2 * r.cell[0].omega;
		chance = pow(1 - share, (double)sent);
		for (size_t k = 0; k <= sent; k++) {
			truth += chance * (double)largest(n, k, eps0, eps);
			chance *= (double)(sent - k) / (double)(k + 1) * share / (1 - share);
		}
		holds(delta_of(&r, eps), truth, 0.2, "coins");
	}
}

/* The finite sum, with what its period folds and its nodes leave out, against laws that are enumerated: up to
 * its own error, which is small. */
static void sums_of_enumerated_laws(void **state)
{
	enum { BITS = 400 };
	static struct acct_bits_sum f;
	static struct acct_bits_terms t;
	static long double law[BITS + 2];
	unsigned folded = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t n = 2 + below(BITS - 40), coins = below(3) ? 0 : below(40), m = below(n + 1), bits = 0;
		double eps0 = exp(-3 + 5.3 * uniform()), eps = eps0 * uniform() * (below(4) ? 1 : 0.999);
		long double p = 1 / (1 + expl(-(long double)eps0)), above = 0, c, h, scale, e = expl(eps);

		if (!acct_bits_sum_init(&f, (double)n, (double)coins, eps0, eps, m == n))
			continue;
		folded += f.period < (double)(n + coins + 1);
		law[0] = 1;
		for (size_t k = 0; k < n + coins; k++)
			add_bit(law, &bits, k < m ? p : k < n ? 1 - p : 0.5L);
		acct_bits_terms_at(&f, (double)m, &t);
		c = (e - 1) / (p - e * (1 - p));
		for (size_t j = bits + 1; j-- > 0; above += law[j]) {
			double theta = (double)j - t.mean;

			if (fabs(theta) > 1)
				continue;
			struct acct_bits_value v = acct_bits_value(&f, &t, theta),
					       g = acct_bits_above(&f, &t, theta);

			h = law[j] - c * above;
			scale = law[j] + c * above;
			assert_true(fabsl(v.h - h) <= v.err + 1e-14L * scale + 1e-300L);
			assert_true(fabsl(g.h - above) <= g.err + 1e-15L * above + 1e-300L);
			assert_true(v.err <= 1e-6L * scale + 1e-300L);
		}
	}
	assert_true(folded > 500);
}

/* The interval allows for what the header proves about the folded tails, term by term. */
static void folded_tails_are_allowed_for(void **state)
{
	static struct acct_bits_sum f;
	static struct acct_bits_terms t;
	unsigned folded = 0;

	(void)state;
	for (double eps0 = 0.5; eps0 <= 8; eps0 += 0.5)
		for (int i = 0; i < 10; i++) {
			if (!acct_bits_sum_init(&f, 2000, 0, eps0, eps0 * (i + 0.5) / 10, false))
				continue;
			folded += f.period < 2001;
			acct_bits_terms_at(&f, 700, &t);
			for (double theta = -1; theta <= 1; theta += 0.25) {
				double least = 2 * exp(-40) + 2 * exp(-46 - f.s) + f.c / f.w * exp(-46);

				assert_true(acct_bits_rest(&f, &t, theta) - f.folded >=
					    exp(t.exponent - f.s * theta) * least);
			}
		}
	assert_true(folded > 50);
}

static void who_sends_bits(void **state)
{
	static const char *const yes[] = { "rr:eps0=1,n=9", "grr:k=2,eps0=1,n=9",
		"mixbins:k=2,eps0=1,n=9,dummies=3", "levels:b=1,eps0=1,n=9", "words:w=1,groups=1,eps0=1,n=9",
		"vrr:s=1,d=1,eps0=1,n=9", "duchi:eps0=1,n=9", "harmony:eps0=1,d=1,n=9",
		"prefixes:k=2,eps0=1,n=9", "ss-simple:d=2,levels=2,eps0=1,n=9",
		"ss-topk:k=2,levels=2,eps0=1,padded=9", "hierarchy:f=2,H=1,eps0=1,n=9",
		"parallel:k=2,eps0=1,n=9" };
	static const char *const no[] = { "generic:eps0=1,n=9", "grr:k=3,eps0=1,n=9",
		"mixbins:k=2,eps0=inf,dummies=3", "levels:b=2,eps0=1,n=9", "words:w=1,eps0=1,n=9,chance=.1",
		"duchi:eps0=1,d=4,n=9", "ss-double:k=2,levels=2,eps0=1,n=9", "rappor:d=2,eps0=1,n=9",
		"olh:l=2,eps0=1,n=9", "gspa-pooled:k=3,eps0=1/2,least=4/5", "pair:p=3,beta=.5,q=3,n=9" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (parsed(yes[i]).round.messages != ACCT_BITS)
			fail_msg("%s sends bits", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (parsed(no[i]).round.messages == ACCT_BITS ||
			parsed(no[i]).round.messages == ACCT_BITS_OF_LEVELS)
			fail_msg("%s does not send bits", no[i]);
	assert_int_equal(parsed("gspa-pooled:k=2,eps0=1/2,least=4/5").round.messages, ACCT_BITS_OF_LEVELS);
	refused("cells:omega=.2/.2/.2,u=3/1/1,v=1/3/1,n=9,messages=1", "bits have two cells");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=11", "messages=11");
	assert_int_equal(parsed("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=1").round.messages, ACCT_BITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sends_bits),
		cmocka_unit_test(sums_of_enumerated_laws),
		cmocka_unit_test(folded_tails_are_allowed_for),
		cmocka_unit_test(every_input_of_up_to_twelve),
		cmocka_unit_test(no_input_loses_more),
		cmocka_unit_test(reference_values_are_inside),
		cmocka_unit_test(sixty_digits_agree),
		cmocka_unit_test(rounds_compose),
		cmocka_unit_test(messages_by_chance),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
