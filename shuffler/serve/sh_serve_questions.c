/* sh_serve_questions.c (sh_serve_private.h) - answers questions that are not about the open round.
 *
 * Clients ask for plans, manifests of rounds that are over, standings, payloads and proofs; the analyzer
 * for the ledger and the policy.  For which messages a proof is asked, or what it says, is neither counted
 * nor logged. */
#include <string.h>

#include "sh_serve_private.h"

/* An answer is much larger than its question: every so many bytes count as a frame. */
#define PER_FRAME     16384u
#define PART_RETRY_MS 100u
#define UNREAD_MS     5000 /* if a peer reads nothing of a part for this long, others get its room */
#define SHARES        8u   /* one certificate has at most this fraction of the room: 1/8 */
/* pause between two questions of a connection, each of which takes some milliseconds */
#define PROOF_PAUSE_MS 100

void sh_serve_on_get_plan(struct peer *p, const Tombola__V1__Frame *frame)
{
	const ProtobufCBinaryData *hash = &frame->get_plan->plan_hash;
	Tombola__V1__SignedPlan plan = TOMBOLA__V1__SIGNED_PLAN__INIT;
	struct sh_plan_signed got;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_plan(p->serve->conf.core, hash->data, hash->len, &got, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	plan.plan = BYTES(got.bytes.data, got.bytes.len);
	plan.signature = BYTES(got.signature, CR_SIGN_LEN);
	sh_gate_send(&p->base, PR_FRAME(PLAN, plan, &plan));
}

void sh_serve_on_get_manifest(struct peer *p, const Tombola__V1__Frame *frame)
{
	const ProtobufCBinaryData *id = &frame->get_manifest->round_id;
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_serve_check_reads(p, SH_SERVE_QUEUED, SH_SERVE_RETRY_MS, &no);
	if (rc == CM_OK)
		rc = sh_core_manifest(s->conf.core, id->data, id->len, &s->manifest, &no, &err);
	if (rc == CM_EMORE)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_SERVE_RETRY_MS,
			"the round is still open");
	if (sh_serve_passed(p, frame, rc, &no, &err, id_of(id)))
		sh_serve_manifest(p);
}

void sh_serve_say_stated(const struct sh_core *core, enum sh_stated what)
{
	const struct sh_hearing h = sh_core_hearing(core);

	if (what == SH_STATED_LACKING)
		cm_log(CM_LOG_ERROR,
			"a client holds the analyzer's signature on a ledger record that is not known "
			"here: this state, or the analyzer's ledger, was restored from an older copy",
			CM_I("record", h.lacking), CM_I("ledger_seq", sh_core_witness(core).seq));
	else if (what == SH_STATED_COUNTED)
		cm_log(CM_LOG_WARN, "after the loss of this state clients are waited for",
			CM_I("certificates", h.certificates), CM_I("devices", h.devices),
			CM_I("more_than", h.colluders));
	else if (what == SH_STATED_ENOUGH)
		cm_log(CM_LOG_WARN, "enough clients have stated how long the ledger was",
			CM_I("certificates", h.certificates), CM_I("devices", h.devices),
			CM_I("closed_to", h.closed_to));
}

/* Find out whose statement it is.  If a client is behind an intake, we have only the intake's word for it,
 * and for the number of its devices, which decides after a loss.  So it counts as a statement of the
 * intake, which speaks for no device.  An attacker who holds an intake can show records that the analyzer
 * has signed, and cannot end the waiting. */
static struct cr_identity who_states(const struct peer *p)
{
	struct cr_identity who = p->base.who;

	if (p->named) {
		who = *lk_peer(p->base.link);
		who.devices = 0;
	}
	return who;
}

void sh_serve_on_get_standing(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetStanding *get = frame->get_standing;
	struct sh_core *core = p->serve->conf.core;
	enum sh_stated what = SH_STATED_NOTHING;
	Tombola__V1__Standing standing = TOMBOLA__V1__STANDING__INIT;
	struct sh_standing_signed got;
	/* there is no refusal yet */
	struct sh_refusal no = { .code = TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED };
	struct cm_err err = { 0 };

	const struct cr_identity who = who_states(p);
	enum cm_rc rc =
		sh_core_state_head(core, &who, SPAN(get->descriptor), SPAN(get->signature), &what, &err);
	sh_serve_say_stated(core, what);
	if (rc == CM_OK)
		rc = sh_core_standing(core, p->base.who.key_hash,
			get->gateway.len > 0 ? get->gateway.data : NULL, &got, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	standing.sequence = got.standing.sequence;
	if (got.standing.sequence > 0)
		standing.descriptor_hash = BYTES(got.standing.descriptor_hash, PR_HASH_LEN);
	if (memcmp(got.standing.mac, (const uint8_t[PR_MAC_LEN]){ 0 }, PR_MAC_LEN) != 0)
		standing.mac = BYTES(got.standing.mac, PR_MAC_LEN);
	standing.signature = BYTES(got.signature, CR_SIGN_LEN);
	sh_gate_send(&p->base, PR_FRAME(STANDING, standing, &standing));
}

/* ---- The ledger ---- */

static void send_witness(struct peer *p)
{
	Tombola__V1__Witness witness = TOMBOLA__V1__WITNESS__INIT;
	const struct sh_head_row *stated = sh_core_lacks(p->serve->conf.core);
	struct rd_chain head = sh_core_witness(p->serve->conf.core);

	if (stated) {
		witness.stated_seq = stated->seq - 1;
		witness.stated_head = BYTES(stated->before, PR_HASH_LEN);
		witness.stated_descriptor = BYTES(stated->descriptor_hash, PR_HASH_LEN);
	}
	witness.ledger_seq = head.seq;
	if (head.seq > 0)
		witness.ledger_head = BYTES(head.head, PR_HASH_LEN);
	sh_gate_send(&p->base, PR_FRAME(WITNESS, witness, &witness));
}

void sh_serve_on_get_witness(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_population(p->serve->conf.core, frame->get_witness->population, &no);
	if (rc == CM_OK)
		rc = sh_core_check_loss(p->serve->conf.core, &no);
	if (sh_serve_passed(p, frame, rc, &no, &err, NULL))
		send_witness(p);
}

void sh_serve_on_extend(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__ExtendLedger *extend = frame->extend_ledger;
	struct sh_core *core = p->serve->conf.core;
	struct cr_span records[PR_RECORDS_MAX];
	uint64_t before = sh_core_witness(core).seq;
	size_t n = extend->n_records < PR_RECORDS_MAX ? extend->n_records : PR_RECORDS_MAX;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	for (size_t i = 0; i < n; i++)
		records[i] = SPAN(extend->records[i]);
	enum cm_rc rc = sh_core_population(core, extend->population, &no);
	const struct sh_extend e = { extend->first, records, n, SPAN(extend->signature) };
	if (rc == CM_OK)
		rc = sh_core_extend(core, &e, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	cm_log(CM_LOG_DEBUG, "ledger witnessed", CM_I("from", before), CM_I("to", sh_core_witness(core).seq));
	send_witness(p);
}

/* ---- The policy ---- */

/* The analyzer asks, so that it signs no plan that would be refused here. */
void sh_serve_on_get_policy(struct peer *p, const Tombola__V1__Frame *frame)
{
	const struct sh_core *core = p->serve->conf.core;
	const struct sh_policy *policy = sh_core_policy(core);
	const struct rd_slices taken = sh_core_taken(core);
	Tombola__V1__Policy says = TOMBOLA__V1__POLICY__INIT;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_population(core, frame->get_policy->population, &no);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	says.population = policy->shared.population;
	says.max_epsilon = policy->shared.max_epsilon;
	says.delta = policy->shared.delta;
	says.epsilon_taken = taken.epsilon;
	says.delta_taken = taken.delta;
	says.min_batch = (uint64_t)policy->shared.min_batch;
	says.max_epsilon0 = policy->shared.max_epsilon0;
	says.honest_fraction = policy->shared.honest_fraction;
	says.colluders = (uint64_t)policy->shared.colluders;
	says.n_protocols = policy->shared.protocols.n;
	says.protocols = policy->shared.protocols.item;
	says.max_plan_entries = (uint64_t)policy->shared.max_plan_entries;
	says.max_tries = (uint32_t)policy->shared.max_tries;
	says.max_target = (uint64_t)policy->max_target;
	says.max_shuffler_dummies = (uint64_t)policy->max_shuffler_dummies;
	says.max_window_ms = (uint64_t)policy->max_window_ms;
	says.accept_adaptive = policy->shared.accept_adaptive;
	says.max_payload = (uint64_t)policy->shared.max_payload;
	sh_gate_send(&p->base, PR_FRAME(POLICY, policy, &says));
}

/* ---- Payloads ---- */

void sh_serve_on_put_payload(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__PutPayload *put = frame->put_payload;
	Tombola__V1__PayloadHeld held = TOMBOLA__V1__PAYLOAD_HELD__INIT;
	const struct sh_put in = { SPAN(put->hash), SPAN(put->data), put->size, put->offset };
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_put_payload(p->serve->conf.core, &in, &held.held, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	if (held.held == put->size && put->data.len > 0)
		cm_log(CM_LOG_INFO, "payload stored", CM_I("bytes", (int64_t)put->size));
	held.hash = put->hash;
	sh_gate_send(&p->base, PR_FRAME(PAYLOAD_HELD, payload_held, &held));
}

/* The bytes that wait in memory for a peer which has asked for parts.  A peer that has taken some since the
 * last look is reading, however slowly. */
static size_t waiting(struct peer *p, int64_t now)
{
	size_t unread;

	if (!p->base.link || p->part_ms == 0)
		return 0;
	unread = lk_unread(p->base.link);
	if (unread < p->unread)
		p->part_ms = now;
	p->unread = unread;
	return lk_pending(p->base.link);
}

/* Close such links at once, without flushing: their room is needed. */
static void drop_unread(struct sh_serve *s, int64_t now)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_EUNAVAIL, "does not read a part of a payload, and others wait");
	for (struct peer *p = first_peer(s); p; p = next_peer(p))
		if (p->base.link && p->part_ms > 0 && lk_pending(p->base.link) > 0 &&
			now - p->part_ms > UNREAD_MS)
			lk_abort(p->base.link, &why);
}

/* Parts that are sent and not read stay in memory.  One peer has at most one.  The peers of one certificate
 * have a fraction of conf.parts_bytes, but at least one part; all peers together have all of it.  Beyond
 * that a request is refused and must be tried again (CM_EPROTO), and peers that do not read at all are
 * dropped. */
static enum cm_rc check_room(const struct peer *p, struct sh_refusal *no)
{
	struct sh_serve *s = p->serve;
	size_t all = 0, its = 0, room = s->conf.parts_bytes, share = room / SHARES;
	int64_t now = cm_clock_mono_ms();

	for (struct peer *other = first_peer(s); other; other = next_peer(other)) {
		size_t n = waiting(other, now);

		all += n;
		if (other->base.holder == p->base.holder)
			its += n;
	}
	if (all == 0 || (all + PR_PAYLOAD_PART <= room && (its == 0 || its + PR_PAYLOAD_PART <= share)))
		return sh_serve_check_reads(p, 0, PART_RETRY_MS, no);
	drop_unread(s, now);
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, PART_RETRY_MS,
		"parts of payloads are still on their way to others");
}

void sh_serve_on_get_payload(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetPayload *get = frame->get_payload;
	Tombola__V1__Payload payload = TOMBOLA__V1__PAYLOAD__INIT;
	const struct sh_part part = { get->offset, get->length };
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	size_t n = 0;

	enum cm_rc rc = check_room(p, &no);
	if (rc == CM_OK)
		rc = sh_core_get_payload(
			s->conf.core, get->round_id.data, get->round_id.len, &part, s->part, &n, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, id_of(&get->round_id)))
		return;
	sh_gate_charge(&p->base, (uint32_t)(n / PER_FRAME));
	payload.round_id = get->round_id;
	payload.offset = get->offset;
	payload.data = (ProtobufCBinaryData){ n, s->part };
	p->part_ms = cm_clock_mono_ms();
	sh_gate_send(&p->base, PR_FRAME(PAYLOAD, payload, &payload));
}

/* ---- Proofs ---- */

/* Refuse proofs that come too fast, since they take more work than other answers. */
static enum cm_rc check_pause(struct peer *p, struct sh_refusal *no)
{
	int64_t now = cm_clock_mono_ms();

	if (now < p->proof_from_ms)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, PROOF_PAUSE_MS,
			"the next proof is given in %lld ms", (long long)(p->proof_from_ms - now));
	p->proof_from_ms = now + PROOF_PAUSE_MS;
	return CM_OK;
}

void sh_serve_on_get_proof(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetProof *get = frame->get_proof;
	Tombola__V1__Proof proof = TOMBOLA__V1__PROOF__INIT;
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc = CM_OK;

	if (get->hashes.len != (size_t)PR_PROOF_HASHES * PR_HASH_LEN)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "hashes: %zu bytes",
			get->hashes.len);
	if (rc == CM_OK)
		rc = sh_serve_check_reads(p, SH_SERVE_QUEUED, SH_SERVE_RETRY_MS, &no);
	if (rc == CM_OK)
		rc = check_pause(p, &no);
	if (rc == CM_OK)
		rc = sh_core_prove(s->conf.core, get->round_id.data, get->round_id.len,
			(const uint8_t(*)[PR_HASH_LEN])get->hashes.data, &s->proof, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, id_of(&get->round_id)))
		return;
	proof.round_id = get->round_id;
	proof.entries = BYTES(s->proof.data, s->proof.len);
	sh_gate_send(&p->base, PR_FRAME(PROOF, proof, &proof));
}
