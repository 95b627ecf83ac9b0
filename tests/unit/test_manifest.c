/* test_manifest.c - manifests and the roots of their buckets: signed counts that cannot be bent. */
#include "bucket_root.h"
#include "wire_bytes.h"

#include "pr_msg.h"
#include "rd_manifest.h"
#include "round_keys.h"

static struct cm_err err;
static struct round_keys shuffler, other;

/* The parts of a descriptor that a manifest is held against: batch 10..20, three messages each. */
static struct rd_descriptor round_of_three(void)
{
	struct rd_descriptor d = { .min_reports = 10, .target = 20, .messages_per_client = 3 };

	memset(d.round_id, 0x11, sizeof d.round_id);
	memset(d.hash, 0x22, sizeof d.hash);
	return d;
}

static struct rd_manifest sample(struct rd_bucket bucket[2])
{
	struct rd_manifest m = { .participants = 12, .messages = 36, .bucket = bucket, .buckets = 2 };

	memset(m.round_id, 0x11, sizeof m.round_id);
	memset(m.descriptor_hash, 0x22, sizeof m.descriptor_hash);
	bucket[0] = (struct rd_bucket){ .messages = 30, .root = { 1 } };
	bucket[1] = (struct rd_bucket){ .messages = 6, .root = { 2 } };
	return m;
}

static uint64_t prescribed;         /* dummies of the shuffler */
static struct pt_randomizer tagged; /* tags, tag_messages, tag_least of the round */

static enum cm_rc verify_bytes(const struct cm_buf *b, const char *purpose, const struct cr_signer *signer)
{
	struct rd_descriptor d = round_of_three();
	uint8_t signature[CR_SIGN_LEN];
	struct rd_manifest back;
	enum cm_rc rc;

	d.randomizer = tagged;
	d.randomizer.shuffler.dummies = prescribed;
	assert_int_equal(cr_sign(signer, purpose, b->data, b->len, signature, &err), CM_OK);
	rc = rd_manifest_verify(b->data, b->len, signature, shuffler.verifier, &d, &back, &err);
	rd_manifest_fini(&back);
	return rc;
}

static enum cm_rc verify(const struct rd_manifest *m)
{
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, 1u << 20);
	assert_int_equal(rd_manifest_encode(m, &b, &err), CM_OK);
	rc = verify_bytes(&b, RD_PURPOSE_MANIFEST, shuffler.signer);
	cm_buf_fini(&b);
	return rc;
}

#define REFUSED(m, word)                                                  \
	do {                                                              \
		assert_int_equal(verify(&(m)), CM_EPROTO);                \
		if (!strstr(err.msg, word))                               \
			fail_msg("'%s' does not name %s", err.msg, word); \
	} while (0)

/* Encode m into b, sign it, and verify it against its round. */
static void read_back(const struct rd_manifest *m, const struct rd_descriptor *d, struct cm_buf *b,
	struct rd_manifest *back)
{
	uint8_t signature[CR_SIGN_LEN];

	cm_buf_init(b, 1u << 20);
	assert_int_equal(rd_manifest_encode(m, b, &err), CM_OK);
	assert_int_equal(
		cr_sign(shuffler.signer, RD_PURPOSE_MANIFEST, b->data, b->len, signature, &err), CM_OK);
	assert_int_equal(
		rd_manifest_verify(b->data, b->len, signature, shuffler.verifier, d, back, &err), CM_OK);
}

static void an_honest_manifest_is_read_back(void **state)
{
	struct rd_descriptor d = round_of_three();
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket), back;
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf b;

	(void)state;
	read_back(&m, &d, &b, &back);
	assert_int_equal(back.participants, 12);
	assert_int_equal(back.messages, 36);
	assert_false(back.is_void);
	assert_int_equal(back.buckets, 2);
	assert_int_equal(back.bucket[0].messages, 30);
	assert_memory_equal(back.bucket[1].root, bucket[1].root, PR_HASH_LEN);
	cr_sha256(b.data, b.len, hash);
	assert_memory_equal(back.hash, hash, sizeof hash);
	rd_manifest_fini(&back);
	cm_buf_fini(&b);
}

static void whom_it_left_out_is_read_back_in_its_form_alone(void **state)
{
	struct rd_descriptor d = round_of_three();
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket), back;
	struct cm_buf b;

	(void)state;
	m.left_out.devices[1] = 2400;
	m.left_out.devices[RD_LEFT_OUT - 1] = UINT64_MAX; /* a reason that this version does not know */
	read_back(&m, &d, &b, &back);
	assert_int_equal(back.left_out.devices[1], 2400);
	assert_int_equal(back.left_out.devices[RD_LEFT_OUT - 1], RD_LEFT_OUT_DEVICES_MAX);
	rd_manifest_fini(&back);
	/* The same reason again, one of number 0 or 64, no devices, or too many. */
	static const struct {
		uint8_t bytes[16];
		size_t len;
	} bad[] = {
		{ { 0x62, 0x04, 0x08, 0x01, 0x10, 0x05 }, 6 },
		{ { 0x62, 0x02, 0x10, 0x05 }, 4 },
		{ { 0x62, 0x04, 0x08, 0x40, 0x10, 0x05 }, 6 },
		{ { 0x62, 0x02, 0x08, 0x3f }, 4 },
		{ { 0x62, 0x09, 0x08, 0x3f, 0x10, 0x81, 0xa0, 0x94, 0xa5, 0x8d, 0x1d }, 11 },
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		m.left_out = (struct rd_left_out){ .devices = { [1] = i == 0 } };
		b.len = 0;
		assert_int_equal(rd_manifest_encode(&m, &b, &err), CM_OK);
		assert_int_equal(cm_buf_put(&b, bad[i].bytes, bad[i].len), CM_OK);
		assert_int_equal(verify_bytes(&b, RD_PURPOSE_MANIFEST, shuffler.signer), CM_EPROTO);
		assert_non_null(strstr(err.msg, "left_out"));
	}
	cm_buf_fini(&b);
}

static void counts_that_disagree_are_refused(void **state)
{
	static const struct {
		uint64_t participants, messages, dummies;
		uint32_t first;
		const char *word; /* NULL: accepted */
	} row[] = {
		{ 10, 30, 0, 24, NULL },
		{ 20, 60, 0, 54, NULL },
		{ 9, 27, 0, 21, "participants" },
		{ 21, 63, 0, 57, "participants" },
		{ 0, 0, 0, 0, "participants" },
		{ 12, 35, 0, 29, "messages" },
		{ 12, 36, 0, 29, "messages" },
		{ 12, 36, 0, 31, "messages" },
		{ 12, 37, 1, 31, "dummies" },
		{ 12, 36, 1, 30, "dummies" },
		{ UINT64_MAX, 36, 0, 30, "participants" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct rd_bucket bucket[2];
		struct rd_manifest m = sample(bucket);

		m.participants = row[i].participants;
		m.messages = row[i].messages;
		m.dummies = row[i].dummies;
		bucket[0].messages = row[i].first;
		if (!row[i].word)
			assert_int_equal(verify(&m), CM_OK);
		else
			REFUSED(m, row[i].word);
	}
}

/* What a manifest says of all its messages, and of those in its first bucket. */
struct total {
	uint64_t messages, dummies;
	uint32_t first;
	const char *word; /* of the refusal; NULL: it is accepted */
};

static void expect_total(const struct total *t)
{
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);

	m.messages = t->messages;
	m.dummies = t->dummies;
	bucket[0].messages = t->first;
	if (!t->word)
		assert_int_equal(verify(&m), CM_OK);
	else
		REFUSED(m, t->word);
}

static void the_shufflers_messages_are_those_the_descriptor_prescribes(void **state)
{
	static const struct total row[] = {
		{ 41, 5, 35, NULL },
		{ 36, 0, 30, "dummies" }, /* it added none and says so */
		{ 41, 4, 35, "dummies" },
		{ 40, 4, 34, "dummies" },
		{ 42, 6, 36, "dummies" },
		{ 36, 5, 30, "messages" }, /* it says so and has none */
		{ 41, 5, 34, "messages" },
		{ 41, UINT64_MAX, 35, "dummies" },
	};

	(void)state;
	prescribed = 5;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		expect_total(&row[i]);
	/* Void: none at all. */
	{
		struct rd_bucket bucket[2];
		struct rd_manifest m = sample(bucket);

		m.participants = 9;
		m.is_void = true;
		m.dummies = 5;
		assert_int_equal(verify(&m), CM_OK);
	}
	prescribed = 0;
}

static void a_void_round_has_too_few_participants_and_no_messages(void **state)
{
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);
	Tombola__V1__Manifest w = TOMBOLA__V1__MANIFEST__INIT;
	uint8_t eleven[16], hash[32];
	struct cm_buf b;

	(void)state;
	m.is_void = true;
	REFUSED(m, "participants"); /* twelve would be enough */
	m.participants = 9;
	assert_int_equal(verify(&m), CM_OK); /* encode leaves messages and buckets out */
	m.participants = 0;
	assert_int_equal(verify(&m), CM_OK);

	memset(eleven, 0x11, sizeof eleven);
	memset(hash, 0x22, sizeof hash);
	w.version = 1;
	w.round_id = (ProtobufCBinaryData){ sizeof eleven, eleven };
	w.descriptor_hash = (ProtobufCBinaryData){ sizeof hash, hash };
	w.participants = 9;
	w.messages = 27;
	w.void_ = 1;
	cm_buf_init(&b, 1u << 20);
	assert_int_equal(pr_doc_encode(&w.base, &b, &err), CM_OK);
	assert_int_equal(verify_bytes(&b, RD_PURPOSE_MANIFEST, shuffler.signer), CM_EPROTO);
	assert_non_null(strstr(err.msg, "messages"));
	cm_buf_fini(&b);
}

static void a_batch_that_is_filled_up_says_its_total_and_no_more(void **state)
{
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);

	(void)state;
	tagged = (struct pt_randomizer){ .shuffler.tags = 6, .shuffler.tag_messages = 6 };
	assert_int_equal(verify(&m), CM_OK); /* 36, of twelve participants' 36 */
	m.participants = 20;
	assert_int_equal(verify(&m), CM_OK);
	m.dummies = 1;
	REFUSED(m, "dummies");
	m.dummies = 0;
	tagged.shuffler.tag_messages = 7;
	REFUSED(m, "messages");
	m.messages = 42;
	REFUSED(m, "messages");
	bucket[0].messages = 36;
	assert_int_equal(verify(&m), CM_OK);
	tagged = (struct pt_randomizer){ 0 };
}

static void noise_is_any_number_that_can_be_drawn(void **state)
{
	static const struct total row[] = {
		{ 36, 0, 30, NULL },
		{ 41, 5, 35, NULL },
		{ 56, 20, 50, NULL }, /* 2 bins, 10 each at most */
		{ 57, 21, 51, "dummies" },
		{ 41, 4, 35, "messages" },
		{ 35, UINT64_MAX, 29, "dummies" },
	};

	(void)state;
	tagged = (struct pt_randomizer){ .row = pt_device_find("bins"),
		.mixbins.bins = 2,
		.shuffler.noise_decay = 1,
		.shuffler.noise_mean = 5 };
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		expect_total(&row[i]);
	tagged = (struct pt_randomizer){ 0 };
}

static void a_class_that_lacks_participants_makes_a_round_void(void **state)
{
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);

	(void)state;
	m.is_void = true;
	m.lacking = 1;
	REFUSED(m, "lacking"); /* there are no classes */
	tagged = (struct pt_randomizer){ .shuffler.tags = 2, .shuffler.tag_least = { 5, 5 } };
	assert_int_equal(verify(&m), CM_OK);
	m.lacking = 2;
	assert_int_equal(verify(&m), CM_OK);
	m.lacking = 3;
	REFUSED(m, "lacking");
	m.lacking = 0;
	REFUSED(m, "participants");
	m.lacking = 1;
	m.participants = 9;
	REFUSED(m, "participants");
	tagged = (struct pt_randomizer){ 0 };
}

static void a_manifest_of_another_round_or_descriptor_is_refused(void **state)
{
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);

	(void)state;
	m.round_id[15] ^= 1;
	REFUSED(m, "round_id");
	m = sample(bucket);
	m.descriptor_hash[0] ^= 0x80;
	REFUSED(m, "descriptor_hash");
}

static void a_signature_by_another_key_or_for_another_purpose_is_refused(void **state)
{
	static const char *const purposes[] = { RD_PURPOSE_DESCRIPTOR, RD_PURPOSE_CHARGE, RD_PURPOSE_RECEIPT,
		"tombola manifes" };
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket);
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 1u << 20);
	assert_int_equal(rd_manifest_encode(&m, &b, &err), CM_OK);
	assert_int_equal(verify_bytes(&b, RD_PURPOSE_MANIFEST, shuffler.signer), CM_OK);
	assert_int_equal(verify_bytes(&b, RD_PURPOSE_MANIFEST, other.signer), CM_EPERM);
	for (size_t i = 0; i < sizeof purposes / sizeof purposes[0]; i++)
		assert_int_equal(verify_bytes(&b, purposes[i], shuffler.signer), CM_EPERM);
	cm_buf_fini(&b);
}

static void a_flipped_bit_in_a_manifest_or_its_signature_is_refused(void **state)
{
	struct rd_descriptor d = round_of_three();
	struct rd_bucket bucket[2];
	struct rd_manifest m = sample(bucket), back;
	uint8_t signature[CR_SIGN_LEN];
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 1u << 20);
	assert_int_equal(rd_manifest_encode(&m, &b, &err), CM_OK);
	assert_int_equal(
		cr_sign(shuffler.signer, RD_PURPOSE_MANIFEST, b.data, b.len, signature, &err), CM_OK);
	for (size_t i = 0; i < b.len + CR_SIGN_LEN; i++) {
		uint8_t *at = i < b.len ? &b.data[i] : &signature[i - b.len];

		*at ^= 0x04;
		assert_int_equal(
			rd_manifest_verify(b.data, b.len, signature, shuffler.verifier, &d, &back, &err),
			CM_EPERM);
		rd_manifest_fini(&back);
		*at ^= 0x04;
	}
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(rd_manifest_verify(b.data, n, signature, shuffler.verifier, &d, &back, &err),
			CM_EPERM);
	cm_buf_fini(&b);
}

static void a_manifest_over_the_maximum_is_refused_before_it_is_hashed(void **state)
{
	struct rd_descriptor d = round_of_three();
	uint8_t signature[CR_SIGN_LEN] = { 0 };
	struct rd_manifest back;

	(void)state;
	/* One byte of memory for a claimed 4 GiB: a read of it would be seen by a sanitizer. */
	assert_int_equal(
		rd_manifest_verify(signature, 0xffffffff, signature, shuffler.verifier, &d, &back, &err),
		CM_EPROTO);
}

/* ---- bucket roots ---- */

static void a_root_is_the_hash_of_the_sorted_hashes(void **state)
{
	/* SHA-256 of "a", "b", "c" begin ca978112, 3e23e816, 2e7d2c03 (FIPS 180-4): ascending order is c, b,
	 * a. */
	struct cm_buf sorted;
	uint8_t want[PR_HASH_LEN], root[PR_HASH_LEN], h[PR_HASH_LEN];
	static const char *const orders[] = { "abc", "acb", "bac", "bca", "cab", "cba" };

	(void)state;
	cm_buf_init(&sorted, 256);
	for (const char *s = "cba"; *s; s++) {
		cr_sha256(s, 1, h);
		wb_put(&sorted, h, sizeof h);
	}
	assert_int_equal(sorted.data[0], 0x2e);
	assert_int_equal(sorted.data[64], 0xca);
	cr_sha256(sorted.data, sorted.len, want);
	for (size_t i = 0; i < 6; i++) {
		bucket_root((const uint8_t *)orders[i], 3, 1, root);
		assert_memory_equal(root, want, sizeof want);
	}
	cm_buf_fini(&sorted);
}

static void a_root_tells_a_doubled_a_dropped_and_a_changed_message(void **state)
{
	static const char *const changed[] = { "aab", "abb", "abd", "ab", "abcc" };
	uint8_t honest[PR_HASH_LEN], root[PR_HASH_LEN];

	(void)state;
	bucket_root((const uint8_t *)"abc", 3, 1, honest);
	for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
		bucket_root((const uint8_t *)changed[i], strlen(changed[i]), 1, root);
		assert_memory_not_equal(root, honest, sizeof honest);
	}
}

static void the_root_of_an_empty_bucket_is_the_hash_of_nothing(void **state)
{
	uint8_t root[PR_HASH_LEN];
	char hex[65];

	(void)state;
	bucket_root(NULL, 0, 64, root);
	cm_hex(root, sizeof root, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* ---- charges ---- */

static int make_keys(void **state)
{
	(void)state;
	round_keys_make(&shuffler);
	round_keys_make(&other);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	round_keys_free(&shuffler);
	round_keys_free(&other);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_it_left_out_is_read_back_in_its_form_alone),
		cmocka_unit_test(an_honest_manifest_is_read_back),
		cmocka_unit_test(counts_that_disagree_are_refused),
		cmocka_unit_test(the_shufflers_messages_are_those_the_descriptor_prescribes),
		cmocka_unit_test(a_void_round_has_too_few_participants_and_no_messages),
		cmocka_unit_test(a_batch_that_is_filled_up_says_its_total_and_no_more),
		cmocka_unit_test(noise_is_any_number_that_can_be_drawn),
		cmocka_unit_test(a_class_that_lacks_participants_makes_a_round_void),
		cmocka_unit_test(a_manifest_of_another_round_or_descriptor_is_refused),
		cmocka_unit_test(a_signature_by_another_key_or_for_another_purpose_is_refused),
		cmocka_unit_test(a_flipped_bit_in_a_manifest_or_its_signature_is_refused),
		cmocka_unit_test(a_manifest_over_the_maximum_is_refused_before_it_is_hashed),
		cmocka_unit_test(a_root_is_the_hash_of_the_sorted_hashes),
		cmocka_unit_test(a_root_tells_a_doubled_a_dropped_and_a_changed_message),
		cmocka_unit_test(the_root_of_an_empty_bucket_is_the_hash_of_nothing),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
