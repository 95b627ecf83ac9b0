/* test_cl_proof.c - watched messages: a uniform sample, kept with the outcomes, answered for, and turned into
 * evidence that holds before a third person and in no altered form. */
#include "cl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_proof.h"
#include "rd_sort.h"
#include "rd_tree.h"

#define DEVICES 1000u /* of which the first OWN are this client's */
#define OWN     40u

typedef uint8_t hash_t[PR_HASH_LEN];

enum cm_rc __real_rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err);
enum cm_rc __wrap_rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err);

static struct cm_err err;
static bool evened; /* descriptors are read as those of rounds that even out tags */
static struct cl_world world;
static struct cl_offer offer;
static struct cl_judgement judged;
static struct rd_receipt_shape shape;
static uint8_t *sealed; /* DEVICES devices' */
static uint8_t names[OWN][PR_PSEUDONYM_LEN], salts[OWN][RD_SALT_LEN];
static size_t messages;

/* A client that was accepted with OWN devices in one Submit and watches most of them. */
static int set_up(void **state)
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

static int tear_down(void **state)
{
	(void)state;
	free(sealed);
	rd_descriptor_fini(&judged.d);
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static const uint8_t *device(size_t i)
{
	return sealed + i * shape.messages * shape.message_len;
}

enum cm_rc __wrap_rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *e)
{
	enum cm_rc rc = __real_rd_descriptor_decode(bytes, len, out, e);

	if (evened) {
		out->randomizer.shuffler.tags = (uint32_t)messages;
		out->randomizer.shuffler.tag_messages = 1;
	}
	return rc;
}

/* The opening of a message by an honest receipt for the OWN devices, all accepted. */
static void open_message(size_t i, uint32_t k, struct rd_opening *o)
{
	struct rd_receipt_device d;
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
	rd_opening_message(&shape, salts[i], device(i), k, o);
}

/* The signed manifest of a shuffler that releases these messages. */
struct held {
	struct cm_buf bytes;
	uint8_t signature[CR_SIGN_LEN];
	hash_t *hash;
	struct rd_manifest m;
};

static void hold(struct held *h, bool is_void)
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

static void let_go(struct held *h)
{
	cm_buf_fini(&h->bytes);
	free(h->hash);
}

static void entry_of(const struct held *h, const uint8_t *wanted, uint8_t *out)
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

static void watch(unsigned most)
{
	struct cl_opening o = { &judged.d, offer.bytes.data, offer.signature, offer.bytes.len,
		judged.charge };
	struct rd_opening opening;
	struct cl_entry e[OWN];

	for (size_t i = 0; i < OWN; i++) {
		e[i] = (struct cl_entry){ .value.x = 0 };
		memcpy(e[i].pseudonym, names[i], PR_PSEUDONYM_LEN);
	}
	assert_int_equal(cl_store_put(world.db, &o, e, OWN, salts[0], sealed,
				 shape.messages * shape.message_len, CL_WORLD_NOW, &err),
		CM_OK);
	for (unsigned i = 0; i < most; i++) {
		const int64_t slot = i + 1;
		const uint8_t accepted = 1;

		open_message(i, i % shape.messages, &opening);
		assert_int_equal(cl_store_answer(world.db, &slot, &accepted, 1, &err), CM_OK);
		assert_int_equal(
			cl_proof_keep(world.db, judged.d.sequence, i, &opening, shape.messages, &err), CM_OK);
	}
	assert_int_equal(cl_store_erase(world.db, &judged.d, CL_WORLD_NOW, &err), CM_OK);
}

static Tombola__V1__SignedManifest frame(struct held *h)
{
	Tombola__V1__SignedManifest s = TOMBOLA__V1__SIGNED_MANIFEST__INIT;

	s.manifest = (ProtobufCBinaryData){ h->bytes.len, h->bytes.data };
	s.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, h->signature };
	return s;
}

static void load(struct cl_proof *p)
{
	assert_int_equal(cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, p, &err), CM_OK);
}

/* One request answered as the manifest has it. */
static void answer(struct held *h, struct cl_proof_result *r)
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

static struct cl_proof_counts counts(void)
{
	struct cl_proof_counts c;

	assert_int_equal(cl_proof_counts(world.db, &c, &err), CM_OK);
	return c;
}

/* ---- the sample ---- */

static void each_of_a_stream_is_watched_with_the_same_chance(void **state)
{
	enum { STREAM = 12, MOST = 4, RUNS = 60000 };
	unsigned held[STREAM] = { 0 };

	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		struct cl_watch w = { .most = MOST };
		unsigned at[MOST] = { 0 };

		for (unsigned i = 0; i < STREAM; i++) {
			int64_t place = cl_watch_place(&w, &world.rng);

			assert_true(place < MOST && (i >= MOST || place == i));
			if (place >= 0)
				at[place] = i;
		}
		for (unsigned i = 0; i < MOST; i++)
			held[at[i]]++;
	}
	/* A third of 60,000 each: 7.2 standard deviations of 115.5 are passed with chance 1e-12. */
	for (unsigned i = 0; i < STREAM; i++)
		assert_in_range(held[i], RUNS / 3 - 831, RUNS / 3 + 831);
	struct cl_watch none = { .most = 0 };
	assert_int_equal(cl_watch_place(&none, &world.rng), -1);
}

/* ---- answers ---- */

static void an_honest_manifest_answers_for_all_in_requests_of_one_length(void **state)
{
	struct cl_proof_result r;
	struct cl_proof p;
	struct held h;

	(void)state;
	watch(OWN);
	assert_int_equal(counts().waiting, OWN);
	hold(&h, false);
	answer(&h, &r);
	assert_int_equal(r.included, PR_PROOF_HASHES);
	assert_false(r.done);
	cl_world_restart(&world);
	answer(&h, &r);
	assert_int_equal(r.included, OWN - PR_PROOF_HASHES);
	assert_int_equal(r.missing + r.unanswered, 0);
	assert_true(r.done);
	assert_int_equal(
		cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, &p, &err), CM_ENOINPUT);
	assert_int_equal(counts().included, OWN);
	assert_int_equal(counts().waiting, 0);
	let_go(&h);
}

static void nothing_is_asked_of_a_round_in_which_nothing_is_watched(void **state)
{
	struct cl_proof p;

	(void)state;
	watch(0);
	assert_int_equal(
		cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, &p, &err), CM_ENOINPUT);
	assert_int_equal(counts().rounds, 0);
}

static void a_void_round_settles_it_and_a_silent_shuffler_leaves_it_unanswered(void **state)
{
	for (int is_void = 0; is_void < 2; is_void++) {
		struct cl_proof_result r;
		Tombola__V1__SignedManifest s;
		struct cl_proof p;
		struct held h;

		if (is_void) {
			(void)tear_down(state);
			(void)set_up(state);
		}
		watch(OWN);
		hold(&h, is_void);
		s = frame(&h);
		load(&p);
		if (is_void)
			assert_int_equal(cl_proof_manifest(world.db, world.dir, &p, &s,
						 world.shuffler.verifier, &r, &err),
				CM_OK);
		else
			assert_int_equal(cl_proof_give_up(world.db, &p, &r, &err), CM_OK);
		assert_true(r.done);
		assert_int_equal(r.unanswered, is_void ? 0 : OWN);
		assert_int_equal(counts().void_rounds, is_void);
		assert_int_equal(counts().unanswered, is_void ? 0 : OWN);
		assert_int_equal(counts().waiting, 0);
		cl_proof_fini(&p);
		let_go(&h);
	}
}

static void a_manifest_of_another_key_or_round_and_a_proof_of_another_length_change_nothing(void **state)
{
	struct cl_proof_result r;
	struct cl_proof p;
	struct held h;
	uint8_t few[100] = { 1 };

	(void)state;
	watch(OWN);
	hold(&h, false);
	Tombola__V1__SignedManifest s = frame(&h);
	load(&p);
	h.signature[5] ^= 1;
	assert_int_equal(
		cl_proof_manifest(world.db, world.dir, &p, &s, world.shuffler.verifier, &r, &err), CM_EPERM);
	h.signature[5] ^= 1;
	assert_int_equal(
		cl_proof_manifest(world.db, world.dir, &p, &s, world.shuffler.verifier, &r, &err), CM_OK);
	assert_int_equal(cl_proof_answer(world.db, world.dir, &p, few, sizeof few, &r, &err), CM_EPROTO);
	assert_int_equal(counts().waiting, OWN);
	cl_proof_fini(&p);
	let_go(&h);
}

/* ---- evidence ---- */

static void read_evidence(const char *path, struct cm_buf *out)
{
	cm_buf_init(out, PR_EVIDENCE_MAX);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	uint8_t *at = cm_buf_room(out, PR_EVIDENCE_MAX);
	assert_non_null(at);
	out->len = fread(at, 1, PR_EVIDENCE_MAX, f);
	assert_int_equal(fclose(f), 0);
}

static void flip_all(struct cm_buf *b)
{
	struct rd_evidence said;

	for (size_t i = 0; i < b->len; i++)
		for (unsigned bit = 0; bit < 8; bit += i % 3 == 0 ? 1 : 3) {
			b->data[i] ^= (uint8_t)(1u << bit);
			enum cm_rc rc =
				rd_evidence_verify(b->data, b->len, world.shuffler.verifier, &said, &err);
			if (rc != CM_EDATA && rc != CM_EPERM)
				fail_msg("byte %zu, bit %u: %d", i, bit, rc);
			b->data[i] ^= (uint8_t)(1u << bit);
		}
}

static void a_dropped_message_is_evidence_of_which_no_bit_can_be_changed(void **state)
{
	struct cl_proof_result r;
	struct rd_evidence said;
	struct held h;
	struct cm_buf b;
	hash_t lost;

	(void)state;
	watch(1); /* message 0 of device 0 */
	cr_sha256(sealed, shape.message_len, lost);
	sealed[7] ^= 1; /* the shuffler releases another one instead */
	hold(&h, false);
	answer(&h, &r);
	assert_int_equal(r.missing, 1);
	assert_true(r.done);
	assert_int_equal(counts().missing, 1);
	read_evidence(r.evidence, &b);
	assert_int_equal(rd_evidence_verify(b.data, b.len, world.shuffler.verifier, &said, &err), CM_OK);
	assert_int_equal(said.fact, RD_FACT_MISSING);
	assert_memory_equal(said.message, lost, sizeof lost);
	assert_memory_equal(said.round_id, judged.d.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(rd_evidence_verify(b.data, b.len, world.analyzer.verifier, &said, &err), CM_EPERM);
	flip_all(&b);
	/* A round that evens out tags may drop what it accepted. */
	evened = true;
	enum cm_rc rc = rd_evidence_verify(b.data, b.len, world.shuffler.verifier, &said, &err);
	evened = false;
	assert_int_equal(rc, CM_EDATA);
	assert_non_null(strstr(err.msg, "evens out"));
	for (size_t len = 0; len < b.len; len += 1 + len / 50)
		assert_int_not_equal(
			rd_evidence_verify(b.data, len, world.shuffler.verifier, &said, &err), CM_OK);
	cm_buf_fini(&b);
	let_go(&h);
}

/* Every opening that a client can have of an honest shuffler, with every entry that its tree has for it or
 * for another. */
static void an_honest_shuffler_is_never_convicted(void **state)
{
	size_t each = rd_entry_len(messages);
	uint8_t *entry = malloc(each);
	const struct cr_span descriptor = { offer.bytes.data, offer.bytes.len };
	struct rd_evidence said;
	struct rd_opening o, other;
	struct held h;
	struct cm_buf b;

	(void)state;
	assert_non_null(entry);
	hold(&h, false);
	struct rd_signed manifest = { .bytes = h.bytes.data, .len = h.bytes.len };
	memcpy(manifest.signature, h.signature, CR_SIGN_LEN);
	cm_buf_init(&b, PR_EVIDENCE_MAX);
	for (size_t i = 0; i < OWN; i++)
		for (uint32_t k = 0; k < shape.messages; k++)
			for (unsigned how = 0; how < 4; how++) {
				open_message(i, k, &o);
				open_message((i + 1) % OWN, k, &other);
				hash_t wanted;
				memcpy(wanted, o.hash, sizeof wanted);
				if (how == 1 || how == 2)
					wanted[31] ^= 1; /* an entry that says that something is out */
				if (how == 2)
					memcpy(o.hash, wanted,
						sizeof wanted); /* a message that was never sent */
				if (how == 3)
					memcpy(o.device_path, other.device_path, sizeof o.device_path);
				entry_of(&h, wanted, entry);
				b.len = 0;
				assert_int_equal(rd_evidence_missing(&manifest, descriptor, shape.messages,
							 &o, (struct cr_span){ entry, each }, &b, &err),
					CM_OK);
				enum cm_rc rc = rd_evidence_verify(
					b.data, b.len, world.shuffler.verifier, &said, &err);
				assert_true(rc == CM_EDATA || rc == CM_EPERM);
				assert_int_equal(said.fact, RD_FACT_NONE);
			}
	cm_buf_fini(&b);
	let_go(&h);
	free(entry);
}

static void a_second_manifest_is_evidence_and_the_same_one_twice_is_none(void **state)
{
	struct cl_proof_result r;
	struct rd_evidence said;
	struct cl_proof p;
	struct held one, two;
	struct cm_buf b;

	(void)state;
	watch(1);
	hold(&one, false);
	sealed[messages * shape.message_len - 1] ^= 1;
	hold(&two, false);
	Tombola__V1__SignedManifest first = frame(&one), second = frame(&two);
	load(&p);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			cl_proof_manifest(world.db, world.dir, &p, &first, world.shuffler.verifier, &r, &err),
			CM_OK);
		assert_string_equal(r.evidence, "");
	}
	assert_int_equal(
		cl_proof_manifest(world.db, world.dir, &p, &second, world.shuffler.verifier, &r, &err),
		CM_OK);
	read_evidence(r.evidence, &b);
	assert_int_equal(rd_evidence_verify(b.data, b.len, world.shuffler.verifier, &said, &err), CM_OK);
	assert_int_equal(said.fact, RD_FACT_TWO);
	flip_all(&b);
	b.len = 0;
	assert_int_equal(rd_evidence_two(&p.manifest, &p.manifest, &b, &err), CM_OK);
	assert_int_equal(rd_evidence_verify(b.data, b.len, world.shuffler.verifier, &said, &err), CM_EDATA);
	cm_buf_fini(&b);
	/* One alone is kept to be compared with another client's, and says nothing. */
	cm_buf_init(&b, PR_EVIDENCE_MAX);
	assert_int_equal(cl_proof_export(world.db, judged.d.sequence, &b, &err), CM_OK);
	assert_int_equal(rd_evidence_verify(b.data, b.len, world.shuffler.verifier, &said, &err), CM_EDATA);
	assert_int_equal(rd_evidence_manifest(b.data, b.len, world.shuffler.verifier, &said, &err), CM_OK);
	assert_int_equal(cl_proof_export(world.db, judged.d.sequence + 1, &b, &err), CM_ENOINPUT);
	cm_buf_fini(&b);
	cl_proof_fini(&p);
	let_go(&one);
	let_go(&two);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_of_a_stream_is_watched_with_the_same_chance),
		TEST(an_honest_manifest_answers_for_all_in_requests_of_one_length),
		TEST(nothing_is_asked_of_a_round_in_which_nothing_is_watched),
		TEST(a_void_round_settles_it_and_a_silent_shuffler_leaves_it_unanswered),
		TEST(a_manifest_of_another_key_or_round_and_a_proof_of_another_length_change_nothing),
		TEST(a_dropped_message_is_evidence_of_which_no_bit_can_be_changed),
		TEST(a_second_manifest_is_evidence_and_the_same_one_twice_is_none),
		TEST(an_honest_shuffler_is_never_convicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
