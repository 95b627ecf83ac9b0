/* test_acct_central.c - central events against closed forms and quadratures, alone and among others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "acct_group.h"
#include "acct_parsed.h"
#include "acct_renyi.h"

#define STEPS 10000

typedef long double ld;

static ld tail_of(ld z)
{
	return 0.5L * erfcl(z / sqrtl(2));
}

/* delta of N(mu, 1) against N(0, 1) at any epsilon, negative ones too. */
static ld gauss_delta(ld mu, ld eps)
{
	return tail_of(eps / mu - mu / 2) - expl(eps) * tail_of(eps / mu + mu / 2);
}

/* The same for Laplace noise at distance d. */
static ld laplace_delta(ld d, ld eps)
{
	if (eps >= d)
		return 0;
	return eps > -d ? 1 - expl((eps - d) / 2) : 1 - expl(eps);
}

static struct acct_bound delta_of(const char *const *text, size_t n, double eps)
{
	struct acct_round r[4];
	struct acct_bound d;

	for (size_t i = 0; i < n; i++)
		r[i] = parsed(text[i]).round;
	assert_int_equal(acct_delta(r, n, eps, &d), ACCT_OK);
	return d;
}

static void holds(struct acct_bound b, ld truth, ld error, double width, const char *what)
{
	if (!(b.lower <= truth + error && truth - error <= b.upper && b.upper - b.lower <= width * b.upper))
		fail_msg("%s: [%.15g, %.15g] and %.15Lg", what, b.lower, b.upper, truth);
}

static void one_answer_has_its_closed_form(void **state)
{
	static const double scale[] = { 0.125, 0.3, 1, 4, 100, 1e4 }, share[] = { 0, 0.05, 0.7, 1.5, 4 };
	char text[60];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 5; j++) {
			double mu = 1 / scale[i], eps = mu * share[j] + mu * mu / 2;
			const char *list[] = { text };

			snprintf(text, sizeof text, "gaussian:sigma=%.17g", scale[i]);
			holds(delta_of(list, 1, eps), gauss_delta(mu, eps), 0, 1e-5, text);
			eps = mu * share[j] / 4.2;
			snprintf(text, sizeof text, "laplace:scale=%.17g", scale[i]);
			holds(delta_of(list, 1, eps), laplace_delta(mu, eps), 0, 1e-5, text);
		}
}

static void many_normal_answers_are_one(void **state)
{
	const char *list[] = { "gaussian:sigma=10,count=50", "gaussian:sigma=20,count=200" };

	(void)state;
	for (double eps = 0.25; eps < 6; eps *= 1.5)
		holds(delta_of(list, 2, eps), gauss_delta(1, eps), 0, 5e-3, list[0]);
}

/* P and Q of a sampled sum at x, a victim's two records at a and b, in deviations. */
struct sampled {
	ld rate, a, b;
};

static ld density(const struct sampled *s, ld at, ld x)
{
	ld away = expl(-x * x / 2), near = expl(-(x - at) * (x - at) / 2);

	return ((1 - s->rate) * away + s->rate * near) / sqrtl(2 * acosl(-1));
}

/* E of delta_2(eps - loss) over a sampled sum's loss; delta_2 NULL: of the sampled sum alone. */
static ld quadrature(const struct sampled *s, ld (*delta_2)(ld, ld), ld par, ld eps)
{
	ld sum = 0, far = 14, h = 2 * far / STEPS;

	for (int i = 0; i < STEPS; i++) {
		ld x = -far + (i + 0.5L) * h, p = density(s, s->a, x), q = density(s, s->b, x);

		sum += h * (delta_2 ? p * delta_2(par, eps - logl(p / q)) : fmaxl(0, p - expl(eps) * q));
	}
	return sum;
}

static void a_sampled_sum_has_the_loss_of_opposite_records(void **state)
{
	const char *list[] = { "sampled-gaussian:sigma=0.8,rate=0.07" };
	const ld one = 1 / 0.8L;

	(void)state;
	for (double eps = 0.01; eps < 5; eps *= 2) {
		struct acct_bound d = delta_of(list, 1, eps);
		ld truth = quadrature(&(struct sampled){ 0.07L, one, -one }, NULL, 0, eps);

		holds(d, truth, 1e-5L * truth, 1e-5, list[0]); /* the error of the bend at the threshold */
		/* Records of smaller norms, at any distance from each other. */
		for (int i = -4; i <= 4; i += 2)
			for (int j = -4; j <= 4; j += 2) {
				struct sampled other = { 0.07L, one * i / 4, one * j / 4 };

				assert_true(quadrature(&other, NULL, 0, eps) <= d.upper * (1 + 1e-5L));
			}
	}
}

/* A sum that all records take part in: two of norm 1 are 2 apart. */
static void a_sum_of_all_is_no_sample(void **state)
{
	const char *all[] = { "sampled-gaussian:sigma=3,rate=1" },
		   *nearly[] = { "sampled-gaussian:sigma=3,rate=0.9999999" };

	(void)state;
	for (double eps = 0; eps < 4; eps += 0.5) {
		ld truth = gauss_delta(2 / 3.0L, eps);

		holds(delta_of(all, 1, eps), truth, 0, 1e-5, all[0]);
		holds(delta_of(nearly, 1, eps), truth, 1e-4L * truth, 1e-5, nearly[0]);
	}
}

static void a_sampled_sum_composes_with_other_noise(void **state)
{
	const struct sampled s = { 0.1L, 1, -1 };
	const char *normal[] = { "sampled-gaussian:sigma=1,rate=0.1", "gaussian:sigma=2" };
	const char *laplace[] = { "sampled-gaussian:sigma=1,rate=0.1", "laplace:scale=2" };

	(void)state;
	for (double eps = 0.1; eps < 3; eps *= 1.7) {
		ld a = quadrature(&s, gauss_delta, 0.5L, eps), b = quadrature(&s, laplace_delta, 0.5L, eps);

		holds(delta_of(normal, 2, eps), a, 1e-6L * a, 5e-3, normal[1]);
		holds(delta_of(laplace, 2, eps), b, 1e-6L * b + 1e-12L, 5e-3, laplace[1]);
	}
}

/* E over normal noise of the shuffled round's delta, from its certified interval; its cells are symmetric, so
 * delta(-x) = 1 - e^-x + e^-x delta(x). */
static void a_shuffled_round_composes_with_normal_noise(void **state)
{
	static const char round[] = "grr:k=4,eps0=2,n=500";
	const char *list[] = { round, "gaussian:sigma=2" };
	const struct acct_round r = parsed(round).round;
	const ld mu = 0.5L, h = 0.03L;

	(void)state;
	for (double eps = 0.2; eps < 2; eps *= 2) {
		struct acct_bound both = delta_of(list, 2, eps), one;
		ld low = 0, high = 0;

		for (ld z = -9 + h / 2; z < 9; z += h) {
			ld p = expl(-z * z / 2) / sqrtl(2 * acosl(-1)) * h, at = eps - (mu * z + mu * mu / 2);
			ld flip = at < 0 ? expl(at) : 1, plus = at < 0 ? 1 - flip : 0;

			assert_int_equal(acct_delta(&r, 1, (double)fabsl(at), &one), ACCT_OK);
			low += p * (plus + flip * one.lower);
			high += p * (plus + flip * one.upper);
		}
		assert_true(both.lower <= high * (1 + 1e-4L) && low * (1 - 1e-4L) <= both.upper);
		assert_true(both.upper - both.lower <= 5e-3 * both.upper);
	}
}

static void a_guarantee_at_its_own_delta_is_its_epsilon(void **state)
{
	static const char *const text[] = { "guarantee:epsilon=0.7,delta=1e-3",
		"rr:eps0=0.7,n=1,defect=1e-3" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct acct_spec s;
		char why[200];
		struct acct_bound e;

		assert_int_equal(acct_spec_parse(text[i], &s, why, sizeof why), ACCT_OK);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-3, &e), ACCT_OK);
		assert_true(e.upper >= 0.7 && e.upper < 0.7 * (1 + 1e-9));
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-3 * (1 - 1e-15), &e), ACCT_OK);
		assert_true(isinf(e.upper));
	}
}

/* At that delta nothing is left for the others, so their largest losses add up: that is exact where these are
 * certain (rr, a guarantee), and too large where they are rare. */
static void beside_rounds_without_a_defect_too(void **state)
{
	static const struct {
		const char *beside;
		double largest;
	} row[] = { { "rr:eps0=0.5,n=1", 0.5 }, { "laplace:scale=2", 0.5 },
		{ "guarantee:epsilon=0.2,count=3", 0.6 }, { "grr:k=3,eps0=0.9,n=200", 0.9 } };
	const double below = 1e-3 * (1 - 1e-15);

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		for (int turned = 0; turned < 2; turned++) {
			struct acct_round both[2] = { parsed("guarantee:epsilon=0.7,delta=1e-3").round,
				parsed(row[i].beside).round };
			struct acct_round list[3] = { both[turned], both[1 - turned],
				parsed("rr:eps0=0.1,n=1,defect=1e-12").round };
			struct acct_bound e;

			assert_int_equal(acct_epsilon(list, 2, 1e-3, &e), ACCT_OK);
			if (!(e.upper < (0.7 + row[i].largest) * (1 + 1e-9) && e.upper > 0.7 &&
				    e.lower <= e.upper))
				fail_msg("%s: [%.17g, %.17g]", row[i].beside, e.lower, e.upper);
			/* With less delta, or with one more defect, there is no bound. */
			assert_int_equal(acct_epsilon(list, 2, below, &e), ACCT_OK);
			assert_true(isinf(e.upper));
			assert_int_equal(acct_epsilon(list, 3, 1e-3, &e), ACCT_OK);
			assert_true(isinf(e.upper));
		}
}

static void a_guarantee_is_its_worst_pair(void **state)
{
	const char *list[] = { "guarantee:epsilon=0.7,delta=1e-3" };

	(void)state;
	/* Kairouz, Oh, Viswanath 2015: delta + (1 - delta) (e^0.7 - e^eps) / (1 + e^0.7) */
	for (double eps = 0; eps < 1; eps += 0.25) {
		ld truth = 1e-3L + (1 - 1e-3L) * fmaxl(0, (expl(0.7L) - expl(eps)) / (1 + expl(0.7L)));

		holds(delta_of(list, 1, eps), truth, 1e-15L, 1e-6, list[0]);
	}
	list[0] = "guarantee:epsilon=0,delta=1e-3,count=5";
	holds(delta_of(list, 1, 0), 1 - powl(1 - 1e-3L, 5), 1e-15L, 1e-6, list[0]);
}

static void divergences_are_the_known_ones(void **state)
{
	const struct acct_round normal = parsed("gaussian:sigma=3,count=7").round,
				laplace = parsed("laplace:scale=2").round,
				sampled = parsed("sampled-gaussian:sigma=3,rate=0.1").round;
	struct acct_bound b;

	(void)state;
	for (double a = 1.25; a < 100; a *= 2) {
		ld x = 0.5L,
		   truth = logl((a * expl((a - 1) * x) + (a - 1) * expl(-a * x)) / (2 * a - 1)) / (a - 1);

		assert_int_equal(acct_renyi(&normal, &a, 1, &b), ACCT_OK);
		holds(b, 7 * a / 18.0L, 0, 1e-12, "normal");
		assert_int_equal(acct_renyi(&laplace, &a, 1, &b), ACCT_OK);
		holds(b, truth, 0, 1e-3, "laplace");
		assert_int_equal(acct_renyi(&sampled, &a, 1, &b), ACCT_OK);
		assert_true(isinf(b.upper));
	}
}

static void a_group_loses_more_and_at_most_the_chain(void **state)
{
	const struct acct_round r = parsed("gaussian:sigma=8,count=3").round;
	struct acct_bound one, many, delta;

	(void)state;
	assert_int_equal(acct_epsilon(&r, 1, 1e-6, &one), ACCT_OK);
	assert_int_equal(acct_group_epsilon(&r, 1, 1, 1e-6, &many), ACCT_OK);
	assert_true(many.upper <= one.upper && many.upper >= one.upper);
	for (unsigned g = 2; g <= 5; g++) {
		ld mu = g * sqrtl(3) / 8;

		assert_int_equal(acct_group_epsilon(&r, 1, g, 1e-6, &many), ACCT_OK);
		/* The exact Gaussian of the group loses less than the chain of single changes says, and not
		 * much less. */
		assert_true(gauss_delta(mu, many.upper) < 1e-6L && many.upper < 2 * g * one.upper);
		assert_true(gauss_delta(mu, many.upper * 0.75L) > 1e-6L);
		assert_true(many.lower <= one.upper && many.lower >= one.lower);
		assert_int_equal(acct_group_delta(&r, 1, g, many.upper, &delta), ACCT_OK);
		assert_true(delta.upper <= 1.01e-6 && delta.upper > 0.9e-6 && delta.lower >= 0);
	}
	assert_int_equal(acct_group_epsilon(&r, 1, 0, 1e-6, &many), ACCT_EDOMAIN);
	assert_int_equal(acct_group_delta(&r, 1, ACCT_MOST_GROUP + 1, 1, &many), ACCT_EDOMAIN);
}

static void what_is_no_central_event_is_refused(void **state)
{
	(void)state;
	refused("gaussian:sigma=0.1", "0.125");
	refused("gaussian:sigma=1e7", "1e6");
	refused("gaussian:sigma=1,n=1000", "no n=");
	refused("sampled-gaussian:sigma=1,rate=0", "rate");
	refused("sampled-gaussian:sigma=1,rate=1.5", "rate");
	refused("laplace:scale=0.001", "0.002");
	refused("guarantee:epsilon=-1", "epsilon");
	refused("guarantee:epsilon=1,delta=1", "delta");
}

static void a_text_says_the_same_event(void **state)
{
	static const char *const text[] = { "gaussian:sigma=0.3,count=3", "laplace:scale=7,sampling=0.25",
		"sampled-gaussian:sigma=1.1,rate=0.01,defect=1e-9", "guarantee:epsilon=0.3,delta=1e-9" };
	char out[ACCT_SPEC_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_round r = parsed(text[i]).round;

		assert_int_equal(acct_spec_text(&r, out), ACCT_OK);
		struct acct_round again = parsed(out).round;
		assert_true(acct_round_equal(&r, &again) && r.count == again.count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_answer_has_its_closed_form),
		cmocka_unit_test(many_normal_answers_are_one),
		cmocka_unit_test(a_sampled_sum_has_the_loss_of_opposite_records),
		cmocka_unit_test(a_sum_of_all_is_no_sample),
		cmocka_unit_test(a_sampled_sum_composes_with_other_noise),
		cmocka_unit_test(a_shuffled_round_composes_with_normal_noise),
		cmocka_unit_test(a_guarantee_is_its_worst_pair),
		cmocka_unit_test(a_guarantee_at_its_own_delta_is_its_epsilon),
		cmocka_unit_test(beside_rounds_without_a_defect_too),
		cmocka_unit_test(divergences_are_the_known_ones),
		cmocka_unit_test(a_group_loses_more_and_at_most_the_chain),
		cmocka_unit_test(what_is_no_central_event_is_refused),
		cmocka_unit_test(a_text_says_the_same_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
