/* scripted_rng.h - a generator whose output the test writes, and which counts the bytes drawn. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_rand.h"

/* A fallback that cr_rng_below accepts at once for every bound tests use: its multiples end in large low
 * halves. */
#define SCRIPT_END UINT64_C(0x9e3779b97f4a7c15)

/* Draws of eight bytes; after the script, `fallback` for ever. */
struct scripted_rng {
	const uint64_t *script;
	size_t len, used;
	uint64_t fallback;
};

static inline void scripted_fill(void *ctx, void *out, size_t n)
{
	struct scripted_rng *s = ctx;

	if (n != 8)
		abort();
	cm_put_le64(out, s->used < s->len ? s->script[s->used] : s->fallback);
	s->used++;
}

static inline struct cr_rng scripted_rng(struct scripted_rng *s)
{
	return (struct cr_rng){ .fill = scripted_fill, .ctx = s };
}

/* A draw that cr_rng_below(bound) turns into `result`: the middle of its interval. */
static inline uint64_t draw_for(uint64_t result, uint64_t bound)
{
	__extension__ unsigned __int128 whole = (unsigned __int128)1 << 64;

	return (uint64_t)((whole * result + whole / 2) / bound);
}
