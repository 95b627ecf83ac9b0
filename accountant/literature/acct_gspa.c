/* acct_gspa.c - describes personalised participants as rounds: computes their shares, and joins these into
 * levels. */
#include "acct_gspa.h"

#include <math.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_gspa_sum.h"
#include "acct_gspa_users.h"

#define ULP 0x1p-53

static int by_share(const void *a, const void *b)
{
	double x = ((const struct acct_gspa_share *)a)->p, y = ((const struct acct_gspa_share *)b)->p;

	return (x > y) - (x < y);
}

size_t acct_gspa_join(struct acct_gspa_share *s, size_t n)
{
	size_t kept = 0;

	qsort(s, n, sizeof *s, by_share);
	for (size_t i = 0; i < n; i++) {
		if (s[i].count == 0)
			continue;
		if (kept > 0 && s[kept - 1].p >= s[i].p)
			s[kept - 1].count += s[i].count;
		else
			s[kept++] = s[i];
	}
	return kept;
}

/* The weight of the step from a share to the next.  Groups are cut at equal sums of these weights: the
 * variance of log p within groups, weighted by count and p, is then about as small as it can be. */
static double stretch(const struct acct_gspa_share *s)
{
	return cbrt((double)s->count * s->p + (double)s[1].count * s[1].p) *
	       pow(log(s[1].p / s[0].p), 2.0 / 3);
}

/* Join n shares into one level: their geometric mean, rounded down (acct_gspa.h has why).  Logarithms are
 * taken relative to the first share. */
static struct acct_level group(const struct acct_gspa_share *s, size_t n)
{
	struct acct_level g = { .count = 0 };
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		g.count += s[i].count;
		sum += (double)s[i].count * log(s[i].p / s[0].p);
	}
	double mean = n > 1 ? sum / (double)g.count : 0;
	g.share = s[0].p * exp(mean);
	g.share *= 1 - ULP * (16 + (8 + (double)n) * mean);
	return g;
}

void acct_gspa_levels(const struct acct_gspa_share *s, size_t n, struct acct_round *r)
{
	double all = 0, sum = 0;
	size_t from = 0;

	for (size_t i = 0; i + 1 < n; i++)
		all += stretch(&s[i]);
	r->levels = 0;
	for (size_t i = 0; i + 1 < n && n > ACCT_MAX_LEVELS; i++) {
		sum += stretch(&s[i]);
		/* the sum has passed the next of ACCT_MAX_LEVELS - 1 equally spaced marks */
		if (sum * ACCT_MAX_LEVELS < all * (double)(r->levels + 1) || r->levels == ACCT_MAX_LEVELS - 1)
			continue;
		r->level[r->levels++] = group(&s[from], i + 1 - from);
		from = i + 1;
	}
	if (n <= ACCT_MAX_LEVELS)
		for (; from + 1 < n; from++)
			r->level[r->levels++] = group(&s[from], 1);
	r->level[r->levels++] = group(&s[from], n - from);
}

void acct_gspa_cells(double epsilon, double k, struct acct_round *r)
{
	double p = acct_ratio(epsilon), z = p + k - 1;

	r->cell[0] = (struct acct_cell){ 1 / k, p * (k / z), k / z };
	r->cell[1] = (struct acct_cell){ 1 / k, k / z, p * (k / z) };
	r->cell[2] = (struct acct_cell){ (k - 2) / k, k / z, k / z };
	r->cells = k > 2 ? 3 : 2;
	acct_cells_fill(r->cell, r->cells); /* k cells of 1/k each */
}

enum acct_rc acct_gspa_round(const struct acct_gspa_class *cls, size_t n, double k, size_t victim,
	struct acct_round *r, const char **why)
{
	struct acct_gspa_users u;
	enum acct_rc rc = acct_gspa_users_init(&u, cls, n, k, victim, why);

	if (rc)
		return rc;
	*r = (struct acct_round){ .count = 1, .defect = u.delta };
	acct_gspa_cells(u.epsilon, k, r);
	acct_gspa_levels(u.share, acct_gspa_join(u.share, n), r);
	acct_gspa_users_fini(&u);
	return ACCT_OK;
}
