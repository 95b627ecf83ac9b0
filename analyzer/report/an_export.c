/* an_export.c - prints the ledger as JSON lines, for auditors. */
#include "an_export.h"

#include <math.h>
#include <string.h>

#include "acct_families.h"
#include "acct_spec.h"
#include "an_result.h"

/* Append to a list; returns NULL, and frees it, if that fails. */
static json_t *put_last(json_t *list, json_t *item)
{
	if (json_array_append_new(list, item) == 0)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *cells_json(const struct acct_round *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->cells; i++)
		list = put_last(
			list, json_pack("{s:o, s:o, s:o}", "omega", an_json_real(r->cell[i].omega), "u",
				      an_json_real(r->cell[i].u), "v", an_json_real(r->cell[i].v)));
	return list;
}

/* The round's levels, or its classes, by the name of what `share` is. */
static json_t *levels_json(const struct acct_round *r, const char *share)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->levels; i++)
		list = put_last(list, json_pack("{s:o, s:I}", share, an_json_real(r->level[i].share), "count",
					      (json_int_t)r->level[i].count));
	return list;
}

static json_t *shape_json(const struct acct_round *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < 3; i++)
		list = put_last(list, an_json_real(r->shape[i]));
	return list;
}

/* The numbers of a round whose classes are batches of their own. */
static json_t *apart_json(const struct acct_round *r, const char *spec)
{
	json_t *part = json_pack("{s:o, s:o, s:I, s:s}", "classes", levels_json(r, "epsilon0"), "symbols",
		an_json_real(r->shape[0]), "count", (json_int_t)r->count, "spec", spec);

	if (part && r->defect > 0 && json_object_set_new(part, "defect", an_json_real(r->defect)) != 0) {
		json_decref(part);
		return NULL;
	}
	return part;
}

/* A part of a round's loss: its numbers, and the same in the accountant command's grammar. */
static json_t *part_json(const struct acct_round *r)
{
	char spec[ACCT_SPEC_MAX];
	uint64_t n = r->others + 1;
	unsigned messages = acct_family_number(r);
	json_t *part;

	if (acct_spec_text(r, spec) != ACCT_OK)
		return NULL;
	if (r->event == ACCT_CLASSES_APART)
		return apart_json(r, spec);
	for (size_t i = 0; i < r->levels; i++)
		n += r->level[i].count;
	part = json_pack("{s:o, s:I, s:I, s:I, s:s}", "cells", cells_json(r), "n", (json_int_t)n, "dummies",
		(json_int_t)r->dummies, "count", (json_int_t)r->count, "spec", spec);
	if (part &&
		((messages != ACCT_ANY_MESSAGES &&
			 json_object_set_new(part, "messages", json_integer(messages)) != 0) ||
			(messages == ACCT_SETS &&
				json_object_set_new(part, "triple", an_json_real(r->shape[0])) != 0) ||
			(messages > ACCT_LADDER && json_object_set_new(part, "shape", shape_json(r)) != 0) ||
			(r->levels > 0 &&
				json_object_set_new(part, "levels", levels_json(r, "share")) != 0) ||
			(r->defect > 0 &&
				json_object_set_new(part, "defect", an_json_real(r->defect)) != 0) ||
			(r->sampling > 0 &&
				json_object_set_new(part, "sampling", an_json_real(r->sampling)) != 0))) {
		json_decref(part);
		return NULL;
	}
	return part;
}

static json_t *account_json(const struct pt_loss *loss)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < loss->parts; i++)
		list = put_last(list, part_json(&loss->part[i]));
	return list ? json_pack("{s:o}", "parts", list) : NULL;
}

static int set_hex(json_t *o, const char *key, const uint8_t *bytes, size_t n)
{
	return json_object_set_new(o, key, an_json_hex(bytes, n));
}

static int set_real(json_t *o, const char *key, double v)
{
	return json_object_set_new(o, key, an_json_real(v));
}

/* Put the bytes little-endian as hex, because not every reader of JSON keeps numbers of 64 bits. */
static int set_le64(json_t *o, const char *key, uint64_t v)
{
	uint8_t bytes[8];

	cm_put_le64(bytes, v);
	return set_hex(o, key, bytes, sizeof bytes);
}

static int set_count(json_t *o, const char *key, uint64_t n)
{
	return json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* Where set_parameter puts a randomizer's parameters; those of its slots have a list of their own. */
struct parameters {
	json_t *o, *slots;
	int bad;
};

/* Put one parameter.  A probability is given as the bytes of its integer; that of a further dummy is left out
 * if there is no further dummy. */
static void set_parameter(
	void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct parameters *to = user;
	bool alone = item == PT_FIELD_ALONE;
	char key[40];
	json_t *o = to->o;

	if (strcmp(name, "dummy_chance") == 0 && value == 0)
		return;
	if (!alone && json_array_size(to->slots) <= item)
		to->bad |= json_array_append_new(to->slots, json_object());
	if (!alone)
		o = json_array_get(to->slots, item);
	(void)snprintf(key, sizeof key, "%s%s", name,
		type == PT_FIELD_CHANCE || type == PT_FIELD_U64 ? "_le64"
		: alone && strcmp(name, "dummies") == 0         ? "_per_client"
								: "");
	if (type == PT_FIELD_BOOL)
		to->bad |= json_object_set_new(o, key, json_boolean(value != 0));
	else if (type == PT_FIELD_U32)
		to->bad |= set_count(o, key, value);
	else
		to->bad |= set_le64(o, key, value);
}

static json_t *classes_json(const struct pt_shuffler *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < s->tags; i++)
		list = put_last(list, json_integer((json_int_t)s->tag_least[i]));
	return list;
}

static int set_shuffler(json_t *o, const struct pt_randomizer *p)
{
	const struct pt_shuffler *s = &p->shuffler;
	int bad = 0;

	if (s->dummies > 0)
		bad |= set_count(o, "shuffler_dummies", s->dummies);
	if (s->noise_mean > 0)
		bad |= set_count(o, "noise_mean", s->noise_mean) |
		       set_le64(o, "noise_decay_le64", s->noise_decay);
	if (s->tags > 0)
		bad |= set_count(o, "tags", s->tags);
	if (s->tag_messages > 0)
		bad |= set_count(o, "tag_messages", s->tag_messages);
	if (pt_has_classes(p))
		bad |= json_object_set_new(o, "tag_least", classes_json(s));
	return bad;
}

/* Put a randomizer's parameters.  Every line has the first five, whether or not the row uses them. */
static int set_randomizer(json_t *o, const struct pt_randomizer *p)
{
	struct parameters to = { .o = o, .slots = json_array() };

	to.bad = json_object_set_new(o, "protocol", json_string(p->row->name)) | set_count(o, "bins", 0) |
		 set_count(o, "dummies_per_client", 0) | set_count(o, "size", 0) |
		 json_object_set_new(o, "keep_always", json_false()) | set_le64(o, "keep_le64", 0) |
		 set_le64(o, "other_le64", 0);
	pt_parameters_each(p, set_parameter, &to);
	if (json_array_size(to.slots) > 0)
		to.bad |= json_object_set(o, "slots", to.slots);
	else
		to.bad |= json_object_set_new(o, "keep_always", json_boolean(isinf(p->row->epsilon0(p))));
	json_decref(to.slots);
	return to.bad | set_shuffler(o, p);
}

/* Put what a randomizer costs with this number of participants, and the numbers from which that follows. */
static int set_cost(json_t *o, const struct rd_descriptor *d)
{
	struct pt_loss loss;
	struct cm_err err = { 0 };

	if (rd_loss(d, &loss, &err) != CM_OK)
		return -1;
	return json_object_set_new(o, "query", json_string(d->query.name)) |
	       set_randomizer(o, &d->randomizer) | set_count(o, "min_reports", d->min_reports) |
	       set_real(o, "honest_fraction", d->honest_fraction) | set_count(o, "colluders", d->colluders) |
	       json_object_set_new(o, "account", account_json(&loss));
}

/* Put the round of a record.  The state has forgotten void tries, so only the RESERVE record describes
 * them. */
static int set_round(json_t *o, const struct an_ledger_files *b, const struct rd_record *r)
{
	const struct an_round_state *s = an_state_find(&b->state, r->round_id);
	struct rd_descriptor read = { 0 };
	const struct rd_descriptor *d = s ? &s->descriptor : &read;
	struct cm_err err = { 0 };
	double share = 0;
	int bad = 0;

	if (!s && rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &read, &err) != CM_OK)
		return -1;
	if (s && s->of->account && an_round_holds(s))
		bad = rd_account_share_of(s->of->account, r->round_id, &share, &err) != CM_OK ||
		      set_real(o, "share", share) != 0;
	if (d->entry > 0)
		bad |= set_count(o, "entry", d->entry) | set_count(o, "attempt", d->attempt);
	bad |= set_hex(o, "descriptor_hash", d->hash, PR_HASH_LEN) | set_cost(o, d) |
	       set_real(o, "epsilon0", d->privacy.epsilon0) | set_real(o, "epsilon_round", r->epsilon_round) |
	       set_real(o, "epsilon_total", r->epsilon_total);
	rd_descriptor_fini(&read);
	return bad;
}

static int set_open(json_t *o, const struct rd_record *r)
{
	return json_object_set_new(o, "population", json_string(r->population)) |
	       json_object_set_new(o, "unit", json_string(r->unit)) |
	       set_real(o, "epsilon_limit", r->epsilon_limit) | set_real(o, "delta", r->delta);
}

static json_t *refused_json(const struct rd_plan *p)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->refusals; i++)
		list = put_last(list, json_pack("{s:I, s:s, s:o, s:o}", "round",
					      (json_int_t)p->refused[i].number, "query", p->refused[i].query,
					      "epsilon_round", an_json_real(p->refused[i].epsilon_round),
					      "epsilon_total", an_json_real(p->refused[i].epsilon_total)));
	return list;
}

static int set_plan(json_t *o, const struct rd_record *r)
{
	struct rd_plan p;
	struct cm_err err = { 0 };
	int bad;

	if (rd_plan_decode(r->plan.data, r->plan.len, &p, &err) != CM_OK)
		return -1;
	bad = set_hex(o, "plan_hash", p.hash, PR_HASH_LEN) |
	      set_hex(o, "file_hash", p.file_hash, PR_HASH_LEN) |
	      json_object_set_new(o, "name", json_string(p.name)) |
	      json_object_set_new(o, "mode", json_string(p.mode)) | set_count(o, "number", p.number) |
	      set_real(o, "epsilon_limit", p.epsilon) | set_real(o, "delta", p.delta) |
	      set_count(o, "tries", p.tries) | set_count(o, "entries", p.entries) |
	      json_object_set_new(o, "refused", refused_json(&p));
	rd_plan_fini(&p);
	return bad;
}

static int set_body(json_t *o, const struct an_ledger_files *b, const struct rd_record *r)
{
	int bad = 0;

	if (r->kind == RD_OPEN)
		return set_open(o, r);
	if (r->kind == RD_PLAN)
		return set_plan(o, r);
	bad |= set_hex(o, "round_id", r->round_id, PR_ROUND_ID_LEN);
	if (r->kind == RD_RESERVE || r->kind == RD_REFUSE)
		bad |= json_object_set_new(o, "round", json_integer((json_int_t)r->plan_round)) |
		       set_hex(o, "plan_hash", r->plan_hash, PR_HASH_LEN);
	if (r->kind == RD_CHARGE || r->kind == RD_VOID)
		bad |= set_hex(o, "manifest_hash", r->manifest_hash, PR_HASH_LEN) |
		       json_object_set_new(o, "participants", json_integer((json_int_t)r->participants));
	if (r->kind == RD_RESERVE || r->kind == RD_CHARGE)
		bad |= set_round(o, b, r);
	if (r->kind == RD_REFUSE)
		bad |= json_object_set_new(o, "query", json_string(r->query)) |
		       set_real(o, "epsilon_round", r->epsilon_round) |
		       set_real(o, "epsilon_total", r->epsilon_total);
	if (r->reason[0] != '\0')
		bad |= json_object_set_new(o, "reason", json_string(r->reason));
	if (r->kind == RD_SETTLE)
		bad |= set_hex(o, "result_hash", r->result_hash, PR_HASH_LEN);
	return bad;
}

static json_t *begin_line(const struct rd_record *r, const struct an_entry *e, const char *kind)
{
	return json_pack("{s:s, s:I, s:I, s:s, s:o}", "schema", "tombola.ledger/3", "seq", (json_int_t)r->seq,
		"time_ms", (json_int_t)r->time_ms, "kind", kind, "head", an_json_hex(e->head, PR_HASH_LEN));
}

/* Print the entries of a plan after it, one line each. */
static enum cm_rc export_entries(
	const struct rd_record *r, const struct an_entry *e, FILE *out, struct cm_err *err)
{
	struct rd_plan p;
	enum cm_rc rc = rd_plan_decode(r->plan.data, r->plan.len, &p, err);

	for (size_t i = 0; rc == CM_OK && i < p.entries; i++) {
		json_t *o = begin_line(r, e, "entry");
		struct rd_descriptor d;

		rd_plan_descriptor(&p, i, &d);
		if (!o || (set_hex(o, "plan_hash", p.hash, PR_HASH_LEN) |
				  set_count(o, "round", p.entry[i].number) | set_cost(o, &d) |
				  set_real(o, "epsilon0", p.entry[i].epsilon0) |
				  set_real(o, "epsilon_round", p.entry[i].epsilon_round) |
				  set_real(o, "epsilon_total", p.entry[i].epsilon_total)) != 0)
			rc = cm_fail(err, CM_EINTERNAL, "record %llu: cannot be exported",
				(unsigned long long)r->seq);
		else
			rc = an_json_print(o, 0, out, err);
		json_decref(o);
	}
	rd_plan_fini(&p);
	return rc;
}

static enum cm_rc export_record(
	const struct an_ledger_files *b, const struct an_entry *e, FILE *out, struct cm_err *err)
{
	struct rd_record r;
	json_t *o;
	enum cm_rc rc = rd_record_decode(e->bytes, e->len, &r, err);

	if (rc != CM_OK)
		return rc;
	o = begin_line(&r, e, rd_record_kind_name(r.kind));
	rc = o && set_body(o, b, &r) == 0 ? an_json_print(o, 0, out, err)
					  : cm_fail(err, CM_EINTERNAL, "record %llu: cannot be exported",
						    (unsigned long long)r.seq);
	if (rc == CM_OK && r.kind == RD_PLAN)
		rc = export_entries(&r, e, out, err);
	json_decref(o);
	rd_record_fini(&r);
	return rc;
}

enum cm_rc an_ledger_export(const struct an_ledger_files *b, FILE *out, struct cm_err *err)
{
	uint64_t last = an_ledger_chain(b->ledger)->seq;
	enum cm_rc rc = CM_OK;

	for (uint64_t seq = 1; rc == CM_OK && seq <= last; seq++) {
		struct an_entry e = an_ledger_entry(b->ledger, seq);

		rc = export_record(b, &e, out, err);
	}
	return rc;
}
