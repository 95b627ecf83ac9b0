/* test_account_filter.c - the account with the accountant itself: merged rounds, and the filters of mode
 * adaptive. */
#include "wire_bytes.h"

#include "account_rounds.h"

static struct cm_err err;

static void merged_rounds_cost_what_the_same_rounds_cost_apart(void **state)
{
	struct rd_account *a;
	struct acct_round apart[4], r = { 0 };
	struct acct_bound bound;
	struct rd_verdict v;

	(void)state;
	a = rd_account_new(8.0, 1e-6);
	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = 999;
	r.count = 1;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(add_round(a, id(i), &r, &err), CM_OK);
		apart[i] = r;
	}
	apart[3] = r;
	assert_int_equal(judge_round(a, &r, &v, &err), CM_OK);
	assert_int_equal(acct_epsilon(apart, 4, 1e-6, &bound), ACCT_OK);
	/* Both are upper bounds of the one true value, and that lies above the lower bound. */
	assert_true(v.total >= bound.lower);
	assert_true(v.total <= bound.upper * 1.001 && bound.upper <= v.total * 1.001);
	assert_true(v.spent < v.total && v.epsilon_round < v.spent);
	assert_true(v.total <= 4.0 * 1.0); /* basic composition of the local guarantee */
	assert_true(v.fits);
	rd_account_free(a);
}

/* ---- adaptive ---- */

static struct rd_account *adaptive(const char *mode, double limit)
{
	struct rd_account *a;

	a = rd_account_new_mode(limit, 1e-6, mode);
	assert_non_null(a);
	return a;
}

static double spent(const struct rd_account *a)
{
	double e = -1.0;

	assert_int_equal(rd_account_spent(a, &e, &err), CM_OK);
	return e;
}

static struct acct_round among(uint64_t others)
{
	struct acct_round r = { 0 };

	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = others;
	r.count = 1;
	return r;
}

static double share(const struct rd_account *a)
{
	double s = -1.0;

	assert_int_equal(rd_account_share(a, &s, &err), CM_OK);
	return s;
}

/* Every mode's rounds, one after the other until one is refused: the exact composition stays within the
 * limit. */
static void a_filter_admits_rounds_until_its_budget_is_spent(void **state)
{
	static const char *const modes[] = { "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		struct rd_account *a = adaptive(modes[m], 0.2);
		struct acct_round kind[2] = { among(999), among(4999) };
		struct acct_bound all;
		struct rd_verdict v;
		double one = 0;
		unsigned n = 0;

		kind[0].count = kind[1].count = 0;
		for (;; n++) {
			struct acct_round r = among(n % 2 ? 4999 : 999);

			assert_int_equal(judge_round(a, &r, &v, &err), CM_OK);
			assert_true(v.adaptive && v.limit == 0.2);
			near(v.share_spent, share(a));
			near(v.share_total, v.share_spent + v.share);
			if (!v.fits)
				break;
			assert_true(v.total == 0.2 && v.spent == (n > 0 ? 0.2 : 0.0));
			assert_int_equal(add_round(a, id(n), &r, &err), CM_OK);
			kind[n % 2].count++;
		}
		assert_true(v.total == INFINITY && v.share_total >= 1 && v.share_spent < 1);
		assert_in_range(n, 2, 10000);
		assert_int_equal(acct_epsilon(kind, 2, 1e-6, &all), ACCT_OK);
		assert_true(all.upper <= 0.2);
		assert_int_equal(rd_account_share_of(a, id(0), &one, &err), CM_OK);
		assert_int_equal(rd_account_share_of(a, id(n), &one, &err), CM_EDATA);
		/* A released reservation makes room. */
		assert_int_equal(rd_account_remove(a, id(n - 1)), CM_OK);
		assert_int_equal(rd_account_remove(a, id(n - 2)), CM_OK);
		assert_int_equal(judge_round(a, &(struct acct_round){ 0 }, &v, &err), CM_EINTERNAL);
		kind[0].count = 1;
		assert_int_equal(judge_round(a, &kind[0], &v, &err), CM_OK);
		assert_true(v.fits);
		rd_account_free(a);
	}
}

static void an_empty_filter_is_unspent_and_order_does_not_matter(void **state)
{
	struct rd_account *a = adaptive("adaptive.gdp", 1), *b = adaptive("adaptive.gdp", 1);

	(void)state;
	assert_true(share(a) == 0 && spent(a) == 0);
	for (unsigned i = 0; i < 6; i++) {
		struct acct_round r = among(1000 + i), s = among(1005 - i);

		assert_int_equal(add_round(a, id(i), &r, &err), CM_OK);
		assert_int_equal(add_round(b, id(i), &s, &err), CM_OK);
	}
	near(share(a), share(b));
	assert_true(spent(a) == 1);
	rd_account_free(a);
	rd_account_free(b);
}

static void what_would_fit_a_filter_does_fit(void **state)
{
	struct rd_account *a = adaptive("adaptive.gdp", 0.1);
	struct qy_query q = { .kind = QY_HISTOGRAM, .categories = 4 };
	struct pt_request r = { .epsilon0 = 6.0, .min_reports = 1000 };
	const struct pt_protocol *grr = pt_find("grr");
	struct pt_randomizer params = { 0 };
	struct acct_round cells = { 0 };
	struct rd_verdict v;
	double fits = 0;

	(void)state;
	assert_int_equal(rd_account_largest_epsilon0(
				 a, grr, &q, &r, &(struct rd_batch){ 1000, 1000, 1000 }, NULL, &fits, &err),
		CM_OK);
	assert_true(fits > 0 && fits < 6);
	for (int more = 0; more <= 1; more++) {
		r.epsilon0 = fits * (more ? 1.02 : 1);
		assert_int_equal(pt_derive(grr, &q, &r, &params, &err), CM_OK);
		assert_int_equal(grr->cells(&params, 1000, &cells, &err), CM_OK);
		cells.count = 1;
		assert_int_equal(judge_round(a, &cells, &v, &err), CM_OK);
		assert_int_equal(v.fits, !more);
	}
	rd_account_free(a);
}

static void modes_have_names(void **state)
{
	static const char *const unknown[] = { "", "adaptive", "adaptive.", "adaptive.pld", "plan.gdp",
		"gdp" };

	(void)state;
	assert_true(rd_mode_is_known("plan") && rd_mode_is_known("adaptive.gdp") &&
		    rd_mode_is_known("adaptive.renyi"));
	assert_int_equal(rd_mode_filter("plan"), 0);
	assert_int_equal(rd_mode_filter("adaptive.renyi"), ACCT_FILTER_RENYI);
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_false(rd_mode_is_known(unknown[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_rounds_cost_what_the_same_rounds_cost_apart),
		cmocka_unit_test(a_filter_admits_rounds_until_its_budget_is_spent),
		cmocka_unit_test(an_empty_filter_is_unspent_and_order_does_not_matter),
		cmocka_unit_test(what_would_fit_a_filter_does_fit),
		cmocka_unit_test(modes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
