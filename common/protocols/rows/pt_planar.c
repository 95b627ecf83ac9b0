/* pt_planar.c - places: sends a cell of a grid, with planar Laplace noise. */
#include "pt_planar.h"

#include <math.h>

#include "pt_exact.h"
#include "pt_ratio.h"
#include "pt_record.h"
#include "pt_rows.h"

#define AT(member) offsetof(struct pt_randomizer, planar.member)
#define UNIT       1024.0 /* distances are measured in this part of a cell, and rounded up */
#define BITS       18u    /* bits of a distance: around the torus it is at most 129 cells each way */
/* low bits of a chance that its weight drops, so that 1024 weights sum to less than 2^63 */
#define CUT 12u

static const struct pt_field fields[] = {
	{ "width", AT(width), PT_FIELD_U32 },
	{ "height", AT(height), PT_FIELD_U32 },
	{ "decay", AT(decay), PT_FIELD_CHANCE },
};
static const struct pt_layout layout = { .field = fields, .fields = sizeof fields / sizeof *fields };

uint32_t pt_planar_cells(const struct pt_randomizer *p)
{
	return p->planar.width * p->planar.height;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return cm_wide_product(a, b).high;
}

/* The distance of offset (i, j), in parts of a cell, rounded up.  All machines compute the same: a square
 * root is rounded correctly everywhere (IEEE 754), and one that is no whole number of parts is further from
 * a whole number than the rounding. */
static uint32_t parts(uint32_t i, uint32_t j)
{
	return (uint32_t)ceil(UNIT * sqrt((double)i * i + (double)j * j));
}

static uint64_t weight_of(const uint64_t power[BITS], uint32_t distance)
{
	uint64_t chance = UINT64_MAX;

	for (uint32_t b = 0; b < BITS; b++)
		if (distance >> b & 1u)
			chance = times(chance, power[b]);
	return chance >> CUT;
}

/* The weight of offset (i, j) of the torus.  The offset is public, or a loop counter. */
static uint64_t weight_at(const struct pt_planar_law *law, uint32_t i, uint32_t j)
{
	uint32_t across = least(i, law->circle[0] - i), up = least(j, law->circle[1] - j);

	return law->weight[across + (law->size[0] + 1) * up];
}

void pt_planar_law_of(const struct pt_randomizer *p, struct pt_planar_law *law)
{
	uint64_t power[BITS] = { p->planar.decay };

	*law = (struct pt_planar_law){ .size = { p->planar.width, p->planar.height } };
	for (uint32_t b = 1; b < BITS; b++)
		power[b] = times(power[b - 1], power[b - 1]);
	for (int axis = 0; axis < 2; axis++)
		law->circle[axis] = 2 * law->size[axis] - law->size[axis] % 2;
	for (uint32_t j = 0; j <= law->circle[1] / 2; j++)
		for (uint32_t i = 0; i <= law->circle[0] / 2; i++)
			law->weight[i + (law->size[0] + 1) * j] = weight_of(power, parts(i, j));
	for (uint32_t j = 0; j < law->circle[1]; j++)
		for (uint32_t i = 0; i < law->circle[0]; i++)
			law->total += weight_at(law, i, j);
}

/* The column or row (axis 0 or 1) of the grid that is nearest to place z of the circle, found without a
 * branch. */
static uint64_t nearest(const struct pt_planar_law *law, int axis, uint64_t z)
{
	uint64_t w = law->size[axis], half = w + (law->circle[axis] - w) / 2;
	uint64_t outside = pt_choose(pt_below_mask(z, half), w - 1, 0);

	return pt_choose(pt_below_mask(z, w), z, outside);
}

void pt_planar_row(const struct pt_planar_law *law, uint32_t cell, uint64_t chance[PT_PLANAR_CELLS_MAX])
{
	uint32_t w = law->size[0], x = cell % w, y = cell / w,
		 column[PT_PLANAR_CELLS_MAX] = { 0 }; /* a circle has at most twice 128 places */

	for (uint32_t c = 0; c < w * law->size[1]; c++)
		chance[c] = 0;
	for (uint32_t i = 0; i < law->circle[0]; i++)
		column[i] = (uint32_t)nearest(law, 0, (x + i) % law->circle[0]);
	for (uint32_t j = 0; j < law->circle[1]; j++) {
		uint64_t *line = chance + w * nearest(law, 1, (y + j) % law->circle[1]);

		for (uint32_t i = 0; i < law->circle[0]; i++)
			line[column[i]] += weight_at(law, i, j);
	}
}

/* Sum up the chances of all places that are reported as cell y.  The grid, its torus and the noise are
 * their own mirror images, so what holds for a place and a cell also holds for the mirror images of
 * both. */
static uint64_t of_images(const struct pt_planar_law *law, const uint64_t *chance, uint32_t y, bool most)
{
	uint32_t w = law->size[0], cells = w * law->size[1], across = y / w * w + (w - 1 - y % w);
	const uint32_t image[] = { y, across, cells - 1 - y, cells - 1 - across };
	uint64_t found = chance[y];

	for (uint32_t i = 1; i < 4; i++)
		if (most ? chance[image[i]] > found : chance[image[i]] < found)
			found = chance[image[i]];
	return found;
}

static double furthest(const struct pt_randomizer *p)
{
	uint64_t row[PT_PLANAR_CELLS_MAX], low[PT_PLANAR_CELLS_MAX], high[PT_PLANAR_CELLS_MAX] = { 0 };
	uint32_t cells = pt_planar_cells(p), w = p->planar.width;
	struct pt_planar_law law;
	struct pt_ratio ratio = { .over = { .low = 1 }, .under = { .low = 1 } };

	pt_planar_law_of(p, &law);
	for (uint32_t y = 0; y < PT_PLANAR_CELLS_MAX; y++)
		low[y] = UINT64_MAX;
	for (uint32_t x = 0; x < cells; x++) {
		/* look at only one of a place and its mirror images */
		if (2 * (x % w) >= w + w % 2 || 2 * (x / w) >= law.size[1] + law.size[1] % 2)
			continue;
		pt_planar_row(&law, x, row);
		for (uint32_t y = 0; y < cells; y++) {
			low[y] = row[y] < low[y] ? row[y] : low[y];
			high[y] = row[y] > high[y] ? row[y] : high[y];
		}
	}
	for (uint32_t y = 0; y < cells; y++) {
		uint64_t least_of = of_images(&law, low, y, false), most = of_images(&law, high, y, true);

		if (least_of == 0)
			return INFINITY;
		if (cm_wide_below(cm_wide_product(ratio.over.low, least_of),
			    cm_wide_product(most, ratio.under.low)))
			ratio = (struct pt_ratio){ .over = { .low = most }, .under = { .low = least_of } };
	}
	return pt_ratio_log(ratio, 1);
}

/* The guarantee of the two places that differ most, from the exact chances; INFINITY if a cell cannot be
 * reached.  A plan asks for it several times for each entry, and entries often have the same parameters, so
 * the last result is kept. */
static double epsilon0(const struct pt_randomizer *p)
{
	static _Thread_local struct {
		uint32_t width, height;
		uint64_t decay;
		double epsilon0;
	} kept;

	if (kept.width != p->planar.width || kept.height != p->planar.height ||
		kept.decay != p->planar.decay) {
		kept.epsilon0 = furthest(p);
		kept.width = p->planar.width;
		kept.height = p->planar.height;
		kept.decay = p->planar.decay;
	}
	return kept.epsilon0;
}

enum cm_rc pt_planar_sizes(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_PLACES)
		return cm_fail(err, code, "%s: answers places only", row->name);
	if (qy_query_cells(q) > PT_PLANAR_CELLS_MAX)
		return cm_fail(err, code, "%s: %u cells, at most %u", row->name, (unsigned)qy_query_cells(q),
			PT_PLANAR_CELLS_MAX);
	return CM_OK;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_planar_sizes(p->row, q, CM_EPROTO, err);
	double guarantee;

	if (rc != CM_OK)
		return rc;
	if (p->planar.width != q->column[0].cells || p->planar.height != q->column[1].cells)
		return cm_fail(err, CM_EPROTO, "%s: a grid of %u by %u cells, the query's has %u by %u",
			p->row->name, (unsigned)p->planar.width, (unsigned)p->planar.height,
			(unsigned)q->column[0].cells, (unsigned)q->column[1].cells);
	guarantee = epsilon0(p);
	if (guarantee < PT_EPSILON0_MIN)
		return cm_fail(err, CM_EPROTO, "%s: all places are hardly told apart", p->row->name);
	if (!(guarantee <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", p->row->name, PT_EPSILON0_MAX);
	return CM_OK;
}

static uint32_t messages(const struct pt_randomizer *p)
{
	(void)p;
	return 1;
}

static uint32_t record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

/* The time is constant in the place and in the offset: the scan goes through the whole torus, row by row,
 * and counts the offsets and the rows whose weights end at or below the draw. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	struct pt_planar_law law;
	uint64_t x = value->x, y = 0, end = 0, offset = 0, rows = 0, drawn;

	(void)q;
	(void)room;
	pt_planar_law_of(p, &law);
	for (uint32_t j = 1; j < law.size[1]; j++) {
		uint64_t above = ~pt_below_mask(x, law.size[0]);

		x -= above & law.size[0];
		y += above & 1;
	}
	drawn = cr_rng_below(rng, law.total);
	for (uint32_t j = 0; j < law.circle[1]; j++) {
		for (uint32_t i = 0; i < law.circle[0]; i++) {
			end += weight_at(&law, i, j);
			offset += 1 & ~pt_below_mask(drawn, end);
		}
		rows += 1 & ~pt_below_mask(drawn, end);
	}
	x += offset - rows * law.circle[0];
	y += rows;
	x -= ~pt_below_mask(x, law.circle[0]) & law.circle[0];
	y -= ~pt_below_mask(y, law.circle[1]) & law.circle[1];
	pt_record_put(records, nearest(&law, 0, x) + law.size[0] * nearest(&law, 1, y));
}

const struct pt_device pt_device_planar = {
	.name = "planar",
	.summary = "planar Laplace noise: counts of the cells of a grid, places nearby are alike",
	.parameters = &layout,
	.kinds = QY_PLACES,
	.check = check,
	.messages = messages,
	.record_len = record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
};
