/* sh_core.c - the shuffler: which rounds there are, and what each peer may make of them. */
#include <string.h>

#include "cm_fault.h"
#include "sh_blanket.h"
#include "sh_core_private.h"
#include "sh_marks.h"

/* ---- Finding rounds ---- */

struct sh_round *sh_core_find(const struct sh_core *c, const uint8_t *round_id)
{
	for (size_t i = 0; i < c->rounds; i++)
		if (memcmp(c->round[i]->d.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return c->round[i];
	return NULL;
}

enum cm_rc sh_core_not_found(struct sh_refusal *no)
{
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "no such round here");
}

static bool same(struct cr_span a, struct cr_span b)
{
	return a.len == b.len && a.len > 0 && memcmp(a.data, b.data, a.len) == 0;
}

static enum cm_rc read_past(void *user, const struct sh_row *row, struct cm_err *err)
{
	struct sh_past *p = user;

	p->state = row->state;
	p->same_descriptor = same(row->descriptor, p->compare);
	p->same_charge = same(row->charge, p->compare);
	if (!p->manifest)
		return CM_OK;
	p->manifest->len = row->manifest.len;
	if (row->manifest.len == 0)
		return CM_OK;
	if (row->manifest.len > sizeof p->manifest->bytes || row->manifest_signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EDATA, "state.db: a stored manifest is damaged");
	memcpy(p->manifest->bytes, row->manifest.data, row->manifest.len);
	memcpy(p->manifest->signature, row->manifest_signature.data, CR_SIGN_LEN);
	return CM_OK;
}

enum cm_rc sh_core_look_up(
	const struct sh_core *c, const uint8_t *round_id, struct sh_past *p, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;

	return store->row_get(store->ctx, round_id, read_past, p, err);
}

/* ---- Clients ---- */

struct sh_round *sh_core_collecting(const struct sh_core *c)
{
	for (size_t i = 0; i < c->rounds; i++)
		if (c->round[i]->state == SH_COLLECTING)
			return c->round[i];
	return NULL;
}

const struct sh_round *sh_core_offer(const struct sh_core *c, uint64_t after, int64_t now_ms)
{
	const struct sh_round *r = sh_core_collecting(c);

	/* Where intakes take the reports, clients may come once the first of them can. */
	return r && !r->intake.closed && (!r->env->intakes || r->spread.epoch != 0) &&
			       r->d.sequence > after && now_ms >= r->d.opens_ms && !sh_round_due(r, now_ms)
		       ? r
		       : NULL;
}

enum cm_rc sh_core_submit(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_submit *s, int64_t now_ms, struct sh_receipt *out, struct sh_refusal *no,
	struct cm_err *err)
{
	struct sh_past past = { 0 };
	enum cm_rc rc;

	if (round_id_len != PR_ROUND_ID_LEN)
		return sh_core_not_found(no);
	struct sh_round *r = sh_core_find(c, round_id);
	if (!r) {
		rc = sh_core_look_up(c, round_id, &past, err);
		if (rc == CM_ENOINPUT)
			return sh_core_not_found(no);
		return rc != CM_OK ? rc
				   : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0,
					     "the round is over and its records are destroyed");
	}
	if (r->state == SH_COLLECTING && r->env->intakes && !r->spread.closed)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"an intake takes the reports of this round, and none does at the moment");
	rc = sh_intake_submit(&r->intake, s, now_ms, out->outcomes, &out->n, no, err);
	if (rc != CM_OK)
		return rc;
	memcpy(out->round_id, round_id, PR_ROUND_ID_LEN);
	out->wait = sh_intake_waits(&r->intake);
	return sh_round_receipt(r, s, out->outcomes, out->n, out->signature, err);
}

/* ---- The ledger ---- */

enum cm_rc sh_core_population(const struct sh_core *c, const char *population, struct sh_refusal *no)
{
	if (strcmp(population, c->conf.policy->population) == 0)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
		"population \"%.60s\" is not served here", population);
}

struct rd_chain sh_core_witness(const struct sh_core *c)
{
	return sh_witness_head(c->witness);
}

/* Does the ledger say that nobody will ask for this round?  A round that is released waits for Settle. */
static bool is_over(const struct sh_core *c, const struct sh_round *r)
{
	enum sh_fate fate = sh_witness_fate(c->witness, r->d.round_id);

	return fate == SH_FATE_VOID || (fate == SH_FATE_SETTLED && r->state != SH_RELEASING);
}

enum cm_rc sh_core_cancel_over(struct sh_core *c, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = c->rounds; rc == CM_OK && i-- > 0;) {
		struct sh_round *r = c->round[i];
		if (!is_over(c, r))
			continue;
		r->cancelled = true;
		if (r->state != SH_SEALED)
			continue;
		rc = sh_round_over(r, SH_ERASED, err);
		if (rc == CM_OK)
			rc = sh_core_over(c, r, err);
	}
	return rc;
}

enum cm_rc sh_core_extend(
	struct sh_core *c, const struct sh_extend *e, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	size_t skip = 0;

	enum cm_rc rc = sh_core_check_loss(c, no);
	if (rc == CM_OK)
		rc = sh_core_check_fork(c, no);
	if (rc == CM_OK)
		rc = sh_witness_check(c->witness, e, c->conf.analyzer, &skip, no, err);
	if (rc == CM_OK && skip < e->n)
		rc = store->records_put(store->ctx, e->first + skip, e->records + skip, e->n - skip, err);
	for (size_t i = skip; rc == CM_OK && i < e->n; i++)
		rc = sh_witness_apply(c->witness, e->records[i].data, e->records[i].len, err);
	if (rc == CM_OK && c->lacks != SH_HEAD_HERE)
		sh_core_heads_judge(c);
	return rc == CM_OK ? sh_core_cancel_over(c, err) : rc;
}

/* ---- Announcing ---- */

/* Is it newer than every one that was served here?  The ledger's reservations follow each other already. */
static enum cm_rc check_sequence(
	const struct sh_core *c, const struct rd_descriptor *d, struct sh_refusal *no)
{
	if (!CM_CHECKED("shuffler.sequence") || d->sequence > c->last_sequence)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
		"sequence number %llu is another descriptor's", (unsigned long long)d->sequence);
}

static enum cm_rc verify(const struct sh_core *c, struct cr_span bytes, struct cr_span signature,
	struct rd_descriptor *d, struct sh_refusal *no, struct cm_err *err)
{
	enum cm_rc rc;

	if (!CM_CHECKED("shuffler.signature"))
		rc = rd_descriptor_decode(bytes.data, bytes.len, d, err);
	else if (signature.len != CR_SIGN_LEN)
		rc = cm_fail(err, CM_EPERM, "a signature has %u bytes", CR_SIGN_LEN);
	else
		rc = rd_descriptor_verify(bytes.data, bytes.len, signature.data, c->conf.analyzer, d, err);
	if (rc == CM_OK || rc == CM_EINTERNAL)
		return rc;
	return sh_refuse(no,
		rc == CM_EPERM ? TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE
			       : TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE,
		0, "%.190s", err->msg);
}

/* Every check on a descriptor that is not known yet.  lost: it ends at once (end_lost). */
static enum cm_rc judge(struct sh_core *c, const struct rd_descriptor *d, struct cr_span bytes, bool lost,
	int64_t now_ms, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	enum cm_rc rc = sh_core_check_heads(c, no);

	if (rc == CM_OK)
		rc = check_sequence(c, d, no);
	/* Said now: a round that cannot be sealed would stop us at its end. */
	if (rc == CM_OK && (rc = sh_blanket_possible(d, err)) != CM_OK && rc != CM_EINTERNAL)
		rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "%.190s", err->msg);
	if (rc == CM_OK && !lost)
		rc = sh_policy_judge(c->conf.policy, d, now_ms, no);
	if (rc == CM_OK && !lost)
		rc = sh_core_check_payload(c, d, no);
	if (rc == CM_OK && sh_core_collecting(c))
		rc = sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS, "another round is open");
	if (rc == CM_OK && c->rounds + c->overs >= SH_ROUNDS_MAX)
		rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"%u rounds wait to be released and settled", SH_ROUNDS_MAX);
	if (rc == CM_OK)
		rc = sh_witness_reserved(c->witness, d, no);
	if (rc == CM_OK)
		rc = sh_core_judge_plan(c, d, bytes, lost, verdict, no, err);
	return rc;
}

/* The round counts from now on, as a try of its entry and as the newest that was served. */
static enum cm_rc count(struct sh_core *c, const struct rd_descriptor *d, const struct rd_verdict *verdict,
	struct cm_err *err)
{
	struct sh_plan *plan = sh_plans_find(c->plans, d->plan_hash);

	c->last_sequence = d->sequence;
	if (plan && verdict->adaptive)
		plan->share = verdict->share_total;
	return sh_plans_began(c->plans, d, err);
}

/* A round that was judged begins; *d is taken over. */
static enum cm_rc begin(struct sh_core *c, struct rd_descriptor *d, const struct sh_announce *a,
	const struct cr_rng *rng, const struct rd_verdict *verdict, struct cm_err *err)
{
	cr_rng_point("round", d->sequence, 0);
	enum cm_rc rc = sh_round_new(&c->conf.env, d, a->descriptor.data, a->descriptor.len,
		a->signature.data, rng, &c->round[c->rounds], err);

	return rc == CM_OK ? count(c, &c->round[c->rounds++]->d, verdict, err) : rc;
}

/* A state that is lost had taken this round, with reports that were acknowledged.  Nobody knows how far that
 * state went: it may have sealed the round, and clients may hold the manifest.  So nothing is signed here: a
 * VOID manifest would contradict that one, and would let devices answer an entry again that was released. The
 * round ends without a manifest, which spends its entry. */
static enum cm_rc end_lost(struct sh_core *c, const struct rd_descriptor *d, const struct sh_announce *a,
	const struct rd_verdict *verdict, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct sh_row row = { .sequence = d->sequence,
		.state = SH_ERASED,
		.descriptor = a->descriptor,
		.signature = a->signature };

	memcpy(row.round_id, d->round_id, PR_ROUND_ID_LEN);
	enum cm_rc rc = store->row_put(store->ctx, &row, err);
	if (rc == CM_OK)
		rc = count(c, d, verdict, err);
	if (rc == CM_OK)
		sh_plans_ended(c->plans, d, NULL);
	/* A store that went back alone left the round's key here. */
	if (rc == CM_OK)
		rc = sh_vault_destroy(store, c->conf.env.key_dir, d->round_id, err);
	return rc == CM_OK && d->payload_size > 0 ? sh_core_drop_payload(c, d->payload_hash, err) : rc;
}

/* Whether a state that is lost had taken this round, which is not in the store: its analyzer, a client, or
 * what is beside its key says so. */
static enum cm_rc was_here(
	const struct sh_core *c, const struct rd_descriptor *d, bool again, bool *out, struct cm_err *err)
{
	uint64_t devices;
	bool there = false;

	enum cm_rc rc = sh_mark_read(c->conf.env.key_dir, d->round_id, &there, &devices, err);
	*out = CM_CHECKED("shuffler.lost") && (again || there || sh_core_heads_reach(c, d));
	return rc;
}

enum cm_rc sh_core_announce(struct sh_core *c, const struct sh_announce *a, int64_t now_ms,
	const struct cr_rng *rng, struct sh_announced *out, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { .compare = a->descriptor };
	struct rd_descriptor d;

	*out = (struct sh_announced){ .lost = false };
	enum cm_rc rc = verify(c, a->descriptor, a->signature, &d, no, err);
	if (rc != CM_OK)
		return rc;
	memcpy(out->round_id, d.round_id, PR_ROUND_ID_LEN);
	rc = sh_core_look_up(c, d.round_id, &past, err);
	if (rc != CM_ENOINPUT) {
		if (rc == CM_OK && !past.same_descriptor)
			rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
				"this round has another descriptor");
		rd_descriptor_fini(&d);
		return rc;
	}
	rc = was_here(c, &d, a->again, &out->lost, err);
	if (rc == CM_OK)
		rc = judge(c, &d, a->descriptor, out->lost, now_ms, &out->verdict, no, err);
	if (rc == CM_OK && !out->lost)
		return begin(c, &d, a, rng, &out->verdict, err);
	if (rc == CM_OK)
		rc = end_lost(c, &d, a, &out->verdict, err);
	rd_descriptor_fini(&d);
	return rc;
}

/* ---- For status ---- */

const struct sh_round *sh_core_round(const struct sh_core *c, size_t i)
{
	return i < c->rounds ? c->round[i] : NULL;
}

const struct sh_policy *sh_core_policy(const struct sh_core *c)
{
	return c->conf.policy;
}

double sh_core_limit(const struct sh_core *c)
{
	return c->conf.policy->max_epsilon;
}

double sh_core_delta(const struct sh_core *c)
{
	return c->conf.policy->delta;
}

size_t sh_core_count(const struct sh_core *c, enum sh_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rounds; i++)
		n += c->round[i]->state == state;
	return n;
}

uint64_t sh_core_number(const struct sh_core *c, const uint8_t id[PR_ROUND_ID_LEN])
{
	const struct sh_round *r = sh_core_find(c, id);

	return r ? r->d.sequence : 0;
}

uint64_t sh_core_newest(const struct sh_core *c)
{
	return c->last_sequence;
}
