/* sh_serve_frames.c (sh_serve_private.h) - the table of frames, and the handlers of those about a round.
 *
 * A round is offered, submitted to, announced, awaited, released, pulled and settled.  When a segment is
 * sent depends only on what the analyzer asks for and on the buckets' lengths, which the manifest states:
 * every message of a round has one length, and is read, decrypted and moved in the same way. */
#include <string.h>

#include "sh_core_left_out.h"
#include "sh_serve_rehearse.h"

#define POLL_RETRY_MS 1000u
/* Most bytes of messages in one Segment: a frame, with room for its other fields. */
#define SEGMENT_MAX  (PR_FRAME_MAX - 4096u)
#define PULL_PENDING (4u << 20) /* bytes queued to the analyzer before further frames wait */

/* ---- Long polls ---- */

/* The peer waits for an answer until this monotonic time; until then it is expected to be silent. */
static void expect_poll(struct peer *p, enum poll_kind kind, int64_t until_ms)
{
	p->poll = kind;
	p->poll_until_ms = until_ms;
	lk_expect_silence(p->base.link, true);
}

static void end_poll(struct peer *p)
{
	p->poll = POLL_NONE;
	lk_expect_silence(p->base.link, false);
}

static void poll_round(struct peer *p, int64_t now_ms, bool late)
{
	const struct sh_round *r = sh_core_offer(p->serve->conf.core, p->poll_after, now_ms);
	Tombola__V1__Round round = TOMBOLA__V1__ROUND__INIT;

	if (!r && !late && p->poll_rehearses && sh_serve_offer_draft(p)) {
		end_poll(p);
		return;
	}
	if (!r) {
		if (!late)
			return;
		end_poll(p);
		lk_send_error(p->base.link, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, "no round is open",
			POLL_RETRY_MS, NULL);
		return;
	}
	end_poll(p);
	round.descriptor = BYTES(r->descriptor.data, r->descriptor.len);
	round.signature = BYTES(r->signature, CR_SIGN_LEN);
	sh_gate_send(&p->base, PR_FRAME(ROUND, round, &round));
}

static void poll_manifest(struct peer *p, bool late)
{
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc =
		sh_core_manifest(s->conf.core, p->poll_round, PR_ROUND_ID_LEN, &s->manifest, &no, &err);
	if (rc == CM_EMORE && !late)
		return;
	end_poll(p);
	if (rc == CM_EMORE)
		rc = sh_refuse(
			&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS, "the round is still open");
	if (rc == CM_EPROTO) {
		lk_send_error(p->base.link, no.code, no.text, no.retry_after_ms, p->poll_round);
		return;
	}
	if (rc != CM_OK)
		sh_gate_fatal(&err);
	sh_serve_manifest(p);
}

/* ---- A sealed round, for the analyzer ---- */

static void on_release(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Release *release = frame->release;
	struct sh_core *core = p->serve->conf.core;
	Tombola__V1__Released released = TOMBOLA__V1__RELEASED__INIT;
	uint8_t round_id[PR_ROUND_ID_LEN] = { 0 };
	size_t releasing = sh_core_count(core, SH_RELEASING);
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_release(core, (struct cr_span){ release->charge.data, release->charge.len },
		(struct cr_span){ release->signature.data, release->signature.len }, round_id, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, round_id))
		return;
	sh_metrics_event(
		p->serve->conf.metrics, SH_EVENT_RELEASED, sh_core_count(core, SH_RELEASING) - releasing);
	cm_log(CM_LOG_INFO, "round released against its charge",
		CM_I("round", sh_core_number(core, round_id)));
	released.round_id = BYTES(round_id, PR_ROUND_ID_LEN);
	sh_gate_send(&p->base, PR_FRAME(RELEASED, released, &released));
}

/* ---- Requests that wait for a job ---- */

static void pause_link(struct peer *p)
{
	if (!p->base.link || p->base.paused)
		return;
	p->base.paused = true;
	lk_pause(p->base.link);
}

static void begin_wait(struct peer *p, enum poll_kind kind)
{
	expect_poll(p, kind, INT64_MAX);
	pause_link(p);
}

/* Call it when the answer is queued. */
static void end_wait(struct peer *p)
{
	bool full = p->base.link && lk_pending(p->base.link) > PULL_PENDING;

	if (p->poll != POLL_NONE)
		end_poll(p);
	if (full) {
		pause_link(p);
	} else if (p->base.link && p->base.paused) {
		p->base.paused = false;
		lk_resume(p->base.link);
	}
}

/* The shuffler is stopping, and the job that this waits for has not begun. */
static enum cm_rc poll_over(struct sh_refusal *no)
{
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS, "the shuffler is going down");
}

/* ---- Segments ---- */

static enum cm_rc try_segment(struct peer *p, const struct cr_span *id, bool late, struct sh_refusal *no)
{
	Tombola__V1__Segment segment = TOMBOLA__V1__SEGMENT__INIT;
	struct cr_span sealed;

	enum cm_rc rc = sh_core_pull(p->serve->conf.core, id->data, id->len, p->poll_bucket, p->poll_offset,
		SEGMENT_MAX, &sealed, no);
	if (rc != CM_OK)
		return rc == CM_EMORE && late ? poll_over(no) : rc;
	segment.round_id = BYTES(id->data, id->len);
	segment.bucket = p->poll_bucket;
	segment.offset = p->poll_offset;
	segment.sealed = BYTES(sealed.data, sealed.len);
	sh_gate_send(&p->base, PR_FRAME(SEGMENT, segment, &segment));
	end_wait(p);
	return CM_OK;
}

static void wait_or_refuse(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const ProtobufCBinaryData *id,
	enum poll_kind kind)
{
	if (rc == CM_EMORE) {
		memcpy(p->poll_round, id->data, PR_ROUND_ID_LEN);
		begin_wait(p, kind);
	} else {
		(void)sh_serve_passed(p, frame, rc, no, err, id_of(id));
	}
}

static void on_pull(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Pull *pull = frame->pull;
	const struct cr_span id = { pull->round_id.data, pull->round_id.len };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_serve_check_waits(p, &no);
	if (rc == CM_OK) {
		p->poll_bucket = pull->bucket;
		p->poll_offset = pull->offset;
		rc = try_segment(p, &id, p->serve->gate.stopping, &no);
	}
	wait_or_refuse(p, frame, rc, &no, &err, &pull->round_id, POLL_SEGMENT);
}

/* ---- Settling ---- */

static enum cm_rc try_settle(
	struct peer *p, const struct cr_span *id, bool late, struct sh_refusal *no, struct cm_err *err)
{
	Tombola__V1__Settled settled = TOMBOLA__V1__SETTLED__INIT;

	enum cm_rc rc = sh_core_settle(p->serve->conf.core, id->data, id->len, no, err);
	if (rc != CM_OK)
		return rc == CM_EMORE && late ? poll_over(no) : rc;
	settled.round_id = BYTES(id->data, id->len);
	sh_gate_send(&p->base, PR_FRAME(SETTLED, settled, &settled));
	end_wait(p);
	return CM_OK;
}

static void on_settle(struct peer *p, const Tombola__V1__Frame *frame)
{
	const ProtobufCBinaryData *round_id = &frame->settle->round_id;
	const struct cr_span id = { round_id->data, round_id->len };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_serve_check_waits(p, &no);
	if (rc == CM_OK) /* erasures are done even while the shuffler stops */
		rc = try_settle(p, &id, false, &no, &err);
	wait_or_refuse(p, frame, rc, &no, &err, round_id, POLL_SETTLED);
}

static void poll_released(struct peer *p, bool late)
{
	const struct cr_span id = { p->poll_round, PR_ROUND_ID_LEN };
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc;

	if (p->poll == POLL_SEGMENT) {
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_PULL;
		rc = try_segment(p, &id, late, &no);
	} else {
		frame.kind_case = TOMBOLA__V1__FRAME__KIND_SETTLE;
		rc = try_settle(p, &id, false, &no, &err);
	}
	if (rc == CM_OK || rc == CM_EMORE)
		return;
	(void)sh_serve_passed(p, &frame, rc, &no, &err, p->poll_round);
	end_wait(p);
}

/* ---- Waiting ---- */

void sh_serve_poll(struct peer *p, int64_t now_ms, int64_t mono_ms)
{
	bool late = mono_ms >= p->poll_until_ms || p->serve->gate.stopping;

	if (p->poll == POLL_ROUND)
		poll_round(p, now_ms, late);
	else if (p->poll == POLL_MANIFEST)
		poll_manifest(p, late);
	else if (p->poll == POLL_REHEARSAL)
		sh_serve_poll_rehearsal(p, late);
	else
		poll_released(p, late);
}

static void begin_poll(struct peer *p, enum poll_kind kind, uint32_t wait_ms)
{
	uint32_t wait = wait_ms < PR_WAIT_MAX_MS ? wait_ms : PR_WAIT_MAX_MS;

	expect_poll(p, kind, cm_clock_mono_ms() + wait);
	sh_serve_poll(p, now_of(p->serve), cm_clock_mono_ms());
}

/* ---- Clients ---- */

/* Log that a client passed over the round because of its clock.  The client has logged by how much.  It
 * waits for its clock, and the round waits for it. */
static void say_passed_over(struct peer *p, uint64_t round)
{
	const struct sh_round *r = sh_core_collecting(p->serve->conf.core);

	if (!r || r->d.sequence != round || p->passed_over == round)
		return;
	p->passed_over = round;
	if (sh_serve_is_loud(p))
		cm_log(CM_LOG_WARN, "a client passes over the open round by its clock (check the clocks)",
			CM_I("round", round));
}

static void on_get_round(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetRound *get = frame->get_round;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_population(p->serve->conf.core, get->population, &no);
	if (rc != CM_OK) /* NOT_FOUND says that there is no round yet */
		no.code = TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED;
	if (rc == CM_OK)
		rc = sh_serve_check_waits(p, &no);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	say_passed_over(p, get->passed_over);
	sh_core_decline(p->serve->conf.core, &p->base.who, get->declined, get->declined_why, get->listed);
	p->poll_after = get->after;
	p->poll_rehearses = get->rehearses;
	begin_poll(p, POLL_ROUND, get->wait_ms);
}

static void on_submit(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Submit *submit = frame->submit;
	struct sh_submit in = {
		.peer = &p->base.who,
		.pseudonyms = submit->pseudonyms.data,
		.pseudonyms_len = submit->pseudonyms.len,
		.sealed = submit->sealed.data,
		.sealed_len = submit->sealed.len,
		.salts = submit->salts.data,
		.salts_len = submit->salts.len,
		.mac = submit->mac.len > 0 ? submit->mac.data : NULL,
		.gateway = submit->gateway.len > 0 ? submit->gateway.data : NULL,
	};
	const struct sh_round *r = sh_core_collecting(p->serve->conf.core);
	uint64_t before = r ? r->intake.participants : 0;
	struct sh_receipt receipt;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc;

	if (p->serve->gate.stopping)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS,
			"the shuffler is going down");
	else
		rc = sh_core_submit(p->serve->conf.core, submit->round_id.data, submit->round_id.len, &in,
			now_of(p->serve), &receipt, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, id_of(&submit->round_id))) {
		sh_gate_junk(&p->base, &no);
		return;
	}
	uint64_t fresh = r ? r->intake.participants - before : 0;
	p->base.junk = 0;
	if (fresh == 0)
		sh_gate_charge(&p->base, SH_QUOTA_BARREN - 1); /* in addition to the frame itself */
	sh_metrics_outcomes(p->serve->conf.metrics, &receipt, fresh);
	sh_serve_receipt(p, &receipt, fresh > 0 ? submit->sealed.len + submit->pseudonyms.len : 0);
}

/* ---- The analyzer ---- */

static void on_announce(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Announce *announce = frame->announce;
	struct sh_core *core = p->serve->conf.core;
	Tombola__V1__Announced announced = TOMBOLA__V1__ANNOUNCED__INIT;
	uint64_t newest = sh_core_newest(core);
	const struct sh_announce a = { SPAN(announce->descriptor), SPAN(announce->signature),
		announce->again };
	struct sh_announced made;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_announce(core, &a, now_of(p->serve), &p->serve->rng, &made, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, made.round_id))
		return;
	const struct sh_round *r = sh_core_collecting(core);
	sh_metrics_event(p->serve->conf.metrics, SH_EVENT_OPENED, sh_core_newest(core) > newest);
	if (made.lost) {
		sh_metrics_event(p->serve->conf.metrics, SH_EVENT_LOST, 1);
		cm_log(CM_LOG_ERROR,
			"a round that was announced before is not known here: this state was restored from "
			"an older copy; reports that were acknowledged are lost, the round's entry is spent",
			CM_I("round", sh_core_newest(core)));
	}
	if (r && made.verdict.fits) {
		cm_log(CM_LOG_INFO, "round open", CM_I("round", r->d.sequence),
			CM_S("query", r->d.query.name), CM_S("protocol", r->d.randomizer.row->name),
			CM_I("min_reports", r->d.min_reports), CM_I("target", r->d.target),
			CM_I("shuffler_dummies", pt_shuffler_most(&r->d.randomizer)),
			CM_I("seconds", (r->d.deadline_ms - now_of(p->serve)) / 1000),
			CM_I("entry", r->d.entry), CM_I("try", r->d.attempt),
			CM_D("epsilon_round", made.verdict.epsilon_round),
			CM_D("epsilon_slices", made.verdict.total),
			CM_D("epsilon_limit", made.verdict.limit));
	}
	announced.round_id = BYTES(made.round_id, PR_ROUND_ID_LEN);
	announced.lost = made.lost;
	sh_gate_send(&p->base, PR_FRAME(ANNOUNCED, announced, &announced));
}

static void on_await(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__AwaitManifest *await = frame->await_manifest;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc = CM_OK;

	if (await->round_id.len != PR_ROUND_ID_LEN)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "no such round here");
	else
		rc = sh_serve_check_waits(p, &no);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	memcpy(p->poll_round, await->round_id.data, PR_ROUND_ID_LEN);
	begin_poll(p, POLL_MANIFEST, await->wait_ms);
}

/* ---- The table ---- */

static const struct {
	Tombola__V1__Frame__KindCase kind;
	enum cr_role role;
	void (*handle)(struct peer *p, const Tombola__V1__Frame *frame);
} handlers[] = {
	{ TOMBOLA__V1__FRAME__KIND_GET_ROUND, CR_ROLE_CLIENT, on_get_round },
	{ TOMBOLA__V1__FRAME__KIND_SUBMIT, CR_ROLE_CLIENT, on_submit },
	{ TOMBOLA__V1__FRAME__KIND_GET_PLAN, CR_ROLE_CLIENT, sh_serve_on_get_plan },
	{ TOMBOLA__V1__FRAME__KIND_GET_MANIFEST, CR_ROLE_CLIENT, sh_serve_on_get_manifest },
	{ TOMBOLA__V1__FRAME__KIND_GET_PROOF, CR_ROLE_CLIENT, sh_serve_on_get_proof },
	{ TOMBOLA__V1__FRAME__KIND_GET_PAYLOAD, CR_ROLE_CLIENT, sh_serve_on_get_payload },
	{ TOMBOLA__V1__FRAME__KIND_GET_STANDING, CR_ROLE_CLIENT, sh_serve_on_get_standing },
	{ TOMBOLA__V1__FRAME__KIND_REHEARSAL_ANSWER, CR_ROLE_CLIENT, sh_serve_on_rehearsal_answer },
	{ TOMBOLA__V1__FRAME__KIND_ON_BEHALF, CR_ROLE_INTAKE, sh_serve_on_behalf },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_JOIN, CR_ROLE_INTAKE, sh_serve_on_join },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_CLAIM, CR_ROLE_INTAKE, sh_serve_on_claim },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_BATCH, CR_ROLE_INTAKE, sh_serve_on_batch },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_STORED, CR_ROLE_INTAKE, sh_serve_on_stored },
	{ TOMBOLA__V1__FRAME__KIND_GET_POLICY, CR_ROLE_ANALYZER, sh_serve_on_get_policy },
	{ TOMBOLA__V1__FRAME__KIND_REHEARSE, CR_ROLE_ANALYZER, sh_serve_on_rehearse },
	{ TOMBOLA__V1__FRAME__KIND_GET_WITNESS, CR_ROLE_ANALYZER, sh_serve_on_get_witness },
	{ TOMBOLA__V1__FRAME__KIND_EXTEND_LEDGER, CR_ROLE_ANALYZER, sh_serve_on_extend },
	{ TOMBOLA__V1__FRAME__KIND_PUT_PAYLOAD, CR_ROLE_ANALYZER, sh_serve_on_put_payload },
	{ TOMBOLA__V1__FRAME__KIND_ANNOUNCE, CR_ROLE_ANALYZER, on_announce },
	{ TOMBOLA__V1__FRAME__KIND_AWAIT_MANIFEST, CR_ROLE_ANALYZER, on_await },
	{ TOMBOLA__V1__FRAME__KIND_RELEASE, CR_ROLE_ANALYZER, on_release },
	{ TOMBOLA__V1__FRAME__KIND_PULL, CR_ROLE_ANALYZER, on_pull },
	{ TOMBOLA__V1__FRAME__KIND_SETTLE, CR_ROLE_ANALYZER, on_settle },
};

void sh_serve_frame(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct sh_refusal no;
	struct cm_err why;
	size_t i = 0;

	sh_gate_charge(&p->base, 1);
	if (p->base.who.role == CR_ROLE_ANALYZER)
		sh_metrics_analyzer_spoke(p->serve->conf.metrics);
	while (i < sizeof handlers / sizeof handlers[0] && handlers[i].kind != frame->kind_case)
		i++;
	if (i == sizeof handlers / sizeof handlers[0]) {
		(void)sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND, 0,
			"a shuffler takes no frame of kind %.40s", pr_kind_name(frame));
		sh_serve_refuse(p, frame, &no, NULL);
	} else if (handlers[i].role != p->base.who.role) {
		(void)sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_ROLE, 0, "%.40s is not for role %s",
			pr_kind_name(frame), cr_role_name(p->base.who.role));
		sh_serve_refuse(p, frame, &no, NULL);
		(void)cm_fail(&why, CM_EPROTO, "%s", no.text);
		lk_close(p->base.link, &why);
	} else {
		handlers[i].handle(p, frame);
	}
	sh_gate_flow(&p->base);
}
