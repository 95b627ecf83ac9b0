/* pt_rotated.c - words of a rotated vector: the mean of vectors of bounded length. */
#include "pt_rotated.h"

#include <math.h>

#include "cr_secret.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_signs.h"
#include "pt_slots.h"
#include "pt_turn.h"
#include "pt_words.h"

/* A vector of length at most L, range = [-L, L], gets one coordinate more, which makes its length L, and
 * zeroes up to a power of two, d2.  It is then rotated by two passes, each of public signs and a
 * Walsh-Hadamard transform divided by sqrt(d2).  Each coordinate of the result is like one of a random
 * direction, nearly normal with variance L^2 / d2, whatever the vector is.  There are R such rotations,
 * with different signs.  Coordinates beyond c are cut, and coordinates of [-c, c] are words as in
 * pt_words.h.  A message is about one rotation, which is drawn together with its group, so R does not
 * affect privacy, just as groups do not (doc/protocols/vectors.md).
 *
 * Integers: x is at - 2^30, in units where 2^30 is L.  After the first transform numbers are halved floor(m
 * / 2) times, rounded down, where d2 = 2^m, so z of the second is a coordinate times 2^ceil(m / 2).  Its
 * sign is +1 with chance (z + most) scale / 2^63, most = 2^62 / scale: the parameter scale is 2^32 L / (c
 * 2^ceil(m / 2)). */

#define HALF       (INT64_C(1) << 30)
#define SCALE_MIN  (UINT64_C(1) << 20)
#define SCALE_MAX  (UINT64_C(1) << 34)
#define PADDED_MAX PR_DIMENSION_MAX
/* the length is measured without so many low bits of each number, so that squares add up without
 * overflow */
#define COARSE 8

/* The vector that is rotated, and its signs; it is at the beginning of the room.  The first three members
 * are wiped after each value; the signs are public. */
struct work {
	int64_t *lengthened, *turned;
	uint8_t *row;
	struct pt_turn_signs signs;
};
#define ALIGNED(n) (((n) + 63) / 64 * 64)

uint32_t pt_rotated_padded(uint32_t dimension)
{
	uint32_t d = 1;

	while (d <= dimension)
		d *= 2;
	return d;
}

struct qy_query pt_rotated_wide(const struct qy_query *q, const struct pt_randomizer *p)
{
	const struct pt_slot *s = &p->slots.slot[0];
	struct qy_query w = *q;

	w.dimension = s->count * s->groups * pt_words_width(p);
	w.columns = 0;
	return w;
}

/* The number of groups of one rotation. */
static uint32_t groups_each(const struct qy_query *q, const struct pt_randomizer *p)
{
	uint32_t of_group = p->slots.slot[0].count * pt_words_width(p);

	return pt_words_ceil_div(pt_rotated_padded(q->dimension), of_group);
}

uint32_t pt_rotated_rotations(const struct qy_query *q, const struct pt_randomizer *p)
{
	uint32_t each = groups_each(q, p), groups = p->slots.slot[0].groups;

	return groups % each == 0 ? groups / each : 0;
}

double pt_rotated_cut(const struct qy_query *q, uint64_t scale)
{
	int m = __builtin_ctz(pt_rotated_padded(q->dimension));

	return ldexp(m % 2 == 0 ? 1 : sqrt(0.5), 32) / (double)scale;
}

enum cm_rc pt_rotated_query(const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", pt_device_rotated.name);
	if (q->dimension >= PADDED_MAX)
		return cm_fail(err, code, "%s: %u coordinates, at most %u", pt_device_rotated.name,
			(unsigned)q->dimension, PADDED_MAX - 1);
	if (!(q->low + q->high >= 0 && q->low + q->high <= 0))
		return cm_fail(err, code, "%s: the range must be [-L, L], L the greatest length of a vector",
			pt_device_rotated.name);
	return CM_OK;
}

/* Check a peer's parameters: first the slots of words, from which the number R of rotations is found. */
static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	enum cm_rc rc = pt_rotated_query(q, CM_EPROTO, err);
	struct qy_query w = *q;
	uint32_t rotations;

	w.dimension = pt_rotated_padded(q->dimension);
	if (rc == CM_OK)
		rc = pt_words_kind(p, err);
	if (rc == CM_OK)
		rc = pt_words_shape(p->row, &w, s->count, pt_words_width(p), CM_EPROTO, err);
	if (rc != CM_OK)
		return rc;
	rotations = pt_rotated_rotations(q, p);
	if (rotations < 1 || rotations > PT_ROTATIONS_MAX)
		return cm_fail(err, CM_EPROTO,
			"%s: %u groups are not those of 1 to %u rotations of %u coordinates", p->row->name,
			(unsigned)s->groups, PT_ROTATIONS_MAX, (unsigned)w.dimension);
	/* There are as many counts as pt_words_tallies says; no round of a plan has more than the limit. */
	if ((uint64_t)s->count * s->groups * (pt_words_width(p) + 1) > PR_TALLIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: %u rotations need more than %u counts", p->row->name,
			(unsigned)rotations, PR_TALLIES_MAX);
	if (p->rotated.scale < SCALE_MIN || p->rotated.scale > SCALE_MAX)
		return cm_fail(err, CM_EPROTO, "%s: a scale between 2^20 and 2^34 is wanted", p->row->name);
	return CM_OK;
}

/* The floor of the square root of x, which is below 2^62, bit by bit. */
static uint64_t root(uint64_t x)
{
	uint64_t r = 0;

	for (int b = 30; b >= 0; b--) {
		uint64_t more = r | UINT64_C(1) << b;

		r = pt_choose(pt_below_mask(x, more * more), r, more);
	}
	return r;
}

/* v / 2^n, rounded down; |v| is at most PT_TURN_FAR. */
static int64_t halved(int64_t v, unsigned n)
{
	return (int64_t)((uint64_t)(v + PT_TURN_FAR) >> n) - (PT_TURN_FAR >> n);
}

/* Make the value's vector of length L, by one coordinate more, which is 0 if the vector is longer. */
static void lengthen(const struct qy_query *q, const uint32_t *at, int64_t *v, uint32_t d)
{
	int64_t left = (HALF >> COARSE) * (HALF >> COARSE);
	uint64_t too_long; /* all ones for a vector longer than L */

	for (uint32_t j = 0; j < d || j < PT_TURN_LANES; j++)
		v[j] = j < q->dimension ? (int64_t)at[j] - HALF : 0;
	for (uint32_t j = 0; j < q->dimension; j++) {
		int64_t coarse = halved(v[j], COARSE);

		left -= coarse * coarse;
	}
	too_long = UINT64_C(0) - ((uint64_t)left >> 63);
	v[q->dimension] = (int64_t)(root((uint64_t)left & ~too_long) << COARSE);
}

/* The chance, times 2^31, that the sign of a transformed coordinate z is +1. */
static uint32_t chance(const struct pt_randomizer *p, int64_t z)
{
	int64_t most = (int64_t)((UINT64_C(1) << 62) / p->rotated.scale);
	uint64_t low = pt_below_mask((uint64_t)(z + PT_TURN_FAR), (uint64_t)(PT_TURN_FAR - most));
	uint64_t high = pt_below_mask((uint64_t)(most + PT_TURN_FAR), (uint64_t)(z + PT_TURN_FAR));

	z = (int64_t)pt_choose(low, (uint64_t)-most, pt_choose(high, (uint64_t)most, (uint64_t)z));
	return (uint32_t)((uint64_t)(z + most) * p->rotated.scale >> 32);
}

/* Bytes of a vector of d coordinates. */
static size_t vector_size(uint32_t d)
{
	return (d < PT_TURN_LANES ? PT_TURN_LANES : d) * sizeof(int64_t);
}

static size_t room_of(const struct qy_query *q, const struct pt_randomizer *p)
{
	uint32_t d = pt_rotated_padded(q->dimension);

	return ALIGNED(sizeof(struct work)) + 2 * vector_size(d) +
	       (1 + (size_t)pt_rotated_rotations(q, p)) * (size_t)PT_TURN_ROW(d);
}

static struct work *work_in(void *room, uint32_t d)
{
	struct work *w = room;

	w->lengthened = (int64_t *)((uint8_t *)room + ALIGNED(sizeof *w));
	w->turned = w->lengthened + vector_size(d) / sizeof(int64_t);
	w->row = (uint8_t *)(w->turned + vector_size(d) / sizeof(int64_t));
	w->signs.row = w->row + (size_t)PT_TURN_ROW(d);
	return w;
}

static void turn(struct work *w, uint32_t rotation, uint32_t d)
{
	const struct pt_turner *turner = pt_turner_here();

	turner->pick(&w->signs, rotation, w->row);
	turner->half(w->lengthened, w->row, w->turned, d);
}

/* The word that slot number i sends for this group.  The group is drawn at random and decides the rotation;
 * no address depends on either.  With several rotations every slot rotates the vector anew, even if another
 * slot had the same rotation: otherwise the time would reveal that two slots drew the same. */
static uint64_t word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint32_t d = pt_rotated_padded(q->dimension), width = pt_words_width(p);
	uint32_t each = groups_each(q, p);
	const struct pt_turner *turner = pt_turner_here();
	struct work *w = room;
	uint64_t made = 0;

	(void)value;
	if (w->signs.rotations > 1)
		turn(w, group / each, d);
	for (uint32_t b = 0; b < width; b++) {
		uint32_t k = pt_words_coordinate(p, i, group % each, b);
		/* A coordinate that only fills up the last group is 0: a fair coin. */
		uint64_t z = (uint64_t)turner->coordinate(w->turned, k, d) & pt_below_mask(k, d);

		made |= pt_signs_draw(chance(p, (int64_t)z), rng) << b;
	}
	return made;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint32_t d = pt_rotated_padded(q->dimension);
	struct work *w = work_in(room, d);

	pt_turn_signs(&w->signs, pt_rotated_rotations(q, p), d);
	lengthen(q, value->at, w->lengthened, d);
	if (w->signs.rotations == 1)
		turn(w, 0, d);
	pt_slots_encode(q, p, value, word, rng, records, room);
	/* Both vectors and the row are next to each other. */
	cr_wipe(w->lengthened, 2 * vector_size(d) + (size_t)PT_TURN_ROW(d));
}

/* Describe a record.  It is about the transformed vector, whose coordinates have no names. */
static void describe(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size)
{
	struct qy_query w = pt_rotated_wide(q, p);

	pt_words_describe(&w, p, record, out, size);
}

const struct pt_device pt_device_rotated = {
	.name = "rotated",
	.summary = "words of a rotated vector: the mean of vectors of bounded length",
	.parameters = &pt_rotated_layout,
	.kinds = QY_VECTOR,
	.check = check,
	.room = room_of,
	.encode = encode,
	.describe = describe,
	PT_SLOTS_DEVICE,
};
