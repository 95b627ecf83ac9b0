/* test_descriptor_bytes.c - the bytes of a descriptor: every cut, every flipped bit, every missing
 * allocation. */
#include "golden_descriptor.h"

#include <stdlib.h>

static struct cm_err err;

/* ---- memory that runs out ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);

static long fail_after = -1;

static bool granted(void)
{
	if (fail_after == 0)
		return false;
	if (fail_after > 0)
		fail_after--;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return granted() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return granted() ? __real_calloc(n, size) : NULL;
}

char *__wrap_strdup(const char *s)
{
	return granted() ? __real_strdup(s) : NULL;
}

/* ---- bytes ---- */

static void every_cut_is_refused(void **state)
{
	/* Its last fields are the entry and the try, which mode plan must have. */
	(void)state;
	for (size_t n = 0; n < golden.len; n++) {
		uint8_t *exact = malloc(n + 1);
		struct rd_descriptor d;

		assert_non_null(exact);
		memcpy(exact, golden.data, n);
		assert_int_equal(rd_descriptor_decode(exact, n, &d, &err), CM_EPROTO);
		rd_descriptor_fini(&d);
		free(exact);
	}
}

static void every_flipped_bit_is_refused_or_gives_another_hash(void **state)
{
	struct rd_descriptor honest, d;
	unsigned refused = 0;

	(void)state;
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &honest, &err), CM_OK);
	for (size_t i = 0; i < 8 * golden.len; i++) {
		golden.data[i / 8] ^= (uint8_t)(1u << i % 8);
		if (rd_descriptor_decode(golden.data, golden.len, &d, &err) == CM_OK)
			assert_memory_not_equal(d.hash, honest.hash, sizeof d.hash);
		else
			refused++;
		rd_descriptor_fini(&d);
		golden.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	assert_true(refused > 100);
	rd_descriptor_fini(&honest);
}

static enum cm_rc verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN])
{
	struct rd_descriptor d;
	enum cm_rc rc = rd_descriptor_verify(bytes, len, signature, analyzer.verifier, &d, &err);

	rd_descriptor_fini(&d);
	return rc;
}

static void every_flipped_bit_breaks_the_signature(void **state)
{
	uint8_t signature[CR_SIGN_LEN];

	(void)state;
	assert_int_equal(
		cr_sign(analyzer.signer, RD_PURPOSE_DESCRIPTOR, golden.data, golden.len, signature, &err),
		CM_OK);
	assert_int_equal(verify(golden.data, golden.len, signature), CM_OK);
	for (size_t i = 0; i < golden.len + CR_SIGN_LEN; i++) {
		uint8_t *at = i < golden.len ? &golden.data[i] : &signature[i - golden.len];

		*at ^= (uint8_t)(1u << i % 8);
		assert_int_equal(verify(golden.data, golden.len, signature), CM_EPERM);
		*at ^= (uint8_t)(1u << i % 8);
	}
	assert_int_equal(verify(golden.data, golden.len - 1, signature), CM_EPERM);
	assert_int_equal(verify(golden.data, golden.len, signature), CM_OK);
}

static void a_signature_by_another_key_or_for_another_purpose_is_refused(void **state)
{
	static const char *const purposes[] = { RD_PURPOSE_MANIFEST, RD_PURPOSE_CHARGE, RD_PURPOSE_RECEIPT };
	uint8_t signature[CR_SIGN_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof purposes / sizeof purposes[0]; i++) {
		assert_int_equal(
			cr_sign(analyzer.signer, purposes[i], golden.data, golden.len, signature, &err),
			CM_OK);
		assert_int_equal(verify(golden.data, golden.len, signature), CM_EPERM);
	}
	assert_int_equal(
		cr_sign(other.signer, RD_PURPOSE_DESCRIPTOR, golden.data, golden.len, signature, &err),
		CM_OK);
	assert_int_equal(verify(golden.data, golden.len, signature), CM_EPERM);
}

static void a_descriptor_over_the_maximum_is_refused_before_it_is_read(void **state)
{
	uint8_t one[CR_SIGN_LEN] = { 0 };
	struct rd_descriptor d;

	(void)state;
	assert_int_equal(verify(one, 0xffffffff, one), CM_EPROTO);
	assert_int_equal(rd_descriptor_decode(one, 0xffffffff, &d, &err), CM_EPROTO);
	assert_int_equal(rd_descriptor_decode(one, PR_DESCRIPTOR_MAX + 1, &d, &err), CM_EPROTO);
}

static void unknown_fields_are_ignored_but_hashed(void **state)
{
	struct rd_descriptor plain, d;
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	wb_put(&b, golden.data, golden.len);
	wb_text(&b, 99, "of a later version");
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &plain, &err), CM_OK);
	assert_int_equal(rd_descriptor_decode(b.data, b.len, &d, &err), CM_OK);
	assert_memory_not_equal(d.hash, plain.hash, sizeof d.hash);
	assert_string_equal(d.query.name, plain.query.name);
	rd_descriptor_fini(&plain);
	rd_descriptor_fini(&d);
	cm_buf_fini(&b);
}

static void without_memory_decoding_is_an_internal_fault_and_nothing_leaks(void **state)
{
	enum cm_rc rc = CM_EOTHER;
	long n;

	(void)state;
	for (n = 0; rc != CM_OK; n++) {
		struct rd_descriptor d;

		assert_true(n < 100);
		fail_after = n;
		rc = rd_descriptor_decode(golden.data, golden.len, &d, &err);
		fail_after = -1;
		assert_true(rc == CM_OK || rc == CM_EINTERNAL);
		rd_descriptor_fini(&d);
	}
	assert_true(n > 6); /* the arena, the list and its five items */
}

static void a_descriptor_that_nobody_would_accept_is_not_encoded(void **state)
{
	struct rd_descriptor d;
	struct cm_buf b;

	(void)state;
	assert_int_equal(rd_descriptor_decode(golden.data, golden.len, &d, &err), CM_OK);
	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	d.min_reports = 0;
	assert_int_equal(rd_descriptor_encode(&d, &b, &err), CM_EINTERNAL);
	assert_int_equal(b.len, 0);
	cm_buf_fini(&b);
	rd_descriptor_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(every_flipped_bit_is_refused_or_gives_another_hash),
		cmocka_unit_test(every_flipped_bit_breaks_the_signature),
		cmocka_unit_test(a_signature_by_another_key_or_for_another_purpose_is_refused),
		cmocka_unit_test(a_descriptor_over_the_maximum_is_refused_before_it_is_read),
		cmocka_unit_test(unknown_fields_are_ignored_but_hashed),
		cmocka_unit_test(without_memory_decoding_is_an_internal_fault_and_nothing_leaks),
		cmocka_unit_test(a_descriptor_that_nobody_would_accept_is_not_encoded),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
