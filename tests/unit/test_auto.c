/* test_auto.c - rounds of protocol "auto" in plans: their share of the budget, and every fault with its
 * line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pl_cost.h"
#include "plan_faults.h"

#define HEAD                         \
	"name = \"p\"\n"             \
	"population = \"devices\"\n" \
	"budget = { epsilon = 1.0, delta = 1e-6 }\n"
#define STATE(name, keys)                                                    \
	"{ query = \"" name "\", type = \"histogram\", field = \"Class\",\n" \
	"  protocol = \"auto\",\n"                                           \
	"  " keys "\n  epsilon0 = 8.0, min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"
#define MEAN(name)                                                                        \
	"{ query = \"" name "\", type = \"mean\", protocol = \"auto\", field = \"V3\",\n" \
	"  epsilon0 = 8.0, min_reports = 20000, range = [20, 150] }"
#define PLAIN(name, epsilon0)                                                                    \
	"{ query = \"" name "\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n" \
	"  epsilon0 = " epsilon0 ", min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"

static void read_and_cost(const char *text, struct pl_plan *p, struct pl_cost *cost)
{
	struct cm_err err = { 0 };

	if (parse(text, p, &err) != CM_OK || pl_plan_cost(p, cost, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void a_round_alone_may_cost_all_there_is(void **state)
{
	struct pl_cost cost[1];
	struct pl_plan p;

	(void)state;
	read_and_cost(HEAD "rounds = (" STATE("s", "max_bytes = 127,") ")\n", &p, cost);
	assert_true(p.round[0].automatic && cost[0].run);
	assert_string_equal(p.round[0].randomizer.row->name, "grr");
	assert_true(cost[0].verdict.total > 0.97 && cost[0].verdict.total < 1);
	assert_true(p.round[0].epsilon0 <= 8);
	assert_int_equal(cost[0].messages, 1);
	assert_int_equal(cost[0].bytes, 64);
	assert_true(cost[0].error > 0 && cost[0].error < 20);
	assert_non_null(strstr(p.round[0].why, "grr (epsilon0 "));
	pl_plan_fini(&p);
}

/* A device may send one message more; few of these are dummies, and the cost says how few. */
static void bytes_for_one_message_more_are_bytes_for_a_fraction_of_a_dummy(void **state)
{
	struct pl_cost cost[1];
	struct pl_plan p;
	char said[40];

	(void)state;
	read_and_cost(HEAD "rounds = (" STATE("s", "") ")\n", &p, cost);
	assert_true(cost[0].run && cost[0].verdict.total < 1);
	assert_string_equal(p.round[0].randomizer.row->name, "mixbins");
	assert_true(
		p.round[0].randomizer.mixbins.dummies == 0 && p.round[0].randomizer.mixbins.dummy_chance > 0);
	assert_int_equal(cost[0].messages, 2);
	assert_int_equal(cost[0].bytes, 128);
	(void)snprintf(said, sizeof said, ", %.6g dummies): ",
		pt_dummies_each(
			p.round[0].randomizer.mixbins.dummies, p.round[0].randomizer.mixbins.dummy_chance));
	assert_non_null(strstr(p.round[0].why, said));
	assert_int_equal(strncmp(said, ", 0.0", 5), 0);
	pl_plan_fini(&p);
}

static void rounds_share_what_the_others_leave(void **state)
{
	struct pl_cost cost[5];
	struct pl_plan p;

	(void)state;
	read_and_cost(HEAD "rounds = (" STATE("a", "") ",\n" PLAIN("b", "3.0") ",\n" MEAN("c") ",\n" STATE(
			      "d", "epsilon = 0.2;") ",\n" PLAIN("e", "7.0") ")\n",
		&p, cost);
	/* Four rounds fit, as before the choice, and the fifth does not. */
	assert_true(cost[0].run && cost[1].run && cost[2].run && cost[3].run && !cost[4].run);
	assert_true(cost[3].verdict.total < 1 && cost[3].verdict.total > 0.93);
	/* Rounds of "auto" get equal shares, apart from the one that names its own epsilon. */
	assert_true(p.round[0].cost >= p.round[2].cost && p.round[0].cost <= p.round[2].cost);
	assert_true(cost[0].verdict.epsilon_round < p.round[0].cost);
	assert_true(cost[2].verdict.epsilon_round < p.round[2].cost);
	assert_true(cost[3].verdict.epsilon_round < 0.2 && cost[3].verdict.epsilon_round > 0.19);
	assert_false(p.round[1].automatic);
	assert_string_equal(p.round[1].why, "");
	/* The epsilon0 that is said to fit in place of the last round's does fit. */
	assert_true(cost[4].largest_epsilon0 < 7);
	pl_plan_fini(&p);
}

static void equal_plans_make_equal_choices(void **state)
{
	static const char text[] =
		HEAD "rounds = (" STATE("a", "epsilon = 0.2,") ",\n" STATE("c", "epsilon = 0.3,") ")\n";
	struct pl_cost cost[2];
	struct pl_plan p, q;

	(void)state;
	read_and_cost(text, &p, cost);
	read_and_cost(text, &q, cost);
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(
			&p.round[i].randomizer, &q.round[i].randomizer, sizeof p.round[i].randomizer);
		assert_string_equal(p.round[i].why, q.round[i].why);
	}
	pl_plan_fini(&p);
	pl_plan_fini(&q);
}

static void honest_reports_are_what_is_counted_on(void **state)
{
	struct pl_cost cost[1];
	struct pl_plan p, half;

	(void)state;
	read_and_cost(HEAD "rounds = (" STATE("s", "epsilon = 0.2, max_bytes = 100,") ")\n", &p, cost);
	read_and_cost(HEAD
		"honest_fraction = 0.5\nrounds = (" STATE("s", "epsilon = 0.2, max_bytes = 100,") ")\n",
		&half, cost);
	assert_true(half.round[0].epsilon0 < p.round[0].epsilon0 - 0.5);
	assert_true(cost[0].run);
	pl_plan_fini(&p);
	pl_plan_fini(&half);
}

#define PLACES(protocol)                                         \
	"{ query = \"w\", type = \"places\", " protocol          \
	" epsilon0 = 6.0, epsilon = 0.5, min_reports = 10000,\n" \
	"  axes = ({ field = \"x\", range = [0, 8], cells = 8 }, { field = \"y\", range = [0, 6], cells = 6 }) }"

/* It has the least error.  The text says which of the two tells less about places nearby; a plan that names
 * no protocol gets that one. */
static void places_are_counted_with_the_least_error_and_the_guarantees_are_said(void **state)
{
	struct pl_plan p;
	struct pl_cost cost[1];
	const struct pl_round *r;
	char text[400];
	struct cm_err err = { 0 };

	(void)state;
	read_and_cost(HEAD "rounds = (" PLACES("protocol = \"auto\",") ")\n", &p, cost);
	r = p.round;
	assert_true(cost[0].run && r->automatic && r->epsilon0 <= 6);
	assert_true(strcmp(r->protocol->device->name, "grr") == 0 ||
		    strcmp(r->protocol->device->name, "mixbins") == 0);
	assert_non_null(strstr(r->why, "; next "));
	r->protocol->statement(&r->query, &r->randomizer, 10000, 1e-6, text, sizeof text);
	assert_non_null(strstr(text, " of any two places, however near; \"planar\""));
	pl_plan_fini(&p);
	static const char named[] =
		"name = \"p\"\npopulation = \"devices\"\n"
		"budget = { epsilon = 4.0, delta = 1e-6 }\n"
		"rounds = ({ query = \"w\", type = \"places\", epsilon0 = 6.0, min_reports = 10000,\n"
		"axes = ({ field = \"x\", range = [0, 8], cells = 8 },\n"
		"{ field = \"y\", range = [0, 6], cells = 6 }) })\n";
	assert_int_equal(
		pl_plan_parse((const uint8_t *)named, strlen(named), "plan.conf", NULL, &p, &err), CM_OK);
	assert_string_equal(p.round[0].protocol->device->name, "planar");
	pl_plan_fini(&p);
}

#define SETS(keys)                                                                                               \
	"{ query = \"s\", type = \"sets\", field = \"c\", protocol = \"auto\", epsilon0 = 8.0, epsilon = 0.5,\n" \
	"  " keys "\n  min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"

/* The plan says how many items of a set count; the largest epsilon0 that fits is chosen. */
static void sets_keep_their_size(void **state)
{
	struct pl_plan p, more;
	struct pl_cost cost[1];
	char text[1000];
	struct cm_err err = { 0 };

	(void)state;
	read_and_cost(HEAD "rounds = (" SETS("size = 2,") ")\n", &p, cost);
	assert_string_equal(p.round[0].protocol->device->name, "privset");
	assert_int_equal(pt_parameter(&p.round[0].randomizer, "size"), 2);
	assert_true(
		cost[0].run && cost[0].verdict.epsilon_round > 0.45 && cost[0].verdict.epsilon_round <= 0.5);
	assert_non_null(strstr(p.round[0].why, "sets of 2"));
	/* A slightly larger value does not fit. */
	(void)snprintf(text, sizeof text,
		"name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = 0.5, delta = 1e-6 }\n"
		"rounds = ({ query = \"s\", type = \"sets\", field = \"c\", protocol = \"privset\", size = 2,\n"
		"epsilon0 = %.17g, min_reports = 20000, values = [\"a\", \"b\", \"c\"] })\n",
		p.round[0].request.epsilon0 * 1.02);
	assert_int_equal(
		pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, &more, &err), CM_OK);
	assert_int_equal(pl_plan_cost(&more, cost, &err), CM_OK);
	assert_false(cost[0].run);
	pl_plan_fini(&more);
	pl_plan_fini(&p);
	expect_fault(HEAD "rounds = (" SETS("") ")\n", "plan.conf:4:", "type \"sets\" needs 'size'");
	expect_fault(HEAD "rounds = (" SETS("size = 4,") ")\n", "plan.conf:5:", "1 to 3");
}

static void faults_are_said_with_their_lines(void **state)
{
	(void)state;
	expect_fault(HEAD "rounds = (" STATE("s", "dummies = 1,") ")\n",
		"plan.conf:6:", "'dummies' is not for protocol \"auto\"");
	expect_fault(
		HEAD "rounds = (" STATE("s", "levels = 3,") ")\n", "plan.conf:6:", "'levels' is not for");
	expect_fault(HEAD "rounds = (" STATE("s", "max_bytes = 63,") ")\n",
		"plan.conf:5:", "max_bytes 63 is less than one sealed message: at least 64 are needed");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon = 1.5,") ")\n",
		"plan.conf:5:", "does not fit the budget");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon = -1.0,") ")\n", "plan.conf:6:", "epsilon");
	expect_fault(HEAD "rounds = (" STATE("s", "max_bytes = 2000000,") ")\n", "plan.conf:6:", "max_bytes");
	expect_fault(HEAD "mode = \"adaptive\"\nrounds = (" STATE("s", "") ")\n",
		"plan.conf:6:", "missing 'epsilon'");
	expect_fault(HEAD
		"rounds = ({ query = \"b\", type = \"histogram\", protocol = \"grr\", field = \"C\",\n"
		"epsilon0 = 1.0, min_reports = 5, values = [\"a\", \"b\"],\n"
		"max_bytes = 100 })\n",
		"plan.conf:6:", "'max_bytes' is for protocol \"auto\"");
	expect_fault(HEAD
		"rounds = ({ query = \"b\", type = \"histogram\", protocol = \"grr\", field = \"C\",\n"
		"epsilon0 = 1.0, min_reports = 5, values = [\"a\", \"b\"],\n"
		"epsilon = 0.1 })\n",
		"plan.conf:6:", "'epsilon' is for protocol \"auto\"");
}

/* The other round spends all but a hundred-thousandth: nothing is left that is worth a thousandth. */
static void nothing_left_is_a_fault_that_says_how_much_there_should_be(void **state)
{
	static const char text[] =
		"name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = %.9g, delta = 1e-6 }\n"
		"rounds = (" PLAIN("a", "3.86") "%s)\n";
	struct pl_cost cost[2];
	struct pl_plan p;
	struct cm_err err = { 0 };
	double budget, spent, enough;
	char full[1000];
	const char *at;

	(void)state;
	(void)snprintf(full, sizeof full, text, 1.0, "");
	read_and_cost(full, &p, cost);
	budget = cost[0].verdict.total * 1.00001;
	pl_plan_fini(&p);
	(void)snprintf(full, sizeof full, text, budget, ",\n" STATE("s", ""));
	assert_int_equal(parse(full, &p, &err), CM_ECONFIG);
	pl_plan_fini(&p);
	assert_true(strncmp(err.msg, "plan.conf:7: auto: the other rounds spend ", 42) == 0);
	assert_int_equal(sscanf(err.msg + 42, "%lf", &spent), 1);
	at = strstr(err.msg, "a budget of ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "a budget of %lf", &enough), 1);
	assert_true(spent < budget * 1.001 && enough >= budget && enough < budget * 1.05);
	/* And it would do. */
	(void)snprintf(full, sizeof full, text, enough, ",\n" STATE("s", ""));
	read_and_cost(full, &p, cost);
	assert_true(cost[0].run && cost[1].run);
	pl_plan_fini(&p);
}

static void an_adaptive_plan_says_what_each_round_may_cost(void **state)
{
	struct pl_cost cost[1];
	struct pl_plan p;

	(void)state;
	read_and_cost(HEAD "mode = \"adaptive\"\nrounds = (" STATE("s", "epsilon = 0.1,") ")\n", &p, cost);
	assert_true(cost[0].run && cost[0].verdict.epsilon_round < 0.1);
	pl_plan_fini(&p);
}

/* A refused round that has no local guarantee could only be given more dummies. */
static void a_refused_round_says_how_many_dummies_would_do(void **state)
{
	static const char text[] =
		HEAD "rounds = ({ query = \"b\", type = \"histogram\", protocol = \"bins\", field = \"C\",\n"
		     "epsilon0 = \"inf\", dummies = %d, min_reports = 60, values = [\"a\", \"b\", \"c\", "
		     "\"d\"] })\n";
	struct pl_cost cost[1];
	struct pl_plan p;
	char more[1000];
	uint32_t least;

	(void)state;
	(void)snprintf(more, sizeof more, text, 1);
	read_and_cost(more, &p, cost);
	assert_false(cost[0].run);
	assert_true(cost[0].largest_epsilon0 <= 0);
	least = cost[0].least_dummies;
	assert_true(least > 1);
	pl_plan_fini(&p);
	for (uint32_t m = least - 1; m <= least; m++) {
		(void)snprintf(more, sizeof more, text, (int)m);
		read_and_cost(more, &p, cost);
		assert_int_equal(cost[0].run, m == least);
		pl_plan_fini(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_alone_may_cost_all_there_is),
		cmocka_unit_test(bytes_for_one_message_more_are_bytes_for_a_fraction_of_a_dummy),
		cmocka_unit_test(rounds_share_what_the_others_leave),
		cmocka_unit_test(equal_plans_make_equal_choices),
		cmocka_unit_test(honest_reports_are_what_is_counted_on),
		cmocka_unit_test(sets_keep_their_size),
		cmocka_unit_test(places_are_counted_with_the_least_error_and_the_guarantees_are_said),
		cmocka_unit_test(faults_are_said_with_their_lines),
		cmocka_unit_test(nothing_left_is_a_fault_that_says_how_much_there_should_be),
		cmocka_unit_test(an_adaptive_plan_says_what_each_round_may_cost),
		cmocka_unit_test(a_refused_round_says_how_many_dummies_would_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
