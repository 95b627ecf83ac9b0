/* sh_core_start.c (sh_core.h) - creates the core from what the store holds.
 *
 * Reads the witnessed ledger, plans, pins and rounds, and completes unfinished erasures. */
#include <stdlib.h>
#include <string.h>

#include "sh_core_private.h"
#include "sh_marks.h"

static enum cm_rc start_record(void *user, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	struct sh_core *c = user;

	enum cm_rc rc = sh_witness_apply(c->witness, bytes, len, err);
	if (rc == CM_EDATA)
		(void)cm_context(err, "state.db: witnessed ledger");
	return rc;
}

static enum cm_rc start_pin(void *user, const struct sh_pin_row *pin, struct cm_err *err)
{
	struct sh_core *c = user;
	struct sh_plan *plan = sh_plans_of_record(c->plans, pin->record);

	if (!plan || pin->state <= SH_PIN_WAITS || pin->state >= SH_PIN_CLOSED)
		return cm_fail(err, CM_EDATA, "state.db: the pin of record %llu is no plan's",
			(unsigned long long)pin->record);
	return sh_plans_pinned(c->plans, plan, (enum sh_pin_state)pin->state, pin->epsilon, pin->taken, err);
}

/* Record in its plan the stored round: a try that is under way, or how it ended. */
static enum cm_rc start_try(struct sh_core *c, const struct sh_row *row, struct cm_err *err)
{
	struct rd_descriptor d;

	enum cm_rc rc = rd_descriptor_decode(row->descriptor.data, row->descriptor.len, &d, err);
	if (rc != CM_OK)
		return rc == CM_EINTERNAL
			       ? rc
			       : cm_fail(err, CM_EDATA, "state.db: the descriptor of round %llu is damaged",
					 (unsigned long long)row->sequence);
	rc = sh_plans_began(c->plans, &d, err);
	if (rc == CM_OK && row->state != SH_COLLECTING)
		sh_plans_ended(c->plans, &d, row->state == SH_VOID ? &row->manifest : NULL);
	rd_descriptor_fini(&d);
	return rc;
}

static enum cm_rc start_row(void *user, const struct sh_row *row, struct cm_err *err)
{
	struct sh_core *c = user;

	c->last_sequence = row->sequence;
	enum cm_rc rc = start_try(c, row, err);
	if (rc != CM_OK)
		return rc;
	if (row->state == SH_ERASED || row->state == SH_VOID)
		return CM_OK;
	if (c->live.n > SH_ROUNDS_MAX)
		return cm_fail(err, CM_EDATA, "state.db: too many rounds are under way");
	rc = sh_round_restore(&c->conf.env, row, &c->live.round[c->live.n], err);
	if (rc == CM_OK)
		c->live.n++;
	else if (rc == CM_ENOINPUT || rc == CM_EDATA)
		sh_round_cannot_go_on(row->sequence, err);
	else
		(void)cm_context(err, "round %llu", (unsigned long long)row->sequence);
	return rc;
}

struct places {
	uint8_t (*id)[PR_ROUND_ID_LEN];
	size_t n, cap;
};

static enum cm_rc collect_place(void *user, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	struct places *p = user;

	void *id = cm_grow(p->id, p->n, &p->cap, sizeof *p->id);

	if (!id)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->id = id;
	memcpy(p->id[p->n++], round_id, PR_ROUND_ID_LEN);
	return CM_OK;
}

/* Destroy the key and data of a round.  If it has reports and no row, the state has forgotten it; its mark
 * then stays, so that it is not begun anew (sh_core.h, Announce). */
static enum cm_rc destroy(const struct sh_core *c, const uint8_t *round_id, struct cm_err *err)
{
	const char *key_dir = c->conf.env.key_dir;
	struct sh_past past = { .manifest = NULL };
	uint64_t devices = 0;
	bool there;

	enum cm_rc found = sh_core_look_up(c, round_id, &past, err);
	enum cm_rc rc = found == CM_ENOINPUT ? sh_mark_read(key_dir, round_id, &there, &devices, err) : found;
	if (rc == CM_OK)
		rc = sh_vault_destroy(c->conf.env.store, key_dir, round_id, err);
	return rc == CM_OK && devices > 0 ? sh_mark_begin(key_dir, round_id, devices, err) : rc;
}

/* Destroy the key and the stored data of every round that is not live.  A crash left them: it came after
 * the round's end was stored and before the erasure, or before the new round's row was stored. */
static enum cm_rc finish_erasures(struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct places places = { 0 };

	enum cm_rc rc = store->data_each(store->ctx, collect_place, &places, err);
	for (size_t i = 0; rc == CM_OK && i < places.n; i++)
		if (!sh_live_find(&c->live, places.id[i]))
			rc = destroy(c, places.id[i], err);
	free(places.id);
	return rc;
}

/* Copy what rounds and payloads need of the policy. */
static void copy_limits(struct sh_core *c)
{
	c->conf.env.max_share = c->conf.policy->max_share;
	c->payloads.max_bytes = (uint64_t)c->conf.policy->shared.max_payload;
}

void sh_core_reconsider(struct sh_core *c)
{
	copy_limits(c);
	sh_judge_reconsider(&c->judge);
}

/* Create the core of this configuration, with the ledger, plans and pins of the store. */
static enum cm_rc make(const struct sh_core_conf *conf, struct sh_core **out, struct cm_err *err)
{
	const struct sh_policy *p = conf->policy;
	const struct sh_store *store = conf->env.store;
	struct sh_core *c = calloc(1, sizeof *c);

	if (!c)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = c;
	c->conf = *conf;
	c->payloads = (struct sh_payloads){ .store = store, .live = &c->live };
	copy_limits(c);
	c->proofs = (struct sh_proofs){ .place = &c->conf.env.leaves };
	c->heads = (struct sh_heads){
		.store = store, .policy = p, .analyzer = conf->analyzer, .intakes = conf->env.intakes
	};
	enum cm_rc rc = store->loss_get(store->ctx, &c->heads.loss, err);
	if (rc == CM_OK)
		rc = sh_plans_new(p, c->heads.loss.closed_to, &c->plans, err);
	if (rc == CM_OK)
		rc = sh_witness_new(p->shared.population, c->plans, &c->witness, err);
	sh_judge_init(&c->judge, store, p, c->plans, &c->rehearse);
	sh_rehearse_init(&c->rehearse, p, c->plans, conf->analyzer);
	c->heads.plans = c->plans;
	c->heads.witness = c->witness;
	if (rc == CM_OK)
		rc = store->record_each(store->ctx, start_record, c, err);
	if (rc == CM_OK)
		rc = sh_heads_load(&c->heads, err);
	if (rc == CM_OK)
		rc = store->pin_each(store->ctx, start_pin, c, err);
	return rc;
}

/* Bring a round's mark up to date.  A crash may have come between a row and the mark of its seal, or
 * between a commit and the mark of its devices, which get a receipt when they come again.  A round that an
 * earlier version began has no mark. */
static enum cm_rc mark(struct sh_round *r, struct cm_err *err)
{
	const char *key_dir = r->env->key_dir;
	enum cm_rc rc = CM_OK;

	if (r->state != SH_COLLECTING)
		return sh_mark_sealed(key_dir, r->d.round_id, err);
	if (!r->is_marked)
		rc = sh_mark_begin(key_dir, r->d.round_id, r->stored, err);
	if (rc == CM_OK)
		rc = sh_mark_open(key_dir, r->d.round_id, &r->mark, err);
	return rc == CM_OK ? sh_mark_raise(r->mark, r->stored, err) : rc;
}

enum cm_rc sh_core_new(const struct sh_core_conf *conf, struct sh_core **out, struct cm_err *err)
{
	const struct sh_store *store = conf->env.store;
	struct sh_core *c = NULL;

	enum cm_rc rc = make(conf, &c, err);
	if (rc == CM_OK)
		rc = store->row_each(store->ctx, start_row, c, err);
	for (size_t i = 0; rc == CM_OK && i < c->live.n; i++)
		rc = mark(c->live.round[i], err);
	if (rc == CM_OK)
		rc = finish_erasures(c, err);
	if (rc == CM_OK)
		rc = sh_payloads_load(&c->payloads, err);
	if (rc == CM_OK)
		rc = sh_proofs_load(&c->proofs, &c->live, err);
	if (rc == CM_OK)
		rc = sh_core_cancel_over(c, err);
	if (rc != CM_OK) {
		sh_core_free(c);
		return rc;
	}
	*out = c;
	return CM_OK;
}

struct checking {
	struct sh_core *c;
	sh_core_finding_fn *say;
	void *user;
};

static enum cm_rc check_row(void *user, const struct sh_row *row, struct cm_err *err)
{
	const struct checking *k = user;
	struct cm_err why = { 0 };

	enum cm_rc rc = start_row(k->c, row, &why);
	if (rc == CM_ENOINPUT || rc == CM_EDATA)
		k->say(k->user, &why);
	else if (rc != CM_OK)
		*err = why;
	return rc == CM_ENOINPUT || rc == CM_EDATA ? CM_OK : rc;
}

enum cm_rc sh_core_check(
	const struct sh_core_conf *conf, sh_core_finding_fn *say, void *user, struct cm_err *err)
{
	const struct sh_store *store = conf->env.store;
	struct checking k = { .say = say, .user = user };

	enum cm_rc rc = make(conf, &k.c, err);
	if (rc == CM_OK)
		rc = store->row_each(store->ctx, check_row, &k, err);
	if (rc == CM_OK)
		rc = sh_proofs_load(&k.c->proofs, &k.c->live, err);
	sh_core_free(k.c);
	return rc;
}

void sh_core_free(struct sh_core *c)
{
	if (!c)
		return;
	sh_live_fini(&c->live);
	sh_witness_free(c->witness);
	sh_judge_fini(&c->judge);
	sh_rehearse_fini(&c->rehearse);
	sh_plans_free(c->plans);
	sh_heads_fini(&c->heads);
	sh_proofs_fini(&c->proofs);
	free(c);
}
