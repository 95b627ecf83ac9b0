/* sh_core.c - the shuffler's core: decides what each peer may do with its rounds, and passes the request to
 * the object that answers it. */
#include <string.h>

#include "cm_fault.h"
#include "sh_blanket.h"
#include "sh_core_left_out.h"
#include "sh_core_private.h"
#include "sh_marks.h"

/* ---- Finding rounds ---- */

static enum cm_rc not_found(struct sh_refusal *no)
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
	return sh_live_collecting(&c->live);
}

const struct sh_round *sh_core_offer(const struct sh_core *c, uint64_t after, int64_t now_ms)
{
	const struct sh_round *r = sh_live_collecting(&c->live);

	/* If intakes take the reports, clients may come as soon as the first intake can. */
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
		return not_found(no);
	struct sh_round *r = sh_live_find(&c->live, round_id);
	if (!r) {
		rc = sh_core_look_up(c, round_id, &past, err);
		if (rc == CM_ENOINPUT)
			return not_found(no);
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
	sh_core_count_left_out(r, s->peer, out);
	memcpy(out->round_id, round_id, PR_ROUND_ID_LEN);
	out->wait = sh_intake_waits(&r->intake);
	return sh_round_receipt(r, s, out->outcomes, out->n, out->signature, err);
}

enum cm_rc sh_core_prove(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct sh_refusal *no, struct cm_err *err)
{
	if (round_id_len != PR_ROUND_ID_LEN)
		return not_found(no);
	const struct sh_round *r = sh_live_find(&c->live, round_id);
	return r && r->state == SH_COLLECTING ? sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY,
							SH_BUSY_RETRY_MS, "the round is still open")
					      : sh_proofs_prove(&c->proofs, round_id, hashes, out, no, err);
}

enum cm_rc sh_core_expire(struct sh_core *c, int64_t now_ms, struct cm_err *err)
{
	return sh_proofs_expire(&c->proofs, now_ms, err);
}

enum cm_rc sh_core_get_payload(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_part *part, uint8_t *out, size_t *out_len, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_round *r = round_id_len == PR_ROUND_ID_LEN ? sh_live_find(&c->live, round_id) : NULL;

	if (!r)
		return not_found(no);
	if (r->state != SH_COLLECTING)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0, "the round is over");
	return sh_payloads_get(&c->payloads, &r->d, part, out, out_len, no, err);
}

enum cm_rc sh_core_plan(struct sh_core *c, const uint8_t *hash, size_t hash_len, struct sh_plan_signed *out,
	struct sh_refusal *no, struct cm_err *err)
{
	return sh_judge_plan(&c->judge, hash, hash_len, out, no, err);
}

enum cm_rc sh_core_standing(const struct sh_core *c, const uint8_t key_hash[PR_HASH_LEN],
	const uint8_t *gateway, struct sh_standing_signed *out, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct sh_standing other = { .sequence = 0 };
	uint8_t bytes[RD_STANDING_LEN], name[CR_HASH_LEN];

	sh_standing_name(key_hash, name);
	enum cm_rc rc = store->standing_get(store->ctx, name, &out->standing, err);
	if (rc == CM_OK && gateway && CM_CHECKED("shuffler.standing.gateway")) {
		sh_standing_gateway_name(gateway, name);
		rc = store->standing_get(store->ctx, name, &other, err);
	}
	if (rc != CM_OK)
		return rc;
	if (other.sequence > out->standing.sequence)
		out->standing = other;
	rd_standing_bytes(key_hash, out->standing.sequence, out->standing.descriptor_hash, bytes);
	return cr_sign(c->conf.env.signer, RD_PURPOSE_STANDING, bytes, sizeof bytes, out->signature, err);
}

enum cm_rc sh_core_state_head(struct sh_core *c, const struct cr_identity *who, struct cr_span descriptor,
	struct cr_span signature, enum sh_stated *what, struct cm_err *err)
{
	return sh_heads_state(&c->heads, who, descriptor, signature, c->last_sequence, what, err);
}

/* ---- The ledger ---- */

enum cm_rc sh_core_population(const struct sh_core *c, const char *population, struct sh_refusal *no)
{
	if (strcmp(population, c->conf.policy->shared.population) == 0)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
		"population \"%.60s\" is not served here, \"%.60s\" is", population,
		c->conf.policy->shared.population);
}

enum cm_rc sh_core_check_loss(const struct sh_core *c, struct sh_refusal *no)
{
	return sh_heads_check_loss(&c->heads, no);
}

const struct sh_head_row *sh_core_lacks(const struct sh_core *c)
{
	return sh_heads_lacking(&c->heads);
}

struct rd_chain sh_core_witness(const struct sh_core *c)
{
	return sh_witness_head(c->witness);
}

enum cm_rc sh_core_over(struct sh_core *c, struct sh_round *r, struct cm_err *err)
{
	sh_live_over(&c->live, r);
	return r->d.payload_size > 0 ? sh_payloads_drop(&c->payloads, r->d.payload_hash, err) : CM_OK;
}

/* Whether the ledger says that nobody will ask for this round any more.  A round that is being released
 * waits for Settle. */
static bool is_over(const struct sh_core *c, const struct sh_round *r)
{
	enum sh_fate fate = sh_witness_fate(c->witness, r->d.round_id);

	return fate == SH_FATE_VOID || (fate == SH_FATE_SETTLED && r->state != SH_RELEASING);
}

enum cm_rc sh_core_cancel_over(struct sh_core *c, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = c->live.n; rc == CM_OK && i-- > 0;) {
		struct sh_round *r = c->live.round[i];
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

	enum cm_rc rc = sh_heads_check_loss(&c->heads, no);
	if (rc == CM_OK)
		rc = sh_heads_check_fork(&c->heads, no);
	if (rc == CM_OK)
		rc = sh_witness_check(c->witness, e, c->conf.analyzer, &skip, no, err);
	if (rc == CM_OK && skip < e->n)
		rc = store->records_put(store->ctx, e->first + skip, e->records + skip, e->n - skip, err);
	for (size_t i = skip; rc == CM_OK && i < e->n; i++)
		rc = sh_witness_apply(c->witness, e->records[i].data, e->records[i].len, err);
	if (rc == CM_OK && c->heads.lacks != SH_HEAD_HERE)
		sh_heads_judge(&c->heads);
	return rc == CM_OK ? sh_core_cancel_over(c, err) : rc;
}

/* ---- Announcing ---- */

enum cm_rc sh_core_put_payload(struct sh_core *c, const struct sh_put *put, uint64_t *held,
	struct sh_refusal *no, struct cm_err *err)
{
	return sh_payloads_put(&c->payloads, put, held, no, err);
}

/* Check that it is newer than every round that was served here.  The ledger has already checked that
 * reservations follow each other. */
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
	return sh_refuse_unverified(no, rc, err);
}

/* Make every check on a descriptor that is not known yet.  lost: the round will end at once (end_lost). */
static enum cm_rc judge(struct sh_core *c, const struct rd_descriptor *d, struct cr_span bytes, bool lost,
	int64_t now_ms, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	enum cm_rc rc = sh_heads_check(&c->heads, no);

	if (rc == CM_OK)
		rc = check_sequence(c, d, no);
	/* Check it now, because a round that cannot be sealed would stop the shuffler at the round's
	 * end. */
	if (rc == CM_OK && (rc = sh_blanket_possible(d, err)) != CM_OK && rc != CM_EINTERNAL)
		rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "%.190s", err->msg);
	if (rc == CM_OK && !lost)
		rc = sh_policy_judge(c->conf.policy, d, now_ms, no);
	if (rc == CM_OK && !lost)
		rc = sh_payloads_check(&c->payloads, d, no);
	if (rc == CM_OK && sh_live_collecting(&c->live))
		rc = sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS, "another round is open");
	if (rc == CM_OK && c->live.n + c->live.overs >= SH_ROUNDS_MAX)
		rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"%u rounds wait to be released and settled", SH_ROUNDS_MAX);
	if (rc == CM_OK)
		rc = sh_witness_reserved(c->witness, d, no);
	if (rc == CM_OK)
		rc = sh_judge_round(&c->judge, d, bytes, lost, verdict, no, err);
	return rc;
}

/* Count the round, from now on, as a try of its entry and as the newest round that was served. */
static enum cm_rc count(struct sh_core *c, const struct rd_descriptor *d, const struct rd_verdict *verdict,
	struct cm_err *err)
{
	struct sh_plan *plan = sh_plans_find(c->plans, d->plan_hash);

	c->last_sequence = d->sequence;
	if (plan && verdict->adaptive)
		plan->share = verdict->share_total;
	return sh_plans_began(c->plans, d, err);
}

/* Begin a round that passed judgement; *d is taken over. */
static enum cm_rc begin(struct sh_core *c, struct rd_descriptor *d, const struct sh_announce *a,
	const struct cr_rng *rng, const struct rd_verdict *verdict, struct cm_err *err)
{
	cr_rng_point("round", d->sequence, 0);
	enum cm_rc rc = sh_round_new(&c->conf.env, d, a->descriptor.data, a->descriptor.len,
		a->signature.data, rng, &c->live.round[c->live.n], err);

	return rc == CM_OK ? count(c, &c->live.round[c->live.n++]->d, verdict, err) : rc;
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
	/* If only the store went back, the round's key is still here. */
	if (rc == CM_OK)
		rc = sh_vault_destroy(store, c->conf.env.key_dir, d->round_id, err);
	return rc == CM_OK && d->payload_size > 0 ? sh_payloads_drop(&c->payloads, d->payload_hash, err) : rc;
}

/* *again: whether this shuffler accepted the round, which is not in the store, before it lost its state.
 * It did if the analyzer states so (`again`), if the round's mark is still beside its key, or if a client
 * has stated a later ledger. */
static enum cm_rc was_here(
	const struct sh_core *c, const struct rd_descriptor *d, bool again, bool *out, struct cm_err *err)
{
	uint64_t devices;
	bool there = false;

	enum cm_rc rc = sh_mark_read(c->conf.env.key_dir, d->round_id, &there, &devices, err);
	*out = CM_CHECKED("shuffler.lost") && (again || there || sh_heads_reach(&c->heads, d));
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

/* ---- A sealed round, for the analyzer ---- */

enum cm_rc sh_core_manifest(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_signed *out, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { .manifest = out };

	if (round_id_len != PR_ROUND_ID_LEN)
		return not_found(no);
	const struct sh_round *r = sh_live_find(&c->live, round_id);
	if (r && r->state == SH_COLLECTING)
		return CM_EMORE;
	enum cm_rc rc = sh_core_look_up(c, round_id, &past, err);
	if (rc == CM_ENOINPUT)
		return not_found(no);
	if (rc == CM_OK && out->len == 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0,
			"this round was lost or given up here, and has no manifest");
	return rc;
}

/* Answer a charge by which a round cannot be released, or not a second time. */
static enum cm_rc release_past(const struct sh_past *past, struct sh_refusal *no)
{
	if (past->same_charge)
		return CM_OK; /* the analyzer repeats its request */
	switch (past->state) {
	case SH_RELEASING:
	case SH_ERASED:
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0, "this round has another charge");
	case SH_VOID:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL, 0,
			"fewer than the minimum took part: nothing is released");
	case SH_COLLECTING:
	case SH_SEALED:
		break;
	}
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS, "the round is not sealed yet");
}

static enum cm_rc check_charge(const struct sh_core *c, const struct sh_round *r,
	const struct rd_charge *charge, struct sh_refusal *no)
{
	uint8_t manifest_hash[PR_HASH_LEN];

	if (!CM_CHECKED("shuffler.charge"))
		return CM_OK;
	cr_sha256(r->manifest.data, r->manifest.len, manifest_hash);
	if (memcmp(charge->descriptor_hash, r->d.hash, PR_HASH_LEN) != 0 ||
		memcmp(charge->manifest_hash, manifest_hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"the charge is for another descriptor or manifest");
	return sh_witness_charged(
		c->witness, charge->ledger_seq, charge->ledger_head, charge->round_id, manifest_hash, no);
}

enum cm_rc sh_core_release(struct sh_core *c, struct cr_span bytes, struct cr_span signature,
	uint8_t round_id[PR_ROUND_ID_LEN], struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { .compare = bytes };
	struct rd_charge charge;

	if (signature.len != CR_SIGN_LEN)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, 0,
			"charge: a signature has %u bytes", CR_SIGN_LEN);
	enum cm_rc rc = sh_refuse_unverified(no,
		rd_charge_verify(bytes.data, bytes.len, signature.data, c->conf.analyzer, &charge, err), err);
	if (rc != CM_OK)
		return rc;
	memcpy(round_id, charge.round_id, PR_ROUND_ID_LEN);
	struct sh_round *r = sh_live_find(&c->live, round_id);
	if (!r || r->state != SH_SEALED) {
		rc = sh_core_look_up(c, round_id, &past, err);
		return rc == CM_ENOINPUT ? not_found(no) : rc == CM_OK ? release_past(&past, no) : rc;
	}
	rc = sh_heads_check(&c->heads, no);
	if (rc == CM_OK)
		rc = check_charge(c, r, &charge, no);
	return rc == CM_OK ? sh_round_release(r, bytes.data, bytes.len, err) : rc;
}

enum cm_rc sh_core_pull(struct sh_core *c, const uint8_t *round_id, size_t round_id_len, uint32_t bucket,
	uint64_t offset, size_t max, struct cr_span *out, struct sh_refusal *no)
{
	struct sh_round *r = round_id_len == PR_ROUND_ID_LEN ? sh_live_find(&c->live, round_id) : NULL;

	if (r && r->damage.code != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"what is stored of this round is damaged: restore it, or give the round up");
	return r ? sh_round_pull(r, bucket, offset, max, out, no) : not_found(no);
}

enum cm_rc sh_core_settle(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { 0 };

	if (round_id_len != PR_ROUND_ID_LEN)
		return not_found(no);
	struct sh_round *r = sh_live_find(&c->live, round_id);
	if (!r && sh_live_erases(&c->live, round_id))
		return CM_EMORE;
	if (!r) { /* erased or void, so nothing is left to settle */
		enum cm_rc rc = sh_core_look_up(c, round_id, &past, err);
		return rc == CM_ENOINPUT ? not_found(no) : rc;
	}
	if (r->cancelled)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"the round is being erased");
	if (r->state != SH_RELEASING)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"a round that was not released cannot be settled");
	enum cm_rc rc = sh_round_over(r, SH_ERASED, err);
	if (rc == CM_OK)
		rc = sh_core_over(c, r, err);
	return rc == CM_OK ? CM_EMORE : rc;
}

/* ---- Slow work beside the tasks ---- */

enum sh_job_kind sh_core_job_begin(struct sh_core *c, bool erasures, struct sh_job *j)
{
	return sh_job_begin(&c->live, erasures, j);
}

enum cm_rc sh_core_job_end(struct sh_core *c, struct sh_job *j, struct cm_err *err)
{
	return sh_job_end(&c->live, j, err);
}

enum cm_rc sh_core_keeps(const struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;

	return store->keeps && c->live.n > 0 && !c->live.job ? store->keeps(store->ctx, err) : CM_OK;
}

enum cm_rc sh_core_compose(struct sh_core *c, struct sh_compose **out, struct cm_err *err)
{
	return sh_judge_begin(&c->judge, out, err);
}

enum cm_rc sh_core_composed(struct sh_core *c, struct sh_compose *w, struct cm_err *err)
{
	return sh_judge_end(&c->judge, w, err);
}

bool sh_core_compose_waits(const struct sh_core *c)
{
	return sh_judge_wants(&c->judge);
}

struct sh_rehearse *sh_core_rehearse(struct sh_core *c)
{
	return &c->rehearse;
}

/* ---- For status ---- */

const struct sh_round *sh_core_round(const struct sh_core *c, size_t i)
{
	return i < c->live.n ? c->live.round[i] : NULL;
}

const struct sh_policy *sh_core_policy(const struct sh_core *c)
{
	return c->conf.policy;
}

size_t sh_core_count(const struct sh_core *c, enum sh_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < c->live.n; i++)
		n += c->live.round[i]->state == state;
	return n;
}

uint64_t sh_core_number(const struct sh_core *c, const uint8_t id[PR_ROUND_ID_LEN])
{
	const struct sh_round *r = sh_live_find(&c->live, id);

	return r ? r->d.sequence : 0;
}

uint64_t sh_core_newest(const struct sh_core *c)
{
	return c->last_sequence;
}

struct rd_slices sh_core_taken(const struct sh_core *c)
{
	return sh_plans_taken(c->plans);
}

struct rd_figure sh_core_figure(const struct sh_core *c, size_t *plans)
{
	return sh_plans_figure(c->plans, plans);
}

const struct sh_plan *sh_core_plan_at(const struct sh_core *c, size_t i)
{
	return sh_plans_at(c->plans, i);
}

struct sh_hearing sh_core_hearing(const struct sh_core *c)
{
	return sh_heads_hearing(&c->heads);
}
