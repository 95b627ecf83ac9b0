/* an_round.c - the round dialogue: the request of each step, and the handling of each answer. */
#include "an_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_round_ask.h"
#include "cm_fault.h"
#include "cm_text.h"

#define PUT_AGAIN_MAX 3u /* times that a shuffler may lose what was put to it */

typedef enum cm_rc step_fn(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err);
typedef enum cm_rc error_fn(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err);

static step_fn on_witness, on_extended, on_held, on_announced, on_manifest, on_released, on_segment,
	on_settled;
static error_fn error_announced, error_manifest, error_released, error_segment, error_settled;

/* The steps in protocol order. */
static const struct {
	const char *name;
	Tombola__V1__Frame__KindCase want;
	step_fn *run;
	error_fn *error; /* NULL, or a handler that returns CM_EMORE for an Error that an_common_error must
			  * handle */
} steps[] = {
	[AN_AT_WITNESS] = { "witness", TOMBOLA__V1__FRAME__KIND_WITNESS, on_witness, NULL },
	[AN_AT_EXTENDED] = { "extend ledger", TOMBOLA__V1__FRAME__KIND_WITNESS, on_extended, NULL },
	[AN_AT_PAYLOAD] = { "put payload", TOMBOLA__V1__FRAME__KIND_PAYLOAD_HELD, on_held, error_announced },
	[AN_AT_ANNOUNCED] = { "announce", TOMBOLA__V1__FRAME__KIND_ANNOUNCED, on_announced, error_announced },
	[AN_AT_MANIFEST] = { "manifest", TOMBOLA__V1__FRAME__KIND_MANIFEST, on_manifest, error_manifest },
	[AN_AT_RELEASED] = { "release", TOMBOLA__V1__FRAME__KIND_RELEASED, on_released, error_released },
	[AN_AT_SEGMENT] = { "pull", TOMBOLA__V1__FRAME__KIND_SEGMENT, on_segment, error_segment },
	[AN_AT_SETTLED] = { "settle", TOMBOLA__V1__FRAME__KIND_SETTLED, on_settled, error_settled },
};
#define STEPS (sizeof steps / sizeof *steps)

enum cm_rc an_round_new(const struct an_round_conf *conf, struct an_round **out, struct cm_err *err)
{
	struct an_round *r = calloc(1, sizeof *r);

	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->conf = *conf;
	r->announced = conf->announced;
	r->step = AN_AT_LOCAL;
	cm_buf_init(&r->request.charge, PR_CHARGE_MAX);
	cm_buf_init(&r->arriving, AN_BUCKET_BYTES_MAX);
	cm_buf_init(&r->opening, AN_BUCKET_BYTES_MAX);
	*out = r;
	return CM_OK;
}

void an_round_free(struct an_round *r)
{
	if (!r)
		return;
	rd_manifest_fini(&r->manifest);
	cm_buf_fini(&r->request.charge);
	cm_buf_fini(&r->arriving);
	cm_buf_fini(&r->opening);
	free(r);
}

enum cm_rc an_round_connected(struct an_round *r, struct cm_err *err)
{
	/* Keep a bucket that arrived completely.  Request an incomplete one again, since its blocks may come
	 * in another order. */
	if (!r->bucket_whole)
		r->arriving.len = 0;
	r->pause_ms = 0;
	return an_ask(r, AN_AT_WITNESS, err);
}

enum cm_rc an_round_frame(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	enum cm_rc rc;

	if (r->step >= STEPS)
		return cm_fail(err, CM_EPROTO, "%s: nothing was asked", pr_kind_name(frame));
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		rc = steps[r->step].error ? steps[r->step].error(r, frame->error, err) : CM_EMORE;
		return rc == CM_EMORE ? an_common_error(r, frame->error, steps[r->step].name, err) : rc;
	}
	if (frame->kind_case != steps[r->step].want)
		return cm_fail(
			err, CM_EPROTO, "%s: not the answer to %s", pr_kind_name(frame), steps[r->step].name);
	return steps[r->step].run(r, frame, err);
}

enum cm_rc an_round_resume(struct an_round *r, struct cm_err *err)
{
	return r->step < STEPS ? an_ask(r, r->step, err) : CM_OK;
}

static enum cm_rc payload_first(struct an_round *r, struct cm_err *err)
{
	r->put = 0;
	return an_ask(r, !r->announced && r->conf.payload.len > 0 ? AN_AT_PAYLOAD : AN_AT_ANNOUNCED, err);
}

/* The first question has no bytes: the shuffler may hold some of an earlier run. */
static enum cm_rc on_held(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	const Tombola__V1__PayloadHeld *held = frame->payload_held;
	bool first = r->request.body.put_payload.data.len == 0;

	if (held->hash.len != PR_HASH_LEN ||
		memcmp(held->hash.data, r->conf.round->descriptor.payload_hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "the shuffler answered for another payload");
	if (held->held > r->conf.payload.len || (!first && held->held <= r->put))
		return cm_fail(err, CM_EPROTO, "the shuffler does not take the payload");
	r->put = held->held;
	return an_ask(r, r->put == r->conf.payload.len ? AN_AT_ANNOUNCED : AN_AT_PAYLOAD, err);
}

/* The shuffler refused the announcement since it does not hold the payload: a state that was put to it is
 * lost there, or our copy is lost here. */
static enum cm_rc payload_missing(struct an_round *r, struct cm_err *err)
{
	if (r->conf.payload.len > 0 && r->put_again++ < PUT_AGAIN_MAX) {
		r->put = 0;
		return an_ask(r, AN_AT_PAYLOAD, err);
	}
	an_void_record(r, NULL);
	(void)snprintf(r->record.reason, sizeof r->record.reason, "%s (payload): %s", an_refusal(r),
		r->conf.payload.len > 0 ? "it does not keep the payload" : "the payload is lost here");
	return CM_OK;
}

/* The shuffler has the whole ledger: continue with the action of the round's stage. */
static enum cm_rc in_sync(struct an_round *r, struct cm_err *err)
{
	switch (r->conf.round->stage) {
	case AN_RESERVED:
		return payload_first(r, err);
	case AN_CHARGED:
		if (r->all_opened && !r->busy) {
			r->step = AN_AT_LOCAL;
			r->want_publish = true;
			return CM_OK;
		}
		return an_ask(r, r->have_manifest ? AN_AT_RELEASED : AN_AT_MANIFEST, err);
	case AN_SETTLED:
	case AN_VOID:
	case AN_WAITING:
		return an_ask(r, AN_AT_SETTLED, err);
	case AN_PLANNED:
	case AN_REFUSED:
		break;
	}
	return cm_fail(
		err, CM_EINTERNAL, "a round that is %s has no dialogue", an_stage_name(r->conf.round->stage));
}

static enum cm_rc extend_or_go_on(struct an_round *r, struct cm_err *err)
{
	if (r->witness.seq < an_ledger_chain(r->conf.ledger)->seq)
		return an_ask(r, AN_AT_EXTENDED, err);
	return in_sync(r, err);
}

static enum cm_rc on_witness(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	enum cm_rc rc = an_witness_seen(r->conf.ledger, frame->witness, &r->witness, err);

	r->waits[0] = '\0';
	if (rc == CM_OK)
		rc = an_witness_stated(r->conf.ledger, frame->witness, err);
	return rc == CM_OK ? extend_or_go_on(r, err) : rc;
}

static enum cm_rc on_extended(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	uint64_t before = r->witness.seq;
	enum cm_rc rc = an_witness_seen(r->conf.ledger, frame->witness, &r->witness, err);

	if (rc == CM_OK && r->witness.seq <= before)
		rc = cm_fail(err, CM_EPROTO, "the shuffler did not take ledger record %llu",
			(unsigned long long)before + 1);
	return rc == CM_OK ? extend_or_go_on(r, err) : rc;
}

/* Check that this frame is about our round. */
static enum cm_rc same_round(const struct an_round *r, const ProtobufCBinaryData *id, struct cm_err *err)
{
	if (id->len == PR_ROUND_ID_LEN &&
		memcmp(id->data, r->conf.round->descriptor.round_id, PR_ROUND_ID_LEN) == 0)
		return CM_OK;
	return cm_fail(err, CM_EPROTO, "the shuffler answered for another round");
}

static enum cm_rc on_announced(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	enum cm_rc rc = same_round(r, &frame->announced->round_id, err);

	if (rc == CM_OK) {
		r->lost |= frame->announced->lost;
		r->announced = true;
	}
	return rc == CM_OK ? an_ask(r, AN_AT_MANIFEST, err) : rc;
}

/* The shuffler refuses the announcement by its clock, so it waits, and no client is asked.  The same round is
 * announced again until the clocks agree.  If it is out of time by our own clock, too, and a round that opens
 * now would be taken, this one ends and another follows: so there is one at most in each window, however long
 * the clocks differ. */
static enum cm_rc refused_by_clock(struct an_round *r, const Tombola__V1__Error *e)
{
	const struct rd_descriptor *d = &r->conf.round->descriptor;
	const char *text = cm_text_is_printable(e->text) ? e->text : "its reason cannot be shown";
	int64_t now = r->conf.wall_ms();
	struct cm_err unused;

	if (rd_in_time(d->opens_ms, d->deadline_ms, now, &unused) != CM_OK &&
		rd_in_time(now, now + (d->deadline_ms - d->opens_ms), e->clock_ms, &unused) == CM_OK) {
		an_void_record(r, NULL);
		(void)snprintf(
			r->record.reason, sizeof r->record.reason, "%s (clock): %.120s", an_refusal(r), text);
		return CM_OK;
	}
	cm_text_copy(r->waits, sizeof r->waits, r->clock_said ? "" : text);
	r->clock_said = true;
	r->pause_ms = AN_CLOCK_PAUSE_MS;
	return CM_OK;
}

/* The shuffler refused the announcement for its policy, budget or clock. */
static enum cm_rc error_announced(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	const char *what;

	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED:
		what = "budget";
		break;
	case TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED:
	case TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL:
		what = "policy";
		break;
	case TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED:
		what = "deadline";
		break;
	case TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK:
		return refused_by_clock(r, e);
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
		if (r->step == AN_AT_ANNOUNCED && r->conf.round->descriptor.payload_size > 0)
			return payload_missing(r, err);
		return CM_EMORE;
	default:
		return CM_EMORE;
	}
	an_void_record(r, NULL);
	(void)snprintf(r->record.reason, sizeof r->record.reason, "%s (%s): %.120s", an_refusal(r), what,
		cm_text_is_printable(e->text) ? e->text : "its reason cannot be shown");
	return CM_OK;
}

/* A charged round must end, but a shuffler that lost the round cannot end it: an operator must. */
static enum cm_rc lost_there(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	uint32_t number = r->conf.round->plan->number;

	(void)r->conf.peer_error(e, err);
	err->code = CM_EPROTO;
	return cm_context(err,
		"round %u is charged and the shuffler has it no more; restore its state, or end the round "
		"with `tombola-analyzer round give-up %u`",
		number, number);
}

static enum cm_rc error_manifest(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	bool closed = e->code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED;

	if (r->conf.round->stage == AN_CHARGED &&
		(closed || e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND))
		return lost_there(r, e, err);
	if (!closed)
		return CM_EMORE;
	/* The shuffler's state was restored, or an operator gave the round up there.  It ends without a
	 * manifest, and its entry is spent. */
	an_void_record(r, NULL);
	if (r->lost)
		(void)snprintf(r->record.reason, sizeof r->record.reason,
			"lost with the shuffler's state, restored from a copy older than the round; what was "
			"reported in it is lost");
	else
		(void)snprintf(r->record.reason, sizeof r->record.reason, "closed by the shuffler: %.120s",
			cm_text_is_printable(e->text) ? e->text : "its reason cannot be shown");
	return CM_OK;
}

static enum cm_rc error_released(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	return e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ||
			       e->code == TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT
		       ? lost_there(r, e, err)
		       : CM_EMORE;
}

static enum cm_rc error_segment(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	return e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ? lost_there(r, e, err) : CM_EMORE;
}

static enum cm_rc check_manifest(struct an_round *r, const struct rd_manifest *m, struct cm_err *err)
{
	const struct an_round_state *s = r->conf.round;
	size_t len = rd_sealed_len(&s->descriptor);

	for (uint32_t b = 0; b < m->buckets; b++)
		if (m->bucket[b].messages > AN_BUCKET_BYTES_MAX / len)
			return cm_fail(err, CM_EPROTO,
				"the manifest's bucket %u has %u messages, more than fit", b,
				m->bucket[b].messages);
	if (s->stage == AN_CHARGED && memcmp(m->hash, s->manifest_hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPERM,
			"the shuffler has another manifest for round %u than the one that was charged; if "
			"its state was lost, `tombola-analyzer round give-up %u` ends the round",
			s->plan->number, s->plan->number);
	if (s->stage == AN_RESERVED && r->have_manifest &&
		memcmp(m->hash, r->manifest.hash, PR_HASH_LEN) != 0)
		return cm_fail(
			err, CM_EPERM, "the shuffler signed two manifests for round %u", s->plan->number);
	return CM_OK;
}

static enum cm_rc on_manifest(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	const Tombola__V1__SignedManifest *f = frame->manifest;
	struct rd_signed told = { .bytes = f->manifest.data, .len = f->manifest.len };
	struct rd_manifest m = { 0 };
	enum cm_rc rc;

	if (f->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPROTO, "the manifest's signature has %zu bytes", f->signature.len);
	rc = rd_manifest_verify(f->manifest.data, f->manifest.len, f->signature.data, r->conf.shuffler,
		&r->conf.round->descriptor, &m, err);
	memcpy(told.signature, f->signature.data, CR_SIGN_LEN);
	if (rc == CM_OK) {
		rc = r->conf.keep(r->conf.user, &told, err);
		if (rc != CM_OK)
			(void)cm_context(err, "round %u", r->conf.round->plan->number);
	}
	if (rc == CM_OK)
		rc = check_manifest(r, &m, err);
	if (rc != CM_OK) {
		rd_manifest_fini(&m);
		return rc;
	}
	rd_manifest_fini(&r->manifest);
	r->manifest = m;
	r->have_manifest = true;
	if (m.is_void)
		an_void_record(r, &r->manifest);
	else if (r->conf.round->stage == AN_RESERVED)
		an_charge_record(r);
	else
		return an_ask(r, AN_AT_RELEASED, err);
	return CM_OK;
}

enum cm_rc an_round_appended(struct an_round *r, struct cm_err *err)
{
	return extend_or_go_on(r, err);
}

/* ---- a released batch ----
 *
 * While one bucket arrives, the one before it is compared with its root in the manifest, and opened. */

/* Record that the batch contradicts its manifest. */
static void spoil(struct an_round *r, uint32_t bucket, const char *what)
{
	(void)snprintf(r->spoiled, sizeof r->spoiled,
		"round %u: bucket %u is not the one in the shuffler's manifest: %s; the batch is not used, "
		"the charge stays",
		r->conf.round->plan->number, bucket, what);
}

/* Swap the buffers: the full one goes to the opening threads, the empty one receives the next bucket. */
static void hand_over(struct an_round *r)
{
	struct cm_buf full = r->arriving;

	r->arriving = r->opening;
	r->arriving.len = 0;
	r->opening = full;
	r->opening_bucket = r->bucket;
	r->busy = r->want_open = true;
}

/* Open the bucket that has arrived and request the next; publish after the last, or when it is spoiled. */
static enum cm_rc next_bucket(struct an_round *r, struct cm_err *err)
{
	size_t len = rd_sealed_len(&r->conf.round->descriptor);

	r->step = AN_AT_LOCAL;
	while (r->spoiled[0] == '\0' && r->bucket < r->manifest.buckets) {
		size_t want = r->manifest.bucket[r->bucket].messages * len;

		if (r->arriving.len < want) {
			if (!cm_buf_room(&r->arriving, want - r->arriving.len))
				return cm_fail(err, CM_EINTERNAL, "out of memory");
			return an_ask(r, AN_AT_SEGMENT, err);
		}
		r->bucket_whole = true;
		if (want > 0 && r->busy)
			return CM_OK;
		if (want > 0)
			hand_over(r);
		r->bucket++;
		r->bucket_whole = false;
	}
	if (!r->busy) {
		r->all_opened = true;
		r->want_publish = true;
	}
	return CM_OK;
}

static enum cm_rc take_segment(struct an_round *r, const Tombola__V1__Segment *s, struct cm_err *err)
{
	size_t len = rd_sealed_len(&r->conf.round->descriptor);
	size_t want = r->manifest.bucket[r->bucket].messages * len;

	if (s->bucket != r->bucket || s->offset != r->arriving.len / len)
		return cm_fail(err, CM_EPROTO, "round %u: bucket %u: another part came than was asked for",
			r->conf.round->plan->number, r->bucket);
	if (s->sealed.len == 0)
		spoil(r, r->bucket, "it has fewer messages");
	else if (s->sealed.len % len != 0 || s->sealed.len > want - r->arriving.len)
		spoil(r, r->bucket, "it has more messages, or a part of one");
	else if (cm_buf_put(&r->arriving, s->sealed.data, s->sealed.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return next_bucket(r, err);
}

static enum cm_rc on_released(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	enum cm_rc rc = same_round(r, &frame->released->round_id, err);

	return rc == CM_OK ? next_bucket(r, err) : rc;
}

static enum cm_rc on_segment(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	const Tombola__V1__Segment *s = frame->segment;
	enum cm_rc rc = same_round(r, &s->round_id, err);

	return rc == CM_OK ? take_segment(r, s, err) : rc;
}

enum cm_rc an_round_opened(struct an_round *r, bool right, const uint8_t *root, struct cm_err *err)
{
	r->busy = false;
	if (!right)
		spoil(r, r->opening_bucket, "a message was injected, dropped, doubled or altered");
	else if (root && CM_CHECKED("analyzer.manifest.tree") &&
		 memcmp(root, r->manifest.tree, PR_HASH_LEN) != 0)
		(void)snprintf(r->spoiled, sizeof r->spoiled,
			"round %u: the tree in the shuffler's manifest is over other messages than it "
			"released; the batch is not used, the charge stays",
			r->conf.round->plan->number);
	r->opening.len = 0;
	/* If the link is down, the dialogue requests the rest when it restarts. */
	return r->step == AN_AT_LOCAL ? next_bucket(r, err) : CM_OK;
}

void an_round_published(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN])
{
	an_settle_record(r, result_hash);
}

static enum cm_rc on_settled(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	enum cm_rc rc = same_round(r, &frame->settled->round_id, err);

	if (rc != CM_OK)
		return rc;
	r->step = AN_AT_LOCAL;
	r->want_erase = true;
	return CM_OK;
}

/* A shuffler that no longer knows the round has erased it, which was the purpose. */
static enum cm_rc error_settled(struct an_round *r, const Tombola__V1__Error *e, struct cm_err *err)
{
	(void)err;
	if (e->code != TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND)
		return CM_EMORE;
	r->step = AN_AT_LOCAL;
	r->want_erase = true;
	return CM_OK;
}

void an_round_erased(struct an_round *r)
{
	r->step = AN_AT_DONE;
}

void an_round_next(struct an_round *r, struct an_action *out)
{
	*out = (struct an_action){ .act = AN_ACT_WAIT };
	if (r->want_open) {
		r->want_open = false;
		out->act = AN_ACT_OPEN;
		out->sealed = r->opening.data;
		out->messages = r->opening.len / rd_sealed_len(&r->conf.round->descriptor);
		out->bucket = r->opening_bucket;
		out->root = r->manifest.bucket[r->opening_bucket].root;
	} else if (r->want_append) {
		r->want_append = false;
		out->act = AN_ACT_APPEND;
		out->record = &r->record;
	} else if (r->want_publish) {
		r->want_publish = false;
		out->act = AN_ACT_PUBLISH;
	} else if (r->want_erase) {
		r->want_erase = false;
		out->act = AN_ACT_ERASE;
	} else if (r->want_send) {
		r->want_send = false;
		out->act = AN_ACT_SEND;
		out->frame = &r->request.frame;
	} else if (r->pause_ms > 0) {
		out->act = AN_ACT_PAUSE;
		out->pause_ms = r->pause_ms;
		out->waits = r->waits[0] != '\0' ? r->waits : NULL;
		r->pause_ms = 0;
	} else if (r->step == AN_AT_DONE) {
		out->act = AN_ACT_DONE;
	}
}

bool an_round_announced(const struct an_round *r)
{
	return r->announced;
}

enum an_step an_round_step(const struct an_round *r)
{
	return r->step;
}

const struct rd_manifest *an_round_manifest(const struct an_round *r)
{
	return r->have_manifest ? &r->manifest : NULL;
}

const char *an_round_spoiled(const struct an_round *r)
{
	return r->spoiled[0] != '\0' ? r->spoiled : NULL;
}
