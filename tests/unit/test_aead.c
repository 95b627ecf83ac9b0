/* test_aead.c - boxes at rest: the GCM specification's answer, and everything that must not open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cr_aead.h"

#define LEN 20u

static struct cr_rng system_rng(void)
{
	struct cm_err err;
	struct cr_rng rng;

	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	return rng;
}

static void replay(void *ctx, void *out, size_t n)
{
	memcpy(out, ctx, n);
}

static void gcm_specification_test_case_16(void **state)
{
	/* McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B. */
	uint8_t nonce[12], aad[20], data[60], want[CR_BOX_OVERHEAD + 60], got[CR_BOX_OVERHEAD + 60];
	struct cr_rng rng = { replay, nonce };
	struct cr_key key;
	struct cm_err err;

	(void)state;
	assert_int_equal(
		cm_unhex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", key.bytes, 32),
		CM_OK);
	assert_int_equal(cm_unhex("cafebabefacedbaddecaf888", nonce, 12), CM_OK);
	assert_int_equal(cm_unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2", aad, 20), CM_OK);
	assert_int_equal(cm_unhex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
				  "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
				 data, 60),
		CM_OK);
	assert_int_equal(cm_unhex("cafebabefacedbaddecaf888"
				  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
				  "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
				  "76fc6ece0f4e1768cddf8853bb2d551b",
				 want, sizeof want),
		CM_OK);
	assert_int_equal(cr_box_seal(&key, &rng, aad, 20, data, 60, got, &err), CM_OK);
	assert_memory_equal(got, want, sizeof want);
}

static void a_box_opens_to_what_was_sealed(void **state)
{
	struct cr_rng rng = system_rng();
	struct cr_key key;
	struct cm_err err;
	uint8_t data[300], box[300 + CR_BOX_OVERHEAD], back[300];

	(void)state;
	rng.fill(rng.ctx, key.bytes, sizeof key.bytes);
	rng.fill(rng.ctx, data, sizeof data);
	for (size_t len = 0; len <= sizeof data; len += 25) {
		assert_int_equal(cr_box_seal(&key, &rng, "aad", len % 4, data, len, box, &err), CM_OK);
		assert_int_equal(
			cr_box_open(&key, "aad", len % 4, box, len + CR_BOX_OVERHEAD, back, &err), CM_OK);
		if (len > 0)
			assert_memory_equal(back, data, len);
		memset(back, 0, sizeof back);
	}
}

static void every_altered_bit_is_noticed_and_nothing_leaks(void **state)
{
	static const uint8_t zeros[LEN];
	struct cr_rng rng = system_rng();
	struct cr_key key = { "a key" };
	struct cm_err err;
	uint8_t box[LEN + CR_BOX_OVERHEAD], back[LEN];

	(void)state;
	assert_int_equal(
		cr_box_seal(&key, &rng, "aad", 3, (const uint8_t *)"twenty bytes of data", LEN, box, &err),
		CM_OK);
	for (size_t bit = 0; bit < 8 * sizeof box; bit++) {
		box[bit / 8] ^= (uint8_t)(1u << bit % 8);
		memset(back, 0xee, sizeof back);
		assert_int_equal(cr_box_open(&key, "aad", 3, box, sizeof box, back, &err), CM_EDATA);
		assert_memory_equal(back, zeros, LEN);
		box[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(cr_box_open(&key, "aad", 3, box, sizeof box, back, &err), CM_OK);
}

static void other_keys_aads_and_lengths_do_not_open(void **state)
{
	struct cr_rng rng = system_rng();
	struct cr_key key = { "a key" }, other = { "b key" };
	struct cm_err err;
	uint8_t box[LEN + CR_BOX_OVERHEAD], back[LEN];

	(void)state;
	assert_int_equal(
		cr_box_seal(&key, &rng, "aad", 3, (const uint8_t *)"twenty bytes of data", LEN, box, &err),
		CM_OK);
	assert_int_equal(cr_box_open(&other, "aad", 3, box, sizeof box, back, &err), CM_EDATA);
	assert_int_equal(cr_box_open(&key, "aae", 3, box, sizeof box, back, &err), CM_EDATA);
	assert_int_equal(cr_box_open(&key, "aad", 2, box, sizeof box, back, &err), CM_EDATA);
	assert_int_equal(cr_box_open(&key, NULL, 0, box, sizeof box, back, &err), CM_EDATA);
	for (size_t len = 0; len < sizeof box; len++)
		assert_int_equal(cr_box_open(&key, "aad", 3, box, len, back, &err), CM_EDATA);
}

static void two_boxes_of_the_same_data_differ(void **state)
{
	struct cr_rng rng = system_rng();
	struct cr_key key = { "a key" };
	struct cm_err err;
	uint8_t a[1 + CR_BOX_OVERHEAD], b[1 + CR_BOX_OVERHEAD];

	(void)state;
	assert_int_equal(cr_box_seal(&key, &rng, NULL, 0, (const uint8_t *)"x", 1, a, &err), CM_OK);
	assert_int_equal(cr_box_seal(&key, &rng, NULL, 0, (const uint8_t *)"x", 1, b, &err), CM_OK);
	assert_memory_not_equal(a, b, sizeof a);
}

/* A key that is set up once gives the same boxes as one set up each time. */
static void many_boxes_of_one_key_open_by_either_way(void **state)
{
	static const uint8_t zeros[300];
	struct cr_rng rng = system_rng();
	struct cr_key key;
	struct cr_nonces nonces;
	struct cm_err err;
	uint8_t data[300], box[300 + CR_BOX_OVERHEAD], back[300];

	(void)state;
	rng.fill(rng.ctx, key.bytes, sizeof key.bytes);
	rng.fill(rng.ctx, data, sizeof data);
	struct cr_boxes *boxes = cr_boxes_new(&key);
	assert_non_null(boxes);
	cr_nonces_draw(&nonces, &rng);
	for (size_t len = 0; len <= sizeof data; len += 25) {
		size_t whole = len + CR_BOX_OVERHEAD;
		assert_int_equal(cr_boxes_seal(boxes, &nonces, "aad", len % 4, data, len, box, &err), CM_OK);
		assert_int_equal(cr_box_open(&key, "aad", len % 4, box, whole, back, &err), CM_OK);
		if (len > 0)
			assert_memory_equal(back, data, len);
		assert_int_equal(cr_box_seal(&key, &rng, "aad", len % 4, data, len, box, &err), CM_OK);
		memset(back, 0, sizeof back);
		assert_int_equal(cr_boxes_open(boxes, "aad", len % 4, box, whole, back, &err), CM_OK);
		if (len > 0)
			assert_memory_equal(back, data, len);
		box[len % whole] ^= 1;
		memset(back, 0xee, sizeof back);
		assert_int_equal(cr_boxes_open(boxes, "aad", len % 4, box, whole, back, &err), CM_EDATA);
		assert_memory_equal(back, zeros, len);
	}
	cr_boxes_free(boxes);
}

static void many_boxes_of_one_key_have_a_nonce_each(void **state)
{
	struct cr_rng rng = system_rng();
	const struct cr_key key = { "a key" };
	struct cr_nonces nonces, other;
	struct cm_err err;
	uint8_t a[1 + CR_BOX_OVERHEAD], b[1 + CR_BOX_OVERHEAD];

	(void)state;
	struct cr_boxes *boxes = cr_boxes_new(&key);
	assert_non_null(boxes);
	cr_nonces_draw(&nonces, &rng);
	cr_nonces_draw(&other, &rng);
	assert_memory_not_equal(nonces.next, other.next, CR_NONCE_LEN);
	memset(nonces.next, 0xff, 3); /* the next carries twice and more */
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(
			cr_boxes_seal(boxes, &nonces, NULL, 0, (const uint8_t *)"x", 1, a, &err), CM_OK);
		/* One number after the other, little endian, so no two are the same. */
		uint64_t low = cm_get_le64(nonces.next) - cm_get_le64(a);
		assert_true(low == 1);
		if (i > 0)
			assert_memory_not_equal(a, b, CR_NONCE_LEN);
		memcpy(b, a, sizeof b);
	}
	cr_boxes_free(boxes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcm_specification_test_case_16),
		cmocka_unit_test(a_box_opens_to_what_was_sealed),
		cmocka_unit_test(every_altered_bit_is_noticed_and_nothing_leaks),
		cmocka_unit_test(other_keys_aads_and_lengths_do_not_open),
		cmocka_unit_test(two_boxes_of_the_same_data_differ),
		cmocka_unit_test(many_boxes_of_one_key_open_by_either_way),
		cmocka_unit_test(many_boxes_of_one_key_have_a_nonce_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
