/* pt_rotated.c - words of a rotated vector: the mean of vectors of bounded length. */
#include <math.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_law.h"
#include "pt_rows.h"
#include "pt_words.h"

/* Vectors of length at most L, range = [-L, L], get d2 - d zeroes to a power of two, public signs, and a
 * Walsh-Hadamard transform over sqrt(d2), which keeps lengths and makes all coordinates alike: each is within
 * c = L sqrt(2 ln(2 d2 n) / d2), but for one in d2 n, whatever the vector (Hoeffding).  What is beyond is
 * cut. Coordinates of [-c, c] are words as in pt_words.h.
 *
 * Integers: x is at - 2^30, of 2^30 = L; a transformed coordinate is a sum z of them, and its sign is +1 with
 * chance (z + most) scale / 2^63, most = 2^62 / scale.  So scale / 2^32 = L / (c sqrt(d2)); it stands in
 * params.other. */

static const char name[] = "rotated";

#define HALF      (INT64_C(1) << 30)
#define SCALE_MIN (UINT64_C(1) << 20)
#define SCALE_MAX (UINT64_C(1) << 32)

static uint32_t padded(uint32_t dimension)
{
	uint32_t d = 1;

	while (d < dimension)
		d *= 2;
	return d;
}

/* The question about the rotated vector, and its parameters. */
static struct pt_query wide(const struct pt_query *q)
{
	struct pt_query w = *q;

	w.dimension = padded(q->dimension);
	return w;
}

static struct pt_params words_of(const struct pt_params *p)
{
	struct pt_params w = *p;

	w.other = 0;
	return w;
}

/* c over L. */
static double cut(const struct pt_query *q, const struct pt_params *p)
{
	return ldexp(1 / ((double)p->other * sqrt(padded(q->dimension))), 32);
}

static enum cm_rc query_check(const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", name);
	if (!(q->low + q->high >= 0 && q->low + q->high <= 0))
		return cm_fail(
			err, code, "%s: the range must be [-L, L], L the greatest length of a vector", name);
	return CM_OK;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_query w = wide(q);
	double n = r->min_batch > 0 ? (double)r->min_batch : 1, d = w.dimension;
	enum cm_rc rc = query_check(q, CM_ECONFIG, err);
	struct pt_params made;

	if (rc == CM_OK)
		rc = pt_words_choose(name, &w, r, &made, err);
	if (rc != CM_OK)
		return rc;
	made.other = (uint64_t)(0x1p32 / fmin(sqrt(2 * log(2 * d * n)), sqrt(d)));
	*out = made;
	return CM_OK;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	struct pt_params words = words_of(p);
	enum cm_rc rc = query_check(q, CM_EPROTO, err);
	struct pt_query w = wide(q);

	if (rc == CM_OK)
		rc = pt_words_check(name, &w, &words, err);
	if (rc == CM_OK && (p->other < SCALE_MIN || p->other > SCALE_MAX))
		rc = cm_fail(err, CM_EPROTO, "%s: a scale between 2^20 and 2^32 is wanted", name);
	return rc;
}

/* The public sign of coordinate j: the last bit of the mixing function of SplitMix64 (Steele, Lea, Flood
 * 2014).
 */
static uint64_t public_sign(uint64_t j)
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

/* Transformed coordinate k, as a chance of +1 times 2^31.  k was drawn: it is a number here and no address.
 */
static uint32_t transformed(
	const struct pt_query *q, const struct pt_params *p, const uint32_t *at, uint64_t k)
{
	int64_t most = (int64_t)((UINT64_C(1) << 62) / p->other), z = 0;
	uint64_t low, high;

	for (uint64_t j = 0; j < q->dimension; j++) {
		int64_t negate = (int64_t)(parity(j & k) ^ public_sign(j));

		z += ((at[j] - HALF) ^ -negate) + negate;
	}
	/* Cut to [-most, most], from 0 on. */
	low = pt_below_mask((uint64_t)(z + (INT64_C(1) << 50)), (uint64_t)((INT64_C(1) << 50) - most));
	high = pt_below_mask((uint64_t)(most + (INT64_C(1) << 50)), (uint64_t)(z + (INT64_C(1) << 50)));
	z = (int64_t)pt_choose(low, (uint64_t)-most, pt_choose(high, (uint64_t)most, (uint64_t)z));
	return (uint32_t)((uint64_t)(z + most) * p->other >> 32);
}

static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint32_t d = padded(q->dimension), width = (uint32_t)__builtin_ctz(p->slot[0].bins);
	uint64_t made = 0;

	for (uint32_t b = 0; b < width; b++) {
		uint64_t k = pt_words_coordinate(p, i, group, b), within = pt_below_mask(k, d);
		uint64_t x = pt_choose(within, transformed(q, p, value->at, k), UINT64_C(1) << 30);

		made |= pt_vector_sign((uint32_t)x, rng) << b;
	}
	return made;
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

/* Of the transformed vector, whose coordinates have no names. */
static void describe(
	const struct pt_query *q, const struct pt_params *p, const uint8_t *record, char *out, size_t size)
{
	struct pt_query w = wide(q);

	w.columns = 0;
	pt_words_describe(&w, p, record, out, size);
}

static void transform(double *v, uint32_t d)
{
	for (uint32_t h = 1; h < d; h *= 2)
		for (uint32_t i = 0; i < d; i += 2 * h)
			for (uint32_t j = i; j < i + h; j++) {
				double a = v[j], b = v[j + h];

				v[j] = a + b;
				v[j + h] = a - b;
			}
}

/* Lengths of errors are kept: the mean over the coordinates of their variances is that of the rotated ones'.
 */
static double error_of(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_signs s = pt_words_signs(p, participants);

	return q->high * cut(q, p) * sqrt(pt_signs_variance(&s, (double)participants, 0));
}

static void fill(const struct pt_query *q, double sd, double *v, struct pt_estimate *e)
{
	double z = pt_normal_upper(0.025), joint_z = pt_normal_upper(pt_joint_tail(q->dimension));

	for (uint32_t j = 0; j < q->dimension; j++) {
		struct pt_item *it = &e->item[j];
		double x = public_sign(j) != 0 ? -v[j] : v[j];

		*it = (struct pt_item){ .label = it->label,
			.value = x,
			.variance = sd * sd,
			.lower = x - z * sd,
			.upper = x + z * sd,
			.joint_lower = x - joint_z * sd,
			.joint_upper = x + joint_z * sd,
			.projected = fmin(fmax(x, q->low), q->high),
			.below_noise = fabs(x) <= joint_z * sd };
	}
	e->noise_floor = joint_z * sd;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_query w = wide(q);
	struct pt_signs s = pt_words_signs(p, reports);
	int64_t *sum = NULL;
	double *v = NULL;
	struct pt_estimate e = { .reports = reports };
	enum cm_rc rc = CM_OK;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", name);
	sum = calloc(w.dimension, sizeof *sum);
	v = calloc(w.dimension, sizeof *v);
	rc = sum == NULL || v == NULL ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", name)
				      : pt_vector_items(q, &e, err);
	if (rc == CM_OK)
		rc = pt_words_sums(&w, p, counts, reports, sum, err);
	if (rc == CM_OK) {
		double unit =
			q->high * cut(q, p) * s.groups / ((double)reports * s.slope * sqrt(w.dimension));

		for (uint32_t k = 0; k < w.dimension; k++)
			v[k] = unit * (double)sum[k];
		transform(v, w.dimension);
		fill(q, error_of(q, p, reports), v, &e);
		*out = e;
		e = (struct pt_estimate){ 0 };
	}
	pt_estimate_fini(&e);
	free(sum);
	free(v);
	return rc;
}

const struct pt_protocol pt_row_rotated = {
	.name = name,
	.summary = "words of a rotated vector: the mean of vectors of bounded length",
	.kinds = PT_VECTOR,
	.derive = derive,
	.check = check,
	.tallies = pt_words_tallies,
	.encode = encode,
	.tally = pt_words_tally,
	.describe = describe,
	.estimate = estimate,
	.expected_error = error_of,
	PT_SLOTS_COLUMNS,
};
