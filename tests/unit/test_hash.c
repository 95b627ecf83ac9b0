/* test_hash.c - hashes against the standards' own examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_hash.h"

static void expect(const uint8_t *got, const char *hex)
{
	uint8_t want[128];
	size_t n = strlen(hex) / 2;

	assert_int_equal(cm_unhex(hex, want, n), CM_OK);
	assert_memory_equal(got, want, n);
}

static const char abc_hash[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char empty_hash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char long_text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
static const char long_hash[] = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";

static void sha256_examples(void **state)
{
	uint8_t out[CR_HASH_LEN];

	(void)state;
	cr_sha256(NULL, 0, out);
	expect(out, empty_hash);
	cr_sha256("abc", 3, out);
	expect(out, abc_hash);
	cr_sha256(long_text, strlen(long_text), out);
	expect(out, long_hash);
}

static void spans_are_concatenated(void **state)
{
	const struct cr_span spans[] = { { "a", 1 }, { NULL, 0 }, { "bc", 2 } };
	uint8_t out[CR_HASH_LEN];

	(void)state;
	cr_sha256_spans(spans, 3, out);
	expect(out, abc_hash);
	cr_sha256_spans(NULL, 0, out);
	expect(out, empty_hash);
}

static void a_hasher_starts_over_after_each_result(void **state)
{
	struct cr_hasher *h = cr_hasher_new();
	uint8_t out[CR_HASH_LEN];

	(void)state;
	for (int i = 0; i < 2; i++) {
		cr_hasher_add(h, "ab", 2);
		cr_hasher_add(h, "c", 1);
		cr_hasher_done(h, out);
		expect(out, abc_hash);
	}
	cr_hasher_done(h, out);
	expect(out, empty_hash);
	cr_hasher_free(h);
	cr_hasher_free(NULL);
}

static void hashers_do_not_disturb_each_other(void **state)
{
	struct cr_hasher *a = cr_hasher_new(), *b = cr_hasher_new();
	uint8_t out[CR_HASH_LEN];

	(void)state;
	cr_hasher_add(a, "ab", 2);
	cr_hasher_add(b, long_text, strlen(long_text));
	cr_sha256("x", 1, out);
	cr_hasher_add(a, "c", 1);
	cr_hasher_done(a, out);
	expect(out, abc_hash);
	cr_hasher_done(b, out);
	expect(out, long_hash);
	cr_hasher_free(a);
	cr_hasher_free(b);
}

static void hmac_rfc4231(void **state)
{
	static const struct {
		uint8_t fill;
		size_t key_len;
		const char *key, *a, *b, *mac;
	} cases[] = {
		{ 0x0b, 20, NULL, "Hi ", "There",
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ 0, 4, "Jefe", "what do ya want ", "for nothing?",
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
		{ 0xaa, 131, NULL, "Test Using Larger Than Block-Size Key ", "- Hash Key First",
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
	};

	static const struct cr_hmac_key wiped;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct cr_span spans[] = { { cases[i].a, strlen(cases[i].a) },
			{ cases[i].b, strlen(cases[i].b) } };
		uint8_t key[131], out[CR_HASH_LEN];
		struct cr_hmac_key k;

		memset(key, cases[i].fill, sizeof key);
		if (cases[i].key)
			memcpy(key, cases[i].key, cases[i].key_len);
		cr_hmac(key, cases[i].key_len, spans, 2, out);
		expect(out, cases[i].mac);
		cr_hmac_key_init(&k, key, cases[i].key_len);
		for (int again = 0; again < 2; again++) {
			memset(out, 0, sizeof out);
			cr_hmac_with(&k, spans, 2, out);
			expect(out, cases[i].mac);
		}
		cr_hmac_key_fini(&k);
		assert_memory_equal(&k, &wiped, sizeof k);
	}
}

static void hkdf_rfc5869(void **state)
{
	uint8_t ikm[80], salt[80], info[80], out[82];

	(void)state;
	for (uint8_t i = 0; i < 80; i++) {
		ikm[i] = i;
		salt[i] = (uint8_t)(0x60 + i);
		info[i] = (uint8_t)(0xb0 + i);
	}
	cr_hkdf(ikm, 80, salt, 80, info, 80, out, 82);
	expect(out, "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
		    "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
		    "cc30c58179ec3e87c14c01d5c1f3434f1d87");
	memset(ikm, 0x0b, 22);
	cr_hkdf(ikm, 22, NULL, 0, NULL, 0, out, 42);
	expect(out, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

static void hkdf_is_as_long_as_asked_and_no_longer(void **state)
{
	uint8_t whole[255 * CR_HASH_LEN], part[64];

	(void)state;
	cr_hkdf((const uint8_t *)"k", 1, "s", 1, "i", 1, whole, sizeof whole);
	for (size_t n = 0; n <= 33; n++) {
		memset(part, 0xee, sizeof part);
		cr_hkdf((const uint8_t *)"k", 1, "s", 1, "i", 1, part, n);
		if (n > 0)
			assert_memory_equal(part, whole, n);
		assert_int_equal(part[n], 0xee);
	}
}

static void *hash_in_thread(void *out)
{
	for (int i = 0; i < 1000; i++)
		cr_sha256("abc", 3, out);
	return NULL;
}

static void threads_hash_alike(void **state)
{
	uint8_t out[3][CR_HASH_LEN];
	pthread_t thread[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, hash_in_thread, out[i]), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		expect(out[i], abc_hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_examples),
		cmocka_unit_test(spans_are_concatenated),
		cmocka_unit_test(a_hasher_starts_over_after_each_result),
		cmocka_unit_test(hashers_do_not_disturb_each_other),
		cmocka_unit_test(hmac_rfc4231),
		cmocka_unit_test(hkdf_rfc5869),
		cmocka_unit_test(hkdf_is_as_long_as_asked_and_no_longer),
		cmocka_unit_test(threads_hash_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
