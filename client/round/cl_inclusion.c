/* cl_inclusion.c - asks the shuffler, at random times after a round, whether its manifest includes the
 * watched messages. */
#include "cl_inclusion.h"

#include <stdlib.h>
#include <string.h>

#include "cl_proof.h"
#include "cm_clock.h"

#define BUSY_MS UINT64_C(1000) /* pause until the database is free again, or a connection exists */

struct cl_inclusion {
	struct cl_inclusion_conf conf;
	const struct cl_context *context;
	bool closed;
	uv_timer_t timer;
	struct cr_rng rng;
	uint64_t after;    /* rounds up to this one were handled in this pass */
	bool awaiting;     /* an answer about the round of `p` is expected */
	bool proving;      /* the second of two requests is waiting; the first always asks for the manifest */
	struct cl_proof p; /* valid while awaiting */
	struct cl_proof_result sum;
};

static void on_timer(uv_timer_t *t);

static void arm(struct cl_inclusion *q, uint64_t within_ms)
{
	uint64_t ms = cr_rng_below(&q->rng, within_ms + 1);

	if (!q->closed)
		(void)uv_timer_start(&q->timer, on_timer, ms, 0);
}

/* Start at a uniformly random moment within proof_within, so that the time reveals nothing.  The verb
 * `proofs` starts at once. */
static void arm_random(struct cl_inclusion *q)
{
	arm(q, q->context->run->proofs_only ? 0 : (uint64_t)q->context->setup->conf.proof_within_ms);
}

static void forget(struct cl_inclusion *q)
{
	if (q->awaiting)
		cl_proof_fini(&q->p);
	q->awaiting = q->proving = false;
}

/* End the client for a fault of its own database; a fault in proofs alone does not end it. */
static void fail(struct cl_inclusion *q, const struct cm_err *why)
{
	forget(q);
	if (q->context->run->proofs_only || why->code == CM_EIO || why->code == CM_EINTERNAL)
		q->conf.on_end(q->conf.user, why);
	else
		cl_say(q->context, CM_LOG_ERROR, "proofs of inclusion are not requested any more", why);
}

/* Say what an evidence file shows. */
static const char *wrong(const struct cl_proof_result *r)
{
	if (r->missing > 0)
		return "the shuffler dropped messages that it had accepted";
	return r->denied ? "the shuffler says VOID with fewer participants than it had accepted"
			 : "the shuffler signed two manifests for one round";
}

static void report(struct cl_inclusion *q, const struct cl_proof_result *r)
{
	q->sum.included += r->included;
	q->sum.missing += r->missing;
	q->sum.unanswered += r->unanswered;
	q->sum.denied = q->sum.denied || r->denied;
	if (r->evidence[0] != '\0')
		memcpy(q->sum.evidence, r->evidence, sizeof r->evidence);
	if (r->evidence[0] != '\0')
		cm_log(CM_LOG_ERROR, wrong(r), CM_I("round", q->p.sequence), CM_I("missing", r->missing),
			CM_S("evidence", r->evidence));
	if (r->given_up)
		cm_log(CM_LOG_WARN,
			"the shuffler gave up a round after it had accepted reports of this client",
			CM_I("round", q->p.sequence));
	if (q->context->run->quiet)
		return;
	if (r->unanswered > 0)
		cm_log(CM_LOG_WARN, "the shuffler gives no proofs of inclusion", CM_I("round", q->p.sequence),
			CM_I("unanswered", r->unanswered));
	if (r->included > 0)
		cm_log(CM_LOG_INFO, "messages are in the manifest", CM_I("round", q->p.sequence),
			CM_I("included", r->included));
}

/* Go on to the next round; this one is finished for this pass. */
static void next_round(struct cl_inclusion *q)
{
	q->after = q->p.sequence;
	forget(q);
	arm_random(q);
}

static void pass_over(struct cl_inclusion *q)
{
	struct cm_err err = { .code = CM_OK };

	q->after = 0;
	if (q->context->run->proofs_only && q->sum.evidence[0] != '\0')
		(void)cm_fail(&err, CM_EPROTO, "%s: %.200s", wrong(&q->sum), q->sum.evidence);
	if (q->context->run->proofs_only)
		q->conf.on_end(q->conf.user, &err);
}

static void ask_for(struct cl_inclusion *q)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetManifest manifest = TOMBOLA__V1__GET_MANIFEST__INIT;
	Tombola__V1__GetProof proof = TOMBOLA__V1__GET_PROOF__INIT;
	ProtobufCBinaryData id = { PR_ROUND_ID_LEN, q->p.d.round_id };
	struct cm_err err;

	if (!q->proving) {
		manifest.round_id = id;
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_MANIFEST;
		frame.get_manifest = &manifest;
	} else {
		proof.round_id = id;
		proof.hashes = (ProtobufCBinaryData){ sizeof q->p.hashes, q->p.hashes[0] };
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_PROOF;
		frame.get_proof = &proof;
	}
	q->awaiting = true;
	if (cl_links_send(q->conf.links, 0, &frame, &err) != CM_OK)
		cl_links_drop(q->conf.links, 0, 0, &err);
}

static void give_up(struct cl_inclusion *q)
{
	struct cl_proof_result r;
	struct cm_err err;

	if (cl_proof_give_up(q->context->db, &q->p, &r, &err) != CM_OK) {
		fail(q, &err);
		return;
	}
	report(q, &r);
	next_round(q);
}

/* Another thread uses the database, so nothing can be read or stored now. */
static bool busy(const struct cl_inclusion *q)
{
	return q->conf.busy(q->conf.user);
}

static void on_timer(uv_timer_t *t)
{
	struct cl_inclusion *q = t->data;
	struct cm_err err;

	if (q->closed || q->awaiting)
		return;
	if (busy(q) || !cl_links_up(q->conf.links, 0)) {
		arm(q, BUSY_MS);
		return;
	}
	switch (cl_proof_next(q->context->db, q->after, q->context->setup->shuffler, &q->rng, &q->p, &err)) {
	case CM_OK:
		break;
	case CM_ENOINPUT:
		if (q->after > 0 && !q->context->run->proofs_only)
			arm_random(q);
		pass_over(q);
		return;
	default:
		fail(q, &err);
		return;
	}
	q->awaiting = true;
	if (cm_clock_wall_ms() > q->p.until_ms)
		give_up(q);
	else
		ask_for(q);
}

static void take_manifest(struct cl_inclusion *q, const Tombola__V1__SignedManifest *s)
{
	struct cl_proof_result r;
	struct cm_err err;

	enum cm_rc rc = cl_proof_manifest(q->context->db, q->context->setup->conf.state_dir, &q->p, s,
		q->context->setup->shuffler, &r, &err);
	if (rc == CM_EPROTO || rc == CM_EPERM) {
		cl_say(q->context, CM_LOG_ERROR, "the shuffler's manifest is not of the requested round",
			&err);
		next_round(q);
	} else if (rc != CM_OK) {
		fail(q, &err);
	} else {
		report(q, &r);
		if (r.done) {
			next_round(q);
			return;
		}
		q->proving = true;
		ask_for(q);
	}
}

static void take_proof(struct cl_inclusion *q, const Tombola__V1__Proof *proof)
{
	struct cl_proof_result r;
	struct cm_err err;

	enum cm_rc rc = cl_proof_answer(q->context->db, q->context->setup->conf.state_dir, &q->p,
		proof->entries.data, proof->entries.len, &r, &err);
	if (rc == CM_EPROTO) {
		cl_say(q->context, CM_LOG_ERROR, "the shuffler's proof is invalid", &err);
		give_up(q);
	} else if (rc != CM_OK) {
		fail(q, &err);
	} else {
		report(q, &r);
		if (r.done) {
			next_round(q);
		} else { /* request the rest at another moment */
			forget(q);
			arm_random(q);
		}
	}
}

/* Whether this id is that of the requested round.  A manifest contains its round itself. */
static bool is_ours(const struct cl_inclusion *q, const ProtobufCBinaryData *id)
{
	return id->len == PR_ROUND_ID_LEN && memcmp(id->data, q->p.d.round_id, PR_ROUND_ID_LEN) == 0;
}

/* Whether a received manifest is the answer to our request.  The preparation of rounds requests manifests
 * of earlier tries on the same connection.  While it waits for one, only a manifest of our round is an
 * answer to us.  Otherwise every manifest is, and its verification finds out if it is of another round. */
static bool is_our_manifest(const struct cl_inclusion *q, const Tombola__V1__SignedManifest *s)
{
	if (q->proving)
		return false;
	if (!q->conf.awaits_manifest(q->conf.user))
		return true;
	struct pr_doc doc;
	struct cm_err err;
	if (pr_doc_decode(&tombola__v1__manifest__descriptor, s->manifest.data, s->manifest.len,
		    PR_MANIFEST_MAX, &doc, &err) != CM_OK)
		return false;
	bool ours = is_ours(q, &((const Tombola__V1__Manifest *)doc.msg)->round_id);
	pr_doc_free(&doc);
	return ours;
}

bool cl_inclusion_frame(struct cl_inclusion *q, unsigned i, const Tombola__V1__Frame *frame)
{
	bool manifest = frame->kind_case == TOMBOLA__V1__FRAME__KIND_MANIFEST;
	bool proof = frame->kind_case == TOMBOLA__V1__FRAME__KIND_PROOF;
	bool error = frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR;

	if (!q || i != 0 || !q->awaiting || q->closed)
		return false;
	if (manifest    ? !is_our_manifest(q, frame->manifest)
		: proof ? !q->proving || !is_ours(q, &frame->proof->round_id)
			: !error || !is_ours(q, &frame->error->round_id))
		return false;
	if (busy(q)) { /* request again when the database is free */
		forget(q);
		arm(q, BUSY_MS);
	} else if (manifest) {
		take_manifest(q, frame->manifest);
	} else if (proof) {
		take_proof(q, frame->proof);
	} else if (frame->error->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ||
		   frame->error->code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED) {
		give_up(q);
	} else if (q->proving && frame->error->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY) {
		forget(q); /* the round is sealed and the shuffler is busy */
		arm(q, q->context->run->proofs_only ? 2 * BUSY_MS
						    : (uint64_t)q->context->setup->conf.proof_within_ms);
	} else {
		next_round(q);
	}
	return true;
}

void cl_inclusion_down(struct cl_inclusion *q)
{
	if (!q || !q->awaiting)
		return;
	forget(q);
	arm_random(q);
}

void cl_inclusion_begin(struct cl_inclusion *q)
{
	if (q && !q->awaiting && !uv_is_active((uv_handle_t *)&q->timer))
		arm_random(q);
}

enum cm_rc cl_inclusion_new(
	const struct cl_inclusion_conf *conf, struct cl_inclusion **out, struct cm_err *err)
{
	struct cl_inclusion *q = calloc(1, sizeof *q);

	if (!q)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = q;
	q->conf = *conf;
	q->context = conf->context;
	enum cm_rc rc = cr_rng_system(&q->rng, err);
	if (rc != CM_OK)
		return rc;
	(void)uv_timer_init((uv_loop_t *)&q->context->loop, &q->timer);
	q->timer.data = q;
	/* Handle the proofs that an earlier run left. */
	cl_inclusion_begin(q);
	return CM_OK;
}

void cl_inclusion_close(struct cl_inclusion *q)
{
	if (!q || q->closed)
		return;
	q->closed = true;
	if (q->timer.data)
		uv_close((uv_handle_t *)&q->timer, NULL);
}

void cl_inclusion_free(struct cl_inclusion *q)
{
	if (q)
		forget(q);
	free(q);
}
