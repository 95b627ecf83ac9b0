/* pt_turn_lanes.h - the text of a turner in vectors of LANES numbers, 4 or 8; pt_turn.c includes it once for
 * each.  OF(name) is a name with that number. */

/* Numbers modulo 2^64.  What they are called here, the compiler makes of the registers that a processor has:
 * of those that are half as long it would make poor use. */
typedef uint64_t OF(lanes) __attribute__((vector_size(8 * LANES), may_alias));
typedef uint32_t OF(halves) __attribute__((vector_size(8 * LANES), may_alias));

#if LANES == 8
#define PLACES(f)                                              \
	{                                                      \
		f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7) \
	}
#else
#define PLACES(f)                      \
	{                              \
		f(0), f(1), f(2), f(3) \
	}
#endif

/* v or -v, by signs j of this pass (pt_rotated_sign).  Of the first product, the places are constants; of the
 * last one, bits 0 and 31 are all that counts. */
INLINE void OF(signed_by)(OF(lanes) * v, uint32_t rotation, uint32_t pass, uint32_t j)
{
	const OF(lanes) places = PLACES(FIRST_TIMES);
	OF(lanes) z = places + (((uint64_t)(2 * rotation + pass) << 32 | j) + 1) * FIRST;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (OF(lanes))((OF(halves))(z ^ z >> 27) * UINT32_C(0x133111eb));
	z = -((z ^ z >> 31) & 1);
	*v = (*v ^ z) - z;
}

/* The steps of a transform between numbers 1, 2 and 4 apart: a + b and a - b. */
INLINE void OF(near_steps)(OF(lanes) * v, uint32_t d)
{
	const OF(lanes) one = PLACES(IN_ONE), two = PLACES(IN_TWO);

#if LANES == 8
	const OF(lanes) four = PLACES(IN_FOUR);

	*v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2, 5, 4, 7, 6) + ((*v ^ one) - one);
	if (d > 2)
		*v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1, 6, 7, 4, 5) + ((*v ^ two) - two);
	if (d > 4)
		*v = __builtin_shufflevector(*v, *v, 4, 5, 6, 7, 0, 1, 2, 3) + ((*v ^ four) - four);
#else
	*v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2) + ((*v ^ one) - one);
	if (d > 2)
		*v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1) + ((*v ^ two) - two);
#endif
}

/* The others, of n vectors: two steps together, which halves what is read and written. */
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

INLINE void OF(half)(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	uint32_t n = d < LANES ? 1 : d / LANES;
	unsigned halve = (unsigned)__builtin_ctz(d) / 2;
	const OF(lanes) *from = (const OF(lanes) *)(const void *)v;
	OF(lanes) *to = (OF(lanes) *)(void *)out;

	for (uint32_t i = 0; i < n; i++) {
		OF(lanes) x = from[i];

		OF(signed_by)(&x, rotation, 0, i * LANES);
		OF(near_steps)(&x, d);
		to[i] = x;
	}
	OF(far_steps)(to, n);
	for (uint32_t i = 0; i < n; i++) {
		/* Rounded down, of negative ones too. */
		OF(lanes) x = ((to[i] + (uint64_t)PT_TURN_FAR) >> halve) - ((uint64_t)PT_TURN_FAR >> halve);

		OF(signed_by)(&x, rotation, 1, i * LANES);
		to[i] = x;
	}
}

/* The sum of b[0] and of b[1] or its negative; then of twice as many.  turn[i]: all ones where vectors 2^i
 * apart have other signs. */
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

/* The same of 1, 2 or 4. */
INLINE void OF(few)(const OF(lanes) * b, uint32_t n, const uint64_t *turn, OF(lanes) * out)
{
	if (n == 1)
		*out = b[0];
	else if (n == 2)
		OF(two)(b, turn, out);
	else
		OF(four)(b, turn, out);
}

/* The sum of the numbers, those with the sign - where j and k have an odd number of ones together: eight
 * vectors by the bits of k, then all of these by whether they turn. */
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
