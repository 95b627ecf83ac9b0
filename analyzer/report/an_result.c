/* an_result.c - builds, keeps and reads result documents. */
#include "an_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "an_end.h"
#include "an_liars.h"
#include "cm_file.h"
#include "cm_oom.h"
#include "cm_text.h"
#include "qy_value.h"
#include "rd_together.h"

/* Where leaf i of the tree begins; the same number for every node that begins or ends there. */
static double leaf(const struct qy_query *q, uint64_t i)
{
	return i < q->leaves ? q->low + (q->high - q->low) / q->leaves * (double)i : q->high;
}

/* Item i counts [low, high): level after level of the tree, the coarsest first. */
static int set_bounds(json_t *item, const struct qy_query *q, uint64_t i)
{
	uint64_t nodes = q->fanout, width;

	for (; i >= nodes; nodes *= q->fanout)
		i -= nodes;
	width = q->leaves / nodes;
	return json_object_set_new(item, "low", an_json_real(leaf(q, i * width))) != 0 ||
	       json_object_set_new(item, "high", an_json_real(leaf(q, (i + 1) * width))) != 0;
}

/* The ends of a cell on both axes. */
static int set_place(json_t *item, const struct qy_query *q, uint64_t cell)
{
	static const char *const name[QY_PLACE_AXES][2] = { { "low", "high" }, { "low_2", "high_2" } };
	int bad = 0;

	for (uint32_t axis = 0; axis < QY_PLACE_AXES; axis++) {
		double low, high;

		qy_place_ends(q, axis, cell, &low, &high);
		bad |= json_object_set_new(item, name[axis][0], an_json_real(low));
		bad |= json_object_set_new(item, name[axis][1], an_json_real(high));
	}
	return bad;
}

/* The text that a candidate's digits stand for, without the zero bytes that follow a shorter one; NULL where
 * they are no text that can be shown. */
static json_t *candidate_text(const struct qy_query *q, const char *digits)
{
	uint8_t bytes[QY_PREFIX_BITS_MAX / 8];
	size_t n = q->bits / 8, len, at = 0;

	if (q->kind != QY_PREFIXES || q->bits % 8 != 0 || n > sizeof bytes || strlen(digits) != 2 * n ||
		cm_unhex(digits, bytes, n) != CM_OK)
		return NULL;
	while (n > 0 && bytes[n - 1] == 0)
		n--;
	for (; at < n; at += len) {
		len = bytes[at] != 0 ? cm_text_char(bytes + at, n - at) : 0;
		if (len == 0 || !cm_text_shows(bytes + at, len))
			return NULL;
	}
	return json_stringn((const char *)bytes, n);
}

/* Put the candidate's text beside its label; nothing if it cannot be shown as text. */
static int set_text(json_t *item, const struct qy_query *q)
{
	json_t *text = candidate_text(q, json_string_value(json_object_get(item, "label")));

	return !text ? 0 : json_object_set_new(item, "text", text);
}

/* The items of the answer or, if `none` is set, the counts of devices without a reading. */
static json_t *items_json(const struct qy_query *q, const struct es_estimate *e, uint64_t reports, bool none)
{
	json_t *items = json_array();

	for (size_t i = 0, at = 0; items && i < e->n; i++) {
		const struct qy_item *it = &e->item[i];
		double end = an_at_end(q, e, i, reports);
		json_t *o;

		if (it->none != none)
			continue;
		o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "label",
			it->label ? it->label : q->name, "value", an_json_real(it->value), "variance",
			an_json_real(it->variance), "lower", an_json_real(it->lower), "upper",
			an_json_real(it->upper), "joint_lower", an_json_real(it->joint_lower), "joint_upper",
			an_json_real(it->joint_upper), "projected", an_json_real(it->projected),
			"below_noise", (int)it->below_noise);

		if (o && ((it->bias > 0 &&
				  json_object_set_new(o, "bias_bound", an_json_real(it->bias)) != 0) ||
				 (!isnan(end) && json_object_set_new(o, "at_end", json_real(end)) != 0) ||
				 (!none && set_text(o, q) != 0) ||
				 (q->kind == QY_PLACES && set_place(o, q, i) != 0) ||
				 (q->kind == QY_RANGES && !none && set_bounds(o, q, at++) != 0))) {
			json_decref(o);
			o = NULL;
		}
		if (!o || json_array_append_new(items, o) != 0) {
			json_decref(items);
			return NULL;
		}
	}
	return items;
}

/* Put "estimand": what the row estimates, if that is not what was asked, and how devices without a reading
 * count.  Put "no_reading": the estimated number of these devices, if they are counted apart.  It does not
 * stand among the items, since any label there may be a category's. */
static int set_estimand(json_t *doc, const struct rd_descriptor *d, const struct es_estimate *e)
{
	const struct pt_protocol *row = pt_protocol_of(d->randomizer.row);
	char none[160], other[300] = "";

	qy_query_none_text(&d->query, none, sizeof none);
	if (row->estimand)
		row->estimand(&d->query, &d->randomizer, other, sizeof other);
	/* Both functions take over the value that they are given, also when they fail. */
	return json_object_set_new(doc, "estimand",
		       json_sprintf("%s%s%s", other, other[0] != '\0' ? "; " : "", none)) != 0 ||
	       json_object_set_new(doc, "no_reading", items_json(&d->query, e, 0, true)) != 0;
}

static json_t *counts_json(const struct an_tally *t)
{
	json_t *counts = json_array();

	for (uint32_t i = 0; counts && i < t->counts; i++)
		if (json_array_append_new(counts, json_integer((json_int_t)t->count[i])) != 0) {
			json_decref(counts);
			return NULL;
		}
	return counts;
}

/* The name of the one field, or of all in a list. */
static int set_fields(json_t *doc, const struct qy_query *q)
{
	json_t *list;
	int bad = 0;

	if (q->columns == 0)
		return json_object_set_new(doc, "field", json_string(q->field));
	list = json_array();
	for (uint32_t i = 0; !bad && i < q->columns; i++)
		bad = json_array_append_new(list, json_string(q->column[i].name));
	return json_object_set_new(doc, "fields", list) != 0 || bad;
}

static json_t *header_json(const struct an_state *s, const struct an_round_state *r)
{
	const struct rd_descriptor *d = &r->descriptor;
	struct rd_together together = { .reports = 0 };

	rd_together_add(&together, d, an_round_reports(r), r->plan->label);
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}",
		"schema", AN_RESULT_SCHEMA, "plan", r->of ? r->of->signed_plan.name : s->plan->name,
		"population", d->population, "round", (int)r->plan->number, "query", d->query.name, "type",
		qy_kind_name(d->query.kind), "protocol", d->randomizer.row->name, "unit", d->unit, "round_id",
		an_json_hex(d->round_id, PR_ROUND_ID_LEN), "epsilon0", an_json_real(d->privacy.epsilon0),
		"epsilon0_together", an_json_real(rd_together_epsilon0(&together)), "epsilon_round",
		an_json_real(r->epsilon_round), "epsilon_total", an_json_real(r->epsilon_total), "delta",
		an_json_real(d->privacy.delta), "min_reports", (json_int_t)d->min_reports, "charged_ms",
		(json_int_t)r->charged_ms);
}

static int set_recurrence(json_t *doc, const struct an_round_state *r)
{
	const struct pl_round *p = r->plan;

	return p->recurrence > 0
		       ? json_object_set_new(doc, "recurrence", json_integer(p->recurrence)) |
				 json_object_set_new(doc, "recurrences", json_integer(p->recurrences))
		       : 0;
}

static int set_statement(json_t *doc, const struct rd_descriptor *d)
{
	const struct pt_protocol *row = pt_protocol_of(d->randomizer.row);
	char text[400] = "";

	if (!row->statement)
		return 0;
	row->statement(&d->query, &d->randomizer, d->min_reports, d->privacy.delta, text, sizeof text);
	return text[0] != '\0' ? json_object_set_new(doc, "statement", json_string(text)) : 0;
}

/* The devices that were not taken, by reason. */
static json_t *left_out_json(const struct rd_left_out *l)
{
	json_t *list = json_array();

	for (unsigned why = 1; l && list && why < RD_LEFT_OUT; why++)
		if (l->devices[why] > 0 &&
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:I, s:s}", "why", rd_left_out_name(why), "by",
					rd_left_out_declined(why) ? "client" : "shuffler", "devices",
					(json_int_t)l->devices[why], "text", rd_left_out_words(why))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *result_json(const struct an_state *s, const struct an_round_state *r,
	const struct rd_manifest *m, const struct an_tally *t, const struct es_estimate *e, uint64_t reports,
	const char *fault)
{
	uint64_t honest =
		rd_honest(r->descriptor.min_reports, r->descriptor.honest_fraction, r->descriptor.colluders);
	const struct pt_shuffler *p = &r->descriptor.randomizer.shuffler;
	uint64_t sent = r->participants * r->descriptor.messages_per_client, messages = m ? m->messages : 0;
	uint64_t added = messages > sent ? messages - sent : 0; /* 0 for a lost batch */
	json_t *doc = header_json(s, r);
	json_t *more = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "participants",
		(json_int_t)r->participants, "messages", (json_int_t)messages, "opened",
		(json_int_t)t->counted, "duplicates", (json_int_t)t->duplicates, "bad", (json_int_t)t->bad,
		"reports", (json_int_t)reports, "noise_floor", an_json_real(e->noise_floor), "items",
		items_json(&r->descriptor.query, e, reports, false), "counts", counts_json(t));
	int bad = !doc || !more || set_recurrence(doc, r) != 0 ||
		  set_fields(doc, &r->descriptor.query) != 0 ||
		  json_object_set_new(doc, "left_out", left_out_json(m ? &m->left_out : NULL)) != 0 ||
		  set_estimand(doc, &r->descriptor, e) != 0 || json_object_update(doc, more) != 0;

	json_decref(more);
	if (!bad && fault)
		bad = json_object_set_new(doc, "fault", json_string(fault)) != 0;
	if (!bad && (p->dummies > 0 || p->noise_mean > 0))
		bad = json_object_set_new(doc, "shuffler_dummies", json_integer((json_int_t)added)) != 0;
	if (!bad && p->noise_mean > 0)
		bad = json_object_set_new(doc, "shuffler_noise_mean", json_integer(p->noise_mean)) != 0;
	if (!bad && p->tag_messages > 0)
		bad = json_object_set_new(doc, "tag_messages", json_integer((json_int_t)p->tag_messages)) !=
		      0;
	if (!bad)
		bad = set_statement(doc, &r->descriptor);
	/* The charge assumed this many honest participants, whose messages always open. */
	if (!bad && reports < honest)
		bad = json_object_set_new(doc, "warning",
			      json_string(
				      "fewer valid reports than the honest minimum the charge assumes")) != 0;
	if (bad) {
		json_decref(doc);
		return NULL;
	}
	return doc;
}

static enum cm_rc set_liars(
	json_t *doc, const struct an_round_state *r, const struct an_tally *t, const struct es_estimate *e)
{
	struct an_liars liars = an_liars_of(&r->descriptor, r->participants);
	struct cm_err err = { 0 };

	return an_liars_set(doc, &r->descriptor, t, e, r->participants, &liars, &err);
}

enum cm_rc an_result_make(const struct an_state *s, const struct an_round_state *r,
	const struct rd_manifest *m, const struct an_tally *t, const char *spoiled, struct cm_buf *out,
	struct cm_err *err)
{
	static const struct an_tally nothing;
	const struct rd_descriptor *d = &r->descriptor;
	struct es_estimate e = { 0 };
	struct cm_err why = { 0 };
	const char *fault = spoiled;
	uint64_t reports;
	char *text = NULL;
	json_t *doc;
	enum cm_rc rc;

	if (spoiled)
		t = &nothing;
	reports = spoiled ? 0
			  : an_tally_reports(t, m ? m->messages : 0, r->participants, d->messages_per_client);
	/* A charged round has to end, even if nobody can estimate from its batch. */
	if (!fault && reports == 0)
		fault = "no valid report";
	else if (!fault &&
		 (rc = pt_answer(&d->query, &d->randomizer, t->count, reports, &e, &why)) != CM_OK) {
		/* A result never changes, so do not store one that lacks something; memory may be there the
		 * next time. */
		if (rc == CM_EINTERNAL) {
			*err = why;
			return rc;
		}
		fault = why.msg;
	}
	(void)cm_oom_happened();
	doc = result_json(s, r, m, t, &e, reports, fault);
	if (doc && !fault && set_liars(doc, r, t, &e) != CM_OK) {
		json_decref(doc);
		doc = NULL;
	}
	text = an_json_text(doc, JSON_INDENT(1));
	rc = text && cm_buf_put(out, text, strlen(text)) == CM_OK && cm_buf_put(out, "\n", 1) == CM_OK
		     ? CM_OK
		     : cm_fail(err, CM_EINTERNAL, "round %u: cannot make its result", r->plan->number);
	free(text);
	json_decref(doc);
	es_estimate_fini(&e);
	return rc;
}

char *an_result_path(const char *state_dir, const struct an_round_state *r)
{
	unsigned long long plan = r->of ? r->of->signed_plan.number : 1;
	char name[80];

	if (plan == 1)
		(void)snprintf(name, sizeof name, "results/round-%04u.json", r->plan->number);
	else
		(void)snprintf(name, sizeof name, "results/plan-%llu-round-%04u.json", plan, r->plan->number);
	return cm_file_join(state_dir, name);
}

enum cm_rc an_result_write(
	const char *state_dir, const struct an_round_state *r, const struct cm_buf *bytes, struct cm_err *err)
{
	char *dir = cm_file_join(state_dir, "results");
	char *path = an_result_path(state_dir, r);
	enum cm_rc rc = dir && path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = cm_file_mkdir(dir, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes->data, bytes->len, 0600, err);
	free(dir);
	free(path);
	return rc;
}

enum cm_rc an_result_read(
	const char *state_dir, const struct an_round_state *r, struct cm_buf *out, struct cm_err *err)
{
	char *path = an_result_path(state_dir, r);
	uint8_t hash[PR_HASH_LEN];
	enum cm_rc rc;

	rc = !path                    ? cm_fail(err, CM_EINTERNAL, "out of memory")
	     : r->stage != AN_SETTLED ? cm_fail(err, CM_ENOINPUT, "round %u (%s) is %s: it has no result",
						r->plan->number, r->plan->query.name, an_stage_name(r->stage))
				      : cm_file_read(path, AN_RESULT_MAX, out, err);
	if (rc == CM_OK) {
		cr_sha256(out->data, out->len, hash);
		if (memcmp(hash, r->result_hash, PR_HASH_LEN) != 0)
			rc = cm_fail(err, CM_EDATA, "%s: is not the result the ledger recorded", path);
	}
	free(path);
	return rc;
}

enum cm_rc an_result_load(
	const char *state_dir, const struct an_round_state *r, json_t **out, struct cm_err *err)
{
	json_error_t why;
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, AN_RESULT_MAX);
	*out = NULL;
	rc = an_result_read(state_dir, r, &b, err);
	(void)cm_oom_happened();
	if (rc == CM_OK) {
		*out = json_loadb((const char *)b.data, b.len, JSON_REJECT_DUPLICATES, &why);
		if (cm_oom_happened()) { /* jansson may have dropped a byte after an allocation failed */
			json_decref(*out);
			*out = NULL;
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		} else if (!*out) {
			rc = cm_fail(err, CM_EDATA, "result of round %u:%d: %s", r->plan->number, why.line,
				why.text);
		}
	}
	cm_buf_fini(&b);
	return rc;
}
