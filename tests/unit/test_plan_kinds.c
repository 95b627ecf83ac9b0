/* test_plan_kinds.c - rounds of every kind of question in a plan file, and what is wrong with them.
 *
 * The questions are looked at whether or not a protocol answers them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pl_load.h"
#include "pl_plan.h"

#define HEAD                                         \
	"name = \"p\"\npopulation = \"devices\"\n"   \
	"budget = { epsilon = 1.0, delta = 1e-6 }\n" \
	"rounds = (\n"
#define REST "epsilon0 = 1.0, dummies = 100, min_reports = 100000"
#define BARE "epsilon0 = 1.0, min_reports = 100000" /* of a row without dummies */

static struct pl_plan plan;
static char faults[4096];
static const char *rest = REST;

/* Rounds, each "keys of the question", as lines 5, 6, ... of the file. */
static enum cm_rc parse(const char *const *round, size_t n)
{
	static char text[16384];
	struct cm_err err = { 0 };
	FILE *out = fmemopen(memset(faults, 0, sizeof faults), sizeof faults - 1, "w");
	enum cm_rc rc;
	size_t used = (size_t)snprintf(text, sizeof text, "%s", HEAD);

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s{ query = \"q%zu\", %s, %s }",
			i > 0 ? ",\n" : "", i, round[i], rest);
	(void)snprintf(text + used, sizeof text - used, ")\n");
	assert_non_null(out);
	rc = pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", out, &plan, &err);
	assert_int_equal(fclose(out), 0);
	return rc;
}

/* A kind that no protocol answers yet is refused for that alone. */
static void taken(const char *round)
{
	if (parse(&round, 1) != CM_OK && !strstr(faults, "no protocol answers"))
		fail_msg("%s: %s", round, faults);
}

static void refused_last(const char *const *round, size_t n, const char *why)
{
	const char *at;
	char line[32];

	if (parse(round, n) != CM_ECONFIG)
		fail_msg("%s: taken", round[n - 1]);
	(void)snprintf(line, sizeof line, "plan.conf:%zu: ", 4 + n);
	at = strstr(faults, line);
	if (!at || !strstr(at, why))
		fail_msg("'%s' has no '%s... %s'", faults, line, why);
	pl_plan_fini(&plan);
}

static void refused(const char *round, const char *why)
{
	refused_last(&round, 1, why);
}

static const struct qy_query *query(void)
{
	return &plan.round[0].query;
}

static void sums_and_quantiles_are_of_a_number(void **state)
{
	(void)state;
	taken("type = \"sum\", field = \"x\", range = [0, 8]");
	assert_int_equal(query()->kind, QY_SUM);
	assert_true(query()->low == 0 && query()->high == 8);
	assert_string_equal(plan.round[0].protocol->device->name, "levels");
	pl_plan_fini(&plan);
	taken("type = \"quantiles\", field = \"x\", range = [0, 8], probabilities = [0.5, 0.9]");
	assert_int_equal(query()->probabilities, 2);
	assert_true(query()->probability[1] == 0.9);
	pl_plan_fini(&plan);
	taken("type = \"quantiles\", field = \"x\", range = [0, 8]");
	assert_int_equal(query()->probabilities, 0);
	pl_plan_fini(&plan);
	refused("type = \"sum\", field = \"x\"", "missing 'range': type \"sum\" needs");
	refused("type = \"sum\", range = [0, 1]", "missing 'field': type \"sum\" needs");
	refused("type = \"sum\", field = \"x\", range = [0, 1], probabilities = [0.5]",
		"'probabilities' is not for type \"sum\"");
	refused("type = \"sum\", field = \"x\", range = [0, 1], values = [\"a\", \"b\"]",
		"'values' is not for type \"sum\"");
	refused("type = \"quantiles\", field = \"x\", range = [0, 8], probabilities = [0.5, 0.5]",
		"probabilities must rise");
	refused("type = \"quantiles\", field = \"x\", range = [0, 8], probabilities = [50.0]",
		"probabilities must rise");
	refused("type = \"quantiles\", field = \"x\", range = [0, 8], probabilities = []", "number of items");
	refused("type = \"total\", field = \"x\"",
		"'type' must be \"histogram\", \"mean\", \"quantiles\", \"sum\", \"vector\", \"ranges\", "
		"\"marginals\", \"prefixes\", \"sets\" or \"places\"");
	refused("type = \"means\", field = \"x\", protocol = \"dushi\"",
		"(did you mean \"mean\"?)\nplan.conf:5: unknown protocol 'dushi' (did you mean 'duchi'?)");
}

static void a_vector_has_one_field_or_one_for_each_number(void **state)
{
	(void)state;
	taken("type = \"vector\", field = \"x\", range = [-1, 1], dimension = 784");
	assert_int_equal(query()->dimension, 784);
	assert_int_equal(query()->columns, 0);
	pl_plan_fini(&plan);
	taken("type = \"vector\", fields = [\"V1\", \"V2\", \"V3\"], range = [-1, 1]");
	assert_int_equal(query()->dimension, 3);
	assert_int_equal(query()->columns, 3);
	assert_string_equal(query()->column[2].name, "V3");
	assert_string_equal(query()->field, "");
	pl_plan_fini(&plan);
	refused("type = \"vector\", field = \"x\", range = [-1, 1]", "missing 'dimension'");
	refused("type = \"vector\", range = [-1, 1], dimension = 3", "missing 'field'");
	refused("type = \"vector\", field = \"x\", fields = [\"a\", \"b\"], range = [-1, 1]",
		"'field' and 'fields' exclude");
	refused("type = \"vector\", fields = [\"a\", \"b\"], range = [-1, 1], dimension = 3",
		"'dimension' is 3, but there are 2");
	refused("type = \"vector\", fields = [\"a\", \"a\"], range = [-1, 1]", "column 'a' twice");
	refused("type = \"vector\", fields = [\"a\", \"\"], range = [-1, 1]", "'fields' must have 1 to 64");
	refused("type = \"vector\", fields = [\"a\"], range = [-1, 1]", "number of items");
	refused("type = \"vector\", field = \"x\", dimension = 3", "missing 'range'");
	refused("type = \"vector\", field = \"x\", range = [0, 1], dimension = 131073", "out of range");
}

#define COLUMNS                                                                                     \
	"columns = ({ field = \"a\", values = [\"x\", \"y\"] }, { field = \"b\", values = [\"1\", " \
	"\"2\", \"3\"] })"

static void sets_have_items_and_a_size(void **state)
{
	(void)state;
	rest = BARE;
	taken("type = \"sets\", field = \"basket\", values = [\"milk\", \"bread\"], size = 2");
	assert_int_equal(query()->kind, QY_SETS);
	assert_int_equal(query()->none, QY_NONE_SYMBOL);
	assert_string_equal(plan.round[0].protocol->device->name, "privset");
	assert_int_equal(plan.round[0].randomizer.privset.size, 2);
	pl_plan_fini(&plan);
	taken("type = \"sets\", field = \"x\", values = [\"a\", \"b\"], size = 1, none = \"category:b\"");
	assert_int_equal(query()->none_category, 1);
	pl_plan_fini(&plan);
	refused("type = \"sets\", field = \"x\", values = [\"a\", \"b\"]",
		"privset: needs size, the most items of a set that count together: 1 to 2");
	refused("type = \"sets\", field = \"x\", values = [\"a\", \"b\"], size = 4",
		"needs size, the most items of a set that count together: 1 to 2");
	refused("type = \"sets\", field = \"x\", values = [\"a\", \"b;c\"], size = 1",
		"item 'b;c' has a ';', which separates items");
	refused("type = \"sets\", field = \"x\", size = 2",
		"missing 'values': type \"sets\" needs its items");
	refused("type = \"sets\", values = [\"a\", \"b\"], size = 2", "missing 'field'");
	refused("type = \"sets\", field = \"x\", values = [\"a\", \"b\"], size = 1, none = 2.0",
		"'none' of type \"sets\" is no number");
	rest = REST;
	refused("type = \"sets\", field = \"x\", values = [\"a\", \"b\"], size = 1",
		"privset: dummies must be 0");
}

#define GRID                                                                                         \
	"type = \"places\", axes = ({ field = \"x\", range = [0, 8], cells = 4 }, { field = \"y\", " \
	"range = [-1, 1], cells = 3 })"

static void places_have_two_axes(void **state)
{
	(void)state;
	rest = BARE;
	taken(GRID);
	assert_int_equal(query()->kind, QY_PLACES);
	assert_int_equal(query()->none, QY_NONE_EVEN);
	assert_int_equal(qy_query_cells(query()), 12);
	assert_string_equal(query()->column[1].name, "y");
	assert_string_equal(plan.round[0].protocol->device->name, "planar");
	assert_int_equal(plan.round[0].randomizer.planar.width, 4);
	assert_int_equal(plan.round[0].randomizer.planar.height, 3);
	pl_plan_fini(&plan);
	taken(GRID ", none = \"even\"");
	pl_plan_fini(&plan);
	refused(GRID ", none = \"symbol\"", "none of places must be \"even\"");
	refused(GRID ", none = 2.0", "'none' of type \"places\" is no number");
	refused(GRID ", field = \"z\"", "'field' is not for type \"places\"");
	refused("type = \"places\"", "missing 'axes': type \"places\" needs its two fields");
	refused("type = \"places\", axes = ({ field = \"x\", range = [0, 8], cells = 4 })",
		"number of items");
	refused("type = \"places\", axes = ({ field = \"x\", range = [0, 8], cells = 4 }, { field = \"x\", "
		"range = [0, 8], cells = 4 })",
		"column 'x' twice");
	refused("type = \"places\", axes = ({ field = \"x\", range = [8, 8], cells = 4 }, { field = \"y\", "
		"range = [0, 8], cells = 4 })",
		"range");
	refused("type = \"places\", axes = ({ field = \"x\", range = [0, 8], cells = 32 }, { field = \"y\", "
		"range = [0, 8], cells = 9 })",
		"planar: 288 cells, at most 256");
	refused("type = \"places\", axes = ({ field = \"x\", range = [0, 8], cells = 4096 }, { field = \"y\", "
		"range = [0, 8], cells = 2 })",
		"more than 4096 cells");
	rest = REST;
}

static void marginals_name_their_columns(void **state)
{
	(void)state;
	taken("type = \"marginals\", " COLUMNS ", marginals = ([\"b\", \"a\"], [\"b\"])");
	assert_int_equal(query()->columns, 2);
	assert_string_equal(query()->column[1].name, "b");
	assert_int_equal(query()->column[1].categories, 3);
	assert_string_equal(query()->column[1].category[2], "3");
	assert_int_equal(query()->marginals, 2);
	assert_int_equal(query()->marginal[0], 3);
	assert_int_equal(query()->marginal[1], 2);
	pl_plan_fini(&plan);
	refused("type = \"marginals\", " COLUMNS, "missing 'marginals'");
	refused("type = \"marginals\", marginals = ([\"a\"])", "missing 'columns'");
	refused("type = \"marginals\", " COLUMNS ", marginals = ([\"a\", \"c\"])", "'c' is no field of");
	refused("type = \"marginals\", " COLUMNS ", marginals = ([\"a\", \"a\"])", "'a' twice in one");
	refused("type = \"marginals\", " COLUMNS ", marginals = ([\"a\"])", "column 'b' is in no marginal");
	refused("type = \"marginals\", " COLUMNS ", marginals = ([\"a\", \"b\"], [\"b\", \"a\"])", "twice");
	refused("type = \"marginals\", " COLUMNS ", marginals = [\"a\"]", "list of lists of strings");
	refused("type = \"marginals\", " COLUMNS ", marginals = ([\"a\", \"b\"]), field = \"x\"",
		"'field' is not for type");
	refused("type = \"marginals\", columns = ({ field = \"a\", values = [\"x\", \"y\"] }), marginals = "
		"([\"a\"])",
		"number of items");
	refused("type = \"marginals\", columns = ({ field = \"a\" }, { field = \"b\" }), marginals = "
		"([\"a\"])",
		"missing required key 'values'");
}

static void ranges_have_a_grid(void **state)
{
	(void)state;
	taken("type = \"ranges\", field = \"x\", range = [0, 1], leaves = 64, fanout = 4");
	assert_true(query()->leaves == 64 && query()->fanout == 4);
	pl_plan_fini(&plan);
	taken("type = \"ranges\", field = \"x\", range = [0, 1], leaves = 64");
	assert_int_equal(query()->fanout, 8);
	pl_plan_fini(&plan);
	taken("type = \"ranges\", field = \"x\", range = [0, 1], leaves = 23");
	assert_int_equal(query()->fanout, 23);
	pl_plan_fini(&plan);
	refused("type = \"ranges\", field = \"x\", range = [0, 1]", "missing 'leaves'");
	refused("type = \"ranges\", field = \"x\", range = [0, 1], leaves = 60, fanout = 4",
		"must be a power of the fanout");
}

static void candidates_of_prefixes_may_be_texts(void **state)
{
	struct pl_plan p;
	struct cm_err err = { 0 };
	static const char text[] = "name = \"p\"\npopulation = \"devices\"\nbudget = { epsilon = 1.0, delta "
				   "= 1e-6 }\nrounds = ({ "
				   "query = \"q\", min_reports = 50000, epsilon0 = 2.0, type = \"prefixes\", "
				   "field = \"t\", bits = 24,\n"
				   "values = [\"E_N\", \"455f4f\", \"\u00e9x\"] })\n";

	(void)state;
	if (pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_string_equal(p.round[0].query.category[0], "455f4e");
	assert_string_equal(p.round[0].query.category[1], "455f4f");
	assert_string_equal(p.round[0].query.category[2], "c3a978");
	pl_plan_fini(&p);
}

static void prefixes_have_candidates_or_follow_others(void **state)
{
	static const char first[] = "type = \"prefixes\", field = \"t\", bits = 8",
			  second[] =
				  "type = \"prefixes\", field = \"t\", bits = 12, after = \"q0\", keep = 5",
			  mean[] = "type = \"mean\", field = \"t\", range = [0, 1]";
	static const char *const two[] = { first, second };
	static const struct {
		const char *before, *round, *why;
	} bad[] = {
		{ mean, second, "earlier round of type" },
		{ first, "type = \"prefixes\", field = \"t\", bits = 12, after = \"q1\", keep = 5",
			"earlier round of type" },
		{ first, "type = \"prefixes\", field = \"t\", bits = 12, after = \"q0\"", "missing 'keep'" },
		{ first, "type = \"prefixes\", field = \"t\", bits = 8, after = \"q0\", keep = 5",
			"must be more than the 8 of 'q0'" },
		{ first, "type = \"prefixes\", field = \"t\", bits = 24, after = \"q0\", keep = 1",
			"1 candidates with 16 more bits" },
		{ first, "type = \"prefixes\", field = \"t\", bits = 16, after = \"q0\", keep = 16",
			"16 candidates with 8 more bits are more than 4095" },
		{ first,
			"type = \"prefixes\", field = \"t\", bits = 12, after = \"q0\", keep = 5, values = "
			"[\"abc\"]",
			"'values' and 'after' exclude" },
	};

	(void)state;
	taken(first);
	assert_int_equal(query()->categories, 256);
	assert_string_equal(query()->category[255], "ff");
	pl_plan_fini(&plan);
	taken("type = \"prefixes\", field = \"t\", bits = 16, values = [\"6162\"]");
	assert_int_equal(query()->categories, 1);
	pl_plan_fini(&plan);
	(void)parse(two, 2);
	assert_int_equal(plan.round[1].after, 1);
	assert_int_equal(plan.round[1].keep, 5);
	assert_int_equal(plan.round[1].query.categories, 80);
	assert_string_equal(plan.round[1].query.category[79], "04f");
	pl_plan_fini(&plan);
	refused("type = \"prefixes\", field = \"t\"", "missing 'bits'");
	refused("type = \"prefixes\", field = \"t\", bits = 6", "'bits' must be a multiple of 4");
	refused("type = \"prefixes\", field = \"t\", bits = 12", "missing 'values' or 'after'");
	refused("type = \"prefixes\", field = \"t\", bits = 8, keep = 3",
		"'keep' is for a round with 'after'");
	refused("type = \"prefixes\", field = \"t\", bits = 8, values = [\"abc\"]", "candidate 0 is not 2");
	refused("type = \"prefixes\", field = \"t\", bits = 8, after = \"q0\", keep = 3", "earlier round");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *const pair[] = { bad[i].before, bad[i].round };

		refused_last(pair, 2, bad[i].why);
	}
}

#define STATE   "type = \"histogram\", field = \"s\", values = [\"a\", \"High\"]"
#define CELSIUS "type = \"mean\", field = \"c\", range = [20, 30]"
#define PLACE   "type = \"vector\", fields = [\"x\", \"y\"], range = [0, 8]"
#define PAIRS                                                                           \
	"type = \"marginals\", columns = ({ field = \"a\", values = [\"y\", \"n\"] }, " \
	"{ field = \"b\", values = [\"y\", \"n\"] }), marginals = ([\"a\", \"b\"])"
#define SITE "type = \"prefixes\", field = \"t\", bits = 4"

/* What a round asks of devices without a reading, whether the plan says it or not. */
static void a_round_says_how_devices_without_a_reading_take_part(void **state)
{
	static const struct {
		const char *round;
		enum qy_none none;
		double value;
		uint32_t category;
	} rows[] = { { STATE, QY_NONE_SYMBOL, 0, 0 }, { STATE ", none = \"symbol\"", QY_NONE_SYMBOL, 0, 0 },
		{ STATE ", none = \"even\"", QY_NONE_EVEN, 0, 0 },
		{ STATE ", none = \"category:High\"", QY_NONE_VALUE, 0, 1 },
		{ STATE ", none = \"category:a\", protocol = \"olh\"", QY_NONE_VALUE, 0, 0 },
		{ CELSIUS ", protocol = \"duchi\"", QY_NONE_VALUE, 25, 0 },
		{ "type = \"mean\", field = \"c\", range = [0, 40], none = 37.0, protocol = \"duchi\"",
			QY_NONE_VALUE, 37, 0 },
		{ CELSIUS ", none = 20", QY_NONE_VALUE, 20, 0 },
		{ CELSIUS ", none = \"even\"", QY_NONE_EVEN, 0, 0 }, { PLACE, QY_NONE_VALUE, 4, 0 },
		{ PLACE ", none = 0", QY_NONE_VALUE, 0, 0 },
		{ PLACE ", none = \"even\"", QY_NONE_EVEN, 0, 0 }, { PAIRS, QY_NONE_SYMBOL, 0, 0 },
		{ PAIRS ", none = \"even\"", QY_NONE_EVEN, 0, 0 }, { SITE, QY_NONE_SYMBOL, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cm_err err = { 0 };

		(void)parse(&rows[i].round, 1);
		if (query()->none != rows[i].none || query()->none_value != rows[i].value ||
			query()->none_category != rows[i].category || qy_query_check(query(), &err) != CM_OK)
			fail_msg("%s: %s%s", rows[i].round, faults, err.msg);
		pl_plan_fini(&plan);
	}
}

static void what_a_round_cannot_make_of_them_is_a_fault(void **state)
{
	(void)state;
	refused(STATE ", none = \"High\"",
		"'none' must be \"symbol\", \"even\", a number, or \"category:TEXT\"");
	refused(STATE ", none = \"category:low\"", "'low' is no category of this round's 'values'");
	refused(STATE ", none = 1", "'none' of type \"histogram\" is no number");
	refused(STATE ", none = true", "string or finite number expected for 'none' in 'rounds.[1]'");
	refused(STATE ", none = [1]", "string or finite number expected for 'none' in 'rounds.[1]'");
	refused(CELSIUS ", none = 19.9", "none must be in the range, 20 to 30");
	refused(CELSIUS ", none = \"category:a\"", "'a' is no category of this round's 'values'");
	refused(CELSIUS ", protocol = \"duchi\", none = \"symbol\"",
		"protocol 'duchi' has no symbol for devices without a reading: none must be \"even\" or a "
		"number");
	refused(PLACE ", none = \"symbol\"", "no room for a symbol of none");
	refused(PAIRS ", none = 1", "'none' of type \"marginals\" is no number");
	refused(PAIRS ", none = \"category:y\"", "'y' is no category of this round's 'values'");
	refused(SITE ", none = \"even\"", "'none' is not for type \"prefixes\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_quantiles_are_of_a_number),
		cmocka_unit_test(a_vector_has_one_field_or_one_for_each_number),
		cmocka_unit_test(sets_have_items_and_a_size),
		cmocka_unit_test(places_have_two_axes),
		cmocka_unit_test(marginals_name_their_columns),
		cmocka_unit_test(ranges_have_a_grid),
		cmocka_unit_test(candidates_of_prefixes_may_be_texts),
		cmocka_unit_test(prefixes_have_candidates_or_follow_others),
		cmocka_unit_test(a_round_says_how_devices_without_a_reading_take_part),
		cmocka_unit_test(what_a_round_cannot_make_of_them_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
