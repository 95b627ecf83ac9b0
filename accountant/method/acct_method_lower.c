/* acct_method_lower.c (acct_method_rows.h) - computes exactly what some data sets lose, which is a lower
 * bound on the loss. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_fault.h"
#include "acct_method_rows.h"
#include "acct_third.h"
#include "acct_triples.h"

/* Is the pair of the cells itself what some data set loses?  `alone`: the question is about one round.  It
 * is for bits, where only dummies hide the victim, and where the randomizer may be any that has these
 * cells.  For bits the worst data differ from one epsilon to another, so rounds do not compose; where the
 * number of bits is random, the worst data also differ from one number to another. */
static bool attained(const struct acct_spec *s, bool alone)
{
	const struct acct_round *r = &s->round;

	if (r->sampling > 0)
		return false;
	return s->exact || s->some ||
	       (alone && !s->mixed && r->count == 1 &&
		       (r->levels == 0 || r->messages == ACCT_BITS_OF_LEVELS) &&
		       r->messages != ACCT_ANY_MESSAGES);
}

/* Set the pair of the data set in which everybody else holds the victim's first input.  The reports of the
 * others are independent and of the law R0 = omega u, and relative to that law the pair of the cells is
 * exact. */
static void hold_first(const struct acct_spec *s, struct acct_round *r)
{
	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		r->cell[r->cells++] = (struct acct_cell){ c->omega * c->u, 1, c->v / c->u };
	}
}

static void put(struct acct_round *r, double omega, double u, double v)
{
	if (omega > 0)
		r->cell[r->cells++] = (struct acct_cell){ omega, u, v };
}

/* Set the pair of the data set in which everybody else holds a third input, and each law has two levels.
 * `apart` (a) is the blanket's mass that is likelier under exactly one given input of any two, `both` (c)
 * the mass that is likelier under both, and s->triple (t) the mass that is likelier under all three.  With
 * E0 the ratio of the levels the cells are (E0 (c-t): 1, 1/E0), (E0 (c-t): 1/E0, 1), (a-c+t: E0, 1),
 * (a-c+t: 1, E0), (E0 t: 1, 1), (c-t: E0, E0), (E0 (a-c+t): 1/E0, 1/E0), and the rest (1, 1). */
static void hold_third(const struct acct_spec *s, struct acct_round *r)
{
	double p = 0, apart = 0, both = 0, none = 0, triple = s->triple;

	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		p = fmax(p, c->u);
		if (c->u > c->v)
			apart = c->omega;
	}
	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		if (c->u <= c->v && c->u >= c->v)
			*(c->u > 1 ? &both : &none) = c->omega;
	}
	double with = both - triple,
	       without = apart - with; /* the part of `apart` in which the third input is not likelier */
	put(r, p * with, 1, 1 / p);
	put(r, p * with, 1 / p, 1);
	put(r, without, p, 1);
	put(r, without, 1, p);
	put(r, p * triple, 1, 1);
	put(r, with, p, p);
	put(r, p * without, 1 / p, 1 / p);
	put(r, none - without, 1, 1);
}

/* What everybody else holds: the victim's first input, a third input, inputs drawn uniformly, what the
 * randomizer's own row names, or what loses most in the limit of many participants.  Losses are convex, so
 * where inputs are drawn, some of the possible inputs lose as much as the mean. */
enum world {
	FIRST,
	THIRD,
	UNIFORM,
	NAMED,
	MOST,
	WORLDS,
};

/* Set the pair of the data sets in which everybody's report has the law of a dummy: the blanket divided by
 * its mass. */
static enum acct_rc hold_uniform(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	uint64_t levels = 0;
	double blanket = 0;

	if (!s->uniform || s->no_inputs || s->participants == 0)
		return acct_fault(why, "no data set is known whose loss is that of few cells");
	*r = s->round;
	r->messages = ACCT_ANY_MESSAGES;
	r->levels = 0;
	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	for (size_t i = 0; i < s->round.levels; i++)
		levels += s->round.level[i].count;
	/* The levels are either participants with their own guarantee, or dummies that come by chance, of
	 * which there are at least as many as counted here. */
	for (size_t i = 0; i < s->round.levels && r->others + levels != s->participants - 1; i++) {
		r->level[i].share = fmin(1, s->round.level[i].share * blanket * (1 + 1e-14));
		r->level[i].count = s->round.level[i].count;
		r->levels++;
	}
	r->others = s->participants - 1;
	for (size_t j = 0; j < r->cells; j++) {
		r->cell[j].omega /= blanket;
		r->cell[j].u *= blanket;
		r->cell[j].v *= blanket;
	}
	return ACCT_OK;
}

static enum acct_rc hold_one(const struct acct_spec *s, bool third, struct acct_round *r, const char **why)
{
	if (s->some)
		return acct_fault(why,
			"sampling: a randomizer that attains these cells has a third input, which "
			"they do not cover");
	if (!(s->eps0 > 0 && s->eps0 < 700))
		return acct_fault(why, "it needs a randomizer with a finite eps0");
	if (s->participants == 0)
		return acct_fault(why, "it needs n=");
	if (s->round.levels > 0 || s->mixed)
		return acct_fault(why, "it needs one pure eps0 for all participants");
	if (s->no_inputs)
		return acct_fault(why, "the cells are not those of two inputs");
	if (s->round.dummies > 0)
		return acct_fault(why, "no data set among these dummies is known");
	*r = (struct acct_round){
		.others = s->participants - 1, .count = s->round.count, .sampling = s->round.sampling
	};
	if (third && s->third)
		hold_third(s, r);
	else
		hold_first(s, r);
	return ACCT_OK;
}

/* Set the pair of the data set in which everybody else holds what makes the victim's worst inputs lose
 * most. */
static enum acct_rc hold_most(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	struct acct_kinds *k;
	struct acct_triples *t;
	enum acct_rc rc;
	double p = 1;

	if (!acct_are_triples(s->round.family) || s->round.present > 0)
		return acct_fault(why, "no data set is known whose loss is that of few cells");
	k = calloc(1, sizeof *k);
	rc = k ? hold_one(s, false, r, why) : ACCT_ENOMEM;
	for (size_t j = 0; j < s->round.cells; j++)
		p = fmax(p, s->round.cell[j].u);
	t = acct_triples_new(s->round.family->number, s->round.shape, p);
	if (!rc && !t)
		rc = acct_fault(why, "no data set is known");
	if (!rc) {
		acct_triples_ends(t, k);
		acct_kinds_most(k, r);
	}
	free(t);
	free(k);
	return rc;
}

/* Set the data set that the row names.  `alone`: as in attained(). */
static enum acct_rc hold_named(const struct acct_spec *s, bool alone, struct acct_round *r, const char **why)
{
	bool bits = s->held.messages != ACCT_ANY_MESSAGES;

	if (s->held.cells == 0 || (bits && !(alone && s->round.count == 1)))
		return acct_fault(why, "no data set is known whose loss is that of few cells");
	*r = s->held;
	r->count = s->round.count;
	return ACCT_OK;
}

static enum acct_rc hold(
	const struct acct_spec *s, enum world world, bool alone, struct acct_round *r, const char **why)
{
	if (world == UNIFORM)
		return hold_uniform(s, r, why);
	if (world == MOST)
		return hold_most(s, r, why);
	if (world != NAMED)
		return hold_one(s, world == THIRD, r, why);
	return hold_named(s, alone, r, why);
}

/* Set how many rounds these data sets answer. */
static void repeat(const struct acct_spec *s, struct acct_round *r)
{
	if (s->attained > 0)
		r->count = s->attained;
}

/* Apply sampling to the data set: a participant who is not drawn is replaced by one whose report has the
 * law of the others' reports.  truthful: messages are truthful and those of the others are known, so it is
 * replaced by one who holds the first input. */
static void sample(struct acct_round *r, bool truthful)
{
	double g = r->sampling;

	for (size_t j = 0; j < r->cells && g > 0; j++) {
		struct acct_cell *c = &r->cell[j];

		c->v = g * c->v + (1 - g) * (truthful ? c->u : 1);
		c->u = truthful ? c->u : g * c->u + (1 - g);
	}
	r->sampling = 0;
}

/* Set in *r the pair of some data sets of this world, as one round or as two; returns through *r as many.
 * If the round has no data set for this world, take another world. */
static enum acct_rc held(const struct acct_spec *s, enum world world, bool alone, struct acct_round r[2],
	size_t *rounds, const char **why)
{
	bool truthful = s->exact || (s->held.cells > 0 && s->held.others == 0);
	enum acct_rc rc;

	*r = s->round;
	*rounds = 1;
	if (attained(s, alone)) {
		/* Labels do not hide inputs that do not depend on the label. */
		if (r->messages == ACCT_LABELLED_BITS)
			r->messages = ACCT_BITS;
		return ACCT_OK;
	}
	if (s->exact && s->round.event == ACCT_SHUFFLED && s->participants > 0) {
		sample(r, true);
		return ACCT_OK;
	}
	rc = hold(s, world, alone, r, why);
	for (int other = FIRST; rc == ACCT_EDOMAIN && other < WORLDS; other++)
		rc = hold(s, (enum world)other, alone, r, why);
	if (rc)
		return rc;
	if (s->opposite && s->round.sampling > 0)
		return acct_fault(why, "sampling of two counters: one draw decides for both");
	repeat(s, r);
	r->family = NULL;
	r->present = 0;
	/* Count only the defect from the ends of a shuffler's noise.  Leaving out all else that gives away
	 * an input makes the bound smaller, which is safe for a lower bound. */
	r->defect = s->held.cells > 0 && !(s->eps0 < INFINITY) ? s->held.defect : 0;
	sample(r, truthful);
	if (s->opposite) {
		r[1] = r[0];
		for (size_t j = 0; j < r->cells; j++) {
			r[1].cell[j].u = r[0].cell[j].v;
			r[1].cell[j].v = r[0].cell[j].u;
		}
		*rounds = 2;
	} else if (r->dummies == 0 && r->levels == 0) {
		acct_cells_fill(r->cell, r->cells); /* raise an omega by ulps, so that their sum is 1 */
	}
	return ACCT_OK;
}

/* Widen a lower bound by what rounding of the chances may have added.  The chance of a set of reports has n
 * factors, each off by a relative error r that is common to both inputs, and a likelihood ratio is off by 4
 * r.  So over `count` rounds delta is off by a relative error of count n r, and epsilon by 4 count r.
 * Returns false if that is too much. */
static bool rounded(
	const struct acct_spec *s, const struct acct_round *r, double *of_delta, double *of_epsilon)
{
	/* n factors of chances; 3 more, as u - E v may be off by 2 r besides */
	double n = 3 + (double)r->others + (double)r->dummies;

	*of_delta += 1.01 * (double)r->count * n * s->rounding;
	*of_epsilon += 4.04 * (double)r->count * s->rounding;
	return *of_delta < 0.5;
}

static enum acct_rc value(const struct acct_spec *spec, size_t n, enum world world, bool epsilon, double at,
	double *lower, const char **why)
{
	struct acct_round *r = calloc(2 * n + 1, sizeof *r);
	struct acct_bound out;
	enum acct_rc rc = r ? acct_method_asked(n, epsilon, at, why) : ACCT_ENOMEM;
	size_t size = 0, more = 0;
	double of_delta = 0, of_epsilon = 0;

	for (size_t i = 0; !rc && i < n; i++, size += more) {
		rc = held(&spec[i], world, n == 1, &r[size], &more, why);
		if (!rc && !rounded(&spec[i], &r[size], &of_delta, &of_epsilon))
			rc = acct_fault(why, "so many reports add up what rounds the chances of one");
	}
	if (!rc)
		rc = epsilon ? acct_epsilon(r, size, fmin(at / (1 - of_delta), 1 - DBL_EPSILON), &out)
			     : acct_delta(r, size, at + of_epsilon, &out);
	if (!rc)
		*lower = epsilon ? fmax(0, out.lower - of_epsilon) : out.lower * (1 - of_delta);
	free(r);
	return rc;
}

static bool worth_trying(const struct acct_spec *s, enum world world)
{
	return world == FIRST || (world == THIRD && s->third) || (world == UNIFORM && s->uniform) ||
	       (world == NAMED && s->held.cells > 0) ||
	       (world == MOST && acct_are_triples(s->round.family) && !(s->round.present > 0));
}

/* Each world gives a lower bound, and so does a third symbol: take the largest. */
static enum acct_rc largest(
	const struct acct_spec *spec, size_t n, bool epsilon, double at, double *out, const char **why)
{
	double most = 0, lower = 0;
	enum acct_rc rc = n > 0 ? ACCT_OK : acct_method_asked(n, epsilon, at, why);

	for (int world = FIRST; world < WORLDS && !rc; world++) {
		bool worth = false;

		for (size_t i = 0; i < n; i++)
			worth = worth || worth_trying(&spec[i], (enum world)world);
		if (!worth)
			continue;
		rc = value(spec, n, (enum world)world, epsilon, at, &lower, why);
		most = fmax(most, lower);
	}
	if (!rc && n == 1 && acct_third_is(spec)) {
		acct_third_lower(spec, epsilon, at, &lower);
		most = fmax(most, lower);
	}
	*out = most;
	return rc;
}

/* Set the response of one class of a round of classes apart: that of this number, or the last.  Another round
 * stays as it is. */
static enum acct_rc one_class(const struct acct_spec *s, size_t number, struct acct_spec *out)
{
	const struct acct_round *r = &s->round;
	const struct acct_level *l;
	char text[200], why[200];
	enum acct_rc rc;

	*out = *s;
	if (r->event != ACCT_CLASSES_APART)
		return ACCT_OK;
	l = &r->level[number < r->levels ? number : r->levels - 1];
	(void)snprintf(
		text, sizeof text, "grr:k=%.17g,eps0=%.17g,n=%" PRIu64, r->shape[0], l->share, l->count);
	rc = acct_spec_parse(text, out, why, sizeof why);
	out->round.count = r->count;
	out->round.defect = r->defect;
	return rc;
}

/* With classes apart, whoever is of one class is a data set's victim: take the largest of all. */
static enum acct_rc below(const struct acct_spec *spec, size_t n, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	struct acct_spec *one = calloc(n + 1, sizeof *one);
	double most = 0, lower = 0;
	size_t classes = 1;
	enum acct_rc rc = one ? ACCT_OK : ACCT_ENOMEM;

	for (size_t i = 0; i < n; i++)
		if (spec[i].round.event == ACCT_CLASSES_APART && spec[i].round.levels > classes)
			classes = spec[i].round.levels;
	for (size_t number = 0; number < classes && !rc; number++) {
		for (size_t i = 0; i < n && !rc; i++)
			rc = one_class(&spec[i], number, &one[i]);
		if (!rc)
			rc = largest(one, n, epsilon, at, &lower, why);
		most = fmax(most, lower);
	}
	free(one);
	out->bound = (struct acct_bound){ most, INFINITY };
	out->worth = ACCT_LOWER;
	out->note = "the exact loss of some data sets: the truth is between this and any proved value";
	return rc;
}

enum acct_rc acct_attained_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return below(s, n, true, at, out, why);
}

enum acct_rc acct_attained_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return below(s, n, false, at, out, why);
}
