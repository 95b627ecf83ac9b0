/* cr_hash_lanes.c - HMAC-SHA-256 (FIPS 180-4, RFC 2104) in the sixteen lanes of AVX-512. */
#include "cr_hash_lanes.h"

#include <assert.h>
#include <string.h>

#define BLOCK_LEN 64u
#define BLOCKS    2u

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f")))
#define INLINE TARGET static inline __attribute__((always_inline))

static const uint32_t first_state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
	0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
static const uint32_t constant[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb,
	0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb,
	0xbef9a3f7, 0xc67178f2 };

INLINE __m512i plus(__m512i a, __m512i b)
{
	return _mm512_add_epi32(a, b);
}

INLINE __m512i all(uint32_t x)
{
	return _mm512_set1_epi32((int)x);
}

INLINE __m512i xor_of(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

#define TURNED(x, a, b, c) xor_of(_mm512_ror_epi32(x, a), _mm512_ror_epi32(x, b), _mm512_ror_epi32(x, c))
#define SPREAD(x, a, b, c) xor_of(_mm512_ror_epi32(x, a), _mm512_ror_epi32(x, b), _mm512_srli_epi32(x, c))
/* One round; names are those of FIPS 180-4 section 6.2.2, and what becomes another stays where it is. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                              \
	do {                                                                                          \
		const __m512i t1 = plus(plus(h, TURNED(e, 6, 11, 25)),                                \
			plus(_mm512_ternarylogic_epi32(e, f, g, 0xca),                                \
				plus(all(constant[t + (i)]), w[(t + (i)) % 16])));                    \
		(d) = plus(d, t1);                                                                    \
		(h) = plus(t1, plus(TURNED(a, 2, 13, 22), _mm512_ternarylogic_epi32(a, b, c, 0xe8))); \
	} while (0)

/* The state after a block, whose words are spent. */
TARGET static __attribute__((noinline)) void compress(__m512i s[8], __m512i w[16])
{
	__m512i a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];

	for (size_t t = 0; t < 64; t += 8) {
		for (size_t i = t; t >= 16 && i < t + 8; i++)
			w[i % 16] = plus(plus(w[i % 16], SPREAD(w[(i + 1) % 16], 7, 18, 3)),
				plus(w[(i + 9) % 16], SPREAD(w[(i + 14) % 16], 17, 19, 10)));
		ROUND(a, b, c, d, e, f, g, h, 0);
		ROUND(h, a, b, c, d, e, f, g, 1);
		ROUND(g, h, a, b, c, d, e, f, 2);
		ROUND(f, g, h, a, b, c, d, e, 3);
		ROUND(e, f, g, h, a, b, c, d, 4);
		ROUND(d, e, f, g, h, a, b, c, 5);
		ROUND(c, d, e, f, g, h, a, b, 6);
		ROUND(b, c, d, e, f, g, h, a, 7);
	}
	s[0] = plus(s[0], a);
	s[1] = plus(s[1], b);
	s[2] = plus(s[2], c);
	s[3] = plus(s[3], d);
	s[4] = plus(s[4], e);
	s[5] = plus(s[5], f);
	s[6] = plus(s[6], g);
	s[7] = plus(s[7], h);
}

/* Word i of a block of each, in the processor's order of bytes. */
INLINE __m512i word_of(const uint8_t *block, size_t stride, size_t i)
{
	const __m512i place = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	__m512i x =
		_mm512_i32gather_epi32(_mm512_mullo_epi32(place, all((uint32_t)stride)), block + 4 * i, 1);

	return _mm512_ternarylogic_epi32(
		all(0x00ff00ff), _mm512_rol_epi32(x, 8), _mm512_ror_epi32(x, 8), 0xca);
}

TARGET static void absorb(const struct cr_hashes *key, uint32_t with, struct cr_hashes *state)
{
	__m512i *s = (__m512i *)(void *)state, w[16];

	for (size_t i = 0; i < 16; i++)
		w[i] = all(with);
	for (size_t i = 0; i < 8; i++) {
		w[i] = _mm512_xor_si512(w[i], ((const __m512i *)(const void *)key)[i]);
		s[i] = all(first_state[i]);
	}
	compress(s, w);
	explicit_bzero(w, sizeof w);
}

void cr_hmac_keys_init(struct cr_hmac_keys *k, const struct cr_hashes *key)
{
	absorb(key, 0x36363636, &k->inner);
	absorb(key, 0x5c5c5c5c, &k->outer);
}

/* The end of a hash of a block and len bytes more. */
static size_t pad(uint8_t block[BLOCKS * BLOCK_LEN], size_t len)
{
	const size_t all_of = (len + 9 + BLOCK_LEN - 1) / BLOCK_LEN * BLOCK_LEN, bits = (BLOCK_LEN + len) * 8;

	memset(block + len, 0, all_of - len);
	block[len] = 0x80;
	block[all_of - 2] = (uint8_t)(bits >> 8);
	block[all_of - 1] = (uint8_t)bits;
	return all_of;
}

TARGET static void inner_hash(uint8_t (*block)[BLOCKS * BLOCK_LEN], size_t stride, size_t len,
	const struct cr_hashes *from, __m512i s[8])
{
	__m512i w[16];

	memcpy(s, from, sizeof *from);
	for (size_t at = 0; at < len; at += BLOCK_LEN) {
		for (size_t i = 0; i < 16; i++)
			w[i] = word_of(block[0] + at, stride, i);
		compress(s, w);
	}
	explicit_bzero(w, sizeof w);
}

TARGET static void outer_hash(const struct cr_hashes *from, const __m512i inner[8], struct cr_hashes *out)
{
	__m512i w[16];

	memcpy(w, inner, 8 * sizeof *w);
	w[8] = all(0x80000000);
	for (size_t i = 9; i < 15; i++)
		w[i] = all(0);
	w[15] = all((BLOCK_LEN + CR_HASH_LEN) * 8);
	memcpy(out, from, sizeof *out);
	compress((__m512i *)(void *)out, w);
	explicit_bzero(w, sizeof w);
}

TARGET void cr_hmac_lanes(
	const struct cr_hmac_keys *k, const uint8_t *data, size_t stride, size_t len, struct cr_hashes *out)
{
	uint8_t block[CR_HASH_LANES][BLOCKS * BLOCK_LEN];
	__m512i inner[8];
	size_t padded = 0;

	assert(len <= CR_HASH_LANES_MAX);
	for (size_t i = 0; i < (stride > 0 ? CR_HASH_LANES : 1); i++) {
		memcpy(block[i], data + i * stride, len);
		padded = pad(block[i], len);
	}
	inner_hash(block, stride > 0 ? sizeof block[0] : 0, padded, &k->inner, inner);
	outer_hash(&k->outer, inner, out);
	explicit_bzero(block, sizeof block);
	explicit_bzero(inner, sizeof inner);
}

bool cr_hash_lanes_here(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f");
}

#else

bool cr_hash_lanes_here(void)
{
	return false;
}

void cr_hmac_keys_init(struct cr_hmac_keys *k, const struct cr_hashes *key)
{
	(void)k;
	(void)key;
}

void cr_hmac_lanes(
	const struct cr_hmac_keys *k, const uint8_t *data, size_t stride, size_t len, struct cr_hashes *out)
{
	(void)k;
	(void)data;
	(void)stride;
	(void)len;
	(void)out;
}

#endif

void cr_hmac_keys_same(struct cr_hmac_keys *k, const struct cr_hmac_key *key)
{
	for (size_t i = 0; i < 8; i++)
		for (size_t lane = 0; lane < CR_HASH_LANES; lane++) {
			k->inner.word[i][lane] = key->inner[i];
			k->outer.word[i][lane] = key->outer[i];
		}
}

void cr_hashes_get(const struct cr_hashes *h, size_t lane, uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(h->word[i / 4][lane] >> (24 - 8 * (i % 4)));
}
