/* es_matrix.c - estimates counts of values from symbols, by the inverse of the matrix of chances. */
#include "es_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "es_law.h"
#include "es_mean.h"
#include "es_project.h"

/* an inverse is refused if a cell of its product with the matrix is off by more than this */
#define OFF 1e-6

/* Exchange rows a and b of both matrices. */
static void exchange(double *left, double *right, uint32_t k, uint32_t a, uint32_t b)
{
	for (uint32_t c = 0; c < k; c++) {
		double l = left[a * k + c], r = right[a * k + c];

		left[a * k + c] = left[b * k + c];
		right[a * k + c] = right[b * k + c];
		left[b * k + c] = l;
		right[b * k + c] = r;
	}
}

/* Gauss and Jordan's method, with the largest pivot of each column: `left` becomes the unit matrix, `right`
 * its inverse. */
static bool invert(double *left, double *right, uint32_t k)
{
	for (uint32_t c = 0; c < k; c++) {
		uint32_t best = c;
		double pivot;

		for (uint32_t r = c + 1; r < k; r++)
			if (fabs(left[r * k + c]) > fabs(left[best * k + c]))
				best = r;
		exchange(left, right, k, c, best);
		pivot = left[c * k + c];
		if (!(fabs(pivot) > 0))
			return false;
		for (uint32_t i = 0; i < k; i++) {
			left[c * k + i] /= pivot;
			right[c * k + i] /= pivot;
		}
		for (uint32_t r = 0; r < k; r++) {
			double times = left[r * k + c];

			for (uint32_t i = 0; r != c && i < k; i++) {
				left[r * k + i] -= times * left[c * k + i];
				right[r * k + i] -= times * right[c * k + i];
			}
		}
	}
	return true;
}

/* Check the inverse, and compute the variances on the way; `sum` has room for k numbers. */
static bool is_inverse(struct es_matrix *m, const double *chance, double *sum)
{
	uint32_t k = m->k;
	double off = 0;

	for (uint32_t x = 0; x < k; x++) {
		double *variance = m->variance + (size_t)x * k;

		memset(sum, 0, k * sizeof *sum);
		for (uint32_t y = 0; y < k; y++) {
			const double *score = m->score + (size_t)y * k;
			double p = chance[(size_t)x * k + y];

			for (uint32_t j = 0; j < k; j++) {
				sum[j] += p * score[j];
				variance[j] += p * score[j] * score[j];
			}
		}
		variance[x] -= 1;
		for (uint32_t j = 0; j < k; j++)
			off = fmax(off, isfinite(sum[j]) ? fabs(sum[j] - (x == j)) : INFINITY);
	}
	return off <= OFF;
}

enum cm_rc es_matrix_init(struct es_matrix *m, uint32_t k, const double *chance, struct cm_err *err)
{
	size_t cells = (size_t)k * k;
	double *left = calloc(cells, sizeof *left), *sum = calloc(k, sizeof *sum);
	enum cm_rc rc = CM_OK;

	*m = (struct es_matrix){ .k = k };
	m->score = calloc(cells, sizeof *m->score);
	m->variance = calloc(cells, sizeof *m->variance);
	if (!left || !sum || !m->score || !m->variance) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	memcpy(left, chance, cells * sizeof *left);
	for (uint32_t i = 0; i < k; i++)
		m->score[(size_t)i * k + i] = 1;
	if (!invert(left, m->score, k) || !is_inverse(m, chance, sum))
		rc = cm_fail(err, CM_EDATA, "%u values cannot be told apart in what is sent", (unsigned)k);
out:
	free(left);
	free(sum);
	if (rc != CM_OK)
		es_matrix_fini(m);
	return rc;
}

void es_matrix_fini(struct es_matrix *m)
{
	free(m->score);
	free(m->variance);
	*m = (struct es_matrix){ 0 };
}

/* Sums of the second, third and further powers of item j's score over all symbols sent. */
struct moments {
	double first, second, third, fourth;
};

static struct moments moments_of(const struct es_matrix *m, uint32_t j, const uint64_t *counts)
{
	struct moments s = { 0 };

	for (uint32_t y = 0; y < m->k; y++) {
		double score = m->score[(size_t)y * m->k + j], n = (double)counts[y];

		s.first += n * score;
		s.second += n * score * score;
		s.third += n * score * score * score;
		s.fourth += n * score * score * score * score;
	}
	return s;
}

/* The variance of the sum of j's scores, if the counts were those that follow from the projected estimates:
 * few messages show too little of rare symbols. */
static double modelled(const struct es_matrix *m, uint32_t j, const double *projected)
{
	double sum = 0;

	for (uint32_t x = 0; x < m->k; x++)
		sum += projected[x] * m->variance[(size_t)x * m->k + j];
	return sum;
}

static void fill(const struct es_matrix *m, uint32_t j, const uint64_t *counts, double n,
	const double *projected, struct qy_item *item)
{
	struct moments s = moments_of(m, j, counts);
	double c = projected[j], least = INFINITY, variance, doubt, third;

	for (uint32_t x = 0; x < m->k; x++)
		least = fmin(least, m->variance[(size_t)x * m->k + j]);
	variance = fmax(fmax(s.second - c, modelled(m, j, projected)), n * least);
	doubt = fmin(sqrt(fmax(s.fourth - s.second * s.second / n, 0)), variance - n * least);
	/* A holder's score has mean 1: E(S - 1)^3 = E S^3 - 3 E S^2 + 2. */
	third = s.third - c * (3 * (m->variance[(size_t)j * m->k + j] + 1) - 2);
	item->variance = variance;
	item->projected = c;
	es_studentised(item->value, variance, third, 2 * pow(variance / doubt, 2), 0.025, &item->lower,
		&item->upper);
	es_studentised(item->value, variance, third, 2 * pow(variance / doubt, 2), es_joint_tail(m->k),
		&item->joint_lower, &item->joint_upper);
	item->below_noise = item->joint_lower <= 0;
}

enum cm_rc es_matrix_items(const struct es_matrix *m, const uint64_t *counts, uint64_t reports,
	struct qy_item *item, double *floor, struct cm_err *err)
{
	double *projected = calloc(m->k, sizeof *projected), joint = es_joint_tail(m->k);
	bool good = projected != NULL;

	*floor = 0;
	for (uint32_t j = 0; good && j < m->k; j++)
		projected[j] = item[j].value = moments_of(m, j, counts).first;
	good = good && es_project_simplex(projected, m->k, (double)reports);
	for (uint32_t j = 0; good && j < m->k; j++) {
		fill(m, j, counts, (double)reports, projected, &item[j]);
		*floor = fmax(*floor, es_normal_upper(joint) * sqrt(item[j].variance));
	}
	free(projected);
	return good ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

void es_matrix_honest(const struct es_matrix *m, const uint64_t *counts, double lied, uint64_t honest,
	struct es_honest *out)
{
	for (uint32_t j = 0; j < m->k; j++) {
		double value = moments_of(m, j, counts).first, least = INFINITY, most = -INFINITY, worst = 0;

		for (uint32_t y = 0; y < m->k; y++) {
			least = fmin(least, m->score[(size_t)y * m->k + j]);
			most = fmax(most, m->score[(size_t)y * m->k + j]);
			worst = fmax(worst, m->variance[(size_t)y * m->k + j]);
		}
		es_honest_normal(value - lied * most, value - lied * least, sqrt((double)honest * worst),
			m->k, 1, &out[j]);
	}
}

double es_matrix_expected_error(const struct es_matrix *m, uint64_t participants)
{
	double n = (double)participants, k = m->k, all = 0, own = 0;

	for (uint32_t x = 0; x < m->k; x++) {
		own += m->variance[(size_t)x * m->k + x];
		for (uint32_t j = 0; j < m->k; j++)
			all += m->variance[(size_t)x * m->k + j];
	}
	/* averages over the items of two variances: when values are evenly spread, and when a tenth of the
	 * participants hold the item */
	double even = n * all / (k * k), heavy = n * (0.1 * own / k + 0.9 * (all - own) / (k * (k - 1)));

	return sqrt((even + heavy) / 2);
}
