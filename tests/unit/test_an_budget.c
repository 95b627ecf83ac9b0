/* test_an_budget.c - what fits the budget, what does not, and how it is explained. */
#include "an_export.h"
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "an_budget.h"
#include "an_tables.h"

#define PLAN(limit)                                                                                     \
	"name = \"test\"\npopulation = \"testers\"\n"                                                   \
	"budget = { epsilon = " limit ", delta = 1e-6 }\nrounds = (\n" ROUND("one", "4.0") ",\n" ROUND( \
		"two", "4.0") ",\n" ROUND("three", "6.0") ",\n" ROUND("four", "1.0") ")\n"
#define ROUND(name, eps)                                                                                   \
	"{ query = \"" name "\", type = \"histogram\", protocol = \"grr\", field = \"C\", epsilon0 = " eps \
	",\n"                                                                                              \
	"  min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"

static enum cm_rc decide(struct world *w, uint32_t number)
{
	struct cm_err err = { 0 };

	return world_decide(w, number, &err);
}

static double total_of(const struct world *w, uint32_t number)
{
	return w->files.state.round[number - 1].epsilon_total;
}

static void the_first_round_spends_what_it_costs_alone(void **state)
{
	struct world w;
	struct cm_err err = { 0 };
	struct pt_loss loss;
	struct acct_bound want;

	(void)state;
	world_make(&w, PLAN("1.0"), 1);
	assert_true(an_budget_answered(&w.files.state) == 0);
	assert_true(w.files.state.slices.epsilon == 1); /* spent whole, though nothing ran */
	assert_int_equal(decide(&w, 1), CM_OK);
	assert_int_equal(pl_round_loss(&w.files.plan, &w.files.plan.round[0], &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-6, &want), ACCT_OK);
	assert_true(total_of(&w, 1) >= want.lower && total_of(&w, 1) <= want.upper);
	assert_true(an_budget_answered(&w.files.state) == total_of(&w, 1));
	world_free(&w);
}

static void a_round_over_the_limit_is_refused_and_a_later_one_still_fits(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, PLAN("0.5"), 2);
	assert_int_equal(decide(&w, 1), CM_OK);
	assert_int_equal(decide(&w, 2), CM_OK);
	assert_int_equal(decide(&w, 3), CM_EBUDGET);
	assert_int_equal(w.files.state.round[2].stage, AN_REFUSED);
	assert_null(w.files.state.round[2].entry);
	assert_true(w.files.state.round[2].epsilon_total > 0.5);
	assert_int_equal(decide(&w, 4), CM_OK); /* a smaller one still fits */
	assert_true(total_of(&w, 4) > total_of(&w, 2) && total_of(&w, 4) < 0.5);
	assert_true(an_budget_answered(&w.files.state) == total_of(&w, 4));
	world_free(&w);
}

/* The limit is the exact upper bound of one round: equality refuses, one part in a million more fits. */
static void equality_refuses(void **state)
{
	struct world w;
	char plan[2000];
	double exact;

	(void)state;
	world_make(&w, PLAN("1.0"), 3);
	assert_int_equal(decide(&w, 1), CM_OK);
	exact = total_of(&w, 1);
	world_free(&w);
	for (int fits = 0; fits <= 1; fits++) {
		(void)snprintf(plan, sizeof plan,
			"name = \"test\"\npopulation = \"testers\"\nbudget = { epsilon = %.17g, delta = 1e-6 "
			"}\n"
			"rounds = (" ROUND("one", "4.0") ")\n",
			fits ? exact * 1.000001 : exact);
		world_make(&w, plan, 3);
		assert_int_equal(decide(&w, 1), fits ? CM_OK : CM_EBUDGET);
		world_free(&w);
	}
}

static void a_reservation_counts_before_it_is_charged(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, PLAN("1.0"), 4);
	assert_int_equal(decide(&w, 1), CM_OK);
	assert_int_equal(w.files.state.round[0].stage, AN_RESERVED);
	assert_int_equal(decide(&w, 2), CM_OK);
	assert_true(total_of(&w, 2) > total_of(&w, 1));
	world_free(&w);
}

/* Neither an answer nor a void round changes what later rounds cost or whether they run. */
static void neither_void_nor_left_out_makes_room(void **state)
{
	struct world w;
	struct rd_record r = { .kind = RD_VOID, .participants = 3 };
	struct cm_err err = { 0 };
	struct rd_verdict v;
	double before[5];

	(void)state;
	world_make(&w, PLAN("0.5"), 5);
	for (uint32_t i = 1; i <= 4; i++)
		before[i] = total_of(&w, i);
	assert_int_equal(decide(&w, 1), CM_OK);
	memcpy(r.round_id, w.files.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN);
	memset(r.manifest_hash, 1, sizeof r.manifest_hash);
	strcpy(r.reason, "few");
	assert_int_equal(an_ledger_files_append(&w.files, &r, WORLD_NOW, &err), CM_OK);
	assert_int_equal(an_budget_decide(&w.files.state, &w.files.state.round[1], &v, &err), CM_OK);
	assert_int_equal(
		an_ledger_files_decide(&w.files, &w.files.state.round[1],
			&(struct an_decision){ .verdict = &v, .refusal = AN_NOTHING_TO_EXTEND ": nobody" },
			&w.rng, WORLD_NOW, &err),
		CM_OK);
	assert_true(an_round_left_out(&w.files.state.round[1]));
	assert_true(an_round_holds(&w.files.state.round[1]));
	world_restart(&w);
	assert_true(an_round_left_out(&w.files.state.round[1]));
	assert_int_equal(decide(&w, 3), CM_EBUDGET);
	assert_int_equal(decide(&w, 4), CM_OK);
	for (uint32_t i = 1; i <= 4; i++)
		assert_true(total_of(&w, i) == before[i] || i == 2);
	assert_true(w.files.state.slices.epsilon == 0.5);
	world_free(&w);
}

static void an_explanation_names_the_spenders_and_what_would_fit(void **state)
{
	struct world w;
	struct an_explanation e;
	struct cm_err err = { 0 };
	char *text = NULL, words[120];
	size_t n = 0;
	FILE *f;

	(void)state;
	world_make(&w, PLAN("0.5"), 6);
	assert_int_equal(decide(&w, 1), CM_OK);
	assert_int_equal(decide(&w, 2), CM_OK);
	assert_int_equal(decide(&w, 3), CM_EBUDGET);
	assert_int_equal(decide(&w, 4), CM_OK);
	assert_int_equal(an_budget_explain(&w.files.state, &w.files.state.round[2], &e, &err), CM_OK);
	assert_false(e.verdict.fits);
	/* It is judged beside the entries before it, not those after. */
	assert_true(e.verdict.total == w.files.state.round[2].epsilon_total);
	/* It has the numbers of the signed plan, as tables show them. */
	assert_true(e.verdict.left == 0.5 - w.files.state.round[1].epsilon_total);
	an_budget_words(&e.verdict, words, sizeof words);
	assert_string_equal(words, w.files.state.round[2].reason);
	assert_true(e.largest_epsilon0 > 0 && e.largest_epsilon0 < 6.0);
	f = open_memstream(&text, &n);
	assert_non_null(f);
	an_explanation_print(&w.files.state, &e, f);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "round 3 (three) refused: it needs epsilon "));
	assert_non_null(strstr(text, "above the plan's 0.5000 at delta 1e-06"));
	assert_non_null(strstr(text, "round 1 (one)"));
	assert_non_null(strstr(text, "round 2 (two)"));
	assert_null(strstr(text, "round 4"));
	assert_non_null(strstr(text, "it is not in the signed plan: no device will be asked"));
	assert_non_null(strstr(text, "that needs a new plan"));
	free(text);
	world_free(&w);
}

/* ---- rounds whose loss has several parts ---- */

#define DIGITS(name, eps)                                                                                \
	"{ query = \"" name "\", type = \"mean\", protocol = \"digits\", field = \"C\", epsilon0 = " eps \
	",\n"                                                                                            \
	"  range = [0.0, 100.0], levels = 16, min_reports = 20000 }"
#define PARTS(limit)                                                                                      \
	"name = \"test\"\npopulation = \"testers\"\n"                                                     \
	"budget = { epsilon = " limit ", delta = 1e-6 }\nrounds = (\n" DIGITS("one", "1.0") ",\n" DIGITS( \
		"two", "2.0") ",\n" DIGITS("three", "4.0") ")\n"

/* The first n planned rounds composed. */
static struct acct_bound composed(const struct world *w, size_t n)
{
	static struct acct_round all[3 * PT_PARTS_MAX];
	struct cm_err err = { 0 };
	struct acct_bound b;
	size_t parts = 0;

	for (size_t i = 0; i < n; i++) {
		struct pt_loss loss;

		assert_int_equal(pl_round_loss(&w->files.plan, &w->files.plan.round[i], &loss, &err), CM_OK);
		assert_int_equal(loss.parts, 4);
		for (size_t k = 0; k < loss.parts; k++)
			all[parts++] = loss.part[k];
	}
	assert_int_equal(acct_epsilon(all, parts, 1e-6, &b), ACCT_OK);
	return b;
}

static void every_part_of_a_round_is_charged(void **state)
{
	struct world w;
	struct cm_err err = { 0 };
	struct an_explanation e;

	(void)state;
	world_make(&w, PARTS("0.25"), 7);
	for (uint32_t i = 1; i <= 2; i++) {
		struct acct_bound want = composed(&w, i);

		assert_int_equal(decide(&w, i), CM_OK);
		assert_true(total_of(&w, i) >= want.lower && total_of(&w, i) <= want.upper * 1.001);
	}
	assert_int_equal(decide(&w, 3), CM_EBUDGET);
	assert_int_equal(an_budget_explain(&w.files.state, &w.files.state.round[2], &e, &err), CM_OK);
	assert_true(e.verdict.total >= composed(&w, 3).lower && e.largest_epsilon0 > 0.5 &&
		    e.largest_epsilon0 < 4);
	world_free(&w);
}

/* The text of every part gives the part, to the bit. */
static void an_export_has_every_part(void **state)
{
	struct world w;
	struct cm_err err = { 0 };
	struct pt_loss loss;
	char *text = NULL;
	size_t n = 0, i;
	FILE *f = open_memstream(&text, &n);
	json_t *record, *part;

	(void)state;
	assert_non_null(f);
	world_make(&w, PARTS("1.0"), 8);
	assert_int_equal(decide(&w, 1), CM_OK);
	assert_int_equal(an_ledger_export(&w.files, f, &err), CM_OK);
	assert_int_equal(fclose(f), 0);
	/* After OPEN and PLAN comes its first entry. */
	record = json_loads(strchr(strchr(text, '\n') + 1, '\n') + 1, JSON_DISABLE_EOF_CHECK, NULL);
	assert_string_equal(json_string_value(json_object_get(record, "kind")), "entry");
	assert_string_equal(json_string_value(json_object_get(record, "schema")), "tombola.ledger/3");
	assert_int_equal(json_array_size(json_object_get(record, "slots")), 4);
	assert_int_equal(pl_round_loss(&w.files.plan, &w.files.plan.round[0], &loss, &err), CM_OK);
	json_t *parts = json_object_get(json_object_get(record, "account"), "parts");

	assert_int_equal(json_array_size(parts), 4);
	json_array_foreach(parts, i, part)
	{
		struct acct_spec spec;
		char why[160];

		assert_int_equal(acct_spec_parse(json_string_value(json_object_get(part, "spec")), &spec, why,
					 sizeof why),
			ACCT_OK);
		assert_true(acct_round_equal(&spec.round, &loss.part[i]) &&
			    spec.round.count == loss.part[i].count);
	}
	json_decref(record);
	free(text);
	world_free(&w);
}

static void people_see_needs_rounded_up_and_rests_rounded_down(void **state)
{
	(void)state;
	assert_true(an_round_up(0.26760001) == 0.2677);
	assert_true(an_round_down(0.73239999) == 0.7323);
	assert_true(an_round_up(0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_round_spends_what_it_costs_alone),
		cmocka_unit_test(a_round_over_the_limit_is_refused_and_a_later_one_still_fits),
		cmocka_unit_test(equality_refuses),
		cmocka_unit_test(a_reservation_counts_before_it_is_charged),
		cmocka_unit_test(neither_void_nor_left_out_makes_room),
		cmocka_unit_test(an_explanation_names_the_spenders_and_what_would_fit),
		cmocka_unit_test(every_part_of_a_round_is_charged),
		cmocka_unit_test(an_export_has_every_part),
		cmocka_unit_test(people_see_needs_rounded_up_and_rests_rounded_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
