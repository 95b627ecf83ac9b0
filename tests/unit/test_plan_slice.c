/* test_plan_slice.c - the slice that a plan takes without a budget: never below what its rounds are certified
 * to cost together, and above it by the rounding alone, for whoever composes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pl_load.h"
#include "pl_make.h"
#include "pl_slice.h"

static enum cm_rc parse(const char *head, const char *rounds, struct pl_plan *p, struct cm_err *err)
{
	static char text[1 << 14];

	(void)snprintf(text, sizeof text, "name = \"p\"; population = \"devices\";\n%s\nrounds = (%s);\n",
		head, rounds);
	return pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, p, err);
}

#define ROUND(name, epsilon0, more)                                                         \
	"{ query = \"" name                                                                 \
	"\"; type = \"histogram\"; protocol = \"grr\"; field = \"f\"; epsilon0 = " epsilon0 \
	"; min_reports = 5000; values = [\"a\", \"b\"]; window = \"1h\"; " more "}"

/* All rounds together in an account that was asked nothing before. */
static double certified(const struct pl_plan *p)
{
	struct rd_account *a = rd_account_new(PL_EPSILON_MAX, p->delta);
	struct cm_err err = { 0 };
	struct pt_loss loss;
	double epsilon = 0;

	for (size_t i = 0; i < p->rounds; i++) {
		uint8_t id[PR_ROUND_ID_LEN] = { (uint8_t)i, (uint8_t)(i >> 8) };

		assert_int_equal(pl_round_loss(p, &p->round[i], &loss, &err), CM_OK);
		assert_int_equal(rd_account_add(a, id, &loss, &err), CM_OK);
	}
	assert_int_equal(rd_account_spent(a, &epsilon, &err), CM_OK);
	rd_account_free(a);
	return epsilon;
}

static enum cm_rc own_loss(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	struct rd_batch b = { .least = d->min_reports, .honest = d->min_reports, .most = d->target };

	(void)user;
	return rd_loss_of(&d->randomizer, &b, out, err);
}

/* The plan is signed with all its rounds, and whoever pins it takes all. */
static void expect_all_taken(const struct pl_plan *p)
{
	static const uint8_t previous[PR_HASH_LEN];
	struct rd_plan made;
	struct rd_pin pin;
	struct cm_err err = { 0 };
	struct cm_buf bytes;

	cm_buf_init(&bytes, PR_PLAN_MAX);
	assert_int_equal(pl_plan_make(p, 1, previous, NULL, &bytes, &err), CM_OK);
	assert_int_equal(rd_plan_decode(bytes.data, bytes.len, &made, &err), CM_OK);
	assert_int_equal(made.entries, p->rounds);
	assert_true(made.epsilon >= made.entry[made.entries - 1].epsilon_total);
	assert_int_equal(rd_plan_pin(&made, own_loss, NULL, NULL, &pin, &err), CM_OK);
	assert_int_equal(rd_pin_count(&pin), p->rounds);
	rd_plan_fini(&made);
	cm_buf_fini(&bytes);
}

static void without_a_budget_nothing_is_lost(void **state)
{
	static const char *const plans[] = { ROUND("a", "2.0", ""), ROUND("a", "0.5", ""),
		ROUND("a", "4.0", "") ", " ROUND("b", "1.0", ""),
		ROUND("a", "2.0", "every = \"1h\"; count = 120;"),
		/* The last adds less than an answer's width. */
		ROUND("a", "2.0", "every = \"1h\"; count = 400;") ", " ROUND("b", "0.01", "") };

	(void)state;
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
		struct pl_plan p;
		struct cm_err err = { 0 };

		if (parse("", plans[i], &p, &err) != CM_OK)
			fail_msg("%s", err.msg);
		double cost = certified(&p);

		assert_true(p.exact);
		assert_true(p.delta >= 1e-6 && p.delta <= 1e-6);
		assert_true(p.epsilon >= cost);
		/* Upper bounds on the same rounds differ by an answer's width at most. */
		assert_true(p.epsilon <= cost * (1 + 1e-3) + 1e-4);
		expect_all_taken(&p);
		pl_plan_fini(&p);
	}
}

static void one_round_takes_its_own_bound_rounded_up(void **state)
{
	struct pl_plan p;
	struct pt_loss loss;
	struct acct_bound alone;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse("", ROUND("a", "2.0", ""), &p, &err), CM_OK);
	assert_int_equal(pl_round_loss(&p, &p.round[0], &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-6, &alone), ACCT_OK);
	assert_true(p.epsilon > alone.upper && p.epsilon < alone.upper + 1e-4);
	assert_true(fabs(p.epsilon * 1e4 - round(p.epsilon * 1e4)) < 1e-6);
	pl_plan_fini(&p);
}

static void a_budget_may_give_its_delta_alone(void **state)
{
	struct pl_plan p, q;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse("budget = { delta = 1e-9; };", ROUND("a", "2.0", ""), &p, &err), CM_OK);
	assert_int_equal(parse("", ROUND("a", "2.0", ""), &q, &err), CM_OK);
	assert_true(p.exact && p.epsilon > q.epsilon);
	pl_plan_fini(&p);
	pl_plan_fini(&q);
}

static void expect_fault(const char *head, const char *rounds, const char *what)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	assert_int_equal(parse(head, rounds, &p, &err), CM_ECONFIG);
	if (!strstr(err.msg, what))
		fail_msg("'%s' is not '%s'", err.msg, what);
	pl_plan_fini(&p);
}

static void what_has_no_total_needs_a_budget(void **state)
{
	(void)state;
	expect_fault("mode = \"adaptive\";", ROUND("a", "2.0", ""),
		"plan.conf:2: mode \"adaptive\" needs 'budget.epsilon'");
	expect_fault("",
		"{ query = \"a\"; type = \"histogram\"; protocol = \"auto\"; field = \"f\"; epsilon0 = 4.0; "
		"min_reports = 5000; values = [\"a\", \"b\"]; }",
		"plan.conf:3: auto: without 'budget.epsilon' there is nothing to share");
	expect_fault("",
		"{ query = \"a\"; type = \"histogram\"; protocol = \"grr\"; field = \"f\"; epsilon0 = 16.0; "
		"min_reports = 2; values = [\"a\", \"b\"]; every = \"1h\"; count = 40; }",
		"a plan takes 100 at most");
}

static void a_slice_is_wide_above_a_twentieth(void **state)
{
	(void)state;
	assert_false(pl_slice_wide(1.05, 1.0));
	assert_true(pl_slice_wide(1.0500001, 1.0));
	assert_true(pl_slice_wide(1e-6, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_round_takes_its_own_bound_rounded_up),
		cmocka_unit_test(without_a_budget_nothing_is_lost),
		cmocka_unit_test(a_budget_may_give_its_delta_alone),
		cmocka_unit_test(what_has_no_total_needs_a_budget),
		cmocka_unit_test(a_slice_is_wide_above_a_twentieth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
