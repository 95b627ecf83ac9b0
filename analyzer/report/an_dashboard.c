/* an_dashboard.c - makes the dashboard's documents from the analyzer's files. */
#include "an_dashboard.h"

#include <stdlib.h>
#include <string.h>

#include "an_result.h"
#include "an_tables.h"
#include "cm_clock.h"

/* The counts of a settled round's result. */
struct remembered {
	bool counted;
	uint8_t result_hash[PR_HASH_LEN];
	struct an_pipeline counts;
	char *brief; /* NULL if the result is not long */
};

struct an_dashboard_memo {
	struct remembered *round; /* number of rounds */
	size_t rounds;
};

struct an_dashboard_memo *an_dashboard_memo_new(void)
{
	return calloc(1, sizeof(struct an_dashboard_memo));
}

void an_dashboard_memo_free(struct an_dashboard_memo *m)
{
	for (size_t i = 0; m && i < m->rounds; i++)
		free(m->round[i].brief);
	if (m)
		free(m->round);
	free(m);
}

/* Enlarge the cache if an adaptive plan has grown. */
static enum cm_rc memo_grow(struct an_dashboard_memo *m, size_t rounds, struct cm_err *err)
{
	struct remembered *more;

	if (rounds <= m->rounds)
		return CM_OK;
	more = realloc(m->round, rounds * sizeof *more);
	if (!more)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memset(more + m->rounds, 0, (rounds - m->rounds) * sizeof *more);
	m->round = more;
	m->rounds = rounds;
	return CM_OK;
}

static char *text_of(json_t *doc)
{
	return an_json_text(doc, JSON_COMPACT);
}

/* ---- results ---- */

static uint64_t count_of(const json_t *result, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(result, key));

	return n > 0 ? (uint64_t)n : 0;
}

struct valued {
	json_t *item;
	double value;
};

static int by_value(const void *a, const void *b)
{
	double x = ((const struct valued *)a)->value, y = ((const struct valued *)b)->value;

	return (x < y) - (x > y);
}

/* Choose the largest items or, if the items are numbers in order, the first ones. */
static json_t *few(const json_t *result, const json_t *items)
{
	const char *type = json_string_value(json_object_get(result, "type"));
	size_t n = json_array_size(items);
	struct valued *list = calloc(n, sizeof *list);
	json_t *out = list ? json_array() : NULL;

	for (size_t i = 0; list && i < n; i++) {
		json_t *item = json_array_get(items, i);

		list[i] = (struct valued){ item, json_number_value(json_object_get(item, "value")) };
	}
	if (list && (!type || strcmp(type, "vector") != 0))
		qsort(list, n, sizeof *list, by_value);
	for (size_t i = 0; out && i < n && i < AN_VIEW_BRIEF; i++)
		if (json_array_append(out, list[i].item) != 0) {
			json_decref(out);
			out = NULL;
		}
	free(list);
	return out;
}

/* Abridge a result.  Returns NULL if it is not long, or memory is short. */
static char *brief(const json_t *result)
{
	const json_t *items = json_object_get(result, "items"), *none = json_object_get(result, "no_reading");
	size_t n = json_array_size(items);
	char *text = NULL;
	json_t *doc;

	if (n <= AN_VIEW_ITEMS && json_array_size(json_object_get(result, "counts")) <= AN_VIEW_COUNTS)
		return NULL;
	doc = json_copy((json_t *)(uintptr_t)result);
	if (doc && json_object_del(doc, "counts") == 0 &&
		(n <= AN_VIEW_ITEMS || json_object_set_new(doc, "items", few(result, items)) == 0) &&
		(json_array_size(none) <= AN_VIEW_ITEMS ||
			json_object_set_new(doc, "no_reading", few(result, none)) == 0) &&
		json_object_set_new(doc, "items_left_out",
			json_integer(n <= AN_VIEW_ITEMS ? 0 : (json_int_t)(n - AN_VIEW_BRIEF))) == 0)
		text = text_of(doc);
	json_decref(doc);
	return text;
}

/* Add a result's counts.  A result that is missing or altered adds nothing; a request for it is told what
 * is wrong. */
static void remember_counts(struct remembered *known, const char *state_dir, const struct an_round_state *r)
{
	struct cm_err err = { 0 };
	json_t *result = NULL;

	if (known->counted && memcmp(known->result_hash, r->result_hash, PR_HASH_LEN) == 0)
		return;
	known->counted = an_result_load(state_dir, r, &result, &err) == CM_OK;
	memcpy(known->result_hash, r->result_hash, PR_HASH_LEN);
	known->counts = (struct an_pipeline){ .rounds = 1,
		.participants = count_of(result, "participants"),
		.messages = count_of(result, "messages"),
		.opened = count_of(result, "opened"),
		.duplicates = count_of(result, "duplicates"),
		.bad = count_of(result, "bad") };
	if (!known->brief)
		known->brief = brief(result);
	json_decref(result);
}

static enum cm_rc look_at_results(struct an_dashboard_memo *m, const struct an_ledger_files *b,
	const atomic_bool *stop, struct an_dashboard *v, struct cm_err *err)
{
	struct an_pipeline *sum = &v->pipeline;

	v->brief = calloc(b->plan.rounds, sizeof *v->brief);
	if (!v->brief)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	v->plan_rounds = b->plan.rounds;
	for (size_t i = 0; i < b->plan.rounds; i++) {
		const struct an_pipeline *c = &m->round[i].counts;

		if (b->state.round[i].stage != AN_SETTLED)
			continue;
		if (atomic_load(stop))
			return cm_fail(err, CM_ELATER, "stopping");
		remember_counts(&m->round[i], b->state_dir, &b->state.round[i]);
		if (!m->round[i].counted)
			continue;
		v->brief[i] = m->round[i].brief;
		sum->rounds += c->rounds;
		sum->participants += c->participants;
		sum->messages += c->messages;
		sum->opened += c->opened;
		sum->duplicates += c->duplicates;
		sum->bad += c->bad;
	}
	return CM_OK;
}

/* ---- */

static enum cm_rc make_documents(const struct an_ledger_files *b, struct an_dashboard *v, struct cm_err *err)
{
	json_t *rounds = an_rounds_json(b, cm_clock_wall_ms(), err), *budget = NULL;
	enum cm_rc rc = rounds ? an_budget_json(b, &budget, err) : err->code;

	if (rc == CM_OK) {
		v->rounds = text_of(rounds);
		v->budget = text_of(budget);
		if (!v->rounds || !v->budget)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	json_decref(rounds);
	json_decref(budget);
	return rc;
}

enum cm_rc an_dashboard_make(const struct an_conf *conf, struct an_dashboard_memo *memo,
	const atomic_bool *stop, struct an_dashboard *out, struct cm_err *err)
{
	struct an_ledger_files b;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	rc = an_ledger_files_open(conf, false, &b, err);
	if (rc == CM_OK)
		rc = memo_grow(memo, b.plan.rounds, err);
	if (rc == CM_OK)
		rc = make_documents(&b, out, err);
	if (rc == CM_OK)
		rc = look_at_results(memo, &b, stop, out, err);
	if (rc == CM_OK)
		out->chain = *an_ledger_chain(b.ledger);
	else
		an_dashboard_fini(out);
	an_ledger_files_close(&b);
	return rc;
}

void an_dashboard_fini(struct an_dashboard *v)
{
	free(v->rounds);
	free(v->budget);
	free((void *)v->brief);
	memset(v, 0, sizeof *v);
}

/* ---- one round ---- */

/* Put the explanation as a document, and as the text that `budget explain` prints. */
static json_t *explanation(const struct an_state *s, const struct an_explanation *e)
{
	json_t *doc = NULL;
	char *words = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&words, &len);

	if (!out)
		return NULL;
	an_explanation_print(s, e, out);
	if (fclose(out) == 0)
		doc = an_explanation_json(s, e);
	if (doc && json_object_set_new(doc, "text", json_string(words)) != 0) {
		json_decref(doc);
		doc = NULL;
	}
	free(words);
	return doc;
}

enum cm_rc an_dashboard_explain(const struct an_conf *conf, uint32_t number, const atomic_bool *stop,
	json_t **out, struct cm_err *err)
{
	struct an_explanation e;
	struct an_ledger_files b;
	enum cm_rc rc = an_ledger_files_open(conf, false, &b, err);

	*out = NULL;
	if (rc == CM_OK && (number < 1 || number > b.plan.rounds))
		rc = cm_fail(err, CM_ECONFIG, "the plan has no round %u any more", number);
	if (rc == CM_OK)
		rc = an_budget_explain_until(&b.state, &b.state.round[number - 1], stop, &e, err);
	if (rc == CM_OK) {
		*out = explanation(&b.state, &e);
		if (!*out)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	an_ledger_files_close(&b);
	return rc;
}
