/* test_an_plan.c - plan files: what is read, and every fault with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pl_cost.h"
#include "plan_faults.h"

#define HEAD                         \
	"name = \"p\"\n"             \
	"population = \"devices\"\n" \
	"budget = { epsilon = 1.0, delta = 1e-6 }\n"
#define STATE                                                                                 \
	"{ query = \"state\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n" \
	"  epsilon0 = 2.0, min_reports = 50000, values = [\"a\", \"b\", \"c\"] }"
#define MEAN                                                                   \
	"{ query = \"v3\", type = \"mean\", field = \"V3\", epsilon0 = 1.0,\n" \
	"  min_reports = 50000, range = [20, 150], levels = 8 }"

static void a_good_plan_is_read_whole(void **state)
{
	static const char text[] =
		HEAD "honest_fraction = 0.9\ncolluders = 5\nrounds = (" STATE ",\n" MEAN ")\n";
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	if (parse(text, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_string_equal(p.name, "p");
	assert_string_equal(p.population, "devices");
	assert_string_equal(p.unit, "device");
	assert_true(p.epsilon == 1.0 && p.delta == 1e-6);
	assert_true(p.honest_fraction == 0.9);
	assert_int_equal(p.colluders, 5);
	assert_int_equal(p.rounds, 2);
	assert_int_equal(p.round[0].number, 1);
	assert_int_equal(p.round[0].query.categories, 3);
	assert_string_equal(p.round[0].query.category[2], "c");
	assert_string_equal(p.round[0].randomizer.row->name, "grr");
	assert_true(p.round[0].epsilon0 > 1.999 && p.round[0].epsilon0 <= 2.0);
	assert_int_equal(p.round[0].window_ms, 60000);
	assert_int_equal(p.round[0].target, PR_ROUND_REPORTS_MAX);
	assert_int_equal(p.round[1].query.kind, QY_MEAN);
	assert_true(p.round[1].query.low == 20 && p.round[1].query.high == 150);
	assert_string_equal(p.round[1].query.name, "v3");
	pl_plan_fini(&p);
}

static void a_plan_is_adaptive_when_it_says_so(void **state)
{
	static const struct {
		const char *keys, *mode;
	} row[] = {
		{ "", "plan" },
		{ "mode = \"plan\"\n", "plan" },
		{ "mode = \"adaptive\"\n", "adaptive.gdp" },
		{ "mode = \"adaptive\"\nfilter = \"gdp\"\n", "adaptive.gdp" },
		{ "mode = \"adaptive\"\nfilter = \"renyi\"\n", "adaptive.renyi" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char text[2000];
		struct pl_plan p;
		struct cm_err err = { 0 };

		(void)snprintf(text, sizeof text, HEAD "%srounds = (" STATE ")\n", row[i].keys);
		assert_int_equal(parse(text, &p, &err), CM_OK);
		assert_string_equal(p.mode, row[i].mode);
		pl_plan_fini(&p);
	}
	expect_fault(HEAD "mode = \"adaptiv\"\nrounds = (" STATE ")\n", "plan.conf:4:", "'mode' must be");
	expect_fault(HEAD "filter = \"gdp\"\nrounds = (" STATE ")\n", "plan.conf:4:", "'filter' is for mode");
	expect_fault(HEAD "mode = \"adaptive\"\nfilter = \"pld\"\nrounds = (" STATE ")\n",
		"plan.conf:5:", "'filter' must be");
}

static void the_digest_covers_every_byte_of_the_file(void **state)
{
	static const char one[] = HEAD "rounds = (" STATE ")\n";
	static const char two[] = HEAD "rounds = (" STATE ") \n";
	struct pl_plan a, b;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse(one, &a, &err), CM_OK);
	assert_int_equal(parse(two, &b, &err), CM_OK);
	assert_memory_not_equal(a.digest, b.digest, PR_HASH_LEN);
	pl_plan_fini(&b);
	assert_int_equal(parse(one, &b, &err), CM_OK);
	assert_memory_equal(a.digest, b.digest, PR_HASH_LEN);
	pl_plan_fini(&a);
	pl_plan_fini(&b);
}

static void infinity_is_an_epsilon0_for_protocols_that_know_it(void **state)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	if (parse(HEAD
		    "rounds = ({ query = \"s\", type = \"histogram\", protocol = \"bins\", field = \"C\",\n"
		    "epsilon0 = \"inf\", dummies = 2, min_reports = 50000, values = [\"a\", \"b\"] })\n",
		    &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(isinf(p.round[0].request.epsilon0));
	assert_true(isinf(p.round[0].epsilon0));
	pl_plan_fini(&p);
}

#define SIZED(protocol, size)                                                                           \
	HEAD "rounds = ({ query = \"s\", type = \"histogram\", protocol = \"" protocol                  \
	     "\", field = \"C\",\n"                                                                     \
	     "epsilon0 = 2.0, min_reports = 5000, values = [\"a\", \"b\", \"c\", \"d\"],\nsize = " size \
	     " })\n"

static void a_size_belongs_to_protocols_that_have_one(void **state)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse(SIZED("subset", "2"), &p, &err), CM_OK);
	assert_int_equal(pt_parameter(&p.round[0].randomizer, "size"), 2);
	pl_plan_fini(&p);
	/* d / (e^2 + 1) is below 1, e^2 + 1 above 8. */
	assert_int_equal(parse(SIZED("subset", "0"), &p, &err), CM_OK);
	assert_int_equal(pt_parameter(&p.round[0].randomizer, "size"), 1);
	pl_plan_fini(&p);
	assert_int_equal(parse(SIZED("olh", "0"), &p, &err), CM_OK);
	assert_int_equal(pt_parameter(&p.round[0].randomizer, "size"), 8);
	pl_plan_fini(&p);
	assert_int_equal(parse(SIZED("grr", "0"), &p, &err), CM_OK);
	pl_plan_fini(&p);
	expect_fault(SIZED("grr", "2"), "plan.conf:6:", "protocol 'grr' has no 'size'");
	expect_fault(SIZED("hadamard", "2"), "plan.conf:6:", "protocol 'hadamard' has no 'size'");
	/* Four categories and the symbol of none. */
	expect_fault(SIZED("subset", "5"), "plan.conf:4:", "subset: size 5, must be 1 to 4 for 5 bins");
	expect_fault(SIZED("olh", "4097"), "plan.conf:6:", "size");
	expect_fault(SIZED("olh", "-1"), "plan.conf:6:", "size");
}

#define OF_VECTOR(protocol, keys)                                                      \
	HEAD "rounds = ({ query = \"v\", type = \"vector\", protocol = \"" protocol    \
	     "\", field = \"V\", dimension = 6,\nepsilon0 = 2.0, min_reports = 5000, " \
	     "range = [-1.0, 1.0],\n" keys " })\n"

static void a_key_of_vectors_belongs_to_protocols_that_make_something_of_it(void **state)
{
	static const char *const taken[] = { OF_VECTOR("words", "slots = 3, size = 2"),
		OF_VECTOR("rotated", "slots = 2, size = 3"), OF_VECTOR("vrr", "size = 3"),
		OF_VECTOR("ss-double", "slots = 3"), OF_VECTOR("ss-topk", "size = 3"),
		OF_VECTOR("harmony", "slots = 1, size = 1") };
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		if (parse(taken[i], &p, &err) != CM_OK)
			fail_msg("%s: %s", taken[i], err.msg);
		pl_plan_fini(&p);
	}
	expect_fault(OF_VECTOR("ss-simple", "slots = 2"), "plan.conf:6:", "'ss-simple' has no 'slots'");
	expect_fault(OF_VECTOR("ss-simple", "size = 11"), "plan.conf:6:", "'ss-simple' has no 'size'");
	expect_fault(
		OF_VECTOR("ss-double", "slots = 3, size = 11"), "plan.conf:6:", "'ss-double' has no 'size'");
	expect_fault(OF_VECTOR("ss-topk", "slots = 3"), "plan.conf:6:", "'ss-topk' has no 'slots'");
	expect_fault(OF_VECTOR("words", "padded = 3"), "plan.conf:6:", "'words' has no 'padded'");
}

#define BLANKET(protocol, epsilon0, keys)                                                                 \
	HEAD "rounds = ({ query = \"s\", type = \"histogram\", protocol = \"" protocol                    \
	     "\", field = \"C\",\n"                                                                       \
	     "epsilon0 = " epsilon0 ", min_reports = 5000, values = [\"a\", \"b\", \"c\", \"d\"],\n" keys \
	     " })\n"

static void a_fraction_of_a_dummy_is_for_rows_that_have_it(void **state)
{
	struct pl_plan p;
	struct pt_loss loss;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse(BLANKET("bins", "\"inf\"", "dummies = 2.25"), &p, &err), CM_OK);
	assert_int_equal(p.round[0].randomizer.mixbins.dummies, 2);
	assert_true(p.round[0].randomizer.mixbins.dummy_chance == UINT64_C(1) << 62);
	assert_int_equal(pl_round_loss(&p, &p.round[0], &loss, &err), CM_OK);
	assert_true(loss.part[0].levels == 1 && loss.part[0].dummies == 2 * loss.part[0].level[0].count);
	pl_plan_fini(&p);
	assert_int_equal(parse(BLANKET("bins", "\"inf\"", "dummies = 2"), &p, &err), CM_OK);
	assert_true(p.round[0].randomizer.mixbins.dummies == 2 &&
		    p.round[0].randomizer.mixbins.dummy_chance == 0);
	pl_plan_fini(&p);
	expect_fault(BLANKET("cheu", "2.0", "dummies = 1.5"),
		"plan.conf:6:", "'dummies' of protocol 'cheu' must be a whole number");
	expect_fault(BLANKET("bins", "\"inf\"", "dummies = 1023.5"), "plan.conf:6:", "dummies");
	expect_fault(BLANKET("bins", "\"inf\"", "dummies = -0.5"), "plan.conf:6:", "dummies");
	expect_fault(BLANKET("grr", "2.0", "dummies = 0.5"), "plan.conf:6:", "must be a whole number");
}

static void dummies_of_the_shuffler_are_asked_for_in_words(void **state)
{
	struct pt_loss loss;
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(parse(BLANKET("bins", "\"inf\"",
				       "blanket = \"shuffler\", shuffler_dummies = 16000, target = 9000"),
				 &p, &err),
		CM_OK);
	assert_int_equal(p.round[0].randomizer.shuffler.dummies, 16000);
	assert_int_equal(p.round[0].protocol->device->messages(&p.round[0].randomizer), 1);
	assert_int_equal(pl_round_loss(&p, &p.round[0], &loss, &err), CM_OK);
	assert_true(loss.part[0].dummies == 16000 && loss.part[0].others == 0);
	pl_plan_fini(&p);
	expect_fault(BLANKET("bins", "\"inf\"", "shuffler_dummies = 16000"),
		"plan.conf:6:", "'shuffler_dummies' is for 'blanket' \"shuffler\"");
	expect_fault(BLANKET("mixbins", "2.0", "blanket = \"shuffler\""),
		"plan.conf:6:", "needs 'shuffler_dummies'");
	expect_fault(BLANKET("mixbins", "2.0", "blanket = \"both\""),
		"plan.conf:6:", "'blanket' must be \"client\" or \"shuffler\"");
	expect_fault(BLANKET("grr", "2.0", "blanket = \"shuffler\", shuffler_dummies = 5"),
		"plan.conf:6:", "protocol 'grr' has no messages for the shuffler to add");
	expect_fault(BLANKET("mixbins", "2.0", "blanket = \"shuffler\", shuffler_dummies = 10000001"),
		"plan.conf:6:", "shuffler_dummies");
}

static void noise_of_the_shuffler_is_asked_for_with_its_epsilon(void **state)
{
	struct pt_loss loss;
	struct pl_plan p;
	struct cm_err err = { 0 };
	struct acct_bound b;

	(void)state;
	assert_int_equal(parse(BLANKET("bins", "\"inf\"",
				       "blanket = \"shuffler\", shuffler_noise = \"laplace\", epsilon = 0.5"),
				 &p, &err),
		CM_OK);
	assert_true(
		p.round[0].randomizer.shuffler.noise_mean > 0 && p.round[0].randomizer.shuffler.dummies == 0);
	assert_int_equal(pl_round_loss(&p, &p.round[0], &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, p.delta, &b), ACCT_OK);
	assert_true(b.upper > 0.49 && b.upper < 0.501);
	pl_plan_fini(&p);
#define NOISE "shuffler_noise = \"laplace\""
	expect_fault(BLANKET("bins", "\"inf\"",
			     "blanket = \"shuffler\", shuffler_noise = \"gauss\", epsilon = 1.0"),
		"plan.conf:6:", "'shuffler_noise' must be \"laplace\"");
	expect_fault(BLANKET("bins", "\"inf\"", "epsilon = 1.0, " NOISE),
		"plan.conf:6:", "'shuffler_noise' is for 'blanket' \"shuffler\"");
	expect_fault(BLANKET("bins", "\"inf\"", "blanket = \"shuffler\", " NOISE),
		"plan.conf:6:", "'shuffler_noise' needs 'epsilon'");
	expect_fault(BLANKET("bins", "\"inf\"",
			     "blanket = \"shuffler\", epsilon = 1.0, shuffler_dummies = 5, " NOISE),
		"plan.conf:6:", "'shuffler_dummies' cannot");
	expect_fault(BLANKET("mixbins", "2.0", "blanket = \"shuffler\", epsilon = 1.0, " NOISE),
		"plan.conf:6:", "protocol 'mixbins' takes no noise of the shuffler");
	expect_fault(BLANKET("bins", "\"inf\"", "blanket = \"shuffler\", dummies = 1, epsilon = 1.0, " NOISE),
		"plan.conf:", "stands alone");
	expect_fault(BLANKET("bins", "\"inf\"", "blanket = \"shuffler\", epsilon = 0.0005, " NOISE),
		"plan.conf:", "must be for 0.001 to 16");
	expect_fault(
		BLANKET("bins", "\"inf\"", "blanket = \"shuffler\", shuffler_dummies = 5, epsilon = 1.0"),
		"plan.conf:6:", "'epsilon' is for protocol \"auto\"");
#undef NOISE
}

static void unknown_keys_are_named_with_their_line(void **state)
{
	(void)state;
	expect_fault(HEAD "min_bacth = 4\nrounds = (" STATE ")\n", "plan.conf:4:", "min_bacth");
	expect_fault(HEAD
		"rounds = ({ query = \"a\",\nepsilon = 2.0,\n type = \"mean\", field = \"x\", epsilon0 = "
		"1.0, min_reports = 9, range = [0, 1] })\n",
		"plan.conf:5:", "epsilon");
}

static void values_out_of_range_are_named_with_their_line(void **state)
{
	(void)state;
	expect_fault(
		"name = \"p\"\npopulation = \"d\"\nbudget = { epsilon = 1.0\n delta = 2.0 }\nrounds = (" STATE
		")\n",
		"plan.conf:4:", "delta");
	expect_fault(HEAD
		"rounds = ({ query = \"s\", type = \"histogram\", field = \"C\",\nepsilon0 = -1.0,\n"
		"min_reports = 5, values = [\"a\", \"b\"] })\n",
		"plan.conf:5:", "epsilon0");
	expect_fault(HEAD
		"rounds = ({ query = \"s\", type = \"histogram\", field = \"C\", epsilon0 = \"none\",\n"
		"min_reports = 5, values = [\"a\", \"b\"] })\n",
		"plan.conf:4:", "epsilon0");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"histogram\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5,\ntarget = 4, values = [\"a\", \"b\"] })\n",
		"plan.conf:6:", "target");
}

static void missing_keys_are_named(void **state)
{
	(void)state;
	expect_fault("name = \"p\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\nrounds = (" STATE ")\n",
		"plan.conf", "population");
	expect_fault(HEAD, "plan.conf", "rounds");
	expect_fault(HEAD "rounds = ()\n", "plan.conf:4:", "rounds");
}

static void a_query_must_be_answerable(void **state)
{
	(void)state;
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"median\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5 })\n",
		"plan.conf:4:", "type");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"histogram\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5 })\n",
		"plan.conf:4:", "values");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"mean\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5 })\n",
		"plan.conf:4:", "range");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"mean\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5, range = [3, 3] })\n",
		"plan.conf:5:", "range");
	expect_fault(HEAD
		"rounds = ({ query = \"s\", type = \"histogram\", protocol = \"tarot\", field = \"C\",\n"
		"epsilon0 = 1.0, min_reports = 5, values = [\"a\", \"b\"] })\n",
		"plan.conf:4:", "tarot");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"mean\", protocol = \"grr\", field = \"C\",\n"
			  "epsilon0 = 1.0, min_reports = 5, range = [0, 1] })\n",
		"plan.conf:4:", "grr");
	expect_fault(HEAD
		"rounds = ({ query = \"s\", type = \"histogram\", protocol = \"grr\", field = \"C\",\n"
		"epsilon0 = 1.0, min_reports = 5, values = [\"a\", \"a\"] })\n",
		"plan.conf:4:", "");
}

static void names_must_be_fit_for_files_and_unique(void **state)
{
	(void)state;
	expect_fault(HEAD "rounds = (" STATE ",\n" STATE ")\n", "plan.conf:6:", "round 1");
	expect_fault(HEAD "rounds = ({ query = \"../x\", type = \"mean\", field = \"C\", epsilon0 = 1.0,\n"
			  "min_reports = 5, range = [0, 1] })\n",
		"plan.conf:4:", "query");
	expect_fault("name = \"p\"\npopulation = \"a b\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\nrounds = "
		     "(" STATE ")\n",
		"plan.conf:2:", "population");
}

static void a_nul_byte_cannot_hide_the_rest_of_a_plan(void **state)
{
	static const char text[] = HEAD "rounds = (" STATE ")\n\0 # more";
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pl_plan_parse((const uint8_t *)text, sizeof text - 1, "plan.conf", NULL, &p, &err),
		CM_ECONFIG);
	pl_plan_fini(&p);
}

static void every_fault_is_written_the_first_is_returned(void **state)
{
	static const char text[] =
		HEAD "rounds = ({ query = \"A b\", type = \"median\", field = \"C\", epsilon0 = 1.0, "
		     "min_reports = 5 },\n"
		     "{ query = \"t\", type = \"mean\", field = \"C\", epsilon0 = 1.0, min_reports = 5 })\n";
	struct pl_plan p;
	struct cm_err err = { 0 };
	char *faults = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&faults, &n);

	(void)state;
	assert_non_null(f);
	assert_int_equal(
		pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", f, &p, &err), CM_ECONFIG);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(faults, "plan.conf:4: 'query'"));
	assert_non_null(strstr(faults, "plan.conf:4: 'type'"));
	assert_non_null(strstr(faults, "plan.conf:5: missing 'range'"));
	assert_ptr_equal(strstr(faults, err.msg), faults);
	free(faults);
	pl_plan_fini(&p);
}

/* Cells are those of floor(h n) - c honest participants: 0.5 * 50000 - 1000 = 24000, so 23999 others. */
static void privacy_is_computed_for_honest_participants(void **state)
{
	struct pl_plan p;
	struct pt_loss loss;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(
		parse(HEAD "honest_fraction = 0.5\ncolluders = 1000\nrounds = (" STATE ")\n", &p, &err),
		CM_OK);
	assert_int_equal(pl_round_loss(&p, &p.round[0], &loss, &err), CM_OK);
	assert_int_equal(loss.part[0].others, 23999);
	pl_plan_fini(&p);
}

/* Totals grow, a refused round adds nothing, and what would fit does fit (ACCOUNTING: monotone in eps0). */
static void the_cost_of_a_plan_says_what_would_be_refused(void **state)
{
	static const char text[] =
		"name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = 0.2, delta = 1e-6 }\n"
		"rounds = (" STATE ",\n" MEAN ",\n"
		"{ query = \"big\", type = \"histogram\", protocol = \"grr\", field = \"C\",\n"
		"  epsilon0 = 5.0, min_reports = 50000, values = [\"a\", \"b\", \"c\"] },\n"
		"{ query = \"small\", type = \"histogram\", protocol = \"grr\", field = \"C\",\n"
		"  epsilon0 = 0.5, min_reports = 50000, values = [\"a\", \"b\", \"c\"] } )\n";
	struct pl_cost cost[4];
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	if (parse(text, &p, &err) != CM_OK || pl_plan_cost(&p, cost, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(cost[0].run && cost[1].run && !cost[2].run && cost[3].run);
	assert_true(cost[0].verdict.total > 0 && cost[1].verdict.total > cost[0].verdict.total);
	assert_true(cost[2].verdict.total > 0.2);
	assert_true(cost[3].verdict.spent == cost[1].verdict.total);
	assert_true(cost[2].largest_epsilon0 > 0 && cost[2].largest_epsilon0 < 5.0);
	pl_plan_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_plan_is_read_whole),
		cmocka_unit_test(a_plan_is_adaptive_when_it_says_so),
		cmocka_unit_test(the_digest_covers_every_byte_of_the_file),
		cmocka_unit_test(infinity_is_an_epsilon0_for_protocols_that_know_it),
		cmocka_unit_test(a_size_belongs_to_protocols_that_have_one),
		cmocka_unit_test(a_key_of_vectors_belongs_to_protocols_that_make_something_of_it),
		cmocka_unit_test(noise_of_the_shuffler_is_asked_for_with_its_epsilon),
		cmocka_unit_test(unknown_keys_are_named_with_their_line),
		cmocka_unit_test(a_fraction_of_a_dummy_is_for_rows_that_have_it),
		cmocka_unit_test(dummies_of_the_shuffler_are_asked_for_in_words),
		cmocka_unit_test(values_out_of_range_are_named_with_their_line),
		cmocka_unit_test(missing_keys_are_named),
		cmocka_unit_test(a_query_must_be_answerable),
		cmocka_unit_test(names_must_be_fit_for_files_and_unique),
		cmocka_unit_test(a_nul_byte_cannot_hide_the_rest_of_a_plan),
		cmocka_unit_test(every_fault_is_written_the_first_is_returned),
		cmocka_unit_test(privacy_is_computed_for_honest_participants),
		cmocka_unit_test(the_cost_of_a_plan_says_what_would_be_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
