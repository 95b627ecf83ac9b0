/* test_an_view.c - what the dashboard shows is what the verbs print, of one point of the ledger. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_show.h"
#include "an_view.h"

static atomic_bool go_on;

static void make(struct world *w, struct an_view_memo *m, struct an_view *v)
{
	struct cm_err err = { 0 };

	if (an_view_make(&w->conf, m, &go_on, v, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static struct an_view_memo *memo(void)
{
	struct an_view_memo *m = an_view_memo_new();

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

	/* A verb reads the ledger anew, and so composes anew. */
	world_restart(w);
	assert_int_equal(
		an_budget_explain(&w->books.state, &w->books.state.round[number - 1], &e, &err), CM_OK);
	f = open_memstream(&text, &n);
	assert_non_null(f);
	an_explanation_print(&w->books.state, &e, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

static json_t *refusals(const struct an_view *v)
{
	json_t *doc = json_loads(v->refusals, 0, NULL);
	json_t *list = json_incref(json_object_get(doc, "refusals"));

	assert_string_equal(json_string_value(json_object_get(doc, "schema")), "tombola.refusals/1");
	assert_non_null(list);
	json_decref(doc);
	return list;
}

static void assert_refusal(struct world *w, const json_t *list, size_t i, uint32_t number)
{
	const json_t *r = json_array_get(list, i);
	char *text = explained(w, number);

	assert_int_equal(json_integer_value(json_object_get(r, "round")), number);
	assert_string_equal(json_string_value(json_object_get(r, "text")), text);
	free(text);
}

static void a_view_is_what_the_verbs_print(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50, .bad = 3, .repeated = 2 };
	struct an_view_memo *m = memo();
	struct cm_err err = { 0 };
	json_t *budget = NULL, *list;
	struct an_view v;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 41);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	make(&w, m, &v);
	world_restart(&w);
	assert_int_equal(an_budget_json(&w.books, &budget, &err), CM_OK);
	assert_line(v.budget, budget);
	assert_line(v.rounds, an_rounds_json(&w.books, &err));
	list = refusals(&v);
	assert_int_equal(json_array_size(list), 1);
	assert_refusal(&w, list, 0, 3);
	assert_int_equal(v.chain.seq, an_ledger_chain(w.books.ledger)->seq);
	assert_memory_equal(v.chain.head, an_ledger_chain(w.books.ledger)->head, PR_HASH_LEN);
	assert_int_equal(v.pipeline.rounds, 1);
	assert_int_equal(v.pipeline.participants, 30);
	assert_int_equal(v.pipeline.bad, 3);
	assert_int_equal(v.pipeline.duplicates, 2);
	assert_int_equal(v.pipeline.opened + v.pipeline.bad + v.pipeline.duplicates, v.pipeline.messages);
	json_decref(list);
	an_view_fini(&v);
	an_view_memo_free(m);
	fake_free(&f);
	world_free(&w);
}

/* What is kept from view to view must not outlive its truth: a void round gives back what it held. */
static void a_kept_explanation_follows_the_ledger(void **state)
{
	struct an_view_memo *m = memo();
	struct rd_record r = { .kind = RD_VOID, .reason = "nobody came" };
	struct cm_err err = { 0 };
	struct an_view v;
	struct world w;
	json_t *list;

	(void)state;
	world_make(&w, world_plan, 42);
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	make(&w, m, &v);
	list = refusals(&v);
	assert_refusal(&w, list, 0, 3);
	assert_non_null(strstr(json_string_value(json_object_get(json_array_get(list, 0), "text")),
		"spent by round 1 (state)"));
	json_decref(list);
	an_view_fini(&v);

	memcpy(r.round_id, w.books.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(an_books_append(&w.books, &r, WORLD_NOW, &err), CM_OK);
	make(&w, m, &v);
	list = refusals(&v);
	assert_refusal(&w, list, 0, 3);
	assert_null(strstr(
		json_string_value(json_object_get(json_array_get(list, 0), "text")), "spent by round 1"));
	json_decref(list);
	an_view_fini(&v);
	an_view_memo_free(m);
	world_free(&w);
}

/* A plan of refusals only: the last ones are explained. */
static void of_many_refusals_the_last_are_explained(void **state)
{
	static const char round[] =
		"{ query = \"q%u\", type = \"histogram\", protocol = \"grr\", field = \"c\", "
		"epsilon0 = 12.0, min_reports = 20, values = [\"a\", \"b\"] }%s\n";
	enum { ROUNDS = AN_VIEW_EXPLAINED + 3 };
	struct an_view_memo *m = memo();
	struct cm_err err = { 0 };
	char plan[4096];
	struct an_view v;
	struct world w;
	json_t *list;
	int at;

	(void)state;
	at = snprintf(plan, sizeof plan,
		"name = \"t\"\npopulation = \"t\"\nbudget = { epsilon = 0.5, delta = 1e-6, unit = \"device\" "
		"}\n"
		"rounds = (\n");
	for (unsigned i = 1; i <= ROUNDS; i++)
		at += snprintf(plan + at, sizeof plan - (size_t)at, round, i, i < ROUNDS ? "," : " )");
	world_make(&w, plan, 43);
	for (uint32_t i = 1; i <= ROUNDS; i++)
		assert_int_equal(world_decide(&w, i, &err), CM_EBUDGET);
	make(&w, m, &v);
	list = refusals(&v);
	assert_int_equal(json_array_size(list), AN_VIEW_EXPLAINED);
	for (size_t i = 0; i < AN_VIEW_EXPLAINED; i++)
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(list, i), "round")), i + 4);
	json_decref(list);
	an_view_fini(&v);
	an_view_memo_free(m);
	world_free(&w);
}

static void assert_empty(const struct an_view *v)
{
	assert_null(v->rounds);
	assert_null(v->budget);
	assert_null(v->refusals);
}

static void a_damaged_ledger_gives_no_view(void **state)
{
	struct an_view_memo *m = memo();
	struct cm_err err = { 0 };
	struct an_view v;
	struct world w;
	uint8_t *bytes;
	size_t n;

	(void)state;
	world_make(&w, world_plan, 44);
	assert_int_equal(world_decide(&w, 1, &err), CM_OK);
	bytes = world_file(&w, "ledger", &n);
	bytes[AN_LEDGER_MAGIC_LEN + AN_LEDGER_HEADER_LEN + 2] ^= 1;
	world_write(&w, "ledger", bytes, n);
	assert_int_equal(an_view_make(&w.conf, m, &go_on, &v, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "ledger"));
	assert_empty(&v);
	free(bytes);
	an_view_memo_free(m);
	world_free(&w);
}

static void an_altered_result_counts_nothing(void **state)
{
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct an_view_memo *m = memo();
	struct cm_err err = { 0 };
	struct an_view v;
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
	an_view_fini(&v);
	free(bytes);
	an_view_memo_free(m);
	fake_free(&f);
	world_free(&w);
}

static void making_a_view_ends_when_it_is_told_to(void **state)
{
	struct an_view_memo *m = memo();
	atomic_bool stop = true;
	struct cm_err err = { 0 };
	struct an_view v;
	struct world w;

	(void)state;
	world_make(&w, world_plan, 46);
	assert_int_equal(world_decide(&w, 3, &err), CM_EBUDGET);
	assert_int_equal(an_view_make(&w.conf, m, &stop, &v, &err), CM_ELATER);
	assert_empty(&v);
	an_view_memo_free(m);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_is_what_the_verbs_print),
		cmocka_unit_test(a_kept_explanation_follows_the_ledger),
		cmocka_unit_test(of_many_refusals_the_last_are_explained),
		cmocka_unit_test(a_damaged_ledger_gives_no_view),
		cmocka_unit_test(an_altered_result_counts_nothing),
		cmocka_unit_test(making_a_view_ends_when_it_is_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
