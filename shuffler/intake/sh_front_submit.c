/* sh_front_submit.c - Submits at an intake: gathered, signed by the head, stored, noted there, answered. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sh_front_private.h"

#define RETRY_MS 1000u

/* ---- Answers ---- */

static void append(struct answers *a, struct answer *answer)
{
	*a->end = answer;
	a->end = &answer->next;
	a->receipts += answer->no.code == TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED;
}

static void answers_init(struct answers *a)
{
	*a = (struct answers){ .end = &a->first };
}

static struct answer *answer_new(struct peer *p, size_t outcomes)
{
	struct answer *a = calloc(1, sizeof *a + outcomes);
	struct cm_err err = { 0 };

	if (!a) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		sh_front_fatal(&err);
	}
	/* cppcheck does not see that sh_front_fatal never returns. */
	// cppcheck-suppress nullPointerRedundantCheck
	a->peer = p;
	// cppcheck-suppress nullPointerRedundantCheck
	a->n = outcomes;
	return a;
}

static void send_answer(const struct answer *a)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Receipt receipt = TOMBOLA__V1__RECEIPT__INIT;
	struct cm_err err;

	if (!a->peer->link || a->peer->refused)
		return;
	if (a->no.code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED) {
		lk_send_error(a->peer->link, a->no.code, a->no.text, a->no.retry_after_ms, a->round_id);
		return;
	}
	receipt.round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, (uint8_t *)a->round_id };
	receipt.outcomes = (ProtobufCBinaryData){ a->n, (uint8_t *)a->outcomes };
	receipt.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, (uint8_t *)a->signature };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_RECEIPT;
	frame.receipt = &receipt;
	if (lk_send(a->peer->link, &frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not sent", CM_S("reason", err.msg));
}

/* Send these answers, or with `why` tell their clients to come again. */
static void end_answers(struct answers *a, const char *why)
{
	struct answer *next;

	for (struct answer *each = a->first; each; each = next) {
		struct peer *p = each->peer;
		next = each->next;
		if (why)
			sh_front_refuse(p, RETRY_MS, why);
		else
			send_answer(each);
		p->held--;
		sh_quota_free_bytes(p->holder, each->bytes);
		sh_front_drop(p);
		free(each);
	}
	answers_init(a);
}

/* Send the answers of the flying batch. */
static void release(struct sh_front *f)
{
	end_answers(&f->flying, NULL);
}

void sh_front_give_up(struct sh_front *f, const char *why)
{
	if (f->batch_devices > 0) {
		sh_batch_fini(&f->batch);
		sh_front_counted(f, SH_FRONT_GIVEN_UP, 1);
	}
	f->batch_devices = 0;
	f->asked = f->noting = false;
	end_answers(&f->flying, why);
	end_answers(&f->gathering, why);
}

static void hold(struct peer *p, struct answer *a)
{
	p->held++;
	sh_quota_hold(p->holder, a->bytes);
	append(&p->front->gathering, a);
}

/* ---- Submits ---- */

static void refuse_submit(struct peer *p, const struct sh_refusal *no, const Tombola__V1__Submit *submit)
{
	struct answer *a = answer_new(p, 0);
	struct cm_err why;

	a->no = *no;
	memcpy(a->round_id, submit->round_id.data, PR_ROUND_ID_LEN);
	sh_quota_take(p->front->quota, p->holder, SH_QUOTA_BARREN - 1, cm_clock_mono_ms());
	cm_log(p->junk == 0 ? CM_LOG_WARN : CM_LOG_DEBUG, "refused", CM_S("request", "submit"),
		CM_I("code", no->code), CM_S("reason", no->text));
	if (p->held > 0)
		hold(p, a);
	else {
		send_answer(a);
		free(a);
	}
	if (no->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY || !p->link || !sh_quota_is_junk(++p->junk))
		return;
	(void)cm_fail(&why, CM_EPROTO, "%u submissions in a row were refused", p->junk);
	lk_close(p->link, &why);
}

static void take(struct peer *p, const Tombola__V1__Submit *submit)
{
	struct sh_share *share = p->front->share;
	const struct sh_submit in = { &p->who, submit->pseudonyms.data, submit->pseudonyms.len,
		submit->sealed.data, submit->sealed.len, submit->salts.data, submit->salts.len,
		submit->mac.len > 0 ? submit->mac.data : NULL };
	uint64_t before = share->intake.participants;
	uint8_t outcomes[PR_SUBMISSIONS_MAX];
	struct sh_refusal no;
	struct cm_err err = { 0 };
	size_t n;

	enum cm_rc rc = sh_intake_submit(&share->intake, &in, cm_clock_wall_ms(), outcomes, &n, &no, &err);
	if (rc == CM_EPROTO) {
		refuse_submit(p, &no, submit);
		return;
	}
	if (rc != CM_OK)
		sh_front_fatal(&err);
	bool fresh = share->intake.participants > before;
	p->junk = 0;
	if (!fresh)
		sh_quota_take(p->front->quota, p->holder, SH_QUOTA_BARREN - 1, cm_clock_mono_ms());
	struct answer *a = answer_new(p, n);
	memcpy(a->round_id, share->d.round_id, PR_ROUND_ID_LEN);
	memcpy(a->outcomes, outcomes, n);
	sh_intake_root(&share->d, &in, outcomes, n, a->root);
	a->bytes = fresh ? in.sealed_len + in.pseudonyms_len : 0;
	hold(p, a);
}

/* Answers to Submits come in their order, so a client whose Submits would be answered at two places comes
 * again. */
void sh_front_on_submit(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Submit *submit = frame->submit;
	struct sh_front *f = p->front;
	bool here = f->at == SHARE_OPEN && !f->replaced && !f->stopping &&
		    submit->round_id.len == PR_ROUND_ID_LEN &&
		    memcmp(submit->round_id.data, f->share->d.round_id, PR_ROUND_ID_LEN) == 0;

	if (here ? p->relayed : p->held > 0) {
		sh_front_refuse(p, RETRY_MS, "earlier submissions are answered first");
	} else if (!here) {
		p->relayed = true;
		sh_front_relay(p, frame);
	} else if (p->mine != f->share->epoch) {
		sh_front_claim(p, false);
		sh_front_refuse(p, RETRY_MS, "another intake takes this certificate's reports");
	} else if (f->gathering.receipts >= PR_RECEIPTS_MAX) {
		sh_front_refuse(p, RETRY_MS, "too much is waiting to be stored");
	} else {
		take(p, submit);
	}
}

/* ---- Batches ---- */

int64_t sh_front_batch_wait_ms(const struct sh_front *f, int64_t now_ms)
{
	if (f->at != SHARE_OPEN || f->replaced || f->asked || f->task_under_way || !f->gathering.first ||
		!f->head_ready)
		return -1;
	const struct sh_intake *in = &f->share->intake;
	int64_t at = in->gathering_since_ms + f->conf.commit_wait_ms;
	if (sh_batch_submissions(&in->gathering) == 0 || now_ms < in->gathering_since_ms || now_ms >= at ||
		f->paused || sh_intake_full(in) ||
		sh_batch_messages(&in->gathering) >= f->conf.commit_messages)
		return 0;
	return at - now_ms;
}

static void ask(struct sh_front *f)
{
	static uint8_t receipts[PR_RECEIPTS_MAX * PR_RECEIPT_LEN]; /* the loop's thread alone */
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeBatch batch = TOMBOLA__V1__INTAKE_BATCH__INIT;
	uint8_t *at = receipts;

	for (const struct answer *a = f->flying.first; a; a = a->next) {
		if (a->no.code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED)
			continue;
		memcpy(at, a->root, PR_HASH_LEN);
		cm_put_le64(at + PR_HASH_LEN, a->n);
		at += PR_RECEIPT_LEN;
	}
	batch.epoch = f->share->epoch;
	batch.devices = (uint32_t)f->batch_devices;
	batch.receipts = (ProtobufCBinaryData){ (size_t)(at - receipts), receipts };
	if (f->batch_devices > 0)
		batch.standings = (ProtobufCBinaryData){ f->batch.stands.len, f->batch.stands.data };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_BATCH;
	frame.intake_batch = &batch;
	f->asked = true;
	sh_front_say(f, &frame);
}

void sh_front_batch(struct sh_front *f, int64_t now_ms)
{
	if (sh_front_batch_wait_ms(f, now_ms) != 0)
		return;
	assert(!f->flying.first && f->batch_devices == 0);
	f->batch_devices = sh_batch_submissions(&f->share->intake.gathering);
	if (f->batch_devices > 0)
		sh_intake_take(&f->share->intake, &f->batch);
	f->flying = f->gathering;
	answers_init(&f->gathering);
	ask(f);
}

void sh_front_signed(struct sh_front *f, const Tombola__V1__IntakeSigned *s)
{
	const uint8_t *signature = s->signatures.data;

	if (!f->asked || f->at != SHARE_OPEN || s->epoch != f->share->epoch)
		return; /* of an epoch that is over, or to a ping */
	f->asked = false;
	if (f->noting) {
		f->noting = false;
		if (s->granted)
			release(f);
		else
			sh_front_end_share(f, "the head did not note a batch", true);
		return;
	}
	if (!s->granted || s->signatures.len != f->flying.receipts * CR_SIGN_LEN) {
		sh_front_end_share(f, "the head did not grant a batch", true);
		return;
	}
	for (struct answer *a = f->flying.first; a; a = a->next) {
		if (a->no.code != TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED)
			continue;
		memcpy(a->signature, signature, CR_SIGN_LEN);
		signature += CR_SIGN_LEN;
	}
	sh_share_room(f->share, s->room < PR_ROUND_REPORTS_MAX ? s->room : PR_ROUND_REPORTS_MAX);
	if (f->batch_devices > 0)
		sh_front_start(f, false);
	else
		release(f);
}

/* ---- Tasks ---- */

/* On the worker thread. */
static void task_run(uv_work_t *work)
{
	struct task *t = work->data;
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
	for (struct peer *p = f->peers; p; p = p->next)
		if (p->link)
			sh_front_claim(p, false);
}

static void stored(struct sh_front *f, const struct task *t)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeStored say = TOMBOLA__V1__INTAKE_STORED__INIT;

	sh_intake_committed(&f->share->intake);
	sh_front_counted(f, SH_FRONT_COMMITS, 1);
	sh_front_counted(f, SH_FRONT_ACCEPTED, t->submissions);
	/* Receipts are sent when the head would notice that the database has lost what they are for. */
	f->asked = f->noting = true;
	say.epoch = f->share->epoch;
	say.devices = t->submissions;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_STORED;
	frame.intake_stored = &say;
	sh_front_say(f, &frame);
}

static void task_done(uv_work_t *work, int status)
{
	struct task *t = work->data;
	struct sh_front *f = t->front;

	(void)status; /* never cancelled */
	f->task_under_way = false;
	if (!t->loads)
		sh_batch_fini(&t->batch);
	if (t->rc == CM_OK && t->loads)
		loaded(f);
	else if (t->rc == CM_OK)
		stored(f, t);
	else if (t->rc != CM_ELATER && t->rc != CM_ENOINPUT && !(t->rc == CM_EDATA && t->loads))
		sh_front_fatal(&t->err);
	else if (!f->replaced)
		sh_front_end_share(f, t->err.msg, true);
	sh_front_pump(f);
}

void sh_front_start(struct sh_front *f, bool loads)
{
	struct task *t = &f->task;
	struct cm_err err = { 0 };

	*t = (struct task){ .front = f, .share = f->share, .loads = loads };
	t->work.data = t;
	if (!loads) {
		t->batch = f->batch;
		t->submissions = f->batch_devices;
		f->batch_devices = 0;
	}
	f->task_under_way = true;
	int failed = uv_queue_work(f->loop, &t->work, task_run, task_done);
	if (failed == 0)
		return;
	(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(failed));
	sh_front_fatal(&err);
}
