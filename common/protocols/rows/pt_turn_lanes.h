/* pt_turn_lanes.h - the text of a turner in vectors of LANES numbers, 4 or 8; pt_turn.c includes it once
 * for each.  OF(name) is the name with that number. */

/* Numbers modulo 2^64; and signed ones, which halving needs. */
typedef uint64_t OF(lanes) __attribute__((vector_size(8 * LANES), may_alias));
typedef int64_t OF(signs) __attribute__((vector_size(8 * LANES), may_alias));

#if LANES == 8
#define INLINE AVX512 static inline __attribute__((always_inline))
#define PLACES(f)                                              \
	{                                                      \
		f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7) \
	}

/* Set v to v or -v, by the bits of a byte.  Written with mask instructions, since compilers need three
 * instructions for each. */
INLINE void OF(signed_by)(OF(lanes) * v, const uint8_t *pass, uint32_t j)
{
	*v = (OF(lanes))_mm512_mask_sub_epi64((__m512i)*v, pass[j / 8], _mm512_setzero_si512(), (__m512i)*v);
}

/* a + b; and a - b where the mask has a bit. */
INLINE OF(lanes) OF(plus_or_minus)(__m512i a, OF(lanes) b, __mmask8 minus)
{
	return (OF(lanes))_mm512_mask_sub_epi64(_mm512_add_epi64(a, (__m512i)b), minus, a, (__m512i)b);
}

/* The steps of a transform between numbers that are 1, 2 and 4 apart: a + b and a - b. */
INLINE void OF(near_steps)(OF(lanes) * v, uint32_t d)
{
	*v = OF(plus_or_minus)(_mm512_permutex_epi64((__m512i)*v, 0xb1), *v, 0xaa);
	if (d > 2)
		*v = OF(plus_or_minus)(_mm512_permutex_epi64((__m512i)*v, 0x4e), *v, 0xcc);
	if (d > 4)
		*v = OF(plus_or_minus)(_mm512_shuffle_i64x2((__m512i)*v, (__m512i)*v, 0x4e), *v, 0xf0);
}
#else
#define INLINE static inline __attribute__((always_inline))
#define PLACES(f)                      \
	{                              \
		f(0), f(1), f(2), f(3) \
	}

INLINE void OF(signed_by)(OF(lanes) * v, const uint8_t *pass, uint32_t j)
{
	const OF(lanes) bits = PLACES(BIT);
	OF(lanes) z = (OF(lanes))((bits & (uint64_t)(pass[j / 8] >> j % 8)) != 0);

	*v = (*v ^ z) - z;
}

INLINE void OF(near_steps)(OF(lanes) * v, uint32_t d)
{
	const OF(lanes) one = PLACES(IN_ONE), two = PLACES(IN_TWO);

	*v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2) + ((*v ^ one) - one);
	if (d > 2)
		*v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1) + ((*v ^ two) - two);
}
#endif

/* Copy row `number` of a table of `rows` rows, each a multiple of EACH vectors: all rows are read. */
INLINE void OF(pick)(const uint8_t *table, uint32_t rows, uint32_t len, uint32_t number, uint8_t *row)
{
	for (uint32_t at = 0; at < len; at += EACH * 8 * LANES) {
		OF(lanes) a = { 0 }, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
		OF(lanes) *to = (OF(lanes) *)(void *)(row + at);

		for (uint32_t r = 0; r < rows; r++) {
			const OF(lanes) *from =
				(const OF(lanes) *)(const void *)(table + (size_t)r * len + at);
			uint64_t mask = pt_equal_mask(r, number);

			a |= from[0] & mask;
			b |= from[1] & mask;
			c |= from[2] & mask;
			d |= from[3] & mask;
			e |= from[4] & mask;
			f |= from[5] & mask;
			g |= from[6] & mask;
			h |= from[7] & mask;
		}
		to[0] = a;
		to[1] = b;
		to[2] = c;
		to[3] = d;
		to[4] = e;
		to[5] = f;
		to[6] = g;
		to[7] = h;
	}
}

/* The other steps, on n vectors: two steps at once, which halves reads and writes. */
INLINE void OF(far_steps)(OF(lanes) * v, uint32_t n)
{
	uint32_t h = 1;

	for (; 2 * h < n; h *= 4)
		for (uint32_t i = 0; i < n; i += 4 * h)
			for (uint32_t j = i; j < i + h; j++) {
				OF(lanes) a = v[j] + v[j + h], b = v[j] - v[j + h];
				OF(lanes) c = v[j + 2 * h] + v[j + 3 * h], d = v[j + 2 * h] - v[j + 3 * h];

				v[j] = a + c;
				v[j + h] = b + d;
				v[j + 2 * h] = a - c;
				v[j + 3 * h] = b - d;
			}
	if (h < n)
		for (uint32_t j = 0; j < h; j++) {
			OF(lanes) a = v[j], b = v[j + h];

			v[j] = a + b;
			v[j + h] = a - b;
		}
}

INLINE void OF(half)(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d)
{
	uint32_t n = d < LANES ? 1 : d / LANES;
	unsigned halve = (unsigned)__builtin_ctz(d) / 2;
	const OF(lanes) *from = (const OF(lanes) *)(const void *)v;
	OF(lanes) *to = (OF(lanes) *)(void *)out;

	for (uint32_t i = 0; i < n; i++) {
		OF(lanes) x = from[i];

		OF(signed_by)(&x, row, i * LANES);
		OF(near_steps)(&x, d);
		to[i] = x;
	}
	OF(far_steps)(to, n);
	for (uint32_t i = 0; i < n; i++) {
		/* rounds down, for negative numbers too */
		OF(lanes) x = (OF(lanes))((OF(signs))to[i] >> halve);

		OF(signed_by)(&x, row + PT_TURN_PASS(d), i * LANES);
		to[i] = x;
	}
}

/* The sum of b[0] and of b[1] or its negative; then the same of twice as many.  turn[i] is all ones where
 * vectors 2^i apart have different signs. */
INLINE void OF(two)(const OF(lanes) * b, const uint64_t *turn, OF(lanes) * out)
{
	*out = b[0] + ((b[1] ^ turn[0]) - turn[0]);
}

INLINE void OF(four)(const OF(lanes) * b, const uint64_t *turn, OF(lanes) * out)
{
	OF(lanes) more;

	OF(two)(b, turn, out);
	OF(two)(b + 2, turn, &more);
	*out += (more ^ turn[1]) - turn[1];
}

INLINE void OF(eight)(const OF(lanes) * b, const uint64_t *turn, OF(lanes) * out)
{
	OF(lanes) more;

	OF(four)(b, turn, out);
	OF(four)(b + 4, turn, &more);
	*out += (more ^ turn[2]) - turn[2];
}

/* The same for 1, 2 or 4 vectors. */
INLINE void OF(few)(const OF(lanes) * b, uint32_t n, const uint64_t *turn, OF(lanes) * out)
{
	if (n == 1)
		*out = b[0];
	else if (n == 2)
		OF(two)(b, turn, out);
	else
		OF(four)(b, turn, out);
}

/* Sum the numbers, with the sign - where j and k have an odd number of ones in common: first eight vectors
 * by the bits of k, then all of these by whether they change sign. */
INLINE int64_t OF(coordinate)(const int64_t *v, uint32_t k, uint32_t d)
{
	uint32_t n = d < LANES ? 1 : d / LANES, rest = k / LANES;
	const uint64_t turn[] = { -(uint64_t)(rest & 1), -(uint64_t)(rest >> 1 & 1),
		-(uint64_t)(rest >> 2 & 1) };
	const OF(lanes) *from = (const OF(lanes) *)(const void *)v;
	OF(lanes) sum = { 0 }, odd = PLACES(PLACE);
	uint64_t all = 0;

	odd &= (uint64_t)k;
	odd = -((odd ^ odd >> 1 ^ odd >> 2) & 1);
	for (uint32_t i = 0; i < n; i += EACH) {
		uint32_t x = i & rest;
		uint64_t minus;
		OF(lanes) part;

		if (n < EACH)
			OF(few)(from, n, turn, &part);
		else
			OF(eight)(from + i, turn, &part);
		x ^= x >> 8;
		x ^= x >> 4;
		x ^= x >> 2;
		x ^= x >> 1;
		minus = -(uint64_t)(x & 1);
		sum += (part ^ minus) - minus;
	}
	sum = (sum ^ odd) - odd;
	for (unsigned j = 0; j < LANES; j++)
		all += sum[j];
	return (int64_t)all;
}

#undef PLACES
#undef INLINE
