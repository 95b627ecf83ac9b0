/* pt_turn.c - turns a vector, eight numbers at a time. */
#include "pt_turn.h"

#include "pr_limits.h"
#include "pt_rotated.h"

/* Eight numbers, modulo 2^64.  What they are called here, the compiler makes of the registers that a
 * processor has. */
typedef uint64_t lanes __attribute__((vector_size(64), may_alias));

_Static_assert(PR_DIMENSION_MAX / PT_TURN_LANES <= 1u << 16, "coordinate() adds the bits of 16");

#define INLINE static inline __attribute__((always_inline))

static const lanes zero_to_seven = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* v or -v, by signs j of this pass (pt_rotated_sign). */
INLINE void signed_by(lanes *v, uint32_t rotation, uint32_t pass, uint32_t j)
{
	lanes z = zero_to_seven + ((uint64_t)(2 * rotation + pass) << 32 | j) + 1;

	z *= UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z = -((z ^ z >> 31) & 1);
	*v = (*v ^ z) - z;
}

/* The steps of a transform between numbers 1, 2 and 4 apart: a + b and a - b. */
INLINE void near_steps(lanes *v, uint32_t d)
{
	const lanes one = { 0, ~0ull, 0, ~0ull, 0, ~0ull, 0, ~0ull };
	const lanes two = { 0, 0, ~0ull, ~0ull, 0, 0, ~0ull, ~0ull };
	const lanes four = { 0, 0, 0, 0, ~0ull, ~0ull, ~0ull, ~0ull };

	*v = __builtin_shufflevector(*v, *v, 1, 0, 3, 2, 5, 4, 7, 6) + ((*v ^ one) - one);
	if (d > 2)
		*v = __builtin_shufflevector(*v, *v, 2, 3, 0, 1, 6, 7, 4, 5) + ((*v ^ two) - two);
	if (d > 4)
		*v = __builtin_shufflevector(*v, *v, 4, 5, 6, 7, 0, 1, 2, 3) + ((*v ^ four) - four);
}

/* The others, of n times eight numbers: two steps together, which halves what is read and written. */
INLINE void far_steps(lanes *v, uint32_t n)
{
	uint32_t h = 1;

	for (; 2 * h < n; h *= 4)
		for (uint32_t i = 0; i < n; i += 4 * h)
			for (uint32_t j = i; j < i + h; j++) {
				lanes a = v[j] + v[j + h], b = v[j] - v[j + h];
				lanes c = v[j + 2 * h] + v[j + 3 * h], d = v[j + 2 * h] - v[j + 3 * h];

				v[j] = a + c;
				v[j + h] = b + d;
				v[j + 2 * h] = a - c;
				v[j + 3 * h] = b - d;
			}
	if (h < n)
		for (uint32_t j = 0; j < h; j++) {
			lanes a = v[j], b = v[j + h];

			v[j] = a + b;
			v[j + h] = a - b;
		}
}

INLINE void half(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	uint32_t n = d < PT_TURN_LANES ? 1 : d / PT_TURN_LANES;
	unsigned halve = (unsigned)__builtin_ctz(d) / 2;
	const lanes *from = (const lanes *)(const void *)v;
	lanes *to = (lanes *)(void *)out;

	for (uint32_t i = 0; i < n; i++) {
		lanes x = from[i];

		signed_by(&x, rotation, 0, i * PT_TURN_LANES);
		near_steps(&x, d);
		to[i] = x;
	}
	far_steps(to, n);
	for (uint32_t i = 0; i < n; i++) {
		/* Rounded down, of negative ones too. */
		lanes x = ((to[i] + (uint64_t)PT_TURN_FAR) >> halve) - ((uint64_t)PT_TURN_FAR >> halve);

		signed_by(&x, rotation, 1, i * PT_TURN_LANES);
		to[i] = x;
	}
}

/* The sum of the numbers, those with the sign - where j and k have an odd number of ones together. */
INLINE int64_t coordinate(const int64_t *v, uint32_t k, uint32_t d)
{
	uint32_t n = d < PT_TURN_LANES ? 1 : d / PT_TURN_LANES;
	const lanes *from = (const lanes *)(const void *)v;
	lanes sum = { 0 }, odd = zero_to_seven & (uint64_t)k;
	uint64_t all = 0;

	odd = -((odd ^ odd >> 1 ^ odd >> 2) & 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = i & k / PT_TURN_LANES;
		lanes minus;

		x ^= x >> 8;
		x ^= x >> 4;
		x ^= x >> 2;
		x ^= x >> 1;
		minus = odd ^ -(uint64_t)(x & 1);
		sum += (from[i] ^ minus) - minus;
	}
	for (unsigned j = 0; j < PT_TURN_LANES; j++)
		all += sum[j];
	return (int64_t)all;
}

static void half_plain(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	half(v, rotation, out, d);
}

static int64_t coordinate_plain(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate(v, k, d);
}

const struct pt_turner pt_turner_plain = { half_plain, coordinate_plain };

#ifdef __x86_64__

#define TARGET __attribute__((target("avx512f,avx512dq")))

TARGET static void half_wide(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	half(v, rotation, out, d);
}

TARGET static int64_t coordinate_wide(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate(v, k, d);
}

static const struct pt_turner wide = { half_wide, coordinate_wide };

const struct pt_turner *pt_turner_here(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? &wide
										       : &pt_turner_plain;
}

#else

const struct pt_turner *pt_turner_here(void)
{
	return &pt_turner_plain;
}

#endif
