/* an_export.c - the ledger as JSON lines, for auditors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "an_result.h"
#include "an_show.h"

#define SPEC_MAX (ACCT_MAX_CELLS * 3u * 28u + 200u)

static size_t put_list(char *out, size_t at, const char *name, const struct acct_round *r, size_t field)
{
	for (size_t i = 0; i < r->cells && at < SPEC_MAX; i++) {
		const double v[] = { r->cell[i].omega, r->cell[i].u, r->cell[i].v };

		at += (size_t)snprintf(out + at, SPEC_MAX - at, "%s%.17g", i == 0 ? name : "/", v[field]);
	}
	return at;
}

/* The round in the accountant command's grammar: cells:omega=..,u=..,v=..,n=.. */
static json_t *spec_json(const struct acct_round *r)
{
	char *text = malloc(SPEC_MAX);
	json_t *out;
	size_t at;

	if (text == NULL)
		return NULL;
	at = put_list(text, 0, "cells:omega=", r, 0);
	at = put_list(text, at, ",u=", r, 1);
	at = put_list(text, at, ",v=", r, 2);
	if (at < SPEC_MAX)
		at += (size_t)snprintf(text + at, SPEC_MAX - at, ",n=%" PRIu64, r->others + 1);
	if (at < SPEC_MAX && r->dummies > 0)
		at += (size_t)snprintf(text + at, SPEC_MAX - at, ",dummies=%" PRIu64, r->dummies);
	out = at < SPEC_MAX ? json_string(text) : NULL;
	free(text);
	return out;
}

static json_t *cells_json(const struct acct_round *r)
{
	json_t *cells = json_array();

	for (size_t i = 0; cells != NULL && i < r->cells; i++)
		if (json_array_append_new(cells,
			    json_pack("{s:o, s:o, s:o}", "omega", an_json_real(r->cell[i].omega), "u",
				    an_json_real(r->cell[i].u), "v", an_json_real(r->cell[i].v))) != 0) {
			json_decref(cells);
			return NULL;
		}
	return json_pack("{s:o, s:I, s:I, s:I, s:o}", "cells", cells, "n", (json_int_t)r->others + 1,
		"dummies", (json_int_t)r->dummies, "count", (json_int_t)r->count, "spec", spec_json(r));
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

/* The randomizer and the accountant's view of a round that holds budget. */
static int set_round(json_t *o, const struct an_books *b, const struct rd_record *r)
{
	const struct an_round_state *s = an_state_find(&b->state, r->round_id);
	const struct rd_descriptor *d = s != NULL ? &s->descriptor : NULL;
	struct pt_loss loss;
	struct cm_err err = { 0 };

	if (d == NULL || rd_loss(d, &loss, &err) != CM_OK || loss.parts != 1)
		return -1;
	double share = 0;
	/* A void round has no share any more. */
	if (rd_mode_filter(b->plan.mode) != 0 && an_round_counts(s) &&
		(rd_account_share_of(b->state.account, r->round_id, &share, &err) != CM_OK ||
			set_real(o, "share", share) != 0))
		return -1;
	if (d->params.shuffler_dummies > 0 &&
		json_object_set_new(
			o, "shuffler_dummies", json_integer((json_int_t)d->params.shuffler_dummies)) != 0)
		return -1;
	return set_hex(o, "descriptor_hash", d->hash, PR_HASH_LEN) |
	       json_object_set_new(o, "query", json_string(d->query.name)) |
	       json_object_set_new(o, "protocol", json_string(d->params.protocol)) |
	       json_object_set_new(o, "bins", json_integer((json_int_t)d->params.bins)) |
	       json_object_set_new(o, "dummies_per_client", json_integer((json_int_t)d->params.dummies)) |
	       json_object_set_new(o, "size", json_integer((json_int_t)d->params.size)) |
	       json_object_set_new(o, "keep_always", json_boolean(d->params.keep_always)) |
	       set_le64(o, "keep_le64", d->params.keep) | set_le64(o, "other_le64", d->params.other) |
	       set_real(o, "epsilon0", d->privacy.epsilon0) |
	       json_object_set_new(o, "min_reports", json_integer((json_int_t)d->min_batch)) |
	       set_real(o, "honest_fraction", d->honest_fraction) |
	       json_object_set_new(o, "colluders", json_integer((json_int_t)d->colluders)) |
	       set_real(o, "epsilon_round", r->epsilon_round) |
	       set_real(o, "epsilon_total", r->epsilon_total) |
	       json_object_set_new(o, "account", cells_json(&loss.part[0]));
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
	if (r->kind == RD_VOID || r->kind == RD_REFUSE)
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
	o = json_pack("{s:s, s:I, s:I, s:s, s:o}", "schema", "tombola.ledger/1", "seq", (json_int_t)r.seq,
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
