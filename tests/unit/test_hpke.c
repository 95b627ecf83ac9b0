/* test_hpke.c - HPKE against RFC 9180 and another implementation, and what must not open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_hpke.h"
#include "cr_x25519_many.h"

#define MAX_FIELD 1024u

static const enum cr_hpke_suite suites[] = { CR_HPKE_AES128GCM, CR_HPKE_CHACHA20POLY1305 };

struct bytes {
	uint8_t data[MAX_FIELD];
	size_t len;
};

static struct bytes unhex(const char *hex)
{
	struct bytes b = { .len = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2 };

	assert_true(b.len <= sizeof b.data);
	if (b.len > 0)
		assert_int_equal(cm_unhex(hex, b.data, b.len), CM_OK);
	return b;
}

static struct cr_key unhex_key(const char *hex)
{
	struct cr_key k;

	assert_int_equal(cm_unhex(hex, k.bytes, sizeof k.bytes), CM_OK);
	return k;
}

/* One vector: both directions. */
static void check(enum cr_hpke_suite suite, const char *secret, const char *public_key, const char *ephemeral,
	const char *info_hex, const char *aad_hex, const char *plain_hex, const char *sealed_hex)
{
	struct bytes pk = unhex(public_key), info = unhex(info_hex), aad = unhex(aad_hex),
		     plain = unhex(plain_hex);
	struct bytes sealed = unhex(sealed_hex);
	struct cr_key skr = unhex_key(secret), ske = unhex_key(ephemeral);
	struct cr_hpke_sealer *s;
	struct cr_hpke_opener *o;
	struct cm_err err;
	uint8_t out[MAX_FIELD];

	assert_int_equal(sealed.len, plain.len + CR_HPKE_OVERHEAD);
	assert_int_equal(cr_hpke_sealer_new(suite, pk.data, info.data, info.len, &s, &err), CM_OK);
	assert_int_equal(cr_hpke_opener_new(suite, &skr, info.data, info.len, &o, &err), CM_OK);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(
			cr_hpke_seal_with(s, &ske, aad.data, aad.len, plain.data, plain.len, out, &err),
			CM_OK);
		assert_memory_equal(out, sealed.data, sealed.len);
		memset(out, 0xee, sizeof out);
		assert_int_equal(
			cr_hpke_open(o, aad.data, aad.len, sealed.data, sealed.len, out, &err), CM_OK);
		if (plain.len > 0)
			assert_memory_equal(out, plain.data, plain.len);
	}
	cr_hpke_sealer_free(s);
	cr_hpke_opener_free(o);
}

static void rfc9180_a_1_1_aes128gcm(void **state)
{
	(void)state;
	check(CR_HPKE_AES128GCM, "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
		"3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
		"52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
		"4f6465206f6e2061204772656369616e2055726e", "436f756e742d30",
		"4265617574792069732074727574682c20747275746820626561757479",
		"37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
		"f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a");
}

static void rfc9180_a_2_1_chacha20poly1305(void **state)
{
	(void)state;
	check(CR_HPKE_CHACHA20POLY1305, "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
		"4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a",
		"f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
		"4f6465206f6e2061204772656369616e2055726e", "436f756e742d30",
		"4265617574792069732074727574682c20747275746820626561757479",
		"1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
		"1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28");
}

/* tests/data/make-hpke-base.py */
static void another_implementation_agrees(void **state)
{
	FILE *f = fopen(TEST_DATA "/hpke-base.txt", "r");
	char line[8192];
	int n = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		char *field[8], *rest = NULL;

		if (line[0] == '#')
			continue;
		for (int i = 0; i < 8; i++) {
			field[i] = strtok_r(i == 0 ? line : NULL, " \n", &rest);
			assert_non_null(field[i]);
		}
		check(strcmp(field[0], "1") == 0 ? CR_HPKE_AES128GCM : CR_HPKE_CHACHA20POLY1305, field[1],
			field[2], field[3], field[4], field[5], field[6], field[7]);
		n++;
	}
	assert_int_equal(fclose(f), 0);
	assert_int_equal(n, 24);
}

static void replay(void *ctx, void *out, size_t n)
{
	memcpy(out, ctx, n);
}

static void x25519_rfc7748_6_1(void **state)
{
	struct cr_key alice = unhex_key("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"),
		      secret;
	struct bytes want = unhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
	struct bytes bob = unhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
	struct bytes shared = unhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
	struct cr_rng rng = { replay, alice.bytes };
	uint8_t got[CR_HPKE_PUBLIC_LEN];
	struct cr_x25519 *k;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_hpke_keygen(&rng, &secret, got, &err), CM_OK);
	assert_memory_equal(secret.bytes, alice.bytes, sizeof secret.bytes);
	assert_memory_equal(got, want.data, sizeof got);
	assert_int_equal(cr_x25519_new(alice.bytes, &k, &err), CM_OK);
	assert_memory_equal(cr_x25519_public(k), want.data, sizeof got);
	assert_int_equal(cr_x25519_derive(k, bob.data, got, &err), CM_OK);
	assert_memory_equal(got, shared.data, sizeof got);
	cr_x25519_free(k);
}

/* A sealer and opener for a fresh key, and one sealed message. */
struct pair {
	struct cr_rng rng;
	struct cr_key secret;
	uint8_t public_key[CR_HPKE_PUBLIC_LEN];
	struct cr_hpke_sealer *s;
	struct cr_hpke_opener *o;
	uint8_t sealed[20 + CR_HPKE_OVERHEAD];
};

static const uint8_t message[20] = "twenty bytes of data";

static void pair_init(struct pair *p, enum cr_hpke_suite suite)
{
	struct cm_err err;

	assert_int_equal(cr_rng_system(&p->rng, &err), CM_OK);
	assert_int_equal(cr_hpke_keygen(&p->rng, &p->secret, p->public_key, &err), CM_OK);
	assert_int_equal(cr_hpke_sealer_new(suite, p->public_key, "info", 4, &p->s, &err), CM_OK);
	assert_int_equal(cr_hpke_opener_new(suite, &p->secret, "info", 4, &p->o, &err), CM_OK);
	assert_int_equal(
		cr_hpke_seal(p->s, &p->rng, "aad", 3, message, sizeof message, p->sealed, &err), CM_OK);
}

static void pair_fini(struct pair *p)
{
	cr_hpke_sealer_free(p->s);
	cr_hpke_opener_free(p->o);
	cr_key_fini(&p->secret);
}

static void a_generated_key_opens_what_is_sealed_to_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pair p;
		struct cm_err err;
		uint8_t again[sizeof p.sealed], plain[sizeof message];

		pair_init(&p, suites[i]);
		assert_int_equal(
			cr_hpke_seal(p.s, &p.rng, "aad", 3, message, sizeof message, again, &err), CM_OK);
		assert_memory_not_equal(p.sealed, again, CR_HPKE_PUBLIC_LEN);
		assert_int_equal(cr_hpke_open(p.o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err), CM_OK);
		assert_memory_equal(plain, message, sizeof message);
		assert_int_equal(cr_hpke_open(p.o, "aad", 3, again, sizeof again, plain, &err), CM_OK);
		assert_memory_equal(plain, message, sizeof message);
		pair_fini(&p);
	}
}

/* Results are the same with a table to borrow, without one, and after the borrower is gone. */
static void a_sealer_like_another_makes_the_same_bytes(void **state)
{
	const struct cr_key ephemeral = { { 5 } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct pair p;
		struct cr_hpke_sealer *like;
		struct cm_err err;
		uint8_t want[sizeof p.sealed], got[sizeof p.sealed];

		pair_init(&p, suites[i % 2]);
		assert_int_equal(
			cr_hpke_seal_with(p.s, &ephemeral, "aad", 3, message, sizeof message, want, &err),
			CM_OK);
		if (i >= 2)
			cr_hpke_sealer_expect(p.s, 1000000);
		assert_int_equal(cr_hpke_sealer_like(p.s, &like, &err), CM_OK);
		assert_int_equal(
			cr_hpke_seal_with(like, &ephemeral, "aad", 3, message, sizeof message, got, &err),
			CM_OK);
		assert_memory_equal(got, want, sizeof want);
		cr_hpke_sealer_free(like);
		assert_int_equal(
			cr_hpke_seal_with(p.s, &ephemeral, "aad", 3, message, sizeof message, got, &err),
			CM_OK);
		assert_memory_equal(got, want, sizeof want);
		pair_fini(&p);
	}
}

static void every_altered_bit_is_noticed_and_nothing_leaks(void **state)
{
	static const uint8_t zeros[sizeof message];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pair p;
		struct cm_err err;
		uint8_t plain[sizeof message];

		pair_init(&p, suites[i]);
		for (size_t bit = 0; bit < 8 * sizeof p.sealed; bit++) {
			p.sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
			memset(plain, 0, sizeof plain);
			assert_int_equal(cr_hpke_open(p.o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err),
				CM_EDATA);
			assert_memory_equal(plain, zeros, sizeof zeros);
			p.sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		/* A bad message must not spoil the opener for the next. */
		assert_int_equal(cr_hpke_open(p.o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err), CM_OK);
		pair_fini(&p);
	}
}

static void other_keys_infos_aads_suites_and_lengths_do_not_open(void **state)
{
	struct pair p, q;
	struct cr_hpke_opener *o;
	struct cm_err err;
	uint8_t plain[sizeof message];

	(void)state;
	pair_init(&p, CR_HPKE_AES128GCM);
	pair_init(&q, CR_HPKE_AES128GCM);
	assert_int_equal(cr_hpke_open(q.o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err), CM_EDATA);
	assert_int_equal(cr_hpke_open(p.o, "aae", 3, p.sealed, sizeof p.sealed, plain, &err), CM_EDATA);
	assert_int_equal(cr_hpke_open(p.o, NULL, 0, p.sealed, sizeof p.sealed, plain, &err), CM_EDATA);
	for (size_t len = 0; len < sizeof p.sealed; len++)
		assert_int_equal(cr_hpke_open(p.o, "aad", 3, p.sealed, len, plain, &err), CM_EDATA);
	assert_int_equal(cr_hpke_opener_new(CR_HPKE_AES128GCM, &p.secret, "inf", 3, &o, &err), CM_OK);
	assert_int_equal(cr_hpke_open(o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err), CM_EDATA);
	cr_hpke_opener_free(o);
	assert_int_equal(cr_hpke_opener_new(CR_HPKE_CHACHA20POLY1305, &p.secret, "info", 4, &o, &err), CM_OK);
	assert_int_equal(cr_hpke_open(o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err), CM_EDATA);
	cr_hpke_opener_free(o);
	pair_fini(&p);
	pair_fini(&q);
}

static void an_unknown_suite_is_refused(void **state)
{
	struct cr_hpke_sealer *s;
	struct cr_hpke_opener *o;
	struct cm_err err;
	struct cr_key key = { { 9 } };

	(void)state;
	assert_int_equal(cr_hpke_sealer_new((enum cr_hpke_suite)2, key.bytes, NULL, 0, &s, &err), CM_EDATA);
	assert_int_equal(cr_hpke_opener_new((enum cr_hpke_suite)2, &key, NULL, 0, &o, &err), CM_EDATA);
}

/* Every encoding of a point of small order (curve and twist), with the ignored top bit clear. */
static const char *const low_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

static void low_order_points_are_refused_on_both_sides(void **state)
{
	struct cr_hpke_sealer *s;
	struct cm_err err;
	uint8_t plain[sizeof message];
	struct pair p;

	(void)state;
	pair_init(&p, CR_HPKE_AES128GCM);
	for (size_t i = 0; i < sizeof low_order / sizeof low_order[0]; i++) {
		struct bytes point = unhex(low_order[i]);

		for (int top = 0; top < 2; top++) {
			point.data[31] |= (uint8_t)(top << 7);
			assert_int_equal(
				cr_hpke_sealer_new(CR_HPKE_AES128GCM, point.data, "info", 4, &s, &err),
				CM_EDATA);
			assert_non_null(strstr(err.msg, "low order"));
			memcpy(p.sealed, point.data, 32);
			assert_int_equal(cr_hpke_open(p.o, "aad", 3, p.sealed, sizeof p.sealed, plain, &err),
				CM_EDATA);
			assert_non_null(strstr(err.msg, "low order"));
		}
	}
	pair_fini(&p);
}

#define MANY   145u
#define RECORD 21u
#define STRIDE (RECORD + CR_HPKE_OVERHEAD + 3u)

/* Messages 5 and 64 are altered, and 70 has an encapsulation of low order: only these fail. */
static void open_many(struct pair *p, uint8_t *sealed, size_t n, const uint8_t *records)
{
	static const uint8_t zeros[RECORD];
	uint8_t plain[MANY * RECORD + 1];
	const uint8_t *at[MANY];
	bool good[MANY];
	struct cm_err err;

	for (size_t i = 0; i < n; i++)
		at[i] = sealed + i * STRIDE;
	if (n > 5)
		sealed[5 * STRIDE + 40] ^= 1;
	if (n > 64)
		sealed[64 * STRIDE] ^= 1;
	if (n > 70)
		memset(sealed + 70 * STRIDE, 0, CR_HPKE_PUBLIC_LEN);
	memset(plain, 0xee, sizeof plain);
	assert_int_equal(
		cr_hpke_open_many(p->o, "aad", 3, at, n, RECORD + CR_HPKE_OVERHEAD, plain, good, &err),
		CM_OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(good[i], i != 5 && i != 64 && i != 70);
		assert_memory_equal(plain + i * RECORD, good[i] ? records + i * RECORD : zeros, RECORD);
	}
	assert_int_equal(plain[n * RECORD], 0xee);
}

static void many_are_the_same(enum cr_hpke_suite suite)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, MANY };
	static const char *const ways[] = { "openssl", "avx512" };
	static uint8_t one[MANY * STRIDE], many[MANY * STRIDE], records[MANY * RECORD];
	static struct cr_key ephemeral[MANY];
	struct cm_err err;
	struct pair p;

	pair_init(&p, suite);
	p.rng.fill(p.rng.ctx, ephemeral, sizeof ephemeral);
	p.rng.fill(p.rng.ctx, records, sizeof records);
	assert_true(cr_x25519_use("openssl"));
	memset(one, 0xcc, sizeof one);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(cr_hpke_seal_with(p.s, &ephemeral[i], "aad", 3, records + i * RECORD, RECORD,
					 one + i * STRIDE, &err),
			CM_OK);
	for (size_t w = 0; w < 2; w++)
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && cr_x25519_use(ways[w]); i++) {
			memset(many, 0xcc, sizeof many);
			assert_int_equal(cr_hpke_seal_many(p.s, ephemeral, sizes[i], "aad", 3, records,
						 RECORD, many, STRIDE, &err),
				CM_OK);
			assert_memory_equal(many, one, sizes[i] * STRIDE);
			open_many(&p, many, sizes[i], records);
		}
	pair_fini(&p);
}

static void many_together_are_the_same_bytes_as_one_by_one(void **state)
{
	(void)state;
	many_are_the_same(CR_HPKE_AES128GCM);
	many_are_the_same(CR_HPKE_CHACHA20POLY1305);
}

static void lengths_of_no_message_do_not_open_together(void **state)
{
	struct cm_err err;
	struct pair p;

	(void)state;
	pair_init(&p, CR_HPKE_AES128GCM);
	const uint8_t *at = p.sealed;
	bool good;
	uint8_t plain;

	assert_int_equal(cr_hpke_open_many(p.o, "aad", 3, &at, 1, CR_HPKE_OVERHEAD - 1, &plain, &good, &err),
		CM_EDATA);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc9180_a_1_1_aes128gcm),
		cmocka_unit_test(rfc9180_a_2_1_chacha20poly1305),
		cmocka_unit_test(another_implementation_agrees),
		cmocka_unit_test(x25519_rfc7748_6_1),
		cmocka_unit_test(a_generated_key_opens_what_is_sealed_to_it),
		cmocka_unit_test(a_sealer_like_another_makes_the_same_bytes),
		cmocka_unit_test(every_altered_bit_is_noticed_and_nothing_leaks),
		cmocka_unit_test(other_keys_infos_aads_suites_and_lengths_do_not_open),
		cmocka_unit_test(an_unknown_suite_is_refused),
		cmocka_unit_test(low_order_points_are_refused_on_both_sides),
		cmocka_unit_test(many_together_are_the_same_bytes_as_one_by_one),
		cmocka_unit_test(lengths_of_no_message_do_not_open_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
