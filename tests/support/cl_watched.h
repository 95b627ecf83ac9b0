/* cl_watched.h - a client that watches messages, and a shuffler in memory that answers for them. */
#pragma once

#include "cl_world.h"

#include <stdlib.h>
#include <string.h>

#include "cl_proof.h"
#include "rd_sort.h"
#include "rd_tree.h"

#define DEVICES 1000u /* number of devices, of which the first OWN are this client's */
#define OWN     40u

typedef uint8_t hash_t[PR_HASH_LEN];

static struct cm_err err;

static struct cl_world world;
static struct cl_offer offer;
static struct cl_judgement judged;
static struct rd_receipt_shape shape;
static uint8_t *sealed; /* DEVICES devices' */
static uint8_t names[OWN][PR_PSEUDONYM_LEN], salts[OWN][RD_SALT_LEN];
static size_t messages;

/* A client that was accepted with OWN devices in one Submit and watches most of them. */
static inline int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "mixbins", 2.0, &offer);
	assert_int_equal(cl_world_judge(&world, &offer, &judged, &err), CM_OK);
	shape = rd_receipt_shape(&judged.d);
	messages = DEVICES * shape.messages;
	sealed = malloc(messages * shape.message_len);
	assert_non_null(sealed);
	world.rng.fill(world.rng.ctx, sealed, messages * shape.message_len);
	world.rng.fill(world.rng.ctx, names, sizeof names);
	world.rng.fill(world.rng.ctx, salts, sizeof salts);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	free(sealed);
	rd_descriptor_fini(&judged.d);
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static inline const uint8_t *device(size_t i)
{
	return sealed + i * shape.messages * shape.message_len;
}

/* The opening of a message by an honest receipt for the OWN devices, all accepted. */
static inline void open_message(size_t i, uint32_t k, struct rd_opening *o)
{
	struct rd_receipt_device d;
	static uint8_t leaves[PR_MESSAGES_MAX][PR_HASH_LEN];
	uint8_t leaf[OWN][PR_HASH_LEN], work[OWN][PR_HASH_LEN], bytes[RD_RECEIPT_BYTES];
	struct rd_tree tree;
	hash_t root;

	*o = (struct rd_opening){ .devices = OWN, .device = i };
	rd_tree_init(&tree);
	for (size_t n = 0; n < OWN; n++) {
		rd_receipt_device(&shape, names[n], salts[n], device(n), &d);
		rd_receipt_leaf(&d, 1, leaf[n]);
		rd_tree_add(&tree, leaf[n]);
		if (n == i)
			memcpy(o->name, d.name, sizeof d.name);
	}
	rd_tree_root(&tree, root);
	rd_receipt_bytes(judged.d.round_id, root, OWN, bytes);
	assert_int_equal(
		cr_sign(world.shuffler.signer, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, o->signature, &err),
		CM_OK);
	memcpy(work, leaf, sizeof work);
	rd_tree_path(work, OWN, i, o->frame_path);
	rd_opening_message(&shape, salts[i], device(i), k, leaves, o);
}

/* The signed manifest of a shuffler that releases these messages. */
struct held {
	struct cm_buf bytes;
	uint8_t signature[CR_SIGN_LEN];
	hash_t *hash;
	struct rd_manifest m;
};

static inline void hold(struct held *h, bool is_void)
{
	struct rd_bucket bucket = { .messages = (uint32_t)messages };
	struct rd_tree tree;
	hash_t leaf;

	*h = (struct held){ .hash = malloc(messages * sizeof(hash_t)) };
	assert_non_null(h->hash);
	rd_bucket_hashes(sealed, messages, shape.message_len, h->hash);
	rd_bucket_sum((const hash_t *)h->hash, messages, bucket.root);
	h->m = (struct rd_manifest){ .participants = is_void ? 3 : DEVICES,
		.messages = messages,
		.is_void = is_void,
		.lacking = 0,
		.bucket = &bucket,
		.buckets = 1 };
	memcpy(h->m.round_id, judged.d.round_id, PR_ROUND_ID_LEN);
	memcpy(h->m.descriptor_hash, judged.d.hash, PR_HASH_LEN);
	rd_tree_init(&tree);
	for (size_t i = 0; i < messages; i++) {
		rd_tree_leaf(h->hash[i], PR_HASH_LEN, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, h->m.tree);
	cm_buf_init(&h->bytes, PR_MANIFEST_MAX);
	assert_int_equal(rd_manifest_encode(&h->m, &h->bytes, &err), CM_OK);
	assert_int_equal(cr_sign(world.shuffler.signer, RD_PURPOSE_MANIFEST, h->bytes.data, h->bytes.len,
				 h->signature, &err),
		CM_OK);
}

static inline void let_go(struct held *h)
{
	cm_buf_fini(&h->bytes);
	free(h->hash);
}

static inline void entry_of(const struct held *h, const uint8_t *wanted, uint8_t *out)
{
	struct rd_tree_entry e = rd_entry_at(out, messages);
	hash_t *leaf = malloc(messages * sizeof *leaf), way[RD_TREE_DEPTH_MAX];
	size_t place = 0;

	assert_non_null(leaf);
	memset(out, 0, rd_entry_len(messages));
	while (place < messages && memcmp(h->hash[place], wanted, PR_HASH_LEN) < 0)
		place++;
	bool in = place < messages && memcmp(h->hash[place], wanted, PR_HASH_LEN) == 0;
	*e.kind = in ? RD_FOUND_IN : RD_FOUND_OUT;
	cm_put_le64(e.place, place);
	for (unsigned half = 0; half < 2; half++) {
		size_t at = half == 0 && !in ? place - 1 : place;

		if ((half == 1 && in) || at >= messages)
			continue;
		for (size_t i = 0; i < messages; i++)
			rd_tree_leaf(h->hash[i], PR_HASH_LEN, leaf[i]);
		rd_tree_path(leaf, messages, at, way);
		memcpy(half == 0 ? e.first : e.second, h->hash[at], PR_HASH_LEN);
		memcpy(half == 0 ? e.first_path : e.second_path, way,
			rd_tree_path_len(at, messages) * PR_HASH_LEN);
	}
	free(leaf);
}

static inline void watch(unsigned most)
{
	struct cl_opening o = { &judged.d, offer.bytes.data, offer.signature, offer.bytes.len,
		judged.charge };
	struct rd_opening opening;
	struct cl_entry e[OWN];

	for (size_t i = 0; i < OWN; i++) {
		e[i] = (struct cl_entry){ .value.x = 0 };
		memcpy(e[i].pseudonym, names[i], PR_PSEUDONYM_LEN);
	}
	assert_int_equal(cl_reports_put(world.db, &o, e, OWN, salts[0], sealed,
				 shape.messages * shape.message_len, CL_WORLD_NOW, &err),
		CM_OK);
	for (unsigned i = 0; i < most; i++) {
		const int64_t slot = i + 1;
		const uint8_t accepted = 1;

		open_message(i, i % shape.messages, &opening);
		assert_int_equal(cl_reports_answer(world.db, &slot, &accepted, 1, &err), CM_OK);
		assert_int_equal(
			cl_proof_keep(world.db, judged.d.sequence, i, &opening, shape.messages, &err), CM_OK);
	}
	assert_int_equal(cl_reports_erase(world.db, &judged.d, CL_WORLD_NOW, &err), CM_OK);
}

static inline Tombola__V1__SignedManifest frame(struct held *h)
{
	Tombola__V1__SignedManifest s = TOMBOLA__V1__SIGNED_MANIFEST__INIT;

	s.manifest = (ProtobufCBinaryData){ h->bytes.len, h->bytes.data };
	s.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, h->signature };
	return s;
}

static inline void load(struct cl_proof *p)
{
	assert_int_equal(cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, p, &err), CM_OK);
}

/* One request answered as the manifest has it. */
static inline void answer(struct held *h, struct cl_proof_result *r)
{
	size_t each = rd_entry_len(messages);
	uint8_t *entries = malloc(PR_PROOF_HASHES * each);
	Tombola__V1__SignedManifest s = frame(h);
	struct cl_proof p;

	assert_non_null(entries);
	load(&p);
	if (p.manifest.len == 0)
		assert_int_equal(
			cl_proof_manifest(world.db, world.dir, &p, &s, world.shuffler.verifier, r, &err),
			CM_OK);
	for (size_t i = 0; i < PR_PROOF_HASHES; i++)
		entry_of(h, p.hashes[i], entries + i * each);
	assert_int_equal(
		cl_proof_answer(world.db, world.dir, &p, entries, PR_PROOF_HASHES * each, r, &err), CM_OK);
	cl_proof_fini(&p);
	free(entries);
}

static inline struct cl_proof_counts counts(void)
{
	struct cl_proof_counts c;

	assert_int_equal(cl_proof_counts(world.db, &c, &err), CM_OK);
	return c;
}
