/* pt_hadamard.c - Hadamard response: sends a column, more often one in which the value's row of a Hadamard
 * matrix is +1. */
#include "pt_hadamard.h"

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Acharya, Sun, Zhang, "Hadamard response: estimating distributions privately, efficiently, and with little
 * communication", AISTATS 2019.  H(r, y) = (-1)^(bits set in r & y), rows and columns 0..K-1; category x has
 * row x + 1, since row 0 is +1 everywhere. */

uint32_t pt_hadamard_order(const struct pt_randomizer *p)
{
	uint32_t k = 4;

	while (k <= p->single.bins)
		k *= 2;
	return k;
}

_Static_assert(PR_TALLIES_MAX > PR_CATEGORIES_MAX && (PR_TALLIES_MAX & (PR_TALLIES_MAX - 1)) == 0,
	"a Hadamard matrix for every domain");

struct pt_ratio pt_hadamard_ratio(const struct pt_randomizer *p)
{
	return pt_ratio_of(p->single.keep, 1, 1);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(q, p, err);

	return rc == CM_OK ? pt_single_guarantee(p, pt_hadamard_ratio(p), CM_EPROTO, err) : rc;
}

static uint32_t record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

static double epsilon0(const struct pt_randomizer *p)
{
	return pt_ratio_log(pt_hadamard_ratio(p), 1);
}

/* Is the number of ones among the lowest 16 bits odd?  1 or 0. */
static uint64_t parity(uint64_t v)
{
	v ^= v >> 8;
	v ^= v >> 4;
	v ^= v >> 2;
	v ^= v >> 1;
	return v & 1;
}

/* Draw a uniform column.  If its sign is not the one drawn, flip the bit of the column at the lowest one of
 * the row, which maps the columns of one sign onto those of the other.  Constant time: masks, and shifts by
 * public amounts. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t minus = 1 ^ cr_rng_bernoulli(rng, p->single.keep),
		 y = cr_rng_below(rng, pt_hadamard_order(p));
	uint64_t row = value->x + 1, wrong = parity(row & y) ^ minus;

	(void)q;
	(void)room;
	pt_record_put(records, y ^ ((UINT64_C(0) - wrong) & row & (UINT64_C(0) - row)));
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, single.bins), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, single.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_hadamard = {
	.name = "hadamard",
	.summary = "Hadamard response: a histogram from one column of a matrix each",
	.parameters = &parameters,
	.check = check,
	.record_len = record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_SINGLE_DEVICE,
};
