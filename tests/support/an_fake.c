/* an_fake.c - a shuffler in memory that can misbehave. */
#include "an_world.h"
#include "bucket_root.h"
#include "encode_in_room.h"

#include <stdlib.h>
#include <string.h>

#include "rd_tree.h"

void fake_free(struct fake *f)
{
	rd_descriptor_fini(&f->round);
	free(f->message);
	memset(f, 0, sizeof *f);
}

/* Every participant's value is its number modulo the domain. */
static void collect(struct fake *f)
{
	const struct rd_descriptor *d = &f->round;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX], other[CR_HPKE_PUBLIC_LEN];
	struct cr_hpke_sealer *sealer = NULL, *wrong = NULL;
	struct cm_err err = { 0 };
	struct cr_key secret;

	rd_hpke_info(d, info);
	rd_hpke_aad(d, aad);
	f->len = rd_sealed_len(d);
	f->messages = f->participants * d->messages_per_client;
	f->message = realloc(f->message, (f->messages + 1) * f->len);
	assert_non_null(f->message);
	assert_int_equal(d->messages_per_client, 1);
	assert_int_equal(cr_hpke_keygen(&f->world->rng, &secret, other, &err), CM_OK);
	assert_int_equal(cr_hpke_sealer_new(d->suite, d->hpke_key, info, sizeof info, &sealer, &err), CM_OK);
	assert_int_equal(cr_hpke_sealer_new(d->suite, other, info, sizeof info, &wrong, &err), CM_OK);
	for (size_t i = 0; i < f->messages; i++) {
		struct qy_value v = { .x = d->query.kind == QY_MEAN ? (uint64_t)1 << 31
								    : i % d->randomizer.mixbins.bins };

		encode_in_room(d->randomizer.row, &d->query, &d->randomizer, &v, &f->world->rng, record);
		assert_int_equal(cr_hpke_seal(i < f->bad ? wrong : sealer, &f->world->rng, aad, sizeof aad,
					 record, d->record_len, f->message + i * f->len, &err),
			CM_OK);
	}
	for (size_t i = 0; i < f->repeated; i++)
		memcpy(f->message + (f->bad + 2 * i) * f->len, f->message + (f->bad + 2 * i + 1) * f->len,
			f->len);
	cr_hpke_sealer_free(sealer);
	cr_hpke_sealer_free(wrong);
	cr_key_fini(&secret);
}

/* First message of a bucket; the remainder goes to the last one. */
static size_t first_of(const struct fake *f, uint32_t bucket)
{
	return bucket == f->buckets ? f->messages : f->messages / f->buckets * bucket;
}

static void make_tree(const struct fake *f, uint8_t root[PR_HASH_LEN])
{
	uint8_t(*hash)[PR_HASH_LEN] = calloc(f->messages + 1, sizeof *hash), leaf[PR_HASH_LEN];
	struct rd_tree tree;

	assert_non_null(hash);
	rd_bucket_hashes(f->message, f->messages, f->len, hash);
	rd_tree_init(&tree);
	for (size_t i = 0; i < f->messages; i++) {
		rd_tree_leaf(hash[i], PR_HASH_LEN, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
	free(hash);
}

static void make_manifest(struct fake *f, struct cm_buf *out, uint8_t signature[CR_SIGN_LEN])
{
	struct rd_manifest m = { .participants = f->participants, .messages = f->messages };
	struct cm_err err = { 0 };

	memcpy(m.round_id, f->round.round_id, PR_ROUND_ID_LEN);
	memcpy(m.descriptor_hash, f->round.hash, PR_HASH_LEN);
	m.is_void = f->participants < f->round.min_reports;
	m.buckets = m.is_void ? 0 : f->buckets;
	m.bucket = calloc(f->buckets + 1, sizeof *m.bucket);
	assert_non_null(m.bucket);
	for (uint32_t b = 0; b < m.buckets; b++) {
		size_t from = first_of(f, b), n = first_of(f, b + 1) - from;

		m.bucket[b].messages = (uint32_t)n;
		bucket_root(f->message + from * f->len, n, f->len, m.bucket[b].root);
	}
	if (m.is_void)
		m.messages = 0;
	make_tree(f, m.tree);
	m.tree[0] ^= f->fault == FAKE_TREE;
	if (f->fault == FAKE_DUMMIES) {
		m.dummies = 1;
		m.messages++;
		m.bucket[0].messages++;
	}
	if (f->fault == FAKE_OTHER_MANIFEST && f->manifests > 0)
		m.bucket[0].root[0] ^= 1;
	f->manifests++;
	cm_buf_init(out, PR_MANIFEST_MAX);
	assert_int_equal(rd_manifest_encode(&m, out, &err), CM_OK);
	assert_int_equal(
		cr_sign(f->fault == FAKE_UNSIGNED ? f->world->analyzer.signer : f->world->shuffler.signer,
			RD_PURPOSE_MANIFEST, out->data, out->len, signature, &err),
		CM_OK);
	rd_manifest_fini(&m);
}

/* Encode and decode an answer, so that the analyzer reads what a wire would carry. */
static enum cm_rc deliver(struct an_round *r, const Tombola__V1__Frame *answer, struct cm_err *err)
{
	struct cm_buf wire;
	struct pr_frame in;
	enum cm_rc rc;

	cm_buf_init(&wire, PR_FRAME_MAX + 4);
	assert_int_equal(pr_encode(answer, &wire, err), CM_OK);
	assert_int_equal(pr_decode(wire.data + 4, wire.len - 4, &in, err), CM_OK);
	rc = an_round_frame(r, in.frame, err);
	pr_free(&in);
	cm_buf_fini(&wire);
	return rc;
}

static int64_t refusing_clock_ms;

static enum cm_rc deliver_error(struct an_round *r, Tombola__V1__ErrorCode code, const char *text,
	uint32_t retry_after_ms, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;
	char copy[100];

	(void)snprintf(copy, sizeof copy, "%s", text);
	e.code = code;
	e.text = copy;
	e.retry_after_ms = retry_after_ms;
	e.clock_ms = refusing_clock_ms;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ERROR;
	frame.error = &e;
	return deliver(r, &frame, err);
}

static enum cm_rc answer_witness(struct fake *f, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Witness w = TOMBOLA__V1__WITNESS__INIT;
	struct rd_chain say = f->witness;

	if (f->fault == FAKE_WITNESS_AHEAD) {
		say.seq = 99;
		say.head[0] = 1;
	}
	if (f->fault == FAKE_WITNESS_OTHER) {
		say.seq = 1;
		memset(say.head, 7, sizeof say.head);
	}
	struct rd_chain stated = { .seq = f->fault == FAKE_STATED_OTHER ? 1 : 2 };
	uint8_t reserved[PR_HASH_LEN];
	const struct an_round_state *first = &f->world->files.state.round[0];
	if (f->fault == FAKE_STATED_LATER)
		stated = *an_ledger_chain(f->world->files.ledger);
	else if (f->fault >= FAKE_STATED_ELSE && f->fault <= FAKE_STATED_OURS)
		memcpy(stated.head, an_ledger_entry(f->world->files.ledger, 2).head, PR_HASH_LEN);
	if (f->fault >= FAKE_STATED_LATER && f->fault <= FAKE_STATED_OURS) {
		cr_sha256(first->descriptor_bytes.data, first->descriptor_bytes.len, reserved);
		reserved[0] ^= f->fault == FAKE_STATED_ELSE;
		w.stated_seq = stated.seq;
		w.stated_head = (ProtobufCBinaryData){ .data = stated.head, .len = PR_HASH_LEN };
		w.stated_descriptor = (ProtobufCBinaryData){ .data = reserved, .len = PR_HASH_LEN };
	}
	w.ledger_seq = say.seq;
	w.ledger_head = (ProtobufCBinaryData){ .data = say.head, .len = say.seq > 0 ? PR_HASH_LEN : 0 };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_WITNESS;
	frame.witness = &w;
	return deliver(r, &frame, err);
}

static void extend(struct fake *f, const Tombola__V1__ExtendLedger *m)
{
	struct cm_err err = { 0 };
	uint8_t head[RD_HEAD_MAX];
	size_t n;

	assert_int_equal(m->first, f->witness.seq + 1);
	assert_true(m->n_records > 0);
	if (f->fault == FAKE_WITNESS_STUCK)
		return;
	for (size_t i = 0; i < m->n_records; i++)
		assert_int_equal(
			rd_chain_extend(&f->witness, m->records[i].data, m->records[i].len, NULL, &err),
			CM_OK);
	/* The analyzer signs the head of its ledger after each frame. */
	n = rd_head_bytes(m->population, f->witness.seq, f->witness.head, head);
	assert_int_equal(m->signature.len, CR_SIGN_LEN);
	assert_int_equal(
		cr_verify(f->world->analyzer.verifier, RD_PURPOSE_LEDGER, head, n, m->signature.data, &err),
		CM_OK);
}

static void answer_id(struct fake *f, ProtobufCBinaryData *id, uint8_t room[PR_ROUND_ID_LEN])
{
	memcpy(room, f->round.round_id, PR_ROUND_ID_LEN);
	if (f->fault == FAKE_OTHER_ROUND)
		room[0] ^= 1;
	*id = (ProtobufCBinaryData){ .data = room, .len = PR_ROUND_ID_LEN };
}

static enum cm_rc answer_announce(
	struct fake *f, const Tombola__V1__Announce *m, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Announced a = TOMBOLA__V1__ANNOUNCED__INIT;
	struct rd_descriptor d = { 0 };
	uint8_t id[PR_ROUND_ID_LEN];

	if (f->fault == FAKE_CLOCK)
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK, "it is late", 0, err);
	if (f->fault == FAKE_NO_BUDGET)
		return deliver_error(
			r, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, "total above 1", 0, err);
	if (f->fault == FAKE_NO_BUDGET_RAW)
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, "\x1b[2J", 0, err);
	assert_int_equal(m->signature.len, CR_SIGN_LEN);
	if (rd_descriptor_verify(m->descriptor.data, m->descriptor.len, m->signature.data,
		    f->world->analyzer.verifier, &d, err) != CM_OK)
		fail_msg("%s", err->msg);
	/* The fake knows the reservation before the round is announced. */
	assert_true(f->witness.seq > d.ledger_seq);
	/* The analyzer repeats an announcement only if the round was taken before, and then always does. */
	assert_int_equal(m->again, f->announced);
	a.lost = f->fault == FAKE_LOST;
	if (f->announced) {
		assert_memory_equal(d.hash, f->round.hash, PR_HASH_LEN);
		rd_descriptor_fini(&d);
	} else {
		rd_descriptor_fini(&f->round);
		f->round = d;
		f->announced = true;
		f->settled = false;
		f->manifests = f->released = 0;
		collect(f);
	}
	answer_id(f, &a.round_id, id);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ANNOUNCED;
	frame.announced = &a;
	return deliver(r, &frame, err);
}

static enum cm_rc answer_manifest(struct fake *f, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__SignedManifest m = TOMBOLA__V1__SIGNED_MANIFEST__INIT;
	uint8_t signature[CR_SIGN_LEN];
	struct cm_buf doc;
	enum cm_rc rc;

	if (f->busy > 0) {
		f->busy--;
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, "still open", 10, err);
	}
	if (f->fault == FAKE_LOST)
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, "no manifest", 0, err);
	make_manifest(f, &doc, signature);
	m.manifest = (ProtobufCBinaryData){ .data = doc.data, .len = doc.len };
	m.signature = (ProtobufCBinaryData){ .data = signature, .len = CR_SIGN_LEN };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_MANIFEST;
	frame.manifest = &m;
	rc = deliver(r, &frame, err);
	cm_buf_fini(&doc);
	return rc;
}

static enum cm_rc answer_release(
	struct fake *f, const Tombola__V1__Release *m, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Released a = TOMBOLA__V1__RELEASED__INIT;
	struct rd_charge c;
	uint8_t id[PR_ROUND_ID_LEN];

	if (rd_charge_verify(m->charge.data, m->charge.len, m->signature.data, f->world->analyzer.verifier,
		    &c, err) != CM_OK)
		fail_msg("%s", err->msg);
	assert_memory_equal(c.round_id, f->round.round_id, PR_ROUND_ID_LEN);
	assert_memory_equal(c.descriptor_hash, f->round.hash, PR_HASH_LEN);
	assert_true(c.ledger_seq <= f->witness.seq); /* the charge's record came before the charge */
	f->released++;
	answer_id(f, &a.round_id, id);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_RELEASED;
	frame.released = &a;
	return deliver(r, &frame, err);
}

/* The messages of the bucket, as this shuffler sends them. */
static size_t spoil(const struct fake *f, uint32_t bucket, uint8_t *m, size_t n)
{
	switch (f->fault) {
	case FAKE_INJECT:
		memset(m, 0x42, f->len);
		break;
	case FAKE_DOUBLE:
		memcpy(m, m + f->len, f->len);
		break;
	case FAKE_ALTER:
		m[f->len - 1] ^= 1;
		break;
	case FAKE_DROP:
		return n - 1;
	case FAKE_EXTRA:
		memcpy(m + n * f->len, m, f->len);
		return n + 1;
	case FAKE_OTHER_BUCKET:
		memcpy(m, f->message + first_of(f, bucket == 0 ? 1 : 0) * f->len, n * f->len);
		break;
	default:
		break;
	}
	return n;
}

static enum cm_rc answer_pull(
	struct fake *f, const Tombola__V1__Pull *m, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Segment s = TOMBOLA__V1__SEGMENT__INIT;
	size_t from = first_of(f, m->bucket), n = first_of(f, m->bucket + 1) - from, part;
	uint8_t *bucket = malloc((n + 1) * f->len), id[PR_ROUND_ID_LEN];
	enum cm_rc rc;

	assert_true(f->released > 0);
	assert_non_null(bucket);
	memcpy(bucket, f->message + from * f->len, n * f->len);
	if (m->bucket == f->buckets - 1)
		n = spoil(f, m->bucket, bucket, n);
	assert_true(m->offset <= n);
	part = n - m->offset < f->segment ? n - m->offset : f->segment;
	if (f->fault == FAKE_EXTRA)
		part = n - m->offset;
	answer_id(f, &s.round_id, id);
	s.bucket = m->bucket;
	s.offset = m->offset;
	s.sealed = (ProtobufCBinaryData){ .data = bucket + m->offset * f->len, .len = part * f->len };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SEGMENT;
	frame.segment = &s;
	rc = deliver(r, &frame, err);
	free(bucket);
	return rc;
}

static enum cm_rc answer_settle(struct fake *f, struct an_round *r, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Settled a = TOMBOLA__V1__SETTLED__INIT;
	uint8_t id[PR_ROUND_ID_LEN];

	if (!f->announced)
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, "erased", 0, err);
	f->settled = true;
	f->announced = false;
	answer_id(f, &a.round_id, id);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SETTLED;
	frame.settled = &a;
	return deliver(r, &frame, err);
}

enum cm_rc fake_answer(
	struct fake *f, const Tombola__V1__Frame *request, struct an_round *r, struct cm_err *err)
{
	refusing_clock_ms = f->clock_ms;
	if (f->fault == FAKE_STORAGE)
		return deliver_error(r, TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE, "disk full", 0, err);
	if (f->fault == FAKE_SILENT_KIND)
		return deliver(r, request, err);
	switch (request->kind_case) {
	case TOMBOLA__V1__FRAME__KIND_GET_WITNESS:
		return answer_witness(f, r, err);
	case TOMBOLA__V1__FRAME__KIND_EXTEND_LEDGER:
		extend(f, request->extend_ledger);
		return answer_witness(f, r, err);
	case TOMBOLA__V1__FRAME__KIND_ANNOUNCE:
		return answer_announce(f, request->announce, r, err);
	case TOMBOLA__V1__FRAME__KIND_AWAIT_MANIFEST:
		return answer_manifest(f, r, err);
	case TOMBOLA__V1__FRAME__KIND_RELEASE:
		return answer_release(f, request->release, r, err);
	case TOMBOLA__V1__FRAME__KIND_PULL:
		return answer_pull(f, request->pull, r, err);
	case TOMBOLA__V1__FRAME__KIND_SETTLE:
		return answer_settle(f, r, err);
	default:
		break;
	}
	fail_msg("an analyzer does not send this");
	return CM_EINTERNAL;
}
