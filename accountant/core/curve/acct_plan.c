/* acct_plan.c - prepares the rounds of one question: checks them, joins equal rounds, drops lossless
 * rounds. */
#include "acct_plan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS 1024u

void acct_plan_fini(struct acct_plan *p)
{
	for (size_t i = 0; i < p->parts; i++)
		acct_curve_fini(&p->part[i].curve);
	free(p->part);
	memset(p, 0, sizeof *p);
}

static enum acct_rc plan_add(struct acct_plan *p, const struct acct_round *r)
{
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, r, NULL);

	if (rc)
		return rc;
	p->rounds += (double)r->count;
	for (size_t i = 0; i < p->parts; i++)
		if (acct_list_equal(&p->part[i].curve.list, &list)) {
			p->part[i].count += (double)r->count;
			return ACCT_OK;
		}
	struct acct_rounds *new = &p->part[p->parts++];
	new->count = (double)r->count;
	rc = acct_curve_init(&new->curve, &list);
	new->curve.work = &p->work;
	new->deviation = acct_curve_deviation(&new->curve);
	return rc;
}

/* Drop rounds without any loss (deviation 0), since they do not change the answer. */
static void drop_lossless(struct acct_plan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->parts; i++) {
		if (p->part[i].deviation > 0)
			p->part[kept++] = p->part[i];
		else {
			p->blurred = p->blurred || !p->part[i].curve.list.lossless;
			acct_curve_fini(&p->part[i].curve);
		}
	}
	p->parts = kept;
}

enum acct_rc acct_plan_init(struct acct_plan *p, const struct acct_round *rounds, size_t n)
{
	double finite[2] = { 0, 0 }, certain = 0;
	enum acct_rc rc = ACCT_OK;

	memset(p, 0, sizeof *p);
	if (n == 0)
		return ACCT_EDOMAIN;
	if (n > MOST_ROUNDS)
		return ACCT_ELIMIT;
	p->part = calloc(n, sizeof *p->part);
	if (!p->part)
		return ACCT_ENOMEM;
	p->symmetric = true;
	p->work.per_point = ACCT_PROBE(n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = plan_add(p, &rounds[i]);
	p->work.per_point = ACCT_MOST_WORK / (16 * (double)n);
	for (size_t i = 0; i < p->parts && !rc; i++) {
		const struct acct_list *l = &p->part[i].curve.list;

		p->symmetric = p->symmetric && l->symmetric;
		p->loose = p->loose || acct_list_is_loose(l);
		p->largest += p->part[i].count * l->largest;
		p->exponents += p->part[i].count * l->exponent;
		for (int way = 0; way < 2; way++)
			finite[way] += p->part[i].count * log1p(-acct_list_certain(l, way));
		certain += p->part[i].count * log1p(-fmax(l->infinite[0], l->infinite[1]));
	}
	p->infinite = -expm1(fmin(finite[0], finite[1])) * (1 - 1e-9);
	p->certain = fmin(1, -expm1(certain) * (1 + 1e-9));
	drop_lossless(p);
	return rc;
}

/* Each round adds a few ulps of u and v (a product of powers: an ulp or two of the exponent), of the loss
 * of a node, and of e^epsilon. */
double acct_plan_blur(const struct acct_plan *p)
{
	return 1e-14 + (128 * p->rounds + 8 * p->exponents) * DBL_EPSILON;
}

static bool has_infinite(const struct acct_plan *p)
{
	for (size_t i = 0; i < p->parts; i++)
		if (p->part[i].curve.list.infinite[0] > 0 || p->part[i].curve.list.infinite[1] > 0)
			return true;
	return false;
}

/* Is the mass of infinite loss the defect alone?  Then it is known exactly. */
static bool is_defect(const struct acct_list *l)
{
	if ((l->event != ACCT_SHUFFLED && l->event != ACCT_CLASSES_APART) || l->sampling < 1)
		return false;
	for (size_t j = 0; j < l->cells; j++)
		if (!(l->cell[j].u > 0 && l->cell[j].v > 0))
			return false;
	return true;
}

/* Find the one round with an infinite loss, if that is its defect alone and it occurs once: the composed
 * mass of infinite loss is then this defect.  Returns NULL otherwise. */
static const struct acct_list *only_defect(const struct acct_plan *p)
{
	const struct acct_list *only = NULL;

	for (size_t i = 0; i < p->parts; i++) {
		const struct acct_list *l = &p->part[i].curve.list;

		if (!(l->infinite[0] > 0 || l->infinite[1] > 0))
			continue;
		if (only || p->part[i].count >= 2 || !is_defect(l))
			return NULL;
		only = l;
	}
	return only;
}

bool acct_plan_ends_at(const struct acct_plan *p, double delta)
{
	if (!has_infinite(p) || p->certain <= delta)
		return true;
	const struct acct_list *only = only_defect(p);
	return only && only->defect <= delta;
}

bool acct_plan_is_single(const struct acct_plan *p)
{
	return p->parts == 1 && p->part[0].count < 2;
}
