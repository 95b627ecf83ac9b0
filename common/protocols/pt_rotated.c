/* pt_rotated.c - words of a rotated vector: the mean of vectors of bounded length. */
#include "pt_rotated.h"

#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_signs.h"
#include "pt_slots.h"
#include "pt_words.h"

/* Vectors of length at most L, range = [-L, L], get d2 - d zeroes to a power of two, public signs, and a
 * Walsh-Hadamard transform over sqrt(d2), which keeps lengths and makes all coordinates alike: each is within
 * c = L sqrt(2 ln(2 d2 n) / d2), but for one in d2 n, whatever the vector (Hoeffding).  What is beyond is
 * cut. Coordinates of [-c, c] are words as in pt_words.h.
 *
 * Integers: x is at - 2^30, of 2^30 = L; a transformed coordinate is a sum z of them, and its sign is +1 with
 * chance (z + most) scale / 2^63, most = 2^62 / scale.  So scale / 2^32 = L / (c sqrt(d2)): the
 * parameter `scale`. */

#define HALF      (INT64_C(1) << 30)
#define SCALE_MIN (UINT64_C(1) << 20)
#define SCALE_MAX (UINT64_C(1) << 32)

uint32_t pt_rotated_padded(uint32_t dimension)
{
	uint32_t d = 1;

	while (d < dimension)
		d *= 2;
	return d;
}

struct pt_query pt_rotated_wide(const struct pt_query *q)
{
	struct pt_query w = *q;

	w.dimension = pt_rotated_padded(q->dimension);
	return w;
}

enum cm_rc pt_rotated_query(const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", pt_device_rotated.name);
	if (!(q->low + q->high >= 0 && q->low + q->high <= 0))
		return cm_fail(err, code, "%s: the range must be [-L, L], L the greatest length of a vector",
			pt_device_rotated.name);
	return CM_OK;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_rotated_query(q, CM_EPROTO, err);
	struct pt_query w = pt_rotated_wide(q);

	if (rc == CM_OK)
		rc = pt_words_check(&w, p, err);
	if (rc == CM_OK && (p->rotated.scale < SCALE_MIN || p->rotated.scale > SCALE_MAX))
		rc = cm_fail(err, CM_EPROTO, "%s: a scale between 2^20 and 2^32 is wanted", p->row->name);
	return rc;
}

/* The public sign of coordinate j: the last bit of the mixing function of SplitMix64 (Steele, Lea, Flood
 * 2014). */
uint64_t pt_rotated_sign(uint64_t j)
{
	uint64_t z = (j + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) & 1;
}

static uint64_t parity(uint64_t x)
{
	x ^= x >> 16;
	x ^= x >> 8;
	x ^= x >> 4;
	x ^= x >> 2;
	return (x ^ x >> 1) & 1;
}

/* Transformed coordinate k, as a chance of +1 times 2^31.  k was drawn: it is a number here and no
 * address. */
static uint32_t transformed(
	const struct pt_query *q, const struct pt_randomizer *p, const uint32_t *at, uint64_t k)
{
	int64_t most = (int64_t)((UINT64_C(1) << 62) / p->rotated.scale), z = 0;
	uint64_t low, high;

	for (uint64_t j = 0; j < q->dimension; j++) {
		int64_t negate = (int64_t)(parity(j & k) ^ pt_rotated_sign(j));

		z += ((at[j] - HALF) ^ -negate) + negate;
	}
	/* Cut to [-most, most], from 0 on. */
	low = pt_below_mask((uint64_t)(z + (INT64_C(1) << 50)), (uint64_t)((INT64_C(1) << 50) - most));
	high = pt_below_mask((uint64_t)(most + (INT64_C(1) << 50)), (uint64_t)(z + (INT64_C(1) << 50)));
	z = (int64_t)pt_choose(low, (uint64_t)-most, pt_choose(high, (uint64_t)most, (uint64_t)z));
	return (uint32_t)((uint64_t)(z + most) * p->rotated.scale >> 32);
}

static uint64_t word(const struct pt_query *q, const struct pt_randomizer *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng)
{
	uint32_t d = pt_rotated_padded(q->dimension),
		 width = (uint32_t)__builtin_ctz(p->slots.slot[0].each.bins);
	uint64_t made = 0;

	for (uint32_t b = 0; b < width; b++) {
		uint64_t k = pt_words_coordinate(p, i, group, b), within = pt_below_mask(k, d);
		uint64_t x = pt_choose(within, transformed(q, p, value->at, k), UINT64_C(1) << 30);

		made |= pt_signs_draw((uint32_t)x, rng) << b;
	}
	return made;
}

static void encode(const struct pt_query *q, const struct pt_randomizer *p, const struct pt_value *value,
	const struct cr_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

/* Of the transformed vector, whose coordinates have no names. */
static void describe(const struct pt_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size)
{
	struct pt_query w = pt_rotated_wide(q);

	w.columns = 0;
	pt_words_describe(&w, p, record, out, size);
}

const struct pt_device pt_device_rotated = {
	.name = "rotated",
	.summary = "words of a rotated vector: the mean of vectors of bounded length",
	.parameters = &pt_rotated_layout,
	.kinds = PT_VECTOR,
	.check = check,
	.encode = encode,
	.describe = describe,
	PT_SLOTS_DEVICE,
};
