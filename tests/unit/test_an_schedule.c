/* test_an_schedule.c - rounds that recur in the analyzer's ledger files: when each may open, what was missed,
 * and one history. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_history.h"
#include "an_schedule.h"
#include "an_tables.h"
#include "cm_clock.h"

#define HOUR 3600000
#define DAY  (24 * (int64_t)HOUR)

/* Three recurrences from a day after WORLD_NOW (2023-11-14T22:13:20Z) on, and a round that is due at once;
 * the second begins when the plan is pinned. */
#define ROUND(name, epsilon0, more)                                                             \
	"{ query = \"" name                                                                     \
	"\", type = \"histogram\", protocol = \"grr\", field = \"Class\", epsilon0 = " epsilon0 \
	", min_reports = 20, target = 40, values = [\"a\", \"b\"], window = \"1h\", " more "}"
#define PLAN(more)                                                                                         \
	"name = \"test\"\npopulation = \"testers\"\nbudget = { epsilon = 40.0, delta = 1e-6 }\nrounds = "  \
	"(" ROUND("t", "2.0", "every = \"24h\", count = 3, start = \"2023-11-15T22:13:20Z\" ") ", " ROUND( \
		"now", "1.0", "") ", " ROUND("pinned", "1.0", "every = \"2h\", count = 2 ") more ")\n"
static const char plan[] = PLAN("");
static const char next_plan[] =
	"name = \"next\"\npopulation = \"testers\"\nbudget = { epsilon = 40.0, delta = 1e-6 }\n"
	"rounds = (" ROUND("t", "2.0", "every = \"24h\", count = 2, start = \"2023-12-01\" ") ")\n";

static struct world w;
static struct fake f;

static void make(const char *text)
{
	world_make_within(&w, text, 61, 100.0, 1e-5);
	f = (struct fake){ .world = &w, .participants = 30, .buckets = 2, .segment = 50 };
}

static void unmake(void)
{
	fake_free(&f);
	world_free(&w);
}

static void answer(uint32_t number)
{
	struct cm_err err = { 0 };

	if (world_decide(&w, number, &err) != CM_OK || world_drive(&w, &f, number, 10000, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void assert_due(int64_t now, const char *labels)
{
	char text[200] = "";

	for (size_t i = 0; i < w.files.plan.rounds; i++)
		if (an_round_due(&w.files.state.round[i], now))
			(void)strcat(strcat(text, w.files.plan.round[i].label), " ");
	assert_string_equal(text, labels);
}

static void assert_next(int64_t now, const char *label)
{
	const struct an_round_state *r = an_schedule_next(&w.files.state, now);

	assert_string_equal(r ? r->plan->label : "", label);
}

static void a_recurrence_may_open_until_the_next_one_is_to_open(void **state)
{
	const int64_t first = WORLD_NOW + DAY;

	(void)state;
	make(plan);
	assert_due(WORLD_NOW, "now pinned#1 ");
	assert_due(WORLD_NOW + 2 * HOUR - 1, "now pinned#1 ");
	assert_due(WORLD_NOW + 2 * HOUR, "now pinned#2 ");
	assert_due(WORLD_NOW + 4 * HOUR, "now ");
	assert_due(first - 1, "now ");
	assert_due(first, "t#1 now ");
	assert_due(first + DAY - 1, "t#1 now ");
	assert_due(first + DAY, "t#2 now ");
	assert_due(first + 3 * DAY, "now ");
	assert_next(WORLD_NOW, "pinned#2");
	assert_next(WORLD_NOW + 2 * HOUR, "t#1");
	assert_next(first, "t#2");
	assert_next(first + 2 * DAY, "");
	assert_int_equal(an_schedule_later(&w.files.state, WORLD_NOW), 4);
	assert_int_equal(an_schedule_missed(&w.files.state, first + 2 * DAY), 4);
	/* A clock that was wrong for a while has changed nothing. */
	assert_int_equal(an_schedule_missed(&w.files.state, WORLD_NOW), 0);
	assert_due(WORLD_NOW, "now pinned#1 ");
	unmake();
}

static void instants_count_from_the_pin_after_any_number_of_starts(void **state)
{
	(void)state;
	make(plan);
	assert_true(an_round_opens_ms(&w.files.state.round[4]) == WORLD_NOW);
	world_restart(&w);
	assert_true(an_round_opens_ms(&w.files.state.round[5 - 1]) == WORLD_NOW);
	assert_true(an_round_opens_ms(&w.files.state.round[6 - 1]) == WORLD_NOW + 2 * HOUR);
	assert_true(an_round_opens_ms(&w.files.state.round[0]) == WORLD_NOW + DAY);
	assert_true(an_round_opens_ms(&w.files.state.round[3]) == INT64_MIN);
	unmake();
}

static void what_was_answered_is_neither_due_nor_missed(void **state)
{
	(void)state;
	make(plan);
	answer(1);
	assert_due(WORLD_NOW + DAY, "now ");
	assert_int_equal(an_schedule_missed(&w.files.state, WORLD_NOW + 10 * DAY), 4);
	unmake();
}

static void recurrences_are_found_by_name_and_number_the_newest_by_name(void **state)
{
	const struct an_state *s = &w.files.state;

	(void)state;
	make(plan);
	assert_ptr_equal(an_state_query(s, "t"), &s->round[0]);
	assert_ptr_equal(an_state_query(s, "t#3"), &s->round[2]);
	assert_ptr_equal(an_state_query(s, "now"), &s->round[3]);
	assert_null(an_state_query(s, "now#1"));
	assert_null(an_state_query(s, "t#4"));
	assert_null(an_state_query(s, "t#0"));
	assert_null(an_state_query(s, "t#"));
	assert_null(an_state_query(s, "t#1x"));
	assert_null(an_state_query(s, "t#-1"));
	answer(2);
	assert_ptr_equal(an_state_query(s, "t"), &s->round[1]);
	answer(1); /* the newest is the last that was charged */
	assert_ptr_equal(an_state_query(s, "t"), &s->round[0]);
	unmake();
}

static char *history(int64_t since, int64_t now, enum an_history_form form)
{
	const struct an_history h = { .query = "t", .since_ms = since, .now_ms = now, .form = form };
	struct cm_err err = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (an_history_print(&w.files, &h, out, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(fclose(out), 0);
	return text;
}

static size_t lines_with(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* Two plans: of the first, rounds 1 and 2 are answered and 3 is missed; of the second, 1 is answered. */
static void a_history_goes_on_over_plans_and_shows_its_gaps(void **state)
{
	char *text;

	(void)state;
	make(plan);
	answer(1);
	answer(2);
	text = history(INT64_MIN, WORLD_NOW + 5 * DAY, AN_HISTORY_CSV);
	/* Three categories, one of them no reading's, and a gap. */
	assert_int_equal(lines_with(text, "\n"), 1 + 2 * 3 + 1);
	assert_int_equal(lines_with(text, "2023-11-14T22:13:20Z,1,1,1,settled,\"a\","), 1);
	assert_int_equal(lines_with(text, "2023-11-17T22:13:20Z,1,3,3,missed,,,,,,,,,,,,,,,,,,,,,\n"), 1);
	free(text);
	text = history(WORLD_NOW + 1, WORLD_NOW + 5 * DAY, AN_HISTORY_CSV);
	assert_int_equal(lines_with(text, "\n"), 2);
	free(text);
	world_replan(&w, next_plan);
	world_pin(&w);
	answer(1);
	text = history(INT64_MIN, WORLD_NOW, AN_HISTORY_JSON);
	assert_int_equal(lines_with(text, "\"schema\":\"tombola.result/1\""), 3);
	assert_int_equal(
		lines_with(text,
			"{\"plan\":1,\"round\":2,\"stage\":\"settled\",\"time\":\"2023-11-14T22:13:20Z\","
			"\"time_ms\":1700000000000,\"recurrence\":2,"),
		1);
	free(text);
	text = history(INT64_MIN, WORLD_NOW, AN_HISTORY_TABLE);
	assert_int_equal(lines_with(text, "t#1"), 2 * 2);
	assert_in_range(lines_with(text, "t#2"), 1, 2); /* counts below the noise are not shown */
	free(text);
	unmake();
}

static void an_answer_below_the_noise_is_said_to_be(void **state)
{
	char *text;

	(void)state;
	make("name = \"test\"\npopulation = \"testers\"\nbudget = { epsilon = 40.0, delta = 1e-6 }\n"
	     "rounds = (" ROUND("t", "0.01", "every = \"24h\", count = 2 ") ")\n");
	answer(1);
	text = history(INT64_MIN, WORLD_NOW, AN_HISTORY_TABLE);
	assert_int_equal(lines_with(text, "\n"), 2);
	assert_int_equal(lines_with(text, "below the noise floor"), 1);
	free(text);
	unmake();
}

static void a_query_that_nobody_asked_has_no_history(void **state)
{
	const struct an_history h = { .query = "none", .now_ms = WORLD_NOW };
	struct cm_err err = { 0 };

	(void)state;
	make(plan);
	assert_int_equal(an_history_print(&w.files, &h, stdout, &err), CM_EUSAGE);
	assert_string_equal(err.msg, "no plan has a query 'none' (round list shows them)");
	unmake();
}

/* Recurrences that did not fit are refused from the start, and one line says so. */
static void recurrences_that_do_not_fit_are_refused_together(void **state)
{
	static const char tight[] =
		"name = \"test\"\npopulation = \"testers\"\nbudget = { epsilon = 5.0, delta = 1e-6 }\n"
		"rounds = (" ROUND("t", "2.0", "every = \"24h\", count = 9 ") ")\n";
	const struct an_state *s = &w.files.state;
	size_t fit = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	char line[200];

	(void)state;
	assert_non_null(out);
	make(tight);
	while (s->round[fit].stage == AN_PLANNED)
		fit++;
	assert_true(fit > 1 && fit < 8);
	for (size_t i = fit; i < 9; i++) {
		assert_true(an_round_blocked(&s->round[i]));
		assert_int_equal(an_round_blocked_again(s, &s->round[i]), i > fit);
		assert_string_equal(s->round[i].reason, s->round[fit].reason);
	}
	an_schedule_print(s, WORLD_NOW, out);
	assert_int_equal(fclose(out), 0);
	(void)snprintf(line, sizeof line,
		"t recurs every 1d: %zu of 9 fit, 0 answered, 0 missed; t#2 opens at 2023-11-15T22:13:20Z\n",
		fit);
	assert_string_equal(text, line);
	free(text);
	unmake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recurrence_may_open_until_the_next_one_is_to_open),
		cmocka_unit_test(instants_count_from_the_pin_after_any_number_of_starts),
		cmocka_unit_test(what_was_answered_is_neither_due_nor_missed),
		cmocka_unit_test(recurrences_are_found_by_name_and_number_the_newest_by_name),
		cmocka_unit_test(a_history_goes_on_over_plans_and_shows_its_gaps),
		cmocka_unit_test(an_answer_below_the_noise_is_said_to_be),
		cmocka_unit_test(a_query_that_nobody_asked_has_no_history),
		cmocka_unit_test(recurrences_that_do_not_fit_are_refused_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
