/* pt_turn.c - rotates a vector, eight or four numbers at a time. */
#include "pt_turn.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "pt_exact.h"

_Static_assert(PR_DIMENSION_MAX / 4 <= 1u << 16, "coordinate() adds the bits of 16");

#define BIT(i)   (UINT64_C(1) << (i))
#define PLACE(i) UINT64_C(i)
#define EACH     8u /* coordinate() adds, and pick() reads, so many vectors at a time */
/* All ones for every second number, and for every second pair. */
#define IN_ONE(i) (0 - (UINT64_C(i) & 1))
#define IN_TWO(i) (0 - (UINT64_C(i) >> 1 & 1))

#define LANES    4
#define OF(name) name##_4
#include "pt_turn_lanes.h"

uint64_t pt_turn_sign(uint32_t rotation, uint32_t pass, uint32_t j)
{
	uint64_t z = ((uint64_t)(2 * rotation + pass) << 32 | j) + 1;

	z *= UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) & 1;
}

void pt_turn_signs(struct pt_turn_signs *s, uint32_t rotations, uint32_t d)
{
	const uint32_t len = PT_TURN_ROW(d), half = PT_TURN_PASS(d);

	if (s->rotations == rotations && s->d == d)
		return;
	s->rotations = rotations;
	s->d = d;
	memset(s->row, 0, (size_t)rotations * len);
	for (uint32_t r = 0; r < rotations; r++)
		for (uint32_t pass = 0; pass < 2; pass++)
			for (uint32_t j = 0; j < d; j++)
				s->row[(size_t)r * len + (size_t)pass * half + j / 8] |=
					(uint8_t)(pt_turn_sign(r, pass, j) << j % 8);
}

static void pick_plain(const struct pt_turn_signs *s, uint32_t rotation, uint8_t *row)
{
	pick_4(s->row, s->rotations, PT_TURN_ROW(s->d), rotation, row);
}

static void half_plain(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d)
{
	half_4(v, row, out, d);
}

static int64_t coordinate_plain(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_4(v, k, d);
}

const struct pt_turner pt_turner_plain = { pick_plain, half_plain, coordinate_plain };

#ifdef __x86_64__

#define AVX512 __attribute__((target("avx512f,avx512dq")))
#define AVX2   __attribute__((target("avx2")))

#undef LANES
#undef OF
#define LANES    8
#define OF(name) name##_8
#include "pt_turn_lanes.h"

AVX512 static void pick_avx512(const struct pt_turn_signs *s, uint32_t rotation, uint8_t *row)
{
	pick_8(s->row, s->rotations, PT_TURN_ROW(s->d), rotation, row);
}

AVX512 static void half_avx512(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d)
{
	half_8(v, row, out, d);
}

AVX512 static int64_t coordinate_avx512(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_8(v, k, d);
}

AVX2 static void pick_avx2(const struct pt_turn_signs *s, uint32_t rotation, uint8_t *row)
{
	pick_4(s->row, s->rotations, PT_TURN_ROW(s->d), rotation, row);
}

AVX2 static void half_avx2(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d)
{
	half_4(v, row, out, d);
}

AVX2 static int64_t coordinate_avx2(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_4(v, k, d);
}

static const struct pt_turner avx512 = { pick_avx512, half_avx512, coordinate_avx512 };
static const struct pt_turner avx2 = { pick_avx2, half_avx2, coordinate_avx2 };

const struct pt_turner *pt_turner_of(size_t i)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && i-- == 0)
		return &avx512;
	if (__builtin_cpu_supports("avx2") && i-- == 0)
		return &avx2;
	return i == 0 ? &pt_turner_plain : NULL;
}

#else

const struct pt_turner *pt_turner_of(size_t i)
{
	return i == 0 ? &pt_turner_plain : NULL;
}

#endif

const struct pt_turner *pt_turner_here(void)
{
	return pt_turner_of(0);
}
