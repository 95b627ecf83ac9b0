/* test_metrics.c - the registry, and its text as Prometheus reads it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_metrics.h"

enum { HITS, BY_COLOUR, TEMPERATURE, STATE, LATENCY, BUILD, ROWS };

static const char *const colours[] = { "red", "blue", NULL };
static const char *const states[] = { "up", "down", NULL };
static const char *const build[] = { "name", "version", NULL };
static const double bounds[] = { 0.5, 2, INFINITY };
static const struct cm_metric_row rows[ROWS] = {
	[HITS] = { "test_hits_total", CM_METRIC_COUNTER, "Hits.", NULL, NULL, NULL },
	[BY_COLOUR] = { "test_balls_total", CM_METRIC_COUNTER, "Balls.", "colour", colours, NULL },
	[TEMPERATURE] = { "test_temperature_celsius", CM_METRIC_GAUGE, "Warm?", NULL, NULL, NULL },
	[STATE] = { "test_state", CM_METRIC_GAUGE, "How it is.", "state", states, NULL },
	[LATENCY] = { "test_latency_seconds", CM_METRIC_HISTOGRAM, "How long.", NULL, NULL, bounds },
	[BUILD] = { "test_build_info", CM_METRIC_INFO, "Which.", NULL, build, NULL },
};

static struct cm_metrics *new_metrics(void)
{
	struct cm_metrics *m = cm_metrics_new(rows, ROWS);

	assert_non_null(m);
	return m;
}

/* Does the printed registry have this line, whole? */
static bool has_line(const struct cm_metrics *m, const char *line)
{
	struct cm_buf text;
	char *copy, *rest = NULL;
	bool found = false;

	cm_buf_init(&text, CM_METRICS_MAX);
	assert_int_equal(cm_metrics_print(m, &text), CM_OK);
	assert_int_equal(cm_buf_put(&text, "", 1), CM_OK);
	copy = (char *)text.data;
	for (char *l = strtok_r(copy, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
		found = found || strcmp(l, line) == 0;
	cm_buf_fini(&text);
	return found;
}

static bool has_word(const struct cm_metrics *m, const char *word)
{
	struct cm_buf text;
	bool found;

	cm_buf_init(&text, CM_METRICS_MAX);
	assert_int_equal(cm_metrics_print(m, &text), CM_OK);
	assert_int_equal(cm_buf_put(&text, "", 1), CM_OK);
	found = strstr((const char *)text.data, word);
	cm_buf_fini(&text);
	return found;
}

static void a_new_registry_has_zero_counters_and_no_gauges(void **state)
{
	struct cm_metrics *m = new_metrics();

	(void)state;
	assert_true(has_line(m, "# HELP test_hits_total Hits."));
	assert_true(has_line(m, "# TYPE test_hits_total counter"));
	assert_true(has_line(m, "test_hits_total 0"));
	assert_true(has_line(m, "test_balls_total{colour=\"red\"} 0"));
	assert_true(has_line(m, "test_balls_total{colour=\"blue\"} 0"));
	assert_true(has_line(m, "# TYPE test_temperature_celsius gauge"));
	assert_false(has_word(m, "\ntest_temperature_celsius "));
	assert_false(has_word(m, "\ntest_state{"));
	cm_metrics_free(m);
	cm_metrics_free(NULL);
}

static void values_are_printed_in_full(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 3, "3" }, { 1795317460, "1795317460" }, { 9007199254740993.0, "9007199254740992" },
		{ 0.1, "0.1" }, { 0.30000000000000004, "0.30000000000000004" }, { -2.5, "-2.5" },
		{ 1e-9, "1e-09" }, { INFINITY, "+Inf" }, { -INFINITY, "-Inf" } };
	struct cm_metrics *m = new_metrics();
	char line[80];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cm_metrics_set(m, TEMPERATURE, 0, cases[i].value);
		(void)snprintf(line, sizeof line, "test_temperature_celsius %s", cases[i].text);
		if (!has_line(m, line))
			fail_msg("no line '%s'", line);
	}
	cm_metrics_set(m, TEMPERATURE, 0, (double)NAN);
	assert_false(has_word(m, "\ntest_temperature_celsius "));
	cm_metrics_free(m);
}

static void series_are_counted_apart(void **state)
{
	struct cm_metrics *m = new_metrics();

	(void)state;
	cm_metrics_add(m, BY_COLOUR, 1, 2);
	cm_metrics_add(m, BY_COLOUR, 1, 3);
	cm_metrics_add(m, HITS, 0, 1);
	assert_true(has_line(m, "test_balls_total{colour=\"red\"} 0"));
	assert_true(has_line(m, "test_balls_total{colour=\"blue\"} 5"));
	assert_true(has_line(m, "test_hits_total 1"));
	assert_true(cm_metrics_get(m, BY_COLOUR, 1) == 5);
	cm_metrics_add(m, TEMPERATURE, 0, 4); /* from "not known" */
	assert_true(cm_metrics_get(m, TEMPERATURE, 0) == 4);
	cm_metrics_free(m);
}

static void a_choice_is_one_of_its_values(void **state)
{
	struct cm_metrics *m = new_metrics();

	(void)state;
	cm_metrics_choose(m, STATE, 0);
	assert_true(has_line(m, "test_state{state=\"up\"} 1"));
	assert_true(has_line(m, "test_state{state=\"down\"} 0"));
	cm_metrics_choose(m, STATE, 1);
	assert_true(has_line(m, "test_state{state=\"up\"} 0"));
	assert_true(has_line(m, "test_state{state=\"down\"} 1"));
	cm_metrics_free(m);
}

static void a_histogram_counts_up_to_each_bound(void **state)
{
	static const double seen[] = { 0.25, 0.5, 0.75, 2, 2.0001, 1e9 };
	struct cm_metrics *m = new_metrics();

	(void)state;
	assert_true(has_line(m, "test_latency_seconds_bucket{le=\"+Inf\"} 0"));
	assert_true(has_line(m, "test_latency_seconds_count 0"));
	for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
		cm_metrics_observe(m, LATENCY, seen[i]);
	assert_true(has_line(m, "# TYPE test_latency_seconds histogram"));
	assert_true(has_line(m, "test_latency_seconds_bucket{le=\"0.5\"} 2"));
	assert_true(has_line(m, "test_latency_seconds_bucket{le=\"2\"} 4"));
	assert_true(has_line(m, "test_latency_seconds_bucket{le=\"+Inf\"} 6"));
	assert_true(has_line(m, "test_latency_seconds_sum 1000000005.5001"));
	assert_true(has_line(m, "test_latency_seconds_count 6"));
	cm_metrics_free(m);
}

static void an_info_is_one_and_its_texts_are_escaped(void **state)
{
	struct cm_metrics *m = new_metrics();
	char longer[400];

	(void)state;
	cm_metrics_info(m, BUILD, 0, "a \"b\" \\ c\nd");
	cm_metrics_info(m, BUILD, 1, "1.0");
	assert_true(has_line(m, "# TYPE test_build_info gauge"));
	assert_true(has_line(m, "test_build_info{name=\"a \\\"b\\\" \\\\ c\\nd\",version=\"1.0\"} 1"));
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	cm_metrics_info(m, BUILD, 1, longer);
	longer[127] = '\0';
	assert_true(has_word(m, longer));
	assert_false(has_word(m, "xxxxxxxx\"} 1 "));
	longer[127] = 'x';
	longer[128] = '\0';
	assert_false(has_word(m, longer));
	cm_metrics_free(m);
}

static void a_buffer_that_is_too_small_is_said(void **state)
{
	struct cm_metrics *m = new_metrics();
	struct cm_buf text;

	(void)state;
	for (size_t max = 0; max < 600; max += 7) {
		cm_buf_init(&text, max);
		assert_int_equal(cm_metrics_print(m, &text), CM_EDATA);
		cm_buf_fini(&text);
	}
	cm_metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_registry_has_zero_counters_and_no_gauges),
		cmocka_unit_test(values_are_printed_in_full),
		cmocka_unit_test(series_are_counted_apart),
		cmocka_unit_test(a_choice_is_one_of_its_values),
		cmocka_unit_test(a_histogram_counts_up_to_each_bound),
		cmocka_unit_test(an_info_is_one_and_its_texts_are_escaped),
		cmocka_unit_test(a_buffer_that_is_too_small_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
