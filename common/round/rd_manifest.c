/* rd_manifest.c - checks the signed manifest of a batch, and the signed charge, after which a shuffler
 * releases the batch. */
#include "rd_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_sort.h"
#include "rd_wire.h"

/* Returns how many reasons there are. */
static size_t put_left_out(const struct rd_manifest *m, Tombola__V1__LeftOut left[RD_LEFT_OUT],
	Tombola__V1__LeftOut *each[RD_LEFT_OUT])
{
	size_t n = 0;

	for (unsigned why = 1; !m->given_up && why < RD_LEFT_OUT; why++) {
		uint64_t devices = m->left_out.devices[why];

		if (devices == 0)
			continue;
		tombola__v1__left_out__init(&left[n]);
		left[n].why = why;
		left[n].devices = devices < RD_LEFT_OUT_DEVICES_MAX ? devices : RD_LEFT_OUT_DEVICES_MAX;
		each[n] = &left[n];
		n++;
	}
	return n;
}

enum cm_rc rd_manifest_encode(const struct rd_manifest *m, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Manifest w = TOMBOLA__V1__MANIFEST__INIT;
	size_t n = m->is_void ? 0 : m->buckets;
	Tombola__V1__Bucket *bucket = calloc(n + 1, sizeof *bucket);
	Tombola__V1__Bucket **each = calloc(n + 1, sizeof(void *));
	Tombola__V1__LeftOut left[RD_LEFT_OUT], *of_left[RD_LEFT_OUT];
	enum cm_rc rc;

	if (!bucket || !each) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		tombola__v1__bucket__init(&bucket[i]);
		bucket[i].messages = m->bucket[i].messages;
		bucket[i].root = rd_wire_bytes(m->bucket[i].root, PR_HASH_LEN);
		each[i] = &bucket[i];
	}
	w.version = RD_VERSION;
	w.round_id = rd_wire_bytes(m->round_id, sizeof m->round_id);
	w.descriptor_hash = rd_wire_bytes(m->descriptor_hash, sizeof m->descriptor_hash);
	w.participants = m->participants;
	w.messages = m->is_void ? 0 : m->messages;
	w.dummies = m->is_void ? 0 : m->dummies;
	w.void_ = m->is_void;
	w.lacking = m->is_void ? m->lacking : 0;
	w.given_up = m->is_void && m->given_up;
	if (!m->is_void)
		w.tree = rd_wire_bytes(m->tree, sizeof m->tree);
	w.n_buckets = n;
	w.buckets = each;
	w.left_out = of_left;
	w.n_left_out = put_left_out(m, left, of_left);
	rc = pr_doc_encode(&w.base, out, err);
out:
	free(each);
	free(bucket);
	return rc;
}

/* Check that there are as many dummies as prescribed.  With noise any number is accepted that the noise can
 * have; of dummies that fill up tags, only the total is stated. */
static enum cm_rc check_messages(
	const Tombola__V1__Manifest *w, const struct rd_descriptor *d, uint64_t sum, struct cm_err *err)
{
	const struct pt_randomizer *p = &d->randomizer;
	bool drawn = p->shuffler.noise_mean > 0;
	uint64_t dummies = drawn ? pt_shuffler_most(p) : p->shuffler.dummies;
	uint64_t others = p->shuffler.tag_messages > 0 ? rd_messages(d, w->participants)
						       : w->participants * d->messages_per_client;

	if (CM_CHECKED("round.manifest.dummies") && (drawn ? w->dummies > dummies : w->dummies != dummies))
		return cm_fail(err, CM_EPROTO, "dummies: %llu, the descriptor prescribes %s%llu",
			(unsigned long long)w->dummies, drawn ? "at most " : "", (unsigned long long)dummies);
	if (w->messages != others + w->dummies)
		return cm_fail(err, CM_EPROTO,
			"messages: %llu, not participants * messages_per_client + dummies, or tags * "
			"tag_messages",
			(unsigned long long)w->messages);
	if (w->messages != sum)
		return cm_fail(err, CM_EPROTO, "messages: %llu, the buckets hold %llu",
			(unsigned long long)w->messages, (unsigned long long)sum);
	return CM_OK;
}

/* Check counts that a shuffler could falsify: each is stated twice, and must agree with the signed
 * descriptor. */
static enum cm_rc check_counts(
	const Tombola__V1__Manifest *w, const struct rd_descriptor *d, uint64_t sum, struct cm_err *err)
{
	bool classes = d->randomizer.shuffler.tag_least[0] > 0;

	if (w->lacking > 0 && (!w->void_ || !classes || w->lacking > d->randomizer.shuffler.tags))
		return cm_fail(err, CM_EPROTO, "lacking: no such class, or the round is not void");
	if (w->given_up && (!w->void_ || w->participants > 0))
		return cm_fail(err, CM_EPROTO, "given_up: a round that is not void, or has participants");
	if (w->void_) {
		if ((w->participants >= d->min_reports) != (w->lacking > 0))
			return cm_fail(err, CM_EPROTO,
				"participants: enough, yet the round is void; or too few, and a class is "
				"lacking");
		if (w->messages != 0 || w->n_buckets != 0 || w->dummies != 0 || w->tree.len != 0)
			return cm_fail(err, CM_EPROTO, "messages: a void round has none");
		return CM_OK;
	}
	if (w->tree.len != PR_HASH_LEN)
		return cm_fail(err, CM_EPROTO, "tree: a round that is not void has one");
	if (w->participants < d->min_reports || w->participants > d->target)
		return cm_fail(err, CM_EPROTO, "participants: %llu, not in min_reports..target",
			(unsigned long long)w->participants);
	return check_messages(w, d, sum, err);
}

/* A shuffler may state any numbers here, and nothing follows from them; their form is fixed. */
static enum cm_rc read_left_out(const Tombola__V1__Manifest *w, struct rd_left_out *out, struct cm_err *err)
{
	uint32_t last = 0;

	if (w->given_up && w->n_left_out > 0)
		return cm_fail(err, CM_EPROTO, "left_out: a round that was given up counts nobody");
	for (size_t i = 0; i < w->n_left_out; i++) {
		const Tombola__V1__LeftOut *l = w->left_out[i];

		if (l->why <= last || l->why >= RD_LEFT_OUT)
			return cm_fail(
				err, CM_EPROTO, "left_out: reasons are 1..%u, rising", RD_LEFT_OUT - 1);
		if (l->devices == 0 || l->devices > RD_LEFT_OUT_DEVICES_MAX)
			return cm_fail(err, CM_EPROTO, "left_out: %llu devices, not in 1..%llu",
				(unsigned long long)l->devices, (unsigned long long)RD_LEFT_OUT_DEVICES_MAX);
		last = l->why;
		out->devices[l->why] = l->devices;
	}
	return CM_OK;
}

static enum cm_rc read_all(const Tombola__V1__Manifest *w, const struct rd_descriptor *d,
	struct rd_manifest *m, struct cm_err *err)
{
	uint64_t sum = 0;
	enum cm_rc rc;

	if (w->version != RD_VERSION)
		return cm_fail(err, CM_EPROTO, "version: %lu, this program knows %u",
			(unsigned long)w->version, RD_VERSION);
	/* pr_read has checked that the ids and hashes are there. */
	if (memcmp(w->round_id.data, d->round_id, PR_ROUND_ID_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "round_id: of another round");
	if (memcmp(w->descriptor_hash.data, d->hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "descriptor_hash: of another descriptor");
	for (size_t i = 0; i < w->n_buckets; i++)
		sum += w->buckets[i]->messages; /* at most 4096 numbers of 32 bits */
	rc = check_counts(w, d, sum, err);
	if (CM_CHECKED("round.manifest.counts") && rc != CM_OK)
		return rc;
	rc = read_left_out(w, &m->left_out, err);
	if (rc != CM_OK)
		return rc;
	m->bucket = calloc(w->n_buckets + 1, sizeof *m->bucket);
	if (!m->bucket)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < w->n_buckets; i++) {
		m->bucket[i].messages = w->buckets[i]->messages;
		memcpy(m->bucket[i].root, w->buckets[i]->root.data, PR_HASH_LEN);
	}
	m->buckets = (uint32_t)w->n_buckets;
	memcpy(m->round_id, w->round_id.data, PR_ROUND_ID_LEN);
	memcpy(m->descriptor_hash, w->descriptor_hash.data, PR_HASH_LEN);
	m->participants = w->participants;
	m->messages = w->messages;
	m->dummies = w->dummies;
	m->is_void = w->void_ != 0;
	m->lacking = w->lacking;
	m->given_up = w->given_up;
	if (w->tree.len == PR_HASH_LEN)
		memcpy(m->tree, w->tree.data, PR_HASH_LEN);
	return CM_OK;
}

enum cm_rc rd_manifest_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *shuffler, const struct rd_descriptor *d, struct rd_manifest *out,
	struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_MANIFEST_MAX)
		return cm_fail(err, CM_EPROTO, "manifest: %zu bytes, at most %u", len, PR_MANIFEST_MAX);
	rc = cr_verify(shuffler, RD_PURPOSE_MANIFEST, bytes, len, signature, err);
	if (CM_CHECKED("round.manifest.signature") && rc != CM_OK)
		return cm_context(err, "manifest");
	rc = pr_doc_decode(&tombola__v1__manifest__descriptor, bytes, len, PR_MANIFEST_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_all((const Tombola__V1__Manifest *)doc.msg, d, out, err);
	pr_doc_free(&doc);
	if (rc != CM_OK) {
		rd_manifest_fini(out);
		return cm_context(err, "manifest");
	}
	cr_sha256(bytes, len, out->hash);
	return CM_OK;
}

void rd_manifest_fini(struct rd_manifest *m)
{
	free(m->bucket);
	memset(m, 0, sizeof *m);
}

void rd_bucket_hashes(const uint8_t *sealed, size_t n, size_t len, uint8_t (*hashes)[PR_HASH_LEN])
{
	for (size_t i = 0; i < n; i++)
		cr_sha256(sealed + i * len, len, hashes[i]);
	rd_sort_hashes(hashes, n);
}

void rd_bucket_sum(const uint8_t (*hashes)[PR_HASH_LEN], size_t n, uint8_t root[PR_HASH_LEN])
{
	cr_sha256(hashes, n * PR_HASH_LEN, root);
}

enum cm_rc rd_charge_encode(const struct rd_charge *c, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Charge w = TOMBOLA__V1__CHARGE__INIT;

	w.version = RD_VERSION;
	w.round_id = rd_wire_bytes(c->round_id, sizeof c->round_id);
	w.descriptor_hash = rd_wire_bytes(c->descriptor_hash, sizeof c->descriptor_hash);
	w.manifest_hash = rd_wire_bytes(c->manifest_hash, sizeof c->manifest_hash);
	w.ledger_seq = c->ledger_seq;
	w.ledger_head = rd_wire_bytes(c->ledger_head, sizeof c->ledger_head);
	return pr_doc_encode(&w.base, out, err);
}

static enum cm_rc read_charge(const Tombola__V1__Charge *w, struct rd_charge *c, struct cm_err *err)
{
	if (w->version != RD_VERSION)
		return cm_fail(err, CM_EPROTO, "version: %lu, this program knows %u",
			(unsigned long)w->version, RD_VERSION);
	if (w->ledger_seq < 3) /* a CHARGE comes after at least OPEN and RESERVE */
		return cm_fail(err, CM_EPROTO, "ledger_seq: %llu is too small for a charge",
			(unsigned long long)w->ledger_seq);
	memcpy(c->round_id, w->round_id.data, sizeof c->round_id);
	memcpy(c->descriptor_hash, w->descriptor_hash.data, sizeof c->descriptor_hash);
	memcpy(c->manifest_hash, w->manifest_hash.data, sizeof c->manifest_hash);
	c->ledger_seq = w->ledger_seq;
	memcpy(c->ledger_head, w->ledger_head.data, sizeof c->ledger_head);
	return CM_OK;
}

enum cm_rc rd_charge_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_charge *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_CHARGE_MAX)
		return cm_fail(err, CM_EPROTO, "charge: %zu bytes, at most %u", len, PR_CHARGE_MAX);
	rc = cr_verify(analyzer, RD_PURPOSE_CHARGE, bytes, len, signature, err);
	if (CM_CHECKED("round.charge.signature") && rc != CM_OK)
		return cm_context(err, "charge");
	rc = pr_doc_decode(&tombola__v1__charge__descriptor, bytes, len, PR_CHARGE_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_charge((const Tombola__V1__Charge *)doc.msg, out, err);
	pr_doc_free(&doc);
	return rc == CM_OK ? CM_OK : cm_context(err, "charge");
}
