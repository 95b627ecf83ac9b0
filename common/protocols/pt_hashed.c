/* pt_hashed.c - hashed bins: a hash and the value's cell under it, among dummies; no local guarantee. */
#include "pt_exact.h"
#include "pt_hash.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_rows.h"

/* Luo, Wang, Yi, "Frequency estimation in the shuffle model with almost a single message", CCS 2022. */

static const char name[] = "hashed";

/* Two categories share a cell with chance kappa, and what that is above 1/l is below 2^-107 (pt_hash.h).  A
 * dummy's cell is uniform and independent of its hash. */
static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){ .keep = 1, .other = 1.0 / p->size, .blanket = 1.0 / p->size };
}

/* More cells mean less noise and less blanket for each. */
static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	return pt_multi_derive_true(name, "olh", q, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	return pt_multi_check_true(name, q, p, err);
}

/* Dummies are uniform on hashes and cells.  The victim's message is l times as likely as one of them where
 * the cell is its value's, and impossible elsewhere; its two values share a cell with chance kappa.  kappa as
 * 1/l, below which it cannot be, errs towards more loss: the rest of it would move omega from (l, 0) and (0,
 * l) to (l, l) and (0, 0), and l (1 - e), 0 are less spread than l, -l e, of the same mean, for every e >= 1.
 */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double l = p->size;
	uint64_t dummies = 0;
	enum cm_rc rc = pt_multi_blanket(p, participants, &dummies, err);

	if (rc != CM_OK)
		return rc;
	*out = (struct acct_round){ .dummies = dummies, .count = 1, .cells = 4 };
	/* l^2 is exact, so that one rounding is all, and then down: the sum stays below 1. */
	out->cell[0] = (struct acct_cell){ nextafter((l - 1) / (l * l), 0), l, 0 };
	out->cell[1] = (struct acct_cell){ nextafter((l - 1) / (l * l), 0), 0, l };
	out->cell[2] = (struct acct_cell){ nextafter(1 / (l * l), 0), l, l };
	out->cell[3] = (struct acct_cell){ nextafter((l - 1) * (l - 1) / (l * l), 0), 0, 0 };
	pt_mixbins_rare(p->dummy_chance, participants, out);
	return CM_OK;
}

/* Constant time in the value and its message's place, by masks: every message takes a hash of its own, and
 * one cell drawn and one computed.  Dummies are independent and identical, so a uniform place is a uniform
 * order.
 */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t m = pt_mixbins_messages(p), place = cm_rng_below(rng, m);

	const struct pt_rare rare = pt_rare_draw(p->dummy_chance, m, place, rng);

	(void)q;
	for (uint64_t i = 0; i < m; i++) {
		struct pt_hash h = pt_hash_draw(rng);
		uint64_t dummy = cm_rng_below(rng, p->size), null = pt_rare_mask(&rare, i);
		uint64_t real = pt_hash_cell(pt_hash_point(&h, value->x), p->size);
		uint64_t cell = pt_choose(pt_equal_mask(i, place), real, dummy);

		/* PT_RECORD_NULL three times. */
		h.a |= null;
		h.b |= null;
		pt_hash_put(records + i * PT_HASH_RECORD_LEN, &h, cell | null);
	}
}

static void dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	struct pt_hash h = pt_hash_draw(rng);

	(void)tag;
	pt_hash_put(record, &h, cm_rng_below(rng, p->size));
}

PT_MULTI_ESTIMATE(support, pt_mixbins_messages)

const struct pt_protocol pt_row_hashed = {
	.name = name,
	.summary = "hashed bins: a histogram of many categories from hashed values among dummies",
	.derive = derive,
	.check = check,
	.record_len = pt_hash_record_len,
	.epsilon0 = pt_multi_no_guarantee,
	.cells = cells,
	.encode = encode,
	.dummy = dummy,
	.tally = pt_hash_tally,
	.estimate = estimate,
	.expected_error = expected_error,
	.rare_dummy = true,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES | PT_AUTO_SIZES,
	PT_MULTI_COLUMNS,
};
