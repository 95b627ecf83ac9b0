/* an_export.c - the ledger as JSON lines, for auditors. */
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "an_result.h"
#include "an_show.h"

/* A list that is whole, or NULL. */
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

	for (size_t i = 0; list != NULL && i < r->cells; i++)
		list = put_last(
			list, json_pack("{s:o, s:o, s:o}", "omega", an_json_real(r->cell[i].omega), "u",
				      an_json_real(r->cell[i].u), "v", an_json_real(r->cell[i].v)));
	return list;
}

static json_t *levels_json(const struct acct_round *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < r->levels; i++)
		list = put_last(list, json_pack("{s:o, s:I}", "share", an_json_real(r->level[i].share),
					      "count", (json_int_t)r->level[i].count));
	return list;
}

/* The part's numbers, and the same in the accountant command's grammar. */
static json_t *part_json(const struct acct_round *r)
{
	char spec[ACCT_SPEC_MAX];
	uint64_t n = r->others + 1;
	json_t *part;

	if (acct_spec_text(r, spec) != ACCT_OK)
		return NULL;
	for (size_t i = 0; i < r->levels; i++)
		n += r->level[i].count;
	part = json_pack("{s:o, s:I, s:I, s:I, s:s}", "cells", cells_json(r), "n", (json_int_t)n, "dummies",
		(json_int_t)r->dummies, "count", (json_int_t)r->count, "spec", spec);
	if (part != NULL && ((r->levels > 0 && json_object_set_new(part, "levels", levels_json(r)) != 0) ||
				    (r->defect > 0 && json_object_set_new(part, "defect",
							      an_json_real(r->defect)) != 0) ||
				    (r->sampling > 0 && json_object_set_new(part, "sampling",
								an_json_real(r->sampling)) != 0))) {
		json_decref(part);
		return NULL;
	}
	return part;
}

static json_t *account_json(const struct pt_loss *loss)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < loss->parts; i++)
		list = put_last(list, part_json(&loss->part[i]));
	return list != NULL ? json_pack("{s:o}", "parts", list) : NULL;
}

static int set_hex(json_t *o, const char *key, const uint8_t *bytes, size_t n)
{
	return json_object_set_new(o, key, an_json_hex(bytes, n));
}

static int set_real(json_t *o, const char *key, double v)
{
	return json_object_set_new(o, key, an_json_real(v));
}

/* 64 bits do not fit a JSON number everywhere. */
static int set_le64(json_t *o, const char *key, uint64_t v)
{
	uint8_t bytes[8];

	cm_put_le64(bytes, v);
	return set_hex(o, key, bytes, sizeof bytes);
}

static json_t *slots_json(const struct pt_params *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list != NULL && i < p->slots; i++) {
		const struct pt_slot *s = &p->slot[i];
		json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:b}", "count", (json_int_t)s->count, "groups",
			(json_int_t)s->groups, "bins", (json_int_t)s->bins, "dummies", (json_int_t)s->dummies,
			"keep_always", (int)s->keep_always);

		if (o != NULL && (set_le64(o, "keep_le64", s->keep) != 0 ||
					 (s->dummy_chance > 0 &&
						 set_le64(o, "dummy_chance_le64", s->dummy_chance) != 0))) {
			json_decref(o);
			o = NULL;
		}
		list = put_last(list, o);
	}
	return list;
}

static json_t *classes_json(const struct pt_params *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list != NULL && i < p->tags; i++)
		list = put_last(list, json_integer((json_int_t)p->tag_least[i]));
	return list;
}

static int set_count(json_t *o, const char *key, uint64_t n)
{
	return json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* What only some rows have. */
static int set_rare(json_t *o, const struct pt_params *p)
{
	int bad = 0;

	if (p->dummy_chance > 0)
		bad |= set_le64(o, "dummy_chance_le64", p->dummy_chance);
	if (p->shuffler_dummies > 0)
		bad |= set_count(o, "shuffler_dummies", p->shuffler_dummies);
	if (p->noise_mean > 0)
		bad |= set_count(o, "noise_mean", p->noise_mean) |
		       set_le64(o, "noise_decay_le64", p->noise_decay);
	if (p->slots > 0)
		bad |= json_object_set_new(o, "slots", slots_json(p));
	if (p->tags > 0)
		bad |= set_count(o, "tags", p->tags);
	if (p->tag_messages > 0)
		bad |= set_count(o, "tag_messages", p->tag_messages);
	if (p->tags > 0 && p->tags <= PT_SLOTS_MAX && p->tag_least[0] > 0)
		bad |= json_object_set_new(o, "tag_least", classes_json(p));
	return bad;
}

static int set_randomizer(json_t *o, const struct pt_params *p)
{
	return json_object_set_new(o, "protocol", json_string(p->protocol)) | set_count(o, "bins", p->bins) |
	       set_count(o, "dummies_per_client", p->dummies) | set_count(o, "size", p->size) |
	       json_object_set_new(o, "keep_always", json_boolean(p->keep_always)) |
	       set_le64(o, "keep_le64", p->keep) | set_le64(o, "other_le64", p->other) | set_rare(o, p);
}

/* The randomizer and the accountant's view of a round that holds budget. */
static int set_round(json_t *o, const struct an_books *b, const struct rd_record *r)
{
	const struct an_round_state *s = an_state_find(&b->state, r->round_id);
	const struct rd_descriptor *d = s != NULL ? &s->descriptor : NULL;
	struct pt_loss loss;
	struct cm_err err = { 0 };
	double share = 0;

	if (d == NULL || rd_loss(d, &loss, &err) != CM_OK)
		return -1;
	/* A void round has no share any more. */
	if (rd_mode_filter(b->plan.mode) != 0 && an_round_counts(s) &&
		(rd_account_share_of(b->state.account, r->round_id, &share, &err) != CM_OK ||
			set_real(o, "share", share) != 0))
		return -1;
	return set_hex(o, "descriptor_hash", d->hash, PR_HASH_LEN) |
	       json_object_set_new(o, "query", json_string(d->query.name)) | set_randomizer(o, &d->params) |
	       set_real(o, "epsilon0", d->privacy.epsilon0) | set_count(o, "min_reports", d->min_batch) |
	       set_real(o, "honest_fraction", d->honest_fraction) | set_count(o, "colluders", d->colluders) |
	       set_real(o, "epsilon_round", r->epsilon_round) |
	       set_real(o, "epsilon_total", r->epsilon_total) |
	       json_object_set_new(o, "account", account_json(&loss));
}

static int set_open(json_t *o, const struct rd_record *r)
{
	return json_object_set_new(o, "population", json_string(r->population)) |
	       json_object_set_new(o, "mode", json_string(r->mode)) |
	       json_object_set_new(o, "unit", json_string(r->unit)) |
	       set_real(o, "epsilon_limit", r->epsilon_limit) | set_real(o, "delta", r->delta) |
	       set_hex(o, "plan_hash", r->plan_hash, PR_HASH_LEN);
}

static int set_body(json_t *o, const struct an_books *b, const struct rd_record *r)
{
	int bad = 0;

	if (r->kind == RD_OPEN)
		return set_open(o, r);
	bad |= set_hex(o, "round_id", r->round_id, PR_ROUND_ID_LEN);
	if (r->kind == RD_RESERVE || r->kind == RD_REFUSE)
		bad |= json_object_set_new(o, "round", json_integer((json_int_t)r->plan_round));
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

static enum cm_rc export_record(
	const struct an_books *b, const struct an_entry *e, FILE *out, struct cm_err *err)
{
	struct rd_record r;
	json_t *o;
	enum cm_rc rc = rd_record_decode(e->bytes, e->len, &r, err);

	if (rc != CM_OK)
		return rc;
	o = json_pack("{s:s, s:I, s:I, s:s, s:o}", "schema", "tombola.ledger/2", "seq", (json_int_t)r.seq,
		"time_ms", (json_int_t)r.time_ms, "kind", rd_record_kind_name(r.kind), "head",
		an_json_hex(e->head, PR_HASH_LEN));
	rc = o != NULL && set_body(o, b, &r) == 0
		     ? an_json_print(o, 0, out, err)
		     : cm_fail(err, CM_EINTERNAL, "record %llu: cannot be exported",
			       (unsigned long long)r.seq);
	json_decref(o);
	rd_record_fini(&r);
	return rc;
}

enum cm_rc an_ledger_export(const struct an_books *b, FILE *out, struct cm_err *err)
{
	uint64_t last = an_ledger_chain(b->ledger)->seq;
	enum cm_rc rc = CM_OK;

	for (uint64_t seq = 1; rc == CM_OK && seq <= last; seq++) {
		struct an_entry e = an_ledger_entry(b->ledger, seq);

		rc = export_record(b, &e, out, err);
	}
	return rc;
}
