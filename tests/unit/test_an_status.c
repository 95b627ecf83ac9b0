/* test_an_status.c - the state in words: every state has its own, and says no more than the analyzer may
 * know. */
#include "an_world.h"

#include <string.h>

#include "an_status.h"

static const struct an_dashboard nothing_yet;

/* An idle analyzer without faults; each test changes what it is about. */
static struct an_status status_of(const struct world *w)
{
	struct an_status s = { .state = &w->files.state,
		.doing = AN_IDLE,
		.now_ms = WORLD_NOW,
		.started_ms = WORLD_NOW - 1000,
		.shuffler = { .connected = true, .away = "" },
		.ledger = { .chain = an_ledger_chain(w->files.ledger), .fault = "" },
		.view = &nothing_yet,
		.certificate = {
			.known = true, .not_after = WORLD_NOW / 1000 + 3 * 86400 - 1, .fault = "" } };

	return s;
}

static void assert_says(const struct an_status *s, const char *code, const char *words)
{
	char text[700];

	an_status_words(s, text, sizeof text);
	assert_string_equal(text, words);
	assert_string_equal(an_status_code(s), code);
}

static void a_round_under_way_is_said_step_by_step(void **state)
{
	struct cm_err err = { 0 };
	struct an_status s;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 51);
	s = status_of(&w);
	s.doing = AN_JUDGING;
	assert_says(&s, "running", "running");
	s.round = &w.files.state.round[0];
	assert_says(&s, "running", "running: judging whether the budget has room for round 1 (state)");
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	s.doing = AN_ANNOUNCING;
	assert_says(&s, "running", "running: announcing round 1 (state)");
	s.doing = AN_OPENING;
	assert_says(&s, "running", "running: opening the reports of round 1 (state)");
	s.doing = AN_CLOSING;
	assert_says(&s, "running", "running: writing down round 1 (state)");
	s.shuffler.connected = false;
	assert_says(&s, "running", "running: connecting to the shuffler for round 1 (state)");
	s.stopping = true;
	assert_says(&s, "stopping", "stopping");
	world_free(&w);
}

/* It gives the minimum and the deadline, which the analyzer set, and not how many came. */
static void waiting_says_what_the_analyzer_set(void **state)
{
	struct cm_err err = { 0 };
	struct an_status s;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 52);
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	s = status_of(&w);
	s.doing = AN_AWAITING;
	s.round = &w.files.state.round[0];
	w.files.state.round[0].descriptor.min_reports = 50000;
	w.files.state.round[0].descriptor.target = 58000;
	w.files.state.round[0].descriptor.deadline_ms =
		WORLD_NOW + 60000; /* 2023-11-14 22:13:20 and a minute */
	assert_says(&s, "waiting",
		"waiting for reports of round 1 (state): it needs 50,000 and closes at 58,000 or at 22:14:20 "
		"UTC");
	w.files.state.round[0].descriptor.target = PR_ROUND_REPORTS_MAX;
	w.files.state.round[0].descriptor.deadline_ms = WORLD_NOW + 86400000;
	assert_says(&s, "waiting",
		"waiting for reports of round 1 (state): it needs 50,000 and closes at 2023-11-15 22:13:20 "
		"UTC");
	world_free(&w);
}

static void a_shuffler_that_is_away_is_said_with_the_reason(void **state)
{
	struct cm_err err = { 0 };
	struct an_status s;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 53);
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	s = status_of(&w);
	s.doing = AN_AWAITING;
	s.round = &w.files.state.round[0];
	s.shuffler.connected = false;
	s.shuffler.away = "connection refused";
	assert_says(
		&s, "unreachable", "shuffler unreachable, round 1 (state) waits for it: connection refused");
	/* Nobody waits for the shuffler while the budget is judged, or when the plan is finished. */
	s.doing = AN_JUDGING;
	assert_string_equal(an_status_code(&s), "running");
	s.doing = AN_IDLE;
	s.round = NULL;
	assert_string_equal(an_status_code(&s), "refused");
	world_free(&w);
}

static void the_end_says_what_was_charged_refused_and_void(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct rd_record r = { .kind = RD_VOID, .reason = "nobody came" };
	struct cm_err err = { 0 };
	struct an_status s;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 54);
	s = status_of(&w);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	s.state = &w.files.state;
	assert_says(&s, "refused",
		"the budget blocks round 3 (again); the plan is through: 1 of 3 rounds charged");
	assert_int_equal(world_decide(&w, 2, &err), CM_OK);
	memcpy(r.round_id, w.files.state.round[1].descriptor.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(an_ledger_files_append(&w.files, &r, WORLD_NOW, &err), CM_OK);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	assert_says(&s, "refused",
		"the budget blocks round 3 (again); the plan is through: 1 of 3 rounds charged, 1 void");
	w.files.state.round[1].stage = AN_WAITING;
	assert_says(&s, "refused",
		"the budget blocks round 3 (again); the plan is through: 1 of "
		"3 rounds charged, 1 waiting for another try");
	w.files.state.round[1].stage = AN_REFUSED;
	assert_says(&s, "refused",
		"the budget blocks round 3 (again) and 1 round before it; the plan is through: 1 of 3 rounds "
		"charged");
	for (size_t i = 1; i < 3; i++)
		(void)snprintf(w.files.state.round[i].reason, sizeof w.files.state.round[i].reason,
			AN_NOTHING_TO_EXTEND ": nobody");
	assert_says(&s, "done", "the plan is through: 1 of 3 rounds charged, 2 left out");
	fake_free(&f);
	world_free(&w);
}

static void a_ledger_fault_comes_before_all_else(void **state)
{
	struct an_status s;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 55);
	s = status_of(&w);
	s.ledger.fault = "analyzer/ledger at byte 41: damaged";
	assert_says(&s, "fault", "ledger fault: analyzer/ledger at byte 41: damaged");
	world_free(&w);
}

static const json_t *at(const json_t *doc, const char *group, const char *key)
{
	return json_object_get(json_object_get(doc, group), key);
}

static void the_document_has_all_of_it_and_nothing_that_lies(void **state)
{
	struct an_status s;
	struct world w;
	json_t *doc;

	(void)state;
	world_make(&w, world_plan, 56);
	s = status_of(&w);
	s.ledger.fault = "bell\a and \x1b[31mred";
	doc = an_status_json(&s);
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "schema")), "tombola.status/1");
	assert_string_equal(json_string_value(at(doc, "state", "code")), "fault");
	assert_string_equal(json_string_value(at(doc, "state", "text")), "ledger fault: bell? and ?[31mred");
	assert_string_equal(json_string_value(at(doc, "ledger", "fault")), "bell? and ?[31mred");
	assert_int_equal(json_integer_value(at(doc, "certificate", "days")), 2); /* whole days */
	assert_int_equal(json_integer_value(json_object_get(doc, "refusals_explained")), 0);
	assert_true(json_is_null(json_object_get(doc, "pipeline")));
	assert_true(json_is_null(json_object_get(doc, "round")));
	assert_true(json_is_null(at(doc, "shuffler", "last_seen_ms")));
	json_decref(doc);

	s.ledger.fault = "";
	s.certificate.known = false;
	s.certificate.fault = "analyzer.crt: no such file";
	s.doing = AN_JUDGING;
	s.round = &w.files.state.round[1];
	doc = an_status_json(&s);
	assert_true(json_is_null(at(doc, "certificate", "days")));
	assert_string_equal(json_string_value(at(doc, "certificate", "fault")), "analyzer.crt: no such file");
	assert_string_equal(json_string_value(at(doc, "round", "query")), "level");
	assert_true(json_is_null(at(doc, "ledger", "fault")));
	json_decref(doc);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_under_way_is_said_step_by_step),
		cmocka_unit_test(waiting_says_what_the_analyzer_set),
		cmocka_unit_test(a_shuffler_that_is_away_is_said_with_the_reason),
		cmocka_unit_test(the_end_says_what_was_charged_refused_and_void),
		cmocka_unit_test(a_ledger_fault_comes_before_all_else),
		cmocka_unit_test(the_document_has_all_of_it_and_nothing_that_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
