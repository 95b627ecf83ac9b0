/* acct_export.c - makes a privacy-loss distribution of a composition. */
#include "acct_export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_law.h"

#define FARTHEST 600.0

void acct_pld_fini(struct acct_pld *p)
{
	free(p->p);
	memset(p, 0, sizeof *p);
}

/* Write a law on a grid as an array of masses, one for each loss from the least to the largest. */
static enum acct_rc spread(const struct acct_law *law, double step, struct acct_pld *out)
{
	double *p;

	*out = (struct acct_pld){ .step = step, .lower = law->at[0], .infinite = law->infinite };
	out->size = (size_t)(law->at[law->size - 1] - law->at[0]) + 1;
	p = calloc(out->size, sizeof *p);
	if (!p)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < law->size; i++)
		p[law->at[i] - law->at[0]] += law->p[i];
	out->p = p;
	return ACCT_OK;
}

/* Make the law whose curve goes through the upper ends of delta at the grid's losses. */
static enum acct_rc make_law(const struct acct_bound *delta, size_t points, double step, struct acct_law *law)
{
	struct acct_nodes nodes = { .h = step, .stride = 1, .last = points };
	enum acct_rc rc;

	nodes.way[0] = calloc(points + 1, sizeof *nodes.way[0]);
	if (!nodes.way[0])
		return ACCT_ENOMEM;
	nodes.way[1] = nodes.way[0];
	for (size_t k = 0; k <= points; k++) {
		double e = exp(-step * (double)k);

		nodes.way[0][k].hi = delta[k].upper * e / (1 + e) * (1 + 0x1p-49);
	}
	rc = acct_law_above(law, &nodes);
	acct_nodes_fini(&nodes);
	return rc;
}

enum acct_rc acct_export_pld(const struct acct_round *rounds, size_t n, double range, double tail,
	size_t points, struct acct_pld *out)
{
	double *epsilon = calloc(points + 1, sizeof *epsilon);
	struct acct_bound *delta = calloc(points + 1, sizeof *delta), far;
	struct acct_law law = { 0 };
	enum acct_rc rc = epsilon && delta ? ACCT_OK : ACCT_ENOMEM;

	if (!rc && !(points >= 2 && points <= 4096 && range >= 0 && range <= FARTHEST))
		rc = ACCT_EDOMAIN;
	if (!rc && !(range > 0)) {
		rc = acct_epsilon(rounds, n, tail, &far);
		range = rc ? 0 : fmin(FARTHEST, fmax(far.upper, 1e-9));
	}
	for (size_t k = 0; k <= points && !rc; k++)
		epsilon[k] = range / (double)points * (double)k;
	if (!rc)
		rc = acct_deltas(rounds, n, epsilon, points + 1, delta);
	if (!rc)
		rc = make_law(delta, points, range / (double)points, &law);
	if (!rc)
		rc = spread(&law, range / (double)points, out);
	acct_law_fini(&law);
	free(epsilon);
	free(delta);
	return rc;
}
