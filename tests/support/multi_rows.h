/* multi_rows.h - the rows of one wide message among wide dummies, for their tests. */
#pragma once

#include <math.h>

#include "encode_in_room.h"
#include "pt_bits.h"
#include "pt_record.h"
#include "scripted_rng.h"
#include "single_rows.h"

#define ITEMS_MAX 5u
#define SYMBOLS   32u /* 2^ITEMS_MAX */

static inline struct pt_randomizer made_of(const char *row, uint32_t d, const struct pt_request *r)
{
	struct qy_query q = histogram(d);
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), &q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->device->check(&q, &p, &err), CM_OK);
	return p;
}

static inline struct pt_randomizer hashed(uint32_t d, uint32_t cells, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = dummies, .size = cells };

	return made_of("hashed", d, &r);
}

static inline struct pt_randomizer cheu(uint32_t d, double epsilon0, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies };

	return made_of("cheu", d, &r);
}

static inline long double chance(uint64_t threshold)
{
	return ldexpl((long double)threshold, -64);
}

static inline void close_to(double got, long double want, double relative)
{
	if (!(fabsl(got - want) <= relative * fabsl(want)))
		fail_msg("%.17g, not %.17Lg", got, want);
}

/* All messages of a client from a script, which they use up exactly. */
static inline void client(
	const struct pt_randomizer *p, uint64_t x, const uint64_t *script, size_t len, uint8_t *records)
{
	struct scripted_rng s = { .script = script, .len = len, .fallback = SCRIPT_END };
	struct cr_rng rng = scripted_rng(&s);
	struct qy_query q = histogram(p->multi.bins);
	struct qy_value v = { .x = x };

	encode_in_room(p->row, &q, p, &v, &rng, records);
	assert_int_equal(s.used, len);
}

/* The law of the message that stands at `place`, from a draw either side of each threshold; the other
 * messages get draws that flip nothing.  Bit i of y is item i's. */
static inline void bit_law(
	const struct pt_randomizer *p, uint64_t place, uint64_t x, long double law[SYMBOLS], bool is_real)
{
	uint32_t d = p->multi.bins, m = pt_find("cheu")->device->messages(p), len = pt_bits_len(d);
	uint64_t at = is_real ? place : (place + 1) % m;
	uint8_t records[4 * 16];

	for (uint32_t y = 0; y < 1u << d; y++) {
		law[y] = 1;
		for (int far = 0; far < 2; far++) {
			uint64_t script[1 + 4 * ITEMS_MAX] = { draw_for(place, m) };

			for (uint32_t i = 0; i < m * d; i++)
				script[1 + i] = UINT64_MAX;
			for (uint32_t i = 0; i < d; i++) {
				uint64_t t = is_real && i == x ? p->cheu.keep : p->cheu.other;
				bool set = (y >> i & 1) != 0;

				script[1 + at * d + i] = far ? (set ? 0 : UINT64_MAX) : set ? t - 1 : t;
				if (far)
					law[y] *= set ? chance(t) : chance(UINT64_C(0) - t);
			}
			client(p, x, script, 1 + m * d, records);
			assert_int_equal(records[at * len + PT_RECORD_HEAD], y);
		}
	}
}
