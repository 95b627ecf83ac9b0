/* cl_plans.c - requests standings, plans and manifests, and processes the answers. */
#include "cl_plans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_ledger.h"
#include "cl_standing.h"
#include "cl_tries.h"
#include "cr_pki.h"
#include "lk_link.h"

enum cm_rc cl_plans_reload(struct cl_plans *p, struct cm_err *err)
{
	struct cr_pki_info info;
	enum cm_rc rc = cr_pki_show(p->setup->conf.cert, &info, err);

	if (rc != CM_OK)
		return rc;
	memcpy(p->key_hash, info.identity.key_hash, PR_HASH_LEN);
	p->devices = info.identity.devices;
	return CM_OK;
}

enum cm_rc cl_plans_init(struct cl_plans *p, const struct cl_setup *setup, struct cl_db *db,
	const struct cr_key *secret, struct cm_err *err)
{
	*p = (struct cl_plans){ .setup = setup, .db = db, .secret = secret };
	atomic_init(&p->stop, false);
	cm_buf_init(&p->fetched, PR_PLAN_MAX);
	cm_buf_init(&p->newest, PR_DESCRIPTOR_MAX);
	cl_payload_init(&p->payload, db ? setup->conf.state_dir : NULL);
	return cl_plans_reload(p, err);
}

void cl_plans_fini(struct cl_plans *p)
{
	cm_buf_fini(&p->fetched);
	cm_buf_fini(&p->newest);
	cl_payload_fini(&p->payload);
}

void cl_plans_down(struct cl_plans *p)
{
	p->standing = false;
}

void cl_plans_begin(struct cl_plans *p)
{
	p->need.kind = CD_NEED_NOTHING;
	p->absent[0] = '\0';
}

enum cl_ask cl_plans_next(const struct cl_plans *p)
{
	if (p->db && !p->standing)
		return CL_ASK_STANDING;
	return p->need.kind == CD_NEED_PLAN       ? CL_ASK_PLAN
	       : p->need.kind == CD_NEED_MANIFEST ? CL_ASK_MANIFEST
	       : p->need.kind == CD_NEED_PAYLOAD  ? CL_ASK_PAYLOAD
						  : CL_ASK_ROUND;
}

static ProtobufCBinaryData bytes_of(const uint8_t *data, size_t len)
{
	/* protobuf-c's types are not const; the union avoids a cast, and no code writes to this message. */
	union {
		const uint8_t *from;
		uint8_t *to;
	} lent = { .from = data };

	return (ProtobufCBinaryData){ len, lent.to };
}

/* State how long the analyzer's ledger was: the newest descriptor that this client has seen, which the
 * analyzer signed. */
static enum cm_rc state_newest(struct cl_plans *p, Tombola__V1__GetStanding *standing, struct cm_err *err)
{
	enum cm_rc rc = cl_ledger_newest(p->db, &p->newest, p->newest_signature, err);

	if (rc == CM_OK && p->newest.len > 0) {
		standing->descriptor = bytes_of(p->newest.data, p->newest.len);
		standing->signature = bytes_of(p->newest_signature, CR_SIGN_LEN);
	}
	return rc;
}

enum cm_rc cl_plans_frame(struct cl_plans *p, enum cl_ask ask, Tombola__V1__Frame *frame,
	union cl_plans_wire *wire, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (ask == CL_ASK_STANDING) {
		tombola__v1__get_standing__init(&wire->standing);
		cl_standing_gateway(p->secret, p->setup->conf.population, p->gateway);
		wire->standing.gateway = bytes_of(p->gateway, PR_HASH_LEN);
		rc = state_newest(p, &wire->standing, err);
		frame->kind_case = TOMBOLA__V1__FRAME__KIND_GET_STANDING;
		frame->get_standing = &wire->standing;
	} else if (ask == CL_ASK_PLAN) {
		tombola__v1__get_plan__init(&wire->plan);
		wire->plan.plan_hash = bytes_of(p->need.plan_hash, PR_HASH_LEN);
		frame->kind_case = TOMBOLA__V1__FRAME__KIND_GET_PLAN;
		frame->get_plan = &wire->plan;
	} else if (ask == CL_ASK_PAYLOAD) {
		cl_payload_ask(&p->payload, &wire->payload);
		frame->kind_case = TOMBOLA__V1__FRAME__KIND_GET_PAYLOAD;
		frame->get_payload = &wire->payload;
	} else {
		tombola__v1__get_manifest__init(&wire->manifest);
		wire->manifest.round_id = bytes_of(p->need.round_id, PR_ROUND_ID_LEN);
		frame->kind_case = TOMBOLA__V1__FRAME__KIND_GET_MANIFEST;
		frame->get_manifest = &wire->manifest;
	}
	return rc;
}

/* ---- Answers ---- */

static enum cm_rc take_standing(
	struct cl_plans *p, const Tombola__V1__Standing *m, int64_t now_ms, bool *lost, struct cm_err *err)
{
	const struct cl_stander who = { p->setup->shuffler, p->secret, p->setup->conf.population,
		p->key_hash };
	struct cl_standing s = { .sequence = m->sequence };
	char words[256];
	enum cm_rc rc;

	if ((m->sequence > 0) != (m->descriptor_hash.len == PR_HASH_LEN) || m->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPROTO, "standing: incomplete");
	if (m->sequence > 0)
		memcpy(s.descriptor_hash, m->descriptor_hash.data, PR_HASH_LEN);
	if (m->mac.len == PR_MAC_LEN)
		memcpy(s.mac, m->mac.data, PR_MAC_LEN);
	memcpy(s.signature, m->signature.data, CR_SIGN_LEN);
	rc = cl_standing_take(p->db, &who, &s, now_ms, lost, err);
	p->standing = rc == CM_OK;
	(void)snprintf(p->foreign, sizeof p->foreign, "%s", rc == CM_EPERM ? err->msg : "");
	if (rc == CM_OK && *lost) {
		cl_loss_words(&(struct cl_loss){ .lost = true, .sequence = s.sequence }, words, sizeof words);
		(void)cm_fail(err, CM_EBUDGET, "%s", words);
	}
	return rc;
}

static enum cm_rc take_plan(
	struct cl_plans *p, const Tombola__V1__SignedPlan *m, int64_t now_ms, struct cm_err *err)
{
	struct cl_offered_plan offered = {
		.bytes = m->plan.data, .len = m->plan.len, .signature = m->signature.data
	};

	if (m->plan.len == 0 || m->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPROTO, "a plan without bytes or signature");
	if (!p->db) {
		p->fetched.len = 0;
		memcpy(p->fetched_signature, m->signature.data, CR_SIGN_LEN);
		return cm_buf_put(&p->fetched, m->plan.data, m->plan.len) == CM_OK
			       ? CM_OK
			       : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	memcpy(offered.hash, p->need.plan_hash, PR_HASH_LEN);
	return cl_plan_learn(p->db, &offered, p->setup->conf.population, p->setup->analyzer, now_ms, err);
}

static enum cm_rc take_manifest(
	struct cl_plans *p, const Tombola__V1__SignedManifest *m, int64_t now_ms, struct cm_err *err)
{
	if (m->manifest.len == 0 || m->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPROTO, "a manifest without bytes or signature");
	return cl_manifest_learn(p->db, p->setup->conf.state_dir, p->setup->shuffler, p->need.round_id,
		m->manifest.data, m->manifest.len, m->signature.data, now_ms, err);
}

/* Judge the round without the needed document, because that cannot be had. */
static void judge_without(struct cl_plans *p, const char *why)
{
	(void)snprintf(p->absent, sizeof p->absent, "%s", why);
	p->need.kind = CD_NEED_NOTHING;
}

static enum cm_rc take_error(
	struct cl_plans *p, enum cl_ask ask, const Tombola__V1__Error *e, struct cm_err *err)
{
	(void)pr_error(e, err);
	if (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY ||
		e->code == TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE)
		return err->code = CM_ELATER;
	if (ask == CL_ASK_STANDING) /* no round is requested without a standing */
		return err->code == CM_EPERM ? CM_EPERM : (err->code = CM_EPROTO);
	if (ask == CL_ASK_PAYLOAD)
		cl_payload_give_up(&p->payload, err->msg);
	judge_without(p, err->msg);
	return CM_OK;
}

enum cm_rc cl_plans_answer(struct cl_plans *p, enum cl_ask ask, const Tombola__V1__Frame *frame,
	int64_t now_ms, bool *lost, struct cm_err *err)
{
	enum cm_rc rc;

	*lost = false;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR)
		return take_error(p, ask, frame->error, err);
	if (ask == CL_ASK_STANDING && frame->kind_case == TOMBOLA__V1__FRAME__KIND_STANDING)
		return take_standing(p, frame->standing, now_ms, lost, err);
	if (ask == CL_ASK_PLAN && frame->kind_case == TOMBOLA__V1__FRAME__KIND_PLAN)
		rc = take_plan(p, frame->plan, now_ms, err);
	else if (ask == CL_ASK_MANIFEST && frame->kind_case == TOMBOLA__V1__FRAME__KIND_MANIFEST)
		rc = take_manifest(p, frame->manifest, now_ms, err);
	else if (ask == CL_ASK_PAYLOAD && frame->kind_case == TOMBOLA__V1__FRAME__KIND_PAYLOAD)
		rc = cl_payload_take(&p->payload, frame->payload, err);
	else
		return cm_fail(err, CM_EPROTO, "%s instead of an answer", pr_kind_name(frame));
	/* A shuffler that sends another document, or one with a wrong signature, does not have the
	 * requested one. */
	if (rc == CM_EPROTO || rc == CM_EPERM) {
		cl_payload_give_up(&p->payload, err->msg);
		judge_without(p, err->msg);
		return CM_OK;
	}
	if (rc == CM_OK)
		p->need.kind = CD_NEED_NOTHING;
	return rc;
}
