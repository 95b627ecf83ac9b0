/* test_an_result.c - result documents: what they hold, that they are kept, and that tampering shows. */
#include "an_export.h"
#include "an_result_show.h"
#include "an_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_result.h"
#include "an_tables.h"

/* A settled first round of 30 participants. */
static void settle(struct world *w, struct fake *f)
{
	struct cm_err err = { 0 };

	world_make(w, world_plan, 31);
	*f = (struct fake){ .participants = 30, .buckets = 2, .segment = 50 };
	if (world_drive(w, f, 1, 100000, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void a_result_says_what_was_asked_charged_and_counted(void **state)
{
	struct world w;
	struct fake f;
	struct cm_err err = { 0 };
	json_t *doc = NULL;
	json_int_t sum = 0;
	size_t i;
	json_t *v;

	(void)state;
	settle(&w, &f);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_OK);
	assert_string_equal(json_string_value(json_object_get(doc, "schema")), "tombola.result/1");
	assert_string_equal(json_string_value(json_object_get(doc, "query")), "state");
	assert_int_equal(json_integer_value(json_object_get(doc, "participants")), 30);
	assert_int_equal(json_integer_value(json_object_get(doc, "reports")), 30);
	assert_true(json_real_value(json_object_get(doc, "epsilon_round")) ==
		    w.files.state.round[0].epsilon_round);
	assert_int_equal(json_array_size(json_object_get(doc, "items")), 3);
	assert_int_equal(json_array_size(json_object_get(doc, "no_reading")), 1);
	assert_string_equal(json_string_value(json_object_get(doc, "estimand")),
		"devices without a reading are counted apart");
	json_array_foreach(json_object_get(doc, "counts"), i, v) sum += json_integer_value(v);
	assert_int_equal(sum, 30); /* every message in one bin */
	v = json_object_get(doc, "liars");
	assert_int_equal(json_integer_value(json_object_get(v, "seen")), 0);
	assert_null(json_object_get(json_array_get(json_object_get(doc, "items"), 0), "honest_lower"));
	json_decref(doc);
	fake_free(&f);
	world_free(&w);
}

/* Counts of an unbiased k-ary estimate add up to the participants: sum over bins of (c - n q)/(p - q). */
static void estimates_of_a_histogram_add_up_to_the_participants(void **state)
{
	struct world w;
	struct fake f;
	struct cm_err err = { 0 };
	json_t *doc = NULL, *v;
	double sum = 0;
	size_t i;

	(void)state;
	settle(&w, &f);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_OK);
	json_array_foreach(json_object_get(doc, "items"), i, v) sum +=
		json_number_value(json_object_get(v, "value"));
	json_array_foreach(json_object_get(doc, "no_reading"), i, v) sum +=
		json_number_value(json_object_get(v, "value"));
	assert_true(fabs(sum - 30) < 1e-9);
	json_decref(doc);
	fake_free(&f);
	world_free(&w);
}

static void a_changed_result_is_not_shown(void **state)
{
	struct world w;
	struct fake f;
	struct cm_err err = { 0 };
	json_t *doc = NULL;
	uint8_t *bytes;
	char *path;
	size_t n;

	(void)state;
	settle(&w, &f);
	bytes = world_file(&w, "results/round-0001.json", &n);
	*strchr((char *)bytes, '3') = '4';
	world_write(&w, "results/round-0001.json", bytes, n);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_EDATA);
	path = an_result_path(w.dir, &w.files.state.round[0]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_ENOINPUT);
	free(path);
	free(bytes);
	fake_free(&f);
	world_free(&w);
}

static void a_round_that_is_not_settled_has_no_result(void **state)
{
	struct world w;
	struct fake f;
	struct cm_err err = { 0 };
	json_t *doc = NULL;

	(void)state;
	settle(&w, &f);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[1], &doc, &err), CM_ENOINPUT);
	assert_non_null(strstr(err.msg, "round 2 (level) is planned"));
	fake_free(&f);
	world_free(&w);
}

/* All 30 messages unreadable: the round ends, with a result that says so instead of an estimate. */
static void a_batch_without_a_valid_report_still_ends(void **state)
{
	struct world w;
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50, .bad = 30 };
	struct cm_err err = { 0 };
	json_t *doc = NULL;

	(void)state;
	world_make(&w, world_plan, 32);
	if (world_drive(&w, &f, 1, 100000, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_OK);
	assert_int_equal(json_array_size(json_object_get(doc, "items")), 0);
	assert_string_equal(json_string_value(json_object_get(doc, "fault")), "no valid report");
	assert_non_null(json_object_get(doc, "warning"));
	json_decref(doc);
	fake_free(&f);
	world_free(&w);
}

/* Three of 30 devices send what no client sends: the other 27 are those of whom something is known. */
static void bad_messages_make_the_intervals_those_of_the_honest_devices(void **state)
{
	struct world w;
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50, .bad = 3 };
	struct cm_err err = { 0 };
	json_t *doc = NULL, *v, *liars;
	size_t i;

	(void)state;
	world_make(&w, world_plan, 33);
	if (world_drive(&w, &f, 1, 100000, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(an_result_load(w.dir, &w.files.state.round[0], &doc, &err), CM_OK);
	liars = json_object_get(doc, "liars");
	assert_int_equal(json_integer_value(json_object_get(liars, "m")), 0);
	assert_string_equal(json_string_value(json_object_get(liars, "from")), "plan");
	assert_int_equal(json_integer_value(json_object_get(liars, "seen")), 3);
	/* nothing of what was counted can be the liars' */
	json_array_foreach(json_object_get(doc, "items"), i, v)
	{
		assert_non_null(json_object_get(v, "honest_lower"));
		assert_true(json_real_value(json_object_get(v, "honest_lower")) ==
			    json_real_value(json_object_get(v, "lower")));
		assert_true(json_real_value(json_object_get(v, "liar_up")) == 0);
	}
	json_decref(doc);
	fake_free(&f);
	world_free(&w);
}

/* A category may have the same label as the count of devices without a reading. */
static void csv_quotes_labels_and_has_a_row_per_item(void **state)
{
	json_t *doc = json_pack(
		"{s:s, s:i, s:s, s:[{s:s, s:f, s:f, s:s, s:b, s:f, s:i}, {s:s, s:f}], s:[{s:s, s:f, s:b}]}",
		"query", "q", "round", 1, "type", "histogram", "items", "label", "a \"b\",c", "value", 1.5,
		"lower", 0.25, "upper", "inf", "below_noise", 1, "honest_lower", -3.5, "holds_to", -1,
		"label", QY_NONE_LABEL, "value", 5.0, "no_reading", "label", QY_NONE_LABEL, "value", 7.0,
		"below_noise", 0);
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_non_null(f);
	an_result_csv(doc, f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text,
		"label,value,variance,lower,upper,joint_lower,joint_upper,projected,below_noise,no_reading,x,y,"
		"width,height,honest_lower,honest_upper,honest_joint_lower,honest_joint_upper,liar_up,"
		"liar_down,holds_to\n"
		"\"a \"\"b\"\",c\",1.5,,0.25,inf,,,,1,0,,,,,-3.5,,,,,,-1\n"
		"\"(no reading)\",5,,,,,,,0,0,,,,,,,,,,,\n"
		"\"(no reading)\",7,,,,,,,0,1,,,,,,,,,,,\n");
	free(text);
	json_decref(doc);
}

/* A leaf of ranges has two ends, and a cell of places has four. */
static void csv_says_where_a_place_is_and_nothing_of_others(void **state)
{
	json_t *doc = json_pack("{s:s, s:[{s:s, s:f, s:f, s:f, s:f, s:f}, {s:s, s:f, s:f, s:f}], s:[]}",
		"query", "q", "items", "label", "[10, 11) x [-3, -1)", "value", 2.0, "low", 10.0, "high",
		11.0, "low_2", -3.0, "high_2", -1.0, "label", "[0, 1)", "value", 3.0, "low", 0.0, "high", 1.0,
		"no_reading");
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_non_null(f);
	an_result_csv_rows(doc, "", f);
	an_result_csv_rows(NULL, "a,b", f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "\"[10, 11) x [-3, -1)\",2,,,,,,,0,0,10.5,-2,1,2,,,,,,,\n"
				  "\"[0, 1)\",3,,,,,,,0,0,,,,,,,,,,,\n"
				  "a,b,,,,,,,,,,,,,,,,,,,,\n");
	free(text);
	json_decref(doc);
}

static void numbers_json_lacks_are_written_as_words(void **state)
{
	static const struct {
		double v;
		const char *word;
	} row[] = { { INFINITY, "inf" }, { -INFINITY, "-inf" }, { NAN, "nan" } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		json_t *j = an_json_real(row[i].v);

		assert_string_equal(json_string_value(j), row[i].word);
		json_decref(j);
	}
}

static char *export(const struct world *w)
{
	struct cm_err err = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	assert_int_equal(an_ledger_export(&w->files, f, &err), CM_OK);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* An auditor with the exported cells alone gets the total the ledger recorded. */
static void an_export_lets_an_auditor_compute_the_total_again(void **state)
{
	struct world w;
	struct fake f;
	struct acct_bound total;
	struct acct_round cells = { 0 };
	char *text, *line, *rest = NULL;
	size_t lines = 0;

	(void)state;
	settle(&w, &f);
	text = export(&w);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
		json_t *doc = json_loads(line, JSON_REJECT_DUPLICATES, NULL), *account, *c;
		size_t i;

		assert_non_null(doc);
		account = json_array_get(json_object_get(json_object_get(doc, "account"), "parts"), 0);
		if (strcmp(json_string_value(json_object_get(doc, "kind")), "charge") == 0) {
			json_array_foreach(json_object_get(account, "cells"), i, c)
			{
				cells.cell[i].omega = json_number_value(json_object_get(c, "omega"));
				cells.cell[i].u = json_number_value(json_object_get(c, "u"));
				cells.cell[i].v = json_number_value(json_object_get(c, "v"));
			}
			cells.cells = json_array_size(json_object_get(account, "cells"));
			cells.others = (uint64_t)json_integer_value(json_object_get(account, "n")) - 1;
			cells.dummies = (uint64_t)json_integer_value(json_object_get(account, "dummies"));
			cells.count = (uint64_t)json_integer_value(json_object_get(account, "count"));
		}
		json_decref(doc);
	}
	assert_int_equal(lines, 7); /* open, plan and its two entries, reserve, charge, settle */
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &total), ACCT_OK);
	assert_true(total.upper == w.files.state.round[0].epsilon_total);
	free(text);
	fake_free(&f);
	world_free(&w);
}

static void the_table_of_rounds_has_a_row_per_round(void **state)
{
	struct world w;
	struct fake f;
	struct cm_err err = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *out;

	(void)state;
	settle(&w, &f);
	assert_int_equal(world_drive(&w, &f, 3, 100000, &err), CM_EBUDGET);
	out = open_memstream(&text, &n);
	assert_non_null(out);
	an_rounds_print(&w.files, WORLD_NOW, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(
		strstr(text, "plan test  budget epsilon 8.000 at delta 1e-06, unit device, 3 rounds"));
	assert_non_null(strstr(text, "state"));
	assert_non_null(strstr(text, "planned"));
	assert_non_null(strstr(text, "REFUSED"));
	assert_non_null(strstr(text, "upper bounds"));
	free(text);
	fake_free(&f);
	world_free(&w);
}

/* n items "i0", "i1", ..., of values that rise; every fourth of them below the noise when they are counts. */
static json_t *long_result(const char *type, int n)
{
	json_t *items = json_array();
	bool counts = strcmp(type, "marginals") == 0;

	for (int i = 0; i < n; i++) {
		char label[16];

		(void)snprintf(label, sizeof label, "i%d", i);
		assert_int_equal(
			json_array_append_new(items,
				json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:b}", "label", label, "value",
					(double)i, "lower", i - 1.0, "upper", i + 1.0, "joint_lower", i - 2.0,
					"joint_upper", i + 2.0, "below_noise", counts && i % 4 == 0)),
			0);
	}
	return json_pack("{s:s, s:i, s:s, s:f, s:o, s:i, s:i}", "query", "q", "round", 1, "type", type,
		"noise_floor", 1234.0, "items", items, "reports", 1999, "participants", 2000);
}

static char *printed(const char *type, int n, bool all)
{
	json_t *doc = long_result(type, n);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	an_result_print(doc, all, f);
	assert_int_equal(fclose(f), 0);
	json_decref(doc);
	return text;
}

static void a_long_list_is_cut_and_says_so(void **state)
{
	char *text = printed("marginals", 400, false);

	(void)state;
	/* 300 are above the noise: the 40 largest of them. */
	assert_non_null(strstr(text, "\ni399 "));
	assert_non_null(strstr(text, "  the largest 40 of 300; estimate q --all shows them"));
	assert_null(strstr(text, "\ni345 "));
	assert_non_null(strstr(text, "\n  i0, i4, i8,"));
	assert_non_null(strstr(text, "i76 and 80 more: below the noise floor (1,234)"));
	free(text);
	text = printed("marginals", 400, true);
	assert_non_null(strstr(text, "\ni345 "));
	assert_null(strstr(text, "more"));
	assert_null(strstr(text, "largest"));
	free(text);
	text = printed("vector", 784, false);
	assert_non_null(strstr(text, "\ni0 "));
	assert_non_null(strstr(text, "\ni39 "));
	assert_null(strstr(text, "\ni40 "));
	assert_non_null(strstr(text, "  the first 40 of 784;"));
	assert_null(strstr(text, "below"));
	free(text);
	text = printed("vector", 40, false);
	assert_null(strstr(text, "first"));
	free(text);
}

/* A result with two counts, of which liars can have made the second one up. */
static void a_table_says_what_liars_can_have_done(void **state)
{
	json_t *doc = json_pack(
		"{s:s, s:i, s:s, s:f, s:i, s:{s:i, s:s, s:i}, s:[{s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:f}, {s:s, "
		"s:f, s:f, s:f, s:f, s:f, s:i, s:f}]}",
		"query", "q", "round", 1, "type", "histogram", "noise_floor", 5.0, "participants", 2000,
		"liars", "m", 5, "from", "plan", "seen", 10, "items", "label", "a", "value", 1500.0,
		"joint_lower", 1450.0, "joint_upper", 1550.0, "honest_joint_lower", 1430.0,
		"honest_joint_upper", 2010.0, "holds_to", 1234, "honest_lower", 1435.0, "label", "b", "value",
		9.0, "joint_lower", 1.0, "joint_upper", 17.0, "honest_joint_lower", -10.0,
		"honest_joint_upper", 17.5, "holds_to", 1, "honest_lower", -9.0);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(doc);
	an_result_print(doc, false, f);
	assert_int_equal(fclose(f), 0);
	/* no count is below 0, or above the honest devices' number */
	assert_string_equal(text,
		"q (round 1)  estimate  95% interval (joint)  honest, if 10 lie  holds up to\n"
		"a               1,500                  +-50     1,430 to 1,990  1,234 liars\n"
		"b                   9                   +-8            0 to 18       1 liar\n"
		"  holds up to: so many devices may lie, and the honest ones' answer is still above 0\n"
		"  at least 10 devices lied: wrong totals of slots, or messages that no client sends\n"
		"  that is more than the 5 that the plan allows for; the intervals are for 10\n");
	free(text);
	json_decref(doc);
}

static void a_sum_says_whose_it_is(void **state)
{
	char *text = printed("sum", 1, false);

	(void)state;
	assert_non_null(strstr(text, "\nsum "));
	assert_non_null(strstr(text, "+-1"));
	assert_non_null(strstr(text, "  the sum of the 1,999 valid reports; 2,000 took part\n"));
	free(text);
	text = printed("mean", 1, false);
	assert_non_null(strstr(text, "\nmean "));
	assert_null(strstr(text, "took part"));
	free(text);
}

/* It is possible that nobody has a reading: then there is no mean, and the range is not printed as an
 * interval around one. */
static void a_mean_of_nobody_is_undefined(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *result = json_pack("{s:s, s:i, s:s, s:[{s:s, s:s, s:f, s:f, s:f, s:f}], s:[]}", "query",
		"warmth", "round", 1, "type", "mean", "items", "label", "warmth", "value", "nan", "lower",
		-10.0, "upper", 30.0, "joint_lower", -10.0, "joint_upper", 30.0, "no_reading");

	(void)state;
	assert_non_null(result);
	an_result_print(result, false, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "undefined"));
	assert_non_null(strstr(text, "-10 to 30"));
	assert_null(strstr(text, "+-"));
	free(text);
	json_decref(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_says_what_was_asked_charged_and_counted),
		cmocka_unit_test(estimates_of_a_histogram_add_up_to_the_participants),
		cmocka_unit_test(a_changed_result_is_not_shown),
		cmocka_unit_test(a_round_that_is_not_settled_has_no_result),
		cmocka_unit_test(a_batch_without_a_valid_report_still_ends),
		cmocka_unit_test(bad_messages_make_the_intervals_those_of_the_honest_devices),
		cmocka_unit_test(csv_quotes_labels_and_has_a_row_per_item),
		cmocka_unit_test(csv_says_where_a_place_is_and_nothing_of_others),
		cmocka_unit_test(numbers_json_lacks_are_written_as_words),
		cmocka_unit_test(an_export_lets_an_auditor_compute_the_total_again),
		cmocka_unit_test(the_table_of_rounds_has_a_row_per_round),
		cmocka_unit_test(a_long_list_is_cut_and_says_so),
		cmocka_unit_test(a_table_says_what_liars_can_have_done),
		cmocka_unit_test(a_sum_says_whose_it_is),
		cmocka_unit_test(a_mean_of_nobody_is_undefined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
