/* an_liars.c - puts into a result document what dishonest devices can have done to its answer. */
#include "an_liars.h"

#include <stdlib.h>

#include "an_json.h"
#include "cm_fault.h"
#include "pt_liars.h"

struct an_liars an_liars_of(const struct rd_descriptor *d, uint64_t devices)
{
	return (struct an_liars){ .m = devices - rd_honest(devices, d->honest_fraction, d->colluders),
		.from = "plan",
		.above = NAN };
}

uint64_t an_liars_in(const json_t *doc)
{
	const json_t *liars = json_object_get(doc, "liars");
	json_int_t m = json_integer_value(json_object_get(liars, "m")),
		   seen = json_integer_value(json_object_get(liars, "seen"));

	return (uint64_t)(m > seen ? m : seen);
}

static int set_real(json_t *item, const char *key, double v)
{
	return json_object_set_new(item, key, an_json_real(v));
}

static int set_honest(json_t *item, const struct qy_item *it, const struct es_honest *h)
{
	return set_real(item, "honest_lower", h->lower) | set_real(item, "honest_upper", h->upper) |
	       set_real(item, "honest_joint_lower", h->joint_lower) |
	       set_real(item, "honest_joint_upper", h->joint_upper) |
	       set_real(item, "liar_up", it->value - h->least) |
	       set_real(item, "liar_down", h->most - it->value);
}

/* What is computed of an answer's items; NULL for what is not. */
struct known {
	struct es_honest *honest;
	int64_t *holds_to;
};

static int set_items(json_t *doc, const struct es_estimate *e, const struct known *k)
{
	json_t *list[] = { json_object_get(doc, "items"), json_object_get(doc, "no_reading") };
	size_t at[] = { 0, 0 };
	int bad = 0;

	for (size_t i = 0; i < e->n; i++) {
		bool none = e->item[i].none;
		json_t *item = json_array_get(list[none], at[none]++);

		if (k->honest)
			bad |= set_honest(item, &e->item[i], &k->honest[i]);
		if (k->holds_to)
			bad |= json_object_set_new(item, "holds_to", json_integer(k->holds_to[i]));
	}
	return bad;
}

/* Compute the intervals for the liars of `crowd`, and how many of them each claim stands, from `seen` on. */
static enum cm_rc know(const struct rd_descriptor *d, const struct an_tally *t, const struct pt_crowd *crowd,
	uint64_t seen, double above, size_t items, struct known *k, struct cm_err *err)
{
	const struct pt_crowd least = { .devices = crowd->devices, .liars = seen };
	bool claims = qy_query_counts(&d->query) || !isnan(above);
	enum cm_rc rc = CM_OK;

	if (crowd->liars > 0)
		k->honest = calloc(items + 1, sizeof *k->honest);
	if (claims)
		k->holds_to = calloc(items + 1, sizeof *k->holds_to);
	if ((crowd->liars > 0 && !k->honest) || (claims && !k->holds_to))
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (k->honest)
		rc = pt_honest(&d->query, &d->randomizer, t->count, crowd, k->honest, items, err);
	if (rc == CM_OK && claims)
		rc = pt_holds_to(&d->query, &d->randomizer, t->count, &least, isnan(above) ? 0 : above,
			k->holds_to, items, err);
	return rc;
}

enum cm_rc an_liars_set(json_t *doc, const struct rd_descriptor *d, const struct an_tally *t,
	const struct es_estimate *e, uint64_t devices, const struct an_liars *liars, struct cm_err *err)
{
	/* Only liars send messages that cannot be read, or the same message twice. */
	uint64_t seen = pt_liars_seen(&d->randomizer, t->count, devices, t->bad + t->duplicates);
	struct pt_crowd crowd = { .devices = devices, .liars = liars->m };
	json_t *o = json_pack(
		"{s:I, s:s, s:I}", "m", (json_int_t)liars->m, "from", liars->from, "seen", (json_int_t)seen);
	struct known k = { 0 };
	struct cm_err why = { 0 };
	enum cm_rc rc;
	int bad = json_object_set(doc, "liars", o);

	if (!isnan(liars->above))
		bad |= set_real(o, "above", liars->above);
	if (CM_CHECKED("analyzer.liars.slots") && seen > crowd.liars)
		crowd.liars = seen;
	rc = know(d, t, &crowd, seen, liars->above, e->n, &k, &why);
	if (rc == CM_EDATA)
		bad |= json_object_set_new(o, "fault", json_string(why.msg));
	else if (rc != CM_OK)
		*err = why;
	else
		bad |= set_items(doc, e, &k);
	free(k.honest);
	free(k.holds_to);
	json_decref(o);
	if (rc != CM_OK && rc != CM_EDATA)
		return rc;
	return bad ? cm_fail(err, CM_EINTERNAL, "out of memory") : CM_OK;
}

/* Read the counts of a result.  A result is the ledger's, so they are those that were written. */
static enum cm_rc read_tally(
	const json_t *doc, const struct pt_randomizer *p, struct an_tally *t, struct cm_err *err)
{
	const json_t *counts = json_object_get(doc, "counts");
	enum cm_rc rc = an_tally_init(t, pt_tallies(p), err);

	if (rc == CM_OK && json_array_size(counts) != t->counts)
		rc = cm_fail(err, CM_EDATA, "the result has %zu counts, not %u", json_array_size(counts),
			t->counts);
	for (uint32_t i = 0; rc == CM_OK && i < t->counts; i++)
		t->count[i] = (uint64_t)json_integer_value(json_array_get(counts, i));
	t->bad = (uint64_t)json_integer_value(json_object_get(doc, "bad"));
	t->duplicates = (uint64_t)json_integer_value(json_object_get(doc, "duplicates"));
	return rc;
}

enum cm_rc an_liars_assume(
	json_t *doc, const struct rd_descriptor *d, const struct an_liars *liars, struct cm_err *err)
{
	uint64_t devices = (uint64_t)json_integer_value(json_object_get(doc, "participants")),
		 reports = (uint64_t)json_integer_value(json_object_get(doc, "reports"));
	struct es_estimate e = { 0 };
	struct an_tally t = { 0 };
	enum cm_rc rc = read_tally(doc, &d->randomizer, &t, err);

	if (rc == CM_OK)
		rc = pt_answer(&d->query, &d->randomizer, t.count, reports, &e, err);
	if (rc == CM_OK)
		rc = an_liars_set(doc, d, &t, &e, devices, liars, err);
	es_estimate_fini(&e);
	an_tally_fini(&t);
	return rc;
}
