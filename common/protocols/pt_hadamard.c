/* pt_hadamard.c - Hadamard response: a column where the value's row of a Hadamard matrix is more often +1. */
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Acharya, Sun, Zhang, "Hadamard response: estimating distributions privately, efficiently, and with little
 * communication", AISTATS 2019.  H(r, y) = (-1)^(bits set in r & y), rows and columns 0..K-1; category x has
 * row x + 1, since row 0 is +1 everywhere. */

static const char name[] = "hadamard";

/* K: the least power of two above the number of categories. */
static uint32_t order(const struct pt_params *p)
{
	uint32_t k = 4;

	while (k <= p->bins)
		k *= 2;
	return k;
}

_Static_assert(PR_TALLIES_MAX > PR_CATEGORIES_MAX && (PR_TALLIES_MAX & (PR_TALLIES_MAX - 1)) == 0,
	"a Hadamard matrix for every domain");

static long double ratio(const struct pt_params *p)
{
	return (long double)p->keep / (long double)pt_complement(p->keep);
}

/* P <= e / (e + 1), e = e^epsilon0. */
static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);
	long double e;

	if (rc != CM_OK)
		return rc;
	e = expl((long double)r->epsilon0);
	made.keep = (uint64_t)floorl(ldexpl(e / (e + 1), 64) - PT_THRESHOLD_MARGIN);
	rc = pt_single_guarantee(&made, ratio(&made), CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	if (rc == CM_OK && (p->size != 0 || p->other != 0))
		rc = cm_fail(err, CM_EPROTO, "%s: a size or a second probability where there is none", name);
	return rc == CM_OK ? pt_single_guarantee(p, ratio(p), CM_EPROTO, err) : rc;
}

static uint32_t record_len(const struct pt_params *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

static double epsilon0(const struct pt_params *p)
{
	return pt_log_up(ratio(p));
}

/* A row is +1 in half of the columns, each of those having chance 2P/K and the others 2(1-P)/K; two rows take
 * each pair of signs in a quarter.  Some category has -1 in every column but 0, where all have +1: K/2 <= d,
 * so every bit of a column is the row of a category. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double keep = ldexpl((long double)p->keep, -64), half = 0.5L * order(p);
	long double flip = ldexpl((long double)pt_complement(p->keep), -64);
	struct pt_blanket b = { .one = flip / 2,
		.neither = flip / 2 + keep / half,
		.both = flip * (0.5L - 1 / half),
		.ratio = ratio(p) };

	return pt_single_cells(p, participants, &b, out, err);
}

/* 1 if an odd number of the lowest 16 bits are set. */
static uint64_t parity(uint64_t v)
{
	v ^= v >> 8;
	v ^= v >> 4;
	v ^= v >> 2;
	v ^= v >> 1;
	return v & 1;
}

/* A uniform column; where its sign is not the one drawn, the lowest bit of the row is flipped, which maps the
 * columns of one sign onto those of the other.  Constant time: masks and shifts by public amounts. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t minus = 1 ^ cm_rng_bernoulli(rng, p->keep), y = cm_rng_below(rng, order(p));
	uint64_t row = value->x + 1, wrong = parity(row & y) ^ minus;

	(void)q;
	pt_record_put(records, y ^ ((UINT64_C(0) - wrong) & row & (UINT64_C(0) - row)));
}

static enum cm_rc tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t y = 0;
	enum cm_rc rc = pt_record_get(record, order(p), &y, err);

	if (rc == CM_OK)
		counts[y]++;
	return rc;
}

/* v = H v, k a power of two: the fast Walsh-Hadamard transform. */
static void transform(int64_t *v, uint32_t k)
{
	for (uint32_t h = 1; h < k; h *= 2) {
		for (uint32_t i = 0; i < k; i++) {
			int64_t a = v[i];

			if ((i & h) != 0)
				continue;
			v[i] = a + v[i + h];
			v[i + h] = a - v[i + h];
		}
	}
}

/* Category x is supported by the columns where its row is +1: by others with chance 1/2, since two rows agree
 * in half of the columns of either sign. */
static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){
		.keep = pt_probability(p->keep), .flip = pt_probability(pt_complement(p->keep)), .other = 0.5
	};
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_support s = support(p);
	uint32_t k = order(p);
	int64_t *signs = calloc(k, sizeof *signs);
	uint64_t *supports = calloc(p->bins, sizeof *supports), sum = 0;
	enum cm_rc rc = signs != NULL && supports != NULL
				? CM_OK
				: cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);

	if (rc == CM_OK && reports > PR_ROUND_REPORTS_MAX)
		rc = cm_fail(err, CM_EDATA, "%s: too many participants", name);
	for (uint32_t y = 0; rc == CM_OK && y < k; y++) {
		if (counts[y] > reports - sum)
			rc = cm_fail(err, CM_EDATA, "%s: more messages than participants", name);
		sum += counts[y];
		signs[y] = (int64_t)counts[y];
	}
	if (rc == CM_OK) {
		transform(signs, k);
		for (uint32_t x = 0; x < p->bins; x++)
			supports[x] = (uint64_t)((int64_t)sum + signs[x + 1]) / 2;
		rc = pt_single_estimate(q, p, &s, supports, reports, out, err);
	}
	free(signs);
	free(supports);
	return rc;
}

PT_SINGLE_EXPECTED_ERROR(support)

const struct pt_protocol pt_row_hadamard = {
	.name = name,
	.summary = "Hadamard response: a histogram from one column of a matrix each",
	.derive = derive,
	.check = check,
	.record_len = record_len,
	.tallies = order,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	.tally = tally,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_SINGLE_COLUMNS,
};
