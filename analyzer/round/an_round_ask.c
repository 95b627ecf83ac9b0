/* an_round_ask.c - the requests of the round dialogue, and the records it makes. */
#include "an_round_ask.h"

#include <stdio.h>
#include <string.h>

#include "cm_text.h"
#include "rd_plan.h"

typedef enum cm_rc ask_fn(struct an_round *r, struct cm_err *err);

static ask_fn ask_witness, ask_extend, ask_payload, ask_announce, ask_manifest, ask_release, ask_pull,
	ask_settle;

static ask_fn *const asks[] = {
	[AN_AT_WITNESS] = ask_witness,
	[AN_AT_EXTENDED] = ask_extend,
	[AN_AT_PAYLOAD] = ask_payload,
	[AN_AT_ANNOUNCED] = ask_announce,
	[AN_AT_MANIFEST] = ask_manifest,
	[AN_AT_RELEASED] = ask_release,
	[AN_AT_SEGMENT] = ask_pull,
	[AN_AT_SETTLED] = ask_settle,
};

enum cm_rc an_ask(struct an_round *r, enum an_step step, struct cm_err *err)
{
	enum cm_rc rc = asks[step](r, err);

	if (rc == CM_OK) {
		r->step = step;
		r->want_send = true;
	}
	return rc;
}

/* protobuf-c takes mutable pointers and writes through none of them when it packs. */
static ProtobufCBinaryData span(const uint8_t *p, size_t n)
{
	union {
		const uint8_t *in;
		uint8_t *out;
	} u = { .in = p };

	return (ProtobufCBinaryData){ .len = n, .data = u.out };
}

static ProtobufCBinaryData round_id(const struct an_round *r)
{
	return span(r->conf.round->descriptor.round_id, PR_ROUND_ID_LEN);
}

static char *population(struct an_round *r)
{
	(void)snprintf(r->request.population, sizeof r->request.population, "%s", r->conf.population);
	return r->request.population;
}

static enum cm_rc ask_witness(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__GetWitness *m = &r->request.body.get_witness;

	(void)err;
	tombola__v1__get_witness__init(m);
	m->population = population(r);
	r->request.frame = *PR_FRAME(GET_WITNESS, get_witness, m);
	return CM_OK;
}

/* Sign the head after this record: an authenticated connection alone would not prove that the analyzer
 * extends its ledger. */
static enum cm_rc sign_head(struct an_round *r, uint64_t seq, struct cm_err *err)
{
	struct an_entry e = an_ledger_entry(r->conf.ledger, seq);
	uint8_t bytes[RD_HEAD_MAX];
	size_t n = rd_head_bytes(r->conf.population, seq, e.head, bytes);

	return cr_sign(r->conf.signer, RD_PURPOSE_LEDGER, bytes, n, r->request.ledger_signature, err);
}

/* Send as many records after the witness's head as fit one frame. */
static enum cm_rc ask_extend(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__ExtendLedger *m = &r->request.body.extend_ledger;
	uint64_t seq = r->witness.seq + 1, last = an_ledger_chain(r->conf.ledger)->seq;
	size_t bytes = 1024, n = 0; /* 1024 for the frame around the records */

	tombola__v1__extend_ledger__init(m);
	m->population = population(r);
	m->first = seq;
	for (; seq <= last && n < PR_RECORDS_MAX; seq++, n++) {
		struct an_entry e = an_ledger_entry(r->conf.ledger, seq);

		bytes += e.len + 8;
		if (bytes > PR_FRAME_MAX)
			break;
		r->request.record[n] = span(e.bytes, e.len);
	}
	m->n_records = n;
	m->records = r->request.record;
	m->signature = span(r->request.ledger_signature, CR_SIGN_LEN);
	r->request.frame = *PR_FRAME(EXTEND_LEDGER, extend_ledger, m);
	return sign_head(r, m->first + n - 1, err);
}

/* At first a question without bytes, then what follows those that are held. */
static enum cm_rc ask_payload(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__PutPayload *m = &r->request.body.put_payload;
	const struct cr_span *p = &r->conf.payload;
	bool begun = r->step == AN_AT_PAYLOAD;
	size_t left = p->len - (size_t)r->put;

	(void)err;
	tombola__v1__put_payload__init(m);
	m->hash = span(r->conf.round->descriptor.payload_hash, PR_HASH_LEN);
	m->size = p->len;
	m->offset = r->put;
	if (begun)
		m->data = span(
			(const uint8_t *)p->data + r->put, left < PR_PAYLOAD_PART ? left : PR_PAYLOAD_PART);
	r->request.frame = *PR_FRAME(PUT_PAYLOAD, put_payload, m);
	return CM_OK;
}

/* Ed25519 is deterministic: after a restart the same bytes get the same signature. */
static enum cm_rc ask_announce(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Announce *m = &r->request.body.announce;
	const struct cm_buf *d = &r->conf.round->descriptor_bytes;
	enum cm_rc rc =
		cr_sign(r->conf.signer, RD_PURPOSE_DESCRIPTOR, d->data, d->len, r->request.signature, err);

	tombola__v1__announce__init(m);
	m->descriptor = span(d->data, d->len);
	m->signature = span(r->request.signature, CR_SIGN_LEN);
	m->again = r->announced;
	r->request.frame = *PR_FRAME(ANNOUNCE, announce, m);
	return rc;
}

static enum cm_rc ask_manifest(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__AwaitManifest *m = &r->request.body.await_manifest;

	(void)err;
	tombola__v1__await_manifest__init(m);
	m->round_id = round_id(r);
	m->wait_ms = r->conf.wait_ms;
	r->request.frame = *PR_FRAME(AWAIT_MANIFEST, await_manifest, m);
	return CM_OK;
}

static enum cm_rc ask_release(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Release *m = &r->request.body.release;
	const struct an_round_state *s = r->conf.round;
	struct cm_buf *doc = &r->request.charge;
	struct rd_charge c = { .ledger_seq = s->charge_seq };
	enum cm_rc rc;

	memcpy(c.round_id, s->descriptor.round_id, PR_ROUND_ID_LEN);
	memcpy(c.descriptor_hash, s->descriptor.hash, PR_HASH_LEN);
	memcpy(c.manifest_hash, s->manifest_hash, PR_HASH_LEN);
	memcpy(c.ledger_head, s->charge_head, PR_HASH_LEN);
	doc->len = 0;
	rc = rd_charge_encode(&c, doc, err);
	if (rc == CM_OK)
		rc = cr_sign(
			r->conf.signer, RD_PURPOSE_CHARGE, doc->data, doc->len, r->request.signature, err);
	tombola__v1__release__init(m);
	m->charge = span(doc->data, doc->len);
	m->signature = span(r->request.signature, CR_SIGN_LEN);
	r->request.frame = *PR_FRAME(RELEASE, release, m);
	return rc;
}

static enum cm_rc ask_pull(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Pull *m = &r->request.body.pull;

	(void)err;
	tombola__v1__pull__init(m);
	m->round_id = round_id(r);
	m->bucket = r->bucket;
	m->offset = r->arriving.len / rd_sealed_len(&r->conf.round->descriptor);
	r->request.frame = *PR_FRAME(PULL, pull, m);
	return CM_OK;
}

static enum cm_rc ask_settle(struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Settle *m = &r->request.body.settle;

	(void)err;
	tombola__v1__settle__init(m);
	m->round_id = round_id(r);
	r->request.frame = *PR_FRAME(SETTLE, settle, m);
	return CM_OK;
}

enum cm_rc an_common_error(
	struct an_round *r, const Tombola__V1__Error *e, const char *step, struct cm_err *err)
{
	enum cm_rc rc;

	if (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY) {
		r->pause_ms = e->retry_after_ms < AN_PAUSE_MIN_MS   ? AN_PAUSE_MIN_MS
			      : e->retry_after_ms > AN_PAUSE_MAX_MS ? AN_PAUSE_MAX_MS
								    : e->retry_after_ms;
		if (r->step == AN_AT_WITNESS)
			cm_text_copy(r->waits, sizeof r->waits, e->text ? e->text : "");
		return CM_OK;
	}
	rc = r->conf.peer_error(e, err);
	if (rc == CM_OK)
		return cm_fail(err, CM_EPROTO, "round %u: %s: an error without a code",
			r->conf.round->plan->number, step);
	return cm_context(err, "round %u: %s: the shuffler says", r->conf.round->plan->number, step);
}

static void new_record(struct an_round *r, enum rd_record_kind kind)
{
	r->record = (struct rd_record){ .kind = kind,
		.epsilon_round = r->conf.round->epsilon_round,
		.epsilon_total = r->conf.round->epsilon_total };
	memcpy(r->record.round_id, r->conf.round->descriptor.round_id, PR_ROUND_ID_LEN);
	r->want_append = true;
	r->step = AN_AT_LOCAL;
}

void an_charge_record(struct an_round *r)
{
	new_record(r, RD_CHARGE);
	memcpy(r->record.manifest_hash, r->manifest.hash, PR_HASH_LEN);
	r->record.participants = r->manifest.participants;
}

const char *an_refusal(const struct an_round *r)
{
	return r->announced ? "taken before, now refused by the shuffler" : AN_NOT_TAKEN;
}

void an_void_record(struct an_round *r, const struct rd_manifest *m)
{
	char left[120]; /* with what stands before it less than the reason of a record has room for */
	size_t used;

	new_record(r, RD_VOID);
	r->record.epsilon_round = r->record.epsilon_total = 0;
	if (!m)
		return;
	memcpy(r->record.manifest_hash, m->hash, PR_HASH_LEN);
	r->record.participants = m->participants;
	rd_left_out_text(&m->left_out, left, sizeof left);
	if (m->lacking > 0)
		(void)snprintf(r->record.reason, sizeof r->record.reason,
			"of %llu who took part fewer than %u are of class %u",
			(unsigned long long)m->participants,
			r->conf.round->descriptor.randomizer.shuffler.tag_least[m->lacking - 1], m->lacking);
	else
		(void)snprintf(r->record.reason, sizeof r->record.reason,
			"%llu took part, %llu are the minimum", (unsigned long long)m->participants,
			(unsigned long long)r->conf.round->descriptor.min_reports);
	used = strlen(r->record.reason);
	if (left[0] != '\0')
		(void)snprintf(r->record.reason + used, sizeof r->record.reason - used, "; %s", left);
}

void an_settle_record(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN])
{
	new_record(r, RD_SETTLE);
	r->record.epsilon_round = r->record.epsilon_total = 0;
	memcpy(r->record.result_hash, result_hash, PR_HASH_LEN);
}
