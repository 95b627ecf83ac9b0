/* pt_turn.c - turns a vector, eight or four numbers at a time. */
#include "pt_turn.h"

#include "pr_limits.h"
#include "pt_rotated.h"

_Static_assert(PR_DIMENSION_MAX / 4 <= 1u << 16, "coordinate() adds the bits of 16");

#define INLINE static inline __attribute__((always_inline))

#define FIRST          UINT64_C(0x9e3779b97f4a7c15)
#define FIRST_TIMES(i) ((i)*FIRST)
#define PLACE(i)       UINT64_C(i)
#define EACH           8u /* vectors that coordinate() adds at a time */
/* All ones for every second number, every second two, every second four. */
#define IN_ONE(i)  (0 - (UINT64_C(i) & 1))
#define IN_TWO(i)  (0 - (UINT64_C(i) >> 1 & 1))
#define IN_FOUR(i) (0 - (UINT64_C(i) >> 2 & 1))

#define LANES    8
#define OF(name) name##_8
#include "pt_turn_lanes.h"
#undef LANES
#undef OF
#define LANES    4
#define OF(name) name##_4
#include "pt_turn_lanes.h"

static void half_plain(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	half_8(v, rotation, out, d);
}

static int64_t coordinate_plain(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_8(v, k, d);
}

const struct pt_turner pt_turner_plain = { half_plain, coordinate_plain };

#ifdef __x86_64__

#define AVX512 __attribute__((target("avx512f,avx512dq")))
#define AVX2   __attribute__((target("avx2")))

AVX512 static void half_avx512(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	half_8(v, rotation, out, d);
}

AVX512 static int64_t coordinate_avx512(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_8(v, k, d);
}

AVX2 static void half_avx2(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d)
{
	half_4(v, rotation, out, d);
}

AVX2 static int64_t coordinate_avx2(const int64_t *v, uint32_t k, uint32_t d)
{
	return coordinate_4(v, k, d);
}

static const struct pt_turner avx512 = { half_avx512, coordinate_avx512 };
static const struct pt_turner avx2 = { half_avx2, coordinate_avx2 };

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
