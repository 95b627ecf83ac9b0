/* test_an_dashboard.c - what the dashboard shows is what the verbs print, of one point of the ledger. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_dashboard.h"
#include "an_result.h"
#include "an_tables.h"

static atomic_bool go_on;

static void make(struct world *w, struct an_dashboard_memo *m, struct an_dashboard *v)
{
	struct cm_err err = { 0 };

	if (an_dashboard_make(&w->conf, m, &go_on, v, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static struct an_dashboard_memo *memo(void)
{
	struct an_dashboard_memo *m = an_dashboard_memo_new();

	assert_non_null(m);
	return m;
}

/* A verb's document as its line. */
static void assert_line(const char *shown, json_t *doc)
{
	char *line = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

	assert_non_null(line);
	assert_string_equal(shown, line);
	free(line);
	json_decref(doc);
}

/* What `budget explain N` prints. */
static char *explained(struct world *w, uint32_t number)
{
	struct an_explanation e;
	struct cm_err err = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *f;

	/* A verb reads the ledger again, and so composes again. */
	world_restart(w);
	assert_int_equal(
		an_budget_explain(&w->files.state, &w->files.state.round[number - 1], &e, &err), CM_OK);
	f = open_memstream(&text, &n);
	assert_non_null(f);
	an_explanation_print(&w->files.state, &e, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* A round explained is what `budget explain` prints, as JSON and in words. */
static void assert_explained(struct world *w, uint32_t number)
{
	struct cm_err err = { 0 };
	struct an_explanation e;
	json_t *doc, *plain;
	char *words = explained(w, number), *line;

	assert_int_equal(an_dashboard_explain(&w->conf, number, &go_on, &doc, &err), CM_OK);
	assert_string_equal(json_string_value(json_object_get(doc, "text")), words);
	assert_int_equal(json_object_del(doc, "text"), 0);
	world_restart(w);
	assert_int_equal(
		an_budget_explain(&w->files.state, &w->files.state.round[number - 1], &e, &err), CM_OK);
	plain = an_explanation_json(&w->files.state, &e);
	line = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
	assert_line(line, plain);
	free(line);
	free(words);
	json_decref(doc);
}

static void a_view_is_what_the_verbs_print(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50, .bad = 3, .repeated = 2 };
	struct an_dashboard_memo *m = memo();
	struct cm_err err = { 0 };
	json_t *budget = NULL;
	struct an_dashboard v;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 41);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	make(&w, m, &v);
	world_restart(&w);
	assert_int_equal(an_budget_json(&w.files, &budget, &err), CM_OK);
	assert_line(v.budget, budget);
	assert_line(v.rounds, an_rounds_json(&w.files, WORLD_NOW, &err));
	assert_explained(&w, 3);
	assert_int_equal(v.chain.seq, an_ledger_chain(w.files.ledger)->seq);
	assert_memory_equal(v.chain.head, an_ledger_chain(w.files.ledger)->head, PR_HASH_LEN);
	assert_int_equal(v.pipeline.rounds, 1);
	assert_int_equal(v.pipeline.participants, 30);
	assert_int_equal(v.pipeline.bad, 3);
	assert_int_equal(v.pipeline.duplicates, 2);
	assert_int_equal(v.pipeline.opened + v.pipeline.bad + v.pipeline.duplicates, v.pipeline.messages);
	an_dashboard_fini(&v);
	an_dashboard_memo_free(m);
	fake_free(&f);
	world_free(&w);
}

static void assert_empty(const struct an_dashboard *v)
{
	assert_null(v->rounds);
	assert_null(v->budget);
}

static void a_damaged_ledger_gives_no_view(void **state)
{
	struct an_dashboard_memo *m = memo();
	struct cm_err err = { 0 };
	struct an_dashboard v;
	struct world w;
	uint8_t *bytes;
	size_t n;

	(void)state;
	world_make(&w, world_plan, 44);
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	bytes = world_file(&w, "ledger", &n);
	bytes[AN_LEDGER_MAGIC_LEN + AN_LEDGER_HEADER_LEN + 2] ^= 1;
	world_write(&w, "ledger", bytes, n);
	assert_int_equal(an_dashboard_make(&w.conf, m, &go_on, &v, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "ledger"));
	assert_empty(&v);
	free(bytes);
	an_dashboard_memo_free(m);
	world_free(&w);
}

static void an_altered_result_counts_nothing(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct an_dashboard_memo *m = memo();
	struct cm_err err = { 0 };
	struct an_dashboard v;
	struct world w;
	uint8_t *bytes;
	size_t n;

	(void)state;
	world_make(&w, world_plan, 45);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	bytes = world_file(&w, "results/round-0001.json", &n);
	*strstr((char *)bytes, "30") = '9';
	world_write(&w, "results/round-0001.json", bytes, n);
	make(&w, m, &v);
	assert_non_null(v.budget);
	assert_int_equal(v.pipeline.rounds, 0);
	assert_int_equal(v.pipeline.participants, 0);
	an_dashboard_fini(&v);
	free(bytes);
	an_dashboard_memo_free(m);
	fake_free(&f);
	world_free(&w);
}

/* A settled round whose result somebody made longer: the ledger is told its hash, so it is the recorded
 * one. */
static void settle_with(struct world *w, json_t *result)
{
	struct rd_record charge = { .kind = RD_CHARGE, .participants = 30 }, settle = { .kind = RD_SETTLE };
	const struct an_round_state *r = &w->files.state.round[0];
	struct cm_err err = { 0 };
	struct cm_buf bytes;
	char *text = json_dumps(result, JSON_COMPACT);

	assert_non_null(text);
	cm_buf_init(&bytes, AN_RESULT_MAX);
	assert_int_equal(cm_buf_put(&bytes, text, strlen(text)), CM_OK);
	assert_int_equal(world_decide(w, 1, &err), CM_OK);
	memcpy(charge.round_id, r->descriptor.round_id, PR_ROUND_ID_LEN);
	charge.epsilon_round = r->epsilon_round;
	charge.epsilon_total = r->epsilon_total;
	memset(charge.manifest_hash, 7, sizeof charge.manifest_hash);
	memcpy(settle.round_id, charge.round_id, PR_ROUND_ID_LEN);
	cr_sha256(bytes.data, bytes.len, settle.result_hash);
	assert_int_equal(an_result_write(w->dir, r, &bytes, &err), CM_OK);
	if (an_ledger_files_append(&w->files, &charge, WORLD_NOW, &err) != CM_OK ||
		an_ledger_files_append(&w->files, &settle, WORLD_NOW, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_buf_fini(&bytes);
	free(text);
}

static json_t *long_result(const char *type, size_t n, size_t counts)
{
	json_t *items = json_array(), *numbers = json_array();

	for (size_t i = 0; i < n; i++)
		assert_int_equal(json_array_append_new(items, json_pack("{s:s, s:f}", "label", "x", "value",
								      (double)((i * 7919) % n))),
			0);
	for (size_t i = 0; i < counts; i++)
		assert_int_equal(json_array_append_new(numbers, json_integer(1)), 0);
	return json_pack(
		"{s:s, s:i, s:o, s:o}", "type", type, "messages", 30, "items", items, "counts", numbers);
}

static void assert_brief(const char *type, size_t n, size_t counts, size_t shown, double first, double last)
{
	struct an_dashboard_memo *m = memo();
	json_t *whole = long_result(type, n, counts), *doc;
	struct an_dashboard v, again;
	const json_t *items;
	struct world w;

	world_make(&w, world_plan, 48);
	settle_with(&w, whole);
	make(&w, m, &v);
	assert_int_equal(v.pipeline.messages, 30);
	assert_int_equal(v.plan_rounds, 3);
	assert_null(v.brief[1]);
	if (shown == 0) {
		assert_null(v.brief[0]);
	} else {
		doc = json_loads(v.brief[0], 0, NULL);
		items = json_object_get(doc, "items");
		assert_null(json_object_get(doc, "counts"));
		assert_int_equal(json_array_size(items), shown);
		assert_int_equal(json_integer_value(json_object_get(doc, "items_left_out")), n - shown);
		assert_true(json_number_value(json_object_get(json_array_get(items, 0), "value")) == first);
		assert_true(json_number_value(json_object_get(json_array_get(items, shown - 1), "value")) ==
			    last);
		json_decref(doc);
	}
	make(&w, m, &again); /* made once, shown by both */
	assert_ptr_equal(again.brief[0], v.brief[0]);
	an_dashboard_fini(&again);
	an_dashboard_fini(&v);
	json_decref(whole);
	an_dashboard_memo_free(m);
	world_free(&w);
}

static void of_a_long_result_the_largest_counts_or_the_first_numbers_are_shown(void **state)
{
	(void)state;
	assert_brief("histogram", AN_VIEW_ITEMS, AN_VIEW_COUNTS, 0, 0, 0);
	assert_brief("histogram", AN_VIEW_ITEMS + 1, 3, AN_VIEW_BRIEF, AN_VIEW_ITEMS, AN_VIEW_ITEMS - 999);
	assert_brief("vector", 5000, 3, AN_VIEW_BRIEF, 0, 999 * 7919 % 5000);
	assert_brief("ranges", 10, AN_VIEW_COUNTS + 1, 10, 0, 9 * 7919 % 10);
}

static void making_and_explaining_end_when_they_are_told_to(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct an_dashboard_memo *m = memo();
	atomic_bool stop = true;
	struct cm_err err = { 0 };
	json_t *doc = NULL;
	struct an_dashboard v;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 46);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	assert_int_equal(an_dashboard_make(&w.conf, m, &stop, &v, &err), CM_ELATER);
	assert_empty(&v);
	assert_int_equal(an_dashboard_explain(&w.conf, 3, &stop, &doc, &err), CM_ELATER);
	assert_null(doc);
	an_dashboard_memo_free(m);
	fake_free(&f);
	world_free(&w);
}

static void a_round_that_the_plan_lost_is_not_explained(void **state)
{
	struct cm_err err = { 0 };
	json_t *doc = NULL;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 47);
	assert_int_equal(an_dashboard_explain(&w.conf, 4, &go_on, &doc, &err), CM_ECONFIG);
	assert_int_equal(an_dashboard_explain(&w.conf, 0, &go_on, &doc, &err), CM_ECONFIG);
	assert_null(doc);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_is_what_the_verbs_print),
		cmocka_unit_test(a_damaged_ledger_gives_no_view),
		cmocka_unit_test(an_altered_result_counts_nothing),
		cmocka_unit_test(of_a_long_result_the_largest_counts_or_the_first_numbers_are_shown),
		cmocka_unit_test(making_and_explaining_end_when_they_are_told_to),
		cmocka_unit_test(a_round_that_the_plan_lost_is_not_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
