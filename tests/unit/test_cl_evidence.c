/* test_cl_evidence.c - proofs of a dropped message and of two manifests: evidence that holds before a third
 * person and in no altered form. */
#include "cl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_proof.h"
#include "cl_watched.h"
#include "rd_sort.h"
#include "rd_tree.h"

enum cm_rc __real_rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err);
enum cm_rc __wrap_rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err);

static bool evened; /* descriptors are read as those of rounds that even out tags */

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
	/* In a round that evens out tags the shuffler may drop what it accepted. */
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

/* Combine every opening that a client can have from an honest shuffler with every entry that the shuffler's
 * tree has for this or another message. */
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
					wanted[31] ^= 1; /* an entry that says that a message is missing */
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
	/* One manifest alone proves nothing; it is kept to be compared with another client's. */
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

static enum cm_rc void_of(
	const struct held *h, const struct rd_opening *o, size_t n, struct rd_evidence *said)
{
	const struct cr_span descriptor = { offer.bytes.data, offer.bytes.len };
	struct rd_signed manifest = { .bytes = h->bytes.data, .len = h->bytes.len };
	struct rd_evidence other;
	struct cm_buf b;

	memcpy(manifest.signature, h->signature, CR_SIGN_LEN);
	cm_buf_init(&b, PR_EVIDENCE_MAX);
	assert_int_equal(rd_evidence_void(&manifest, descriptor, shape.messages, o, n, &b, &err), CM_OK);
	enum cm_rc rc = rd_evidence_verify(b.data, b.len, world.shuffler.verifier, said, &err);
	if (rc == CM_OK)
		assert_int_equal(
			rd_evidence_verify(b.data, b.len, world.analyzer.verifier, &other, &err), CM_EPERM);
	cm_buf_fini(&b);
	return rc;
}

/* hold() makes a VOID manifest with 3 participants. */
static void a_void_manifest_of_fewer_devices_than_were_accepted_is_evidence(void **state)
{
	struct rd_evidence said;
	struct rd_opening o[PR_PROOF_HASHES];
	struct held h, released;

	(void)state;
	hold(&h, true);
	for (size_t i = 0; i < PR_PROOF_HASHES; i++)
		open_message(i, 1, &o[i]);
	assert_int_equal(void_of(&h, o, PR_PROOF_HASHES, &said), CM_OK);
	assert_int_equal(said.fact, RD_FACT_VOID);
	assert_int_equal(void_of(&h, o, 4, &said), CM_OK);
	assert_true(said.accepted == 4 && said.participants == 3);
	assert_int_equal(void_of(&h, o, 3, &said), CM_EDATA);
	assert_int_equal(said.fact, RD_FACT_NONE);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("evidence.void");
	assert_int_equal(void_of(&h, o, 3, &said), CM_OK);
	cl_world_mutant("");
#endif
	/* Several messages of one device, or several receipts of one message, count as one device. */
	open_message(2, 0, &o[3]);
	assert_int_equal(void_of(&h, o, 4, &said), CM_EDATA);
	open_message(2, 1, &o[3]);
	salts[2][0] ^= 1;
	open_message(2, 1, &o[3]);
	assert_memory_not_equal(o[3].name, o[2].name, PR_HASH_LEN);
	assert_int_equal(void_of(&h, o, 4, &said), CM_EDATA);
	/* Every opening must hold. */
	o[3].hash[5] ^= 1;
	assert_int_equal(void_of(&h, o, PR_PROOF_HASHES, &said), CM_EPERM);
	open_message(3, 1, &o[3]);
	assert_int_equal(void_of(&h, o, 4, &said), CM_OK);
	/* A manifest that says released, or given up, contradicts no receipt. */
	hold(&released, false);
	assert_int_equal(void_of(&released, o, 4, &said), CM_EDATA);
	h.m.participants = 0;
	h.m.given_up = true;
	h.bytes.len = 0;
	assert_int_equal(rd_manifest_encode(&h.m, &h.bytes, &err), CM_OK);
	assert_int_equal(cr_sign(world.shuffler.signer, RD_PURPOSE_MANIFEST, h.bytes.data, h.bytes.len,
				 h.signature, &err),
		CM_OK);
	assert_int_equal(void_of(&h, o, 4, &said), CM_EDATA);
	assert_non_null(strstr(err.msg, "given up"));
	let_go(&h);
	let_go(&released);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_dropped_message_is_evidence_of_which_no_bit_can_be_changed),
		TEST(a_second_manifest_is_evidence_and_the_same_one_twice_is_none),
		TEST(an_honest_shuffler_is_never_convicted),
		TEST(a_void_manifest_of_fewer_devices_than_were_accepted_is_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
