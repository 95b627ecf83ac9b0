/* sh_front_share.c (sh_front_private.h) - takes reports for an intake.
 *
 * The head gives a share of a round.  Submits are gathered, signed by the head, stored, noted at the head,
 * and answered. */
#include <assert.h>
#include <string.h>

#include "sh_front_private.h"

#define AGAIN_MS     200
#define LEFT_OUT_MAX 2048 /* certificates of whose devices one batch says that they are left out */

void sh_front_give_up(struct sh_front *f, const char *why)
{
	if (f->batch_devices > 0) {
		sh_batch_fini(&f->batch);
		sh_front_counted(f, SH_FRONT_GIVEN_UP, 1);
	}
	f->batch_devices = 0;
	f->asked = f->noting = false;
	sh_gate_give_up(&f->gate, why);
}

/* ---- Tasks ----
 *
 * What ends a share may begin to read the next one, and a task that failed ends its share. */

/* Runs on the worker thread. */
static void task_run(void *of)
{
	struct task *t = &((struct sh_front *)of)->task;
	struct cr_rng rng;

	if (t->loads) {
		t->rc = sh_share_load(t->share, &t->err);
		return;
	}
	t->rc = cr_rng_system(&rng, &t->err);
	if (t->rc == CM_OK)
		t->rc = sh_share_store(t->share, &t->batch, &rng, &t->err);
}

static void loaded(struct sh_front *f)
{
	if (f->replaced)
		return;
	f->at = SHARE_OPEN;
	sh_front_counted(f, SH_FRONT_EPOCHS, 1);
	cm_log(CM_LOG_INFO, "reports are taken", CM_I("round", f->share->d.sequence),
		CM_I("epoch", f->share->epoch));
	for (struct peer *p = first_peer(f); p; p = next_peer(p))
		if (p->base.link)
			sh_front_claim(p, false);
}

static void stored(struct sh_front *f, const struct task *t)
{
	Tombola__V1__IntakeStored say = TOMBOLA__V1__INTAKE_STORED__INIT;

	sh_intake_committed(&f->share->intake);
	sh_front_counted(f, SH_FRONT_COMMITS, 1);
	sh_front_counted(f, SH_FRONT_ACCEPTED, t->submissions);
	/* Receipts are sent after the head has noted this: then it notices if the database loses them. */
	f->asked = f->noting = true;
	say.epoch = f->share->epoch;
	say.devices = t->submissions;
	sh_front_say(f, PR_FRAME(INTAKE_STORED, intake_stored, &say));
}

static void task_done(void *of)
{
	struct sh_front *f = of;
	struct task *t = &f->task;

	if (!t->loads)
		sh_batch_fini(&t->batch);
	if (t->rc == CM_OK && t->loads)
		loaded(f);
	else if (t->rc == CM_OK)
		stored(f, t);
	else if (t->rc != CM_ELATER && t->rc != CM_ENOINPUT && !(t->rc == CM_EDATA && t->loads))
		sh_gate_fatal(&t->err);
	else if (!f->replaced)
		sh_front_end_share(f, t->err.msg, true);
}

/* Start reading the tags, or storing the batch, on a worker thread. */
static void start(struct sh_front *f, bool loads)
{
	struct task *t = &f->task;

	*t = (struct task){ .share = f->share, .loads = loads };
	if (!loads) {
		t->batch = f->batch;
		t->submissions = f->batch_devices;
		f->batch_devices = 0;
	}
	sh_gate_work(&f->gate, &f->tasking, task_run, task_done, f);
}

/* ---- Shares ---- */

void sh_front_end_share(struct sh_front *f, const char *why, bool again)
{
	if (f->share)
		cm_log(CM_LOG_INFO, "reports are not taken for now", CM_S("reason", why));
	sh_share_free(f->next);
	f->next = NULL;
	f->replaced = true;
	f->ask_at_ms = again ? cm_clock_mono_ms() + AGAIN_MS : 0;
	sh_front_replace(f);
}

void sh_front_replace(struct sh_front *f)
{
	if (!f->replaced || f->tasking.under_way)
		return;
	sh_front_give_up(f, "send this again: the shuffler takes it soon, or says that the round is over");
	sh_share_free(f->share);
	f->share = f->next;
	f->next = NULL;
	f->replaced = false;
	f->at = f->share ? SHARE_LOADING : SHARE_NONE;
	/* Each round numbers its own epochs: a claim in one round says nothing about another. */
	for (struct peer *p = first_peer(f); p; p = next_peer(p))
		p->mine = 0;
	if (f->share)
		start(f, true);
}

/* Does it take reports in this epoch, or will it?  Beginning anew would drop what has gathered, for which
 * the head has promised places until the next epoch. */
static bool has_share(const struct sh_front *f, uint64_t epoch)
{
	const struct sh_share *mine = f->replaced ? f->next : f->share;

	return epoch > 0 && mine && mine->epoch == epoch;
}

enum cm_rc sh_front_take_share(struct sh_front *f, const Tombola__V1__IntakeShare *s, struct cm_err *err)
{
	struct sh_vault_keys keys;
	const struct sh_loan loan = { .descriptor = { s->descriptor.data, s->descriptor.len },
		.epoch = s->epoch,
		.room = s->room,
		.most_of_one = s->most_of_one,
		.keys = &keys };
	struct sh_share *next = NULL;
	enum cm_rc rc = CM_OK;

	if (s->epoch > 0 && (s->keys.len != sizeof keys || s->descriptor.len == 0 || s->epoch > INT64_MAX ||
				    s->room > PR_ROUND_REPORTS_MAX))
		return cm_fail(err, CM_EPROTO, "a share that lacks something");
	if (has_share(f, s->epoch))
		return CM_OK;
	if (s->epoch > 0) {
		memcpy(&keys, s->keys.data, sizeof keys);
		rc = sh_share_new(f->conf.store, &loan, f->conf.max_bytes, &next, err);
		sh_vault_keys_fini(&keys);
	}
	if (rc != CM_OK)
		return rc;
	f->backoff_ms = 0; /* the head accepts us as an intake */
	sh_share_free(f->next);
	f->next = next;
	f->replaced = true;
	f->ask_at_ms = 0;
	sh_front_replace(f);
	return CM_OK;
}

void sh_front_take_claimed(struct sh_front *f, const Tombola__V1__IntakeClaimed *c)
{
	for (struct peer *p = first_peer(f); p; p = next_peer(p))
		if (c->mine &&
			memcmp(p->base.who.key_hash, c->key_hash.data, sizeof p->base.who.key_hash) == 0)
			p->mine = c->epoch;
}

/* ---- Submits ---- */

static void refuse_submit(struct peer *p, const struct sh_refusal *no, const Tombola__V1__Submit *submit)
{
	struct sh_answer *a = sh_answer_new(&p->base, 0);

	a->no = *no;
	memcpy(a->round_id, submit->round_id.data, PR_ROUND_ID_LEN);
	sh_gate_charge(&p->base, SH_QUOTA_BARREN - 1);
	cm_log(p->base.junk == 0 ? CM_LOG_WARN : CM_LOG_DEBUG, "refused", CM_S("request", "submit"),
		CM_I("code", no->code), CM_S("reason", no->text));
	if (p->base.held > 0)
		sh_answer_hold(a, &p->front->gate.gathering);
	else
		sh_answer_send(a);
	sh_gate_junk(&p->base, no);
}

static void take(struct peer *p, const Tombola__V1__Submit *submit)
{
	struct sh_share *share = p->front->share;
	const struct sh_submit in = { &p->base.who, submit->pseudonyms.data, submit->pseudonyms.len,
		submit->sealed.data, submit->sealed.len, submit->salts.data, submit->salts.len,
		submit->mac.len > 0 ? submit->mac.data : NULL,
		submit->gateway.len > 0 ? submit->gateway.data : NULL };
	uint64_t before = share->intake.participants;
	uint8_t outcomes[PR_SUBMISSIONS_MAX];
	struct sh_refusal no;
	struct cm_err err = { 0 };
	size_t n;

	/* The time is without effect: a share has no deadline (sh_share.h). */
	enum cm_rc rc = sh_intake_submit(&share->intake, &in, cm_clock_wall_ms(), outcomes, &n, &no, &err);
	if (rc == CM_EPROTO) {
		refuse_submit(p, &no, submit);
		return;
	}
	if (rc != CM_OK)
		sh_gate_fatal(&err);
	bool fresh = share->intake.participants > before;
	p->base.junk = 0;
	if (!fresh)
		sh_gate_charge(&p->base, SH_QUOTA_BARREN - 1);
	struct sh_answer *a = sh_answer_new(&p->base, n);
	memcpy(a->round_id, share->d.round_id, PR_ROUND_ID_LEN);
	memcpy(a->outcomes, outcomes, n);
	sh_intake_root(&share->d, &in, outcomes, n, a->root);
	a->bytes = fresh ? in.sealed_len + in.pseudonyms_len : 0;
	sh_answer_hold(a, &p->front->gate.gathering);
}

/* Answers to Submits must come in their order.  So a client whose Submits would be answered at two places
 * must come again. */
void sh_front_on_submit(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Submit *submit = frame->submit;
	struct sh_front *f = p->front;
	bool here = f->at == SHARE_OPEN && !f->replaced && !f->gate.stopping &&
		    submit->round_id.len == PR_ROUND_ID_LEN &&
		    memcmp(submit->round_id.data, f->share->d.round_id, PR_ROUND_ID_LEN) == 0;

	if (here ? p->relayed : p->base.held > 0) {
		sh_gate_turn_away(&p->base, "earlier submissions are answered first");
	} else if (!here) {
		p->relayed = true;
		sh_front_relay(p, frame);
	} else if (p->mine != f->share->epoch) {
		sh_front_claim(p, false);
		sh_gate_turn_away(&p->base, "another intake takes this certificate's reports");
	} else if (f->gate.gathering.receipts >= PR_RECEIPTS_MAX) {
		sh_gate_turn_away(&p->base, "too much is waiting to be stored");
	} else {
		take(p, submit);
	}
}

/* ---- Batches ---- */

int64_t sh_front_batch_wait_ms(const struct sh_front *f, int64_t now_ms)
{
	if (f->at != SHARE_OPEN || f->replaced || f->asked || f->tasking.under_way ||
		!f->gate.gathering.first || !f->head_ready)
		return -1;
	const struct sh_intake *in = &f->share->intake;
	int64_t at = in->gathering_since_ms + f->conf.commit_wait_ms;
	if (sh_batch_submissions(&in->gathering) == 0 || now_ms < in->gathering_since_ms || now_ms >= at ||
		f->gate.paused || sh_intake_full(in) ||
		sh_batch_messages(&in->gathering) >= f->conf.commit_messages)
		return 0;
	return at - now_ms;
}

/* Add to *at what this answer does not take; those of one client that follow each other share an entry. */
static void put_left_out(const struct sh_answer *a, uint8_t *first, uint8_t **at)
{
	const struct cr_identity *who = &a->peer->who;
	uint8_t *last = *at > first ? *at - PR_LEFT_OUT_LEN : NULL;
	uint32_t over = 0, closed = 0;

	for (size_t i = 0; i < a->n; i++) {
		over += a->outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT;
		closed += a->outcomes[i] == TOMBOLA__V1__OUTCOME__OUTCOME_CLOSED;
	}
	if (over + closed == 0)
		return;
	if (!last || memcmp(last, who->key_hash, PR_HASH_LEN) != 0) {
		if (*at - first == (ptrdiff_t)LEFT_OUT_MAX * PR_LEFT_OUT_LEN)
			return;
		last = *at;
		*at += PR_LEFT_OUT_LEN;
		memset(last, 0, PR_LEFT_OUT_LEN);
		memcpy(last, who->key_hash, PR_HASH_LEN);
		cm_put_le32(last + PR_HASH_LEN, who->devices);
	}
	cm_put_le32(last + PR_HASH_LEN + 4, cm_get_le32(last + PR_HASH_LEN + 4) + over);
	cm_put_le32(last + PR_HASH_LEN + 8, cm_get_le32(last + PR_HASH_LEN + 8) + closed);
}

static void ask(struct sh_front *f)
{
	/* The loop's thread alone. */
	static uint8_t receipts[PR_RECEIPTS_MAX * PR_RECEIPT_LEN], left_out[LEFT_OUT_MAX * PR_LEFT_OUT_LEN];
	uint8_t *left = left_out;
	Tombola__V1__IntakeBatch batch = TOMBOLA__V1__INTAKE_BATCH__INIT;
	uint8_t *at = receipts;

	for (const struct sh_answer *a = f->gate.flying.first; a; a = a->next) {
		if (a->no.code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED)
			continue;
		memcpy(at, a->root, PR_HASH_LEN);
		cm_put_le64(at + PR_HASH_LEN, a->n);
		at += PR_RECEIPT_LEN;
		put_left_out(a, left_out, &left);
	}
	batch.left_out = (ProtobufCBinaryData){ (size_t)(left - left_out), left_out };
	batch.epoch = f->share->epoch;
	batch.devices = (uint32_t)f->batch_devices;
	batch.receipts = (ProtobufCBinaryData){ (size_t)(at - receipts), receipts };
	if (f->batch_devices > 0)
		batch.standings = (ProtobufCBinaryData){ f->batch.stands.len, f->batch.stands.data };
	f->asked = true;
	sh_front_say(f, PR_FRAME(INTAKE_BATCH, intake_batch, &batch));
}

void sh_front_batch(struct sh_front *f, int64_t now_ms)
{
	if (sh_front_batch_wait_ms(f, now_ms) != 0)
		return;
	assert(!f->gate.flying.first && f->batch_devices == 0);
	f->batch_devices = sh_batch_submissions(&f->share->intake.gathering);
	if (f->batch_devices > 0)
		sh_intake_take(&f->share->intake, &f->batch);
	sh_gate_fly(&f->gate);
	ask(f);
}

void sh_front_signed(struct sh_front *f, const Tombola__V1__IntakeSigned *s)
{
	const uint8_t *signature = s->signatures.data;

	if (!f->asked || f->at != SHARE_OPEN || s->epoch != f->share->epoch)
		return; /* it answers an epoch that is over, or a ping */
	f->asked = false;
	if (f->noting) {
		f->noting = false;
		if (s->granted)
			sh_gate_land(&f->gate);
		else
			sh_front_end_share(f, "the head did not note a batch", true);
		return;
	}
	if (!s->granted || s->signatures.len != f->gate.flying.receipts * CR_SIGN_LEN) {
		sh_front_end_share(f, "the head did not grant a batch", true);
		return;
	}
	for (struct sh_answer *a = f->gate.flying.first; a; a = a->next) {
		if (a->no.code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED)
			continue;
		memcpy(a->signature, signature, CR_SIGN_LEN);
		signature += CR_SIGN_LEN;
	}
	sh_share_room(f->share, s->room < PR_ROUND_REPORTS_MAX ? s->room : PR_ROUND_REPORTS_MAX);
	if (f->batch_devices > 0)
		start(f, false);
	else
		sh_gate_land(&f->gate);
}
