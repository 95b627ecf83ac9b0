/* sh_serve_plans.c - what clients ask for beside rounds: plans, manifests of rounds that are over,
 * standings. */
#include <string.h>

#include "sh_serve_private.h"

#define OPEN_RETRY_MS 1000u

#define SPAN(field) ((struct cr_span){ (field).data, (field).len })
#define BYTES(p, n) ((ProtobufCBinaryData){ (n), (uint8_t *)(p) })

void sh_serve_on_get_plan(struct peer *p, const Tombola__V1__Frame *frame)
{
	const ProtobufCBinaryData *hash = &frame->get_plan->plan_hash;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__SignedPlan plan = TOMBOLA__V1__SIGNED_PLAN__INIT;
	struct sh_plan_signed got;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_plan(p->serve->conf.core, hash->data, hash->len, &got, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	plan.plan = BYTES(got.bytes.data, got.bytes.len);
	plan.signature = BYTES(got.signature, CR_SIGN_LEN);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_PLAN;
	out.plan = &plan;
	sh_serve_send(p, &out);
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
		rc = sh_refuse(
			&no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, OPEN_RETRY_MS, "the round is still open");
	if (sh_serve_passed(p, frame, rc, &no, &err, id->len == PR_ROUND_ID_LEN ? id->data : NULL))
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

/* Whose statement it is.  Of a client behind an intake we have the intake's word alone, also for the number
 * of its devices, which decide after a loss: it is a statement of the intake, which speaks for no device.  So
 * one that is held by an attacker can show records that the analyzer has signed, and end no waiting. */
static struct cr_identity who_states(const struct peer *p)
{
	struct cr_identity who = p->who;

	if (p->named) {
		who = *lk_peer(p->link);
		who.devices = 0;
	}
	return who;
}

void sh_serve_on_get_standing(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetStanding *get = frame->get_standing;
	struct sh_core *core = p->serve->conf.core;
	enum sh_stated what = SH_STATED_NOTHING;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Standing standing = TOMBOLA__V1__STANDING__INIT;
	struct sh_standing_signed got;
	struct sh_refusal no = { .code = TOMBOLA__V1__ERROR_CODE__ERROR_UNSPECIFIED }; /* there is none */
	struct cm_err err = { 0 };

	const struct cr_identity who = who_states(p);
	enum cm_rc rc =
		sh_core_state_head(core, &who, SPAN(get->descriptor), SPAN(get->signature), &what, &err);
	sh_serve_say_stated(core, what);
	if (rc == CM_OK)
		rc = sh_core_standing(core, p->who.key_hash, &got, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	standing.sequence = got.standing.sequence;
	if (got.standing.sequence > 0)
		standing.descriptor_hash = BYTES(got.standing.descriptor_hash, PR_HASH_LEN);
	if (memcmp(got.standing.mac, (const uint8_t[PR_MAC_LEN]){ 0 }, PR_MAC_LEN) != 0)
		standing.mac = BYTES(got.standing.mac, PR_MAC_LEN);
	standing.signature = BYTES(got.signature, CR_SIGN_LEN);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_STANDING;
	out.standing = &standing;
	sh_serve_send(p, &out);
}

/* ---- The ledger ---- */

static void send_witness(struct peer *p)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
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
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_WITNESS;
	frame.witness = &witness;
	sh_serve_send(p, &frame);
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

/* So that the analyzer signs no plan that would be refused here. */
void sh_serve_on_get_policy(struct peer *p, const Tombola__V1__Frame *frame)
{
	const struct sh_core *core = p->serve->conf.core;
	const struct sh_policy *policy = sh_core_policy(core);
	const struct rd_slices taken = sh_core_taken(core);
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Policy says = TOMBOLA__V1__POLICY__INIT;
	struct sh_refusal no;
	struct cm_err err = { 0 };

	enum cm_rc rc = sh_core_population(core, frame->get_policy->population, &no);
	if (!sh_serve_passed(p, frame, rc, &no, &err, NULL))
		return;
	says.population = policy->population;
	says.max_epsilon = policy->max_epsilon;
	says.delta = policy->delta;
	says.epsilon_taken = taken.epsilon;
	says.delta_taken = taken.delta;
	says.min_batch = (uint64_t)policy->min_batch;
	says.max_epsilon0 = policy->max_epsilon0;
	says.honest_fraction = policy->honest_fraction;
	says.colluders = (uint64_t)policy->colluders;
	says.n_protocols = policy->protocols.n;
	says.protocols = policy->protocols.item;
	says.max_plan_entries = (uint64_t)policy->max_plan_entries;
	says.max_tries = (uint32_t)policy->max_tries;
	says.max_target = (uint64_t)policy->max_target;
	says.max_shuffler_dummies = (uint64_t)policy->max_shuffler_dummies;
	says.max_window_ms = (uint64_t)policy->max_window_ms;
	says.accept_adaptive = policy->accept_adaptive;
	says.max_payload = (uint64_t)policy->max_payload;
	out.kind_case = TOMBOLA__V1__FRAME__KIND_POLICY;
	out.policy = &says;
	sh_serve_send(p, &out);
}
