/* sh_serve_frames.c - frames to the core and back: a table of kinds, one handler each. */
#include <stdio.h>
#include <string.h>

#include "sh_serve_private.h"

#define POLL_RETRY_MS 1000u
#define LOUD_REFUSALS 10u /* of one link, that are warnings: a peer must not fill the log */

#define SPAN(field) ((struct cr_span){ (field).data, (field).len })
#define BYTES(p, n) ((ProtobufCBinaryData){ (n), (uint8_t *)(p) })

void sh_serve_send(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };

	/* A link that cannot take it is closing and says so itself. */
	if (p->link && lk_send(p->link, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not sent", CM_S("reason", err.msg));
}

/* Log a refusal and answer with it. */
static void refuse(
	struct peer *p, const Tombola__V1__Frame *frame, const struct sh_refusal *no, const uint8_t *round_id)
{
	sh_metrics_refused(p->serve->conf.metrics, no->code);
	sh_serve_charge(p, SH_QUOTA_BARREN - 1); /* beside the frame itself */
	bool loud = no->code != TOMBOLA__V1__ERROR_CODE__ERROR_BUSY && p->refusals++ < LOUD_REFUSALS;

	cm_log(loud ? CM_LOG_WARN : CM_LOG_DEBUG, "refused", CM_S("request", pr_kind_name(frame)),
		CM_S("role", cr_role_name(p->who.role)), CM_I("code", no->code), CM_S("reason", no->text));
	sh_serve_refuse(p, no, round_id);
}

bool sh_serve_passed(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const uint8_t *round_id)
{
	if (rc == CM_OK)
		return true;
	if (rc != CM_EPROTO)
		sh_serve_fatal(err);
	refuse(p, frame, no, round_id);
	return false;
}

static const uint8_t *id_of(const ProtobufCBinaryData *id)
{
	return id->len == PR_ROUND_ID_LEN ? id->data : NULL;
}

/* ---- Long polls ---- */

void sh_serve_begin_poll(struct peer *p, enum poll_kind kind, int64_t until_ms)
{
	p->poll = kind;
	p->poll_until_ms = until_ms;
	lk_expect_silence(p->link, true);
}

static void begin_poll(struct peer *p, enum poll_kind kind, uint32_t wait_ms)
{
	uint32_t wait = wait_ms < PR_WAIT_MAX_MS ? wait_ms : PR_WAIT_MAX_MS;

	sh_serve_begin_poll(p, kind, cm_clock_mono_ms() + wait);
	sh_serve_poll(p, sh_serve_now(p->serve), cm_clock_mono_ms());
}

void sh_serve_end_poll(struct peer *p)
{
	p->poll = POLL_NONE;
	lk_expect_silence(p->link, false);
}

static void poll_round(struct peer *p, int64_t now_ms, bool late)
{
	const struct sh_round *r = sh_core_offer(p->serve->conf.core, p->poll_after, now_ms);
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Round round = TOMBOLA__V1__ROUND__INIT;

	if (!r) {
		if (!late)
			return;
		sh_serve_end_poll(p);
		lk_send_error(p->link, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, "no round is open",
			POLL_RETRY_MS, NULL);
		return;
	}
	sh_serve_end_poll(p);
	round.descriptor = BYTES(r->descriptor.data, r->descriptor.len);
	round.signature = BYTES(r->signature, CR_SIGN_LEN);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ROUND;
	frame.round = &round;
	sh_serve_send(p, &frame);
}

void sh_serve_manifest(struct peer *p)
{
	const struct sh_signed *from = &p->serve->manifest;
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__SignedManifest manifest = TOMBOLA__V1__SIGNED_MANIFEST__INIT;

	manifest.manifest = BYTES(from->bytes, from->len);
	manifest.signature = BYTES(from->signature, CR_SIGN_LEN);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_MANIFEST;
	frame.manifest = &manifest;
	sh_serve_send(p, &frame);
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
	sh_serve_end_poll(p);
	if (rc == CM_EMORE)
		rc = sh_refuse(
			&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS, "the round is still open");
	if (rc == CM_EPROTO) {
		lk_send_error(p->link, no.code, no.text, no.retry_after_ms, p->poll_round);
		return;
	}
	if (rc != CM_OK)
		sh_serve_fatal(&err);
	sh_serve_manifest(p);
}

void sh_serve_poll(struct peer *p, int64_t now_ms, int64_t mono_ms)
{
	bool late = mono_ms >= p->poll_until_ms || p->serve->stopping;

	if (p->poll == POLL_ROUND)
		poll_round(p, now_ms, late);
	else if (p->poll == POLL_MANIFEST)
		poll_manifest(p, late);
	else
		sh_serve_poll_released(p, late);
}

/* ---- Clients ---- */

/* The client has logged by how much.  It waits for its clock, and the round for it. */
static void say_passed_over(struct peer *p, uint64_t round)
{
	const struct sh_round *r = sh_core_collecting(p->serve->conf.core);

	if (!r || r->d.sequence != round || p->passed_over == round)
		return;
	p->passed_over = round;
	if (p->refusals++ < LOUD_REFUSALS)
		cm_log(CM_LOG_WARN, "a client passes over the open round by its clock (check the clocks)",
			CM_I("round", round));
}

static void on_get_round(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetRound *get = frame->get_round;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_population(p->serve->conf.core, get->population, &no);
	if (rc == CM_OK && p->poll != POLL_NONE)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS,
			"one request that waits at a time");
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	say_passed_over(p, get->passed_over);
	p->poll_after = get->after;
	begin_poll(p, POLL_ROUND, get->wait_ms);
}

static void on_submit(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Submit *submit = frame->submit;
	struct sh_submit in = {
		.peer = &p->who,
		.pseudonyms = submit->pseudonyms.data,
		.pseudonyms_len = submit->pseudonyms.len,
		.sealed = submit->sealed.data,
		.sealed_len = submit->sealed.len,
		.salts = submit->salts.data,
		.salts_len = submit->salts.len,
		.mac = submit->mac.len > 0 ? submit->mac.data : NULL,
	};
	const struct sh_round *r = sh_core_collecting(p->serve->conf.core);
	uint64_t before = r ? r->intake.participants : 0;
	struct sh_receipt receipt;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc;

	if (p->serve->stopping)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS,
			"the shuffler is going down");
	else
		rc = sh_core_submit(p->serve->conf.core, submit->round_id.data, submit->round_id.len, &in,
			sh_serve_now(p->serve), &receipt, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, id_of(&submit->round_id))) {
		sh_serve_junk(p, &no);
		return;
	}
	uint64_t fresh = r ? r->intake.participants - before : 0;
	p->junk = 0;
	if (fresh == 0)
		sh_serve_charge(p, SH_QUOTA_BARREN - 1); /* beside the frame itself */
	sh_metrics_outcomes(p->serve->conf.metrics, &receipt, fresh);
	sh_serve_receipt(p, &receipt, fresh > 0 ? submit->sealed.len + submit->pseudonyms.len : 0);
}

/* ---- The analyzer ---- */

static void on_announce(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__Announce *announce = frame->announce;
	struct sh_core *core = p->serve->conf.core;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Announced announced = TOMBOLA__V1__ANNOUNCED__INIT;
	uint64_t newest = sh_core_newest(core);
	const struct sh_announce a = { SPAN(announce->descriptor), SPAN(announce->signature),
		announce->again };
	struct sh_announced made;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_announce(core, &a, sh_serve_now(p->serve), &p->serve->rng, &made, &no, &err);
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
			CM_I("seconds", (r->d.deadline_ms - sh_serve_now(p->serve)) / 1000),
			CM_I("entry", r->d.entry), CM_I("try", r->d.attempt),
			CM_D("epsilon_round", made.verdict.epsilon_round),
			CM_D("epsilon_slices", made.verdict.total),
			CM_D("epsilon_limit", made.verdict.limit));
	}
	announced.round_id = BYTES(made.round_id, PR_ROUND_ID_LEN);
	announced.lost = made.lost;
	out.kind_case = TOMBOLA__V1__FRAME__KIND_ANNOUNCED;
	out.announced = &announced;
	sh_serve_send(p, &out);
}

static void on_await(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__AwaitManifest *await = frame->await_manifest;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc = CM_OK;

	if (await->round_id.len != PR_ROUND_ID_LEN)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "no such round here");
	else if (p->poll != POLL_NONE)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, POLL_RETRY_MS,
			"one request that waits at a time");
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
	{ TOMBOLA__V1__FRAME__KIND_ON_BEHALF, CR_ROLE_INTAKE, sh_serve_on_behalf },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_JOIN, CR_ROLE_INTAKE, sh_serve_on_join },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_CLAIM, CR_ROLE_INTAKE, sh_serve_on_claim },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_BATCH, CR_ROLE_INTAKE, sh_serve_on_batch },
	{ TOMBOLA__V1__FRAME__KIND_INTAKE_STORED, CR_ROLE_INTAKE, sh_serve_on_stored },
	{ TOMBOLA__V1__FRAME__KIND_GET_POLICY, CR_ROLE_ANALYZER, sh_serve_on_get_policy },
	{ TOMBOLA__V1__FRAME__KIND_GET_WITNESS, CR_ROLE_ANALYZER, sh_serve_on_get_witness },
	{ TOMBOLA__V1__FRAME__KIND_EXTEND_LEDGER, CR_ROLE_ANALYZER, sh_serve_on_extend },
	{ TOMBOLA__V1__FRAME__KIND_PUT_PAYLOAD, CR_ROLE_ANALYZER, sh_serve_on_put_payload },
	{ TOMBOLA__V1__FRAME__KIND_ANNOUNCE, CR_ROLE_ANALYZER, on_announce },
	{ TOMBOLA__V1__FRAME__KIND_AWAIT_MANIFEST, CR_ROLE_ANALYZER, on_await },
	{ TOMBOLA__V1__FRAME__KIND_RELEASE, CR_ROLE_ANALYZER, sh_serve_on_release },
	{ TOMBOLA__V1__FRAME__KIND_PULL, CR_ROLE_ANALYZER, sh_serve_on_pull },
	{ TOMBOLA__V1__FRAME__KIND_SETTLE, CR_ROLE_ANALYZER, sh_serve_on_settle },
};

void sh_serve_on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct sh_refusal no;
	struct cm_err why;
	size_t i = 0;

	sh_serve_charge(p, 1);
	if (p->who.role == CR_ROLE_ANALYZER)
		sh_metrics_analyzer_spoke(p->serve->conf.metrics);
	while (i < sizeof handlers / sizeof handlers[0] && handlers[i].kind != frame->kind_case)
		i++;
	if (i == sizeof handlers / sizeof handlers[0]) {
		(void)sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND, 0,
			"a shuffler takes no frame of kind %.40s", pr_kind_name(frame));
		refuse(p, frame, &no, NULL);
	} else if (handlers[i].role != p->who.role) {
		(void)sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_ROLE, 0, "%.40s is not for role %s",
			pr_kind_name(frame), cr_role_name(p->who.role));
		refuse(p, frame, &no, NULL);
		(void)cm_fail(&why, CM_EPROTO, "%s", no.text);
		lk_close(l, &why);
	} else {
		handlers[i].handle(p, frame);
	}
	sh_serve_flow(p);
	sh_serve_pump(p->serve);
}
