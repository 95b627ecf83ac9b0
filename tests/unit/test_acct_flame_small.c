/* test_acct_flame_small.c - FLAME's bounds against small protocols, enumerated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_flame.h"

#define MOST_MESSAGES 4
#define INDICES       4

/* With two bins only the number of messages that are 1 matters for an index.  Laws over these numbers, per
 * index. */
#define DIGITS   (MOST_MESSAGES + 1)
#define OUTCOMES (DIGITS * DIGITS * DIGITS * DIGITS)

struct index {
	double law[DIGITS];
	unsigned messages;
};

static void add(struct index *x, double one)
{
	for (unsigned t = MOST_MESSAGES; t > 0; t--)
		x->law[t] = x->law[t] * (1 - one) + x->law[t - 1] * one;
	x->law[0] *= 1 - one;
	x->messages++;
}

/* The messages of an index, 0 the victim's: one message for each user who chose it, dummies up to `padded`;
 * of more, all choices of `padded` are as likely. */
static void index_law(double out[DIGITS], const double *one, unsigned chosen, unsigned padded)
{
	struct index all[1u << MOST_MESSAGES];
	unsigned kept = 0;

	memset(out, 0, DIGITS * sizeof *out);
	for (unsigned set = 0; set < 1u << chosen; set++) {
		struct index x = { .law = { 1 } };
		unsigned size = 0;

		for (unsigned i = 0; i < chosen; i++)
			size += set >> i & 1;
		if (size != (chosen < padded ? chosen : padded))
			continue;
		for (unsigned i = 0; i < chosen; i++)
			if (set >> i & 1)
				add(&x, one[i]);
		while (x.messages < padded)
			add(&x, 0.5);
		all[kept++] = x;
	}
	for (unsigned i = 0; i < kept; i++)
		for (unsigned t = 0; t < DIGITS; t++)
			out[t] += all[i].law[t] / kept;
}

/* Users' index sets and inputs (the same at every index) to the law of all indices, added to `law`. */
static void add_protocol(double *law, double weight, const unsigned *set, const double *one, unsigned users,
	unsigned indices, unsigned padded)
{
	double each[INDICES][DIGITS];

	for (unsigned j = 0; j < INDICES; j++) {
		double chosen[MOST_MESSAGES] = { 0 };
		unsigned n = 0;

		memset(each[j], 0, sizeof each[j]);
		each[j][0] = 1;
		if (j >= indices)
			continue;
		for (unsigned i = 0; i < users; i++)
			if (set[i] >> j & 1)
				chosen[n++] = one[i];
		index_law(each[j], chosen, n, padded);
	}
	for (unsigned code = 0; code < OUTCOMES; code++) {
		double mass = weight;
		unsigned rest = code;

		for (unsigned j = 0; j < INDICES; j++, rest /= DIGITS)
			mass *= each[j][rest % DIGITS];
		law[code] += mass;
	}
}

static double hockey(const double *p, const double *q, double e)
{
	double sum = 0;

	for (unsigned code = 0; code < OUTCOMES; code++)
		sum += fmax(0, p[code] - e * q[code]);
	return sum;
}

static unsigned members(unsigned set)
{
	unsigned n = 0;

	for (; set; set >>= 1)
		n += set & 1;
	return n;
}

/* SS-Double of two users: every pair of sets of `sent` of the indices is as likely. */
static void double_law(double *law, const double one[2], const struct acct_flame_sparse *s)
{
	unsigned all = 1u << s->length;
	double sets = 0;

	memset(law, 0, OUTCOMES * sizeof *law);
	for (unsigned a = 0; a < all; a++)
		sets += members(a) == s->sent;
	for (unsigned a = 0; a < all; a++)
		for (unsigned b = 0; b < all; b++)
			if (members(a) == s->sent && members(b) == s->sent)
				add_protocol(law, 1 / (sets * sets), (unsigned[]){ a, b }, one, 2,
					(unsigned)s->length, (unsigned)s->padded);
}

static void small_ss_double_loses_no_more_than_the_bound(void **state)
{
	static const struct acct_flame_sparse small[] = { { { 1, 2 }, 2, 2, 4, 2 }, { { 3, 2 }, 2, 3, 4, 1 },
		{ { 2, 2 }, 2, 3, 2, 1 }, { { 0.5, 2 }, 2, 4, 4, 4 } };
	static double law[2][OUTCOMES];
	const double failure = 1e-3;

	(void)state;
	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		for (int other = 0; other < 3; other++) {
			const struct acct_flame_sparse *s = &small[i];
			double high = 1 / (1 + exp(-s->slot.epsilon)), held[] = { high, 1 - high, 0.5 };
			struct acct_round r;
			struct acct_bound d;

			double_law(law[0], (double[]){ high, held[other] }, s);
			double_law(law[1], (double[]){ 1 - high, held[other] }, s);
			assert_int_equal(acct_flame_double_round(s, failure, &r, NULL), ACCT_OK);
			for (double eps = 0; eps < 2; eps += 0.1) {
				double truth = hockey(law[0], law[1], exp(eps));

				assert_int_equal(acct_delta(&r, 1, eps, &d), ACCT_OK);
				assert_true(truth <= d.upper + failure + 1e-12);
			}
			for (double delta = 0.3; other == 2 && delta > 1e-6; delta /= 3) {
				double low;

				assert_int_equal(acct_flame_double_lower(s, delta, &low, NULL), ACCT_OK);
				assert_true(
					low <= 0 || hockey(law[0], law[1], exp(low)) >= delta * (1 - 1e-9));
			}
		}
}

/* SS-Topk: every choice of one index by each user, with and without overflow. */
static void small_ss_topk_loses_no_more_than_the_bound(void **state)
{
	static double law[2][OUTCOMES];

	(void)state;
	for (unsigned users = 2; users <= 3; users++)
		for (unsigned padded = 2; padded <= 3; padded++)
			for (unsigned code = 0; code < 1u << (2 * users + 2); code++) {
				struct acct_flame_sparse s = { { 2, 2 }, users, padded, 3, 1 };
				double high = 1 / (1 + exp(-2)), one[2][3];
				unsigned set[2][3];

				/* bits: index and input of each user, the victim's under both hypotheses */
				for (unsigned side = 0; side < 2; side++)
					for (unsigned i = 0; i < users; i++) {
						unsigned at = i || side == 0 ? 2 * i : 2 * users;

						set[side][i] = 1u << (code >> at & 1);
						one[side][i] = code >> at >> 1 & 1 ? high : 1 - high;
					}
				for (unsigned side = 0; side < 2; side++) {
					memset(law[side], 0, sizeof law[side]);
					add_protocol(law[side], 1, set[side], one[side], users, 2, padded);
				}
				static double bound[4][4][6];
				double *known = bound[users][padded];
				for (int i = 0; i < 6; i++) {
					double delta = pow(10, -1 - i);
					struct acct_bound b;

					if (code == 0) {
						assert_int_equal(acct_flame_topk_epsilon(&s, delta, &b, NULL),
							ACCT_OK);
						known[i] = b.upper;
					}
					assert_true(
						hockey(law[0], law[1], exp(known[i])) <= delta * (1 + 1e-9));
				}
			}
}

/* Two indices padded to three, each chosen by three users besides the victim, who moves from one to the
 * other.  Another's message takes the place of the victim's: one round of an input against another is not
 * enough. */
static void an_index_that_overflows_is_charged_twice(void **state)
{
	static double law[2][OUTCOMES];
	const double high = 1 / (1 + exp(-0.5)), one[] = { 1 - high, high, high, high, high, high, high };
	struct acct_round r = { .others = 2, .count = 1 };
	double z = exp(0.5) + 1, truth;
	struct acct_bound d;

	(void)state;
	memset(law, 0, sizeof law);
	add_protocol(law[0], 1, (unsigned[]){ 1, 1, 1, 1, 2, 2, 2 }, one, 7, 2, 3);
	add_protocol(law[1], 1, (unsigned[]){ 2, 1, 1, 1, 2, 2, 2 }, one, 7, 2, 3);
	truth = hockey(law[0], law[1], exp(0.475));
	r.cells = 2;
	r.cell[0] = (struct acct_cell){ 1 / z, exp(0.5), 1 };
	r.cell[1] = (struct acct_cell){ 1 / z, 1, exp(0.5) };
	assert_int_equal(acct_delta(&r, 1, 0.475, &d), ACCT_OK);
	assert_true(truth > d.upper * 1.5);
	r.count = 2;
	assert_int_equal(acct_delta(&r, 1, 0.475, &d), ACCT_OK);
	assert_true(truth < d.lower);
}

/* Reports of one user, counted: every set of k of d indices on top, every sequence of m dummies. */
struct reports {
	unsigned d, k, m;
	double all, chosen;    /* (report, index in it); of these, index on top */
	double with[1u << 12]; /* by what was reported, two bits an index: reports; with index 0 on top */
	double with_top[1u << 12];
};

static void report_all(struct reports *r)
{
	unsigned sequences = 1;

	for (unsigned i = 0; i < r->m; i++)
		sequences *= r->d;
	for (unsigned top = 0; top < 1u << r->d; top++)
		for (unsigned s = 0; members(top) == r->k && s < sequences; s++) {
			unsigned seen = 0;

			for (unsigned j = 0; j < r->d; j++)
				seen += (top >> j & 1) << 2 * j;
			for (unsigned i = 0, rest = s; i < r->m; i++, rest /= r->d)
				seen += 1u << 2 * (rest % r->d); /* up to 3 of one: m <= 2 */
			r->with[seen]++;
			r->with_top[seen] += top & 1;
			for (unsigned j = 0; j < r->d; j++)
				if (seen >> 2 * j & 3) {
					r->all++;
					r->chosen += top >> j & 1;
				}
		}
}

/* What the shuffler learns from a user's indices, by counting: from one of them, and at worst from all
 * together. */
static void indices_tell_what_nu_says(void **state)
{
	static struct reports r;

	(void)state;
	for (unsigned d = 2; d <= 6; d++)
		for (unsigned k = 1; k <= d; k++)
			for (unsigned m = 0; m <= 2; m++) {
				double nu, most, prior = (double)k / d, worst = 0;

				memset(&r, 0, sizeof r);
				r.d = d;
				r.k = k;
				r.m = m;
				report_all(&r);
				for (unsigned seen = 0; seen < 1u << 2 * d; seen++)
					if (r.with[seen] > 0)
						worst = fmax(worst, r.with_top[seen] / r.with[seen]);
				assert_int_equal(acct_flame_nu_of(d, k, m, &nu, &most, NULL), ACCT_OK);
				assert_true(nu >= r.chosen / r.all / prior);
				assert_true(nu <= r.chosen / r.all / prior * (1 + 1e-9));
				assert_true(most >= worst / prior && most <= worst / prior * (1 + 1e-9));
			}
}

static void nu_is_no_less_than_the_best_attainable(void **state)
{
	double nu, most, best;

	(void)state;
	assert_int_equal(acct_flame_nu(333, 1000, 0.02, &best, NULL), ACCT_OK);
	for (uint64_t m = 0; m <= 1000000; m = 2 * m + 1) {
		double before = m > 0 ? nu : 50.1;

		assert_int_equal(acct_flame_nu_of(7850, 157, m, &nu, &most, NULL), ACCT_OK);
		assert_true(nu < before && nu >= 1 && most >= 50);
		assert_true(m > 867 || nu > 2 * best); /* what a device can send */
	}
	assert_int_equal(acct_flame_nu_of(7850, 0, 0, &nu, &most, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_of(7850, 7851, 0, &nu, &most, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_of(0, 0, 0, &nu, &most, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_of(1, 1, 5, &nu, NULL, NULL), ACCT_OK);
	assert_true(nu >= 1 && nu < 1 + 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_ss_double_loses_no_more_than_the_bound),
		cmocka_unit_test(small_ss_topk_loses_no_more_than_the_bound),
		cmocka_unit_test(an_index_that_overflows_is_charged_twice),
		cmocka_unit_test(indices_tell_what_nu_says),
		cmocka_unit_test(nu_is_no_less_than_the_best_attainable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
