/* acct_state.c - keeps a growing list of rounds, and answers questions about their composed loss. */
#include "acct_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_composition.h"
#include "acct_solve.h"

#define LEAST_DELTA 1e-200 /* the least delta of acct_epsilon, too */

struct acct_state {
	double delta;
	struct acct_composed composed;
};

struct acct_state *acct_state_new(double delta)
{
	struct acct_state *s;

	if (!(delta >= LEAST_DELTA && delta < 1))
		return NULL;
	s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->delta = delta;
	s->composed.delta = delta;
	return s;
}

void acct_state_free(struct acct_state *s)
{
	if (!s)
		return;
	acct_composed_fini(&s->composed);
	free(s);
}

/* Copy a round such that bytes that it does not use are zero: copies of equal rounds are then equal byte
 * for byte, and can be sorted by their bytes. */
static void normalise(struct acct_round *out, const struct acct_round *r)
{
	memset(out, 0, sizeof *out);
	memcpy(out->cell, r->cell, r->cells * sizeof *r->cell);
	out->cells = r->cells;
	out->others = r->others;
	out->dummies = r->dummies;
	memcpy(out->level, r->level, r->levels * sizeof *r->level);
	out->levels = r->levels;
	out->defect = r->defect;
	out->sampling = r->sampling;
	out->event = r->event;
	out->scale = r->scale;
	out->rate = r->rate;
	out->profile = r->profile;
	out->messages = r->messages;
	out->family = r->family;
	memcpy(out->shape, r->shape, sizeof out->shape);
	out->present = r->present;
}

static struct acct_entry *find(struct acct_composed *c, const struct acct_list *list)
{
	for (size_t i = 0; i < c->entries; i++)
		if (acct_list_equal(&c->entry[i].rung.list, list))
			return &c->entry[i];
	return NULL;
}

/* Find an entry that neither the state nor the question uses, so that it may be overwritten.  Returns NULL
 * if there is none. */
static struct acct_entry *spare(struct acct_composed *c)
{
	for (size_t i = 0; c->entry && i < c->entries; i++)
		if (!(acct_entry_count(&c->entry[i]) > 0))
			return &c->entry[i];
	return NULL;
}

/* Find the entry of a round, or create one that counts no rounds. */
static enum acct_rc entry_of(struct acct_state *s, const struct acct_round *round, struct acct_entry **out)
{
	struct acct_composed *c = &s->composed;
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, round, NULL);
	struct acct_entry *e;

	if (rc)
		return rc;
	e = find(c, &list);
	if (!e) {
		e = spare(c);
		if (e)
			acct_composed_forget(c, e);
		else if (c->entries == ACCT_STATE_ENTRIES)
			return ACCT_ELIMIT;
		else
			e = acct_composed_append(c);
		if (!e)
			return ACCT_ENOMEM;
		normalise(&e->round, round);
		e->rung.list = list;
	}
	*out = e;
	return ACCT_OK;
}

enum acct_rc acct_state_add(struct acct_state *s, const struct acct_round *round)
{
	struct acct_entry *e;
	enum acct_rc rc = entry_of(s, round, &e);

	if (rc)
		return rc;
	if (e->count > ACCT_MAX_COUNT - round->count)
		return ACCT_ELIMIT;
	acct_composed_add(&s->composed, e, round->count);
	return ACCT_OK;
}

enum acct_rc acct_state_remove(struct acct_state *s, const struct acct_round *round)
{
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, round, NULL);
	struct acct_entry *e;

	if (rc)
		return rc;
	e = find(&s->composed, &list);
	if (!e || e->count < round->count)
		return ACCT_EDOMAIN;
	acct_composed_remove(&s->composed, e, round->count);
	return ACCT_OK;
}

uint64_t acct_state_rounds(const struct acct_state *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->composed.entries; i++)
		sum += s->composed.entry[i].count;
	return sum;
}

void acct_state_rebuild(struct acct_state *s)
{
	acct_composed_reset(&s->composed);
}

/* Facts about the rounds of a question that hold for every grid. */
struct facts {
	/* only the members `rounds` and `exponents` are set: acct_plan_blur needs no others */
	struct acct_plan blur;
	double certain; /* a proved lower bound on the composed mass of infinite loss */
	double largest; /* no composed loss exceeds this; INFINITY where a loss may be infinite */
	bool lossy, blurred;
	size_t different;
};

static enum acct_rc learn(struct acct_state *s, struct facts *f)
{
	double finite[2] = { 0, 0 };
	enum acct_rc rc = ACCT_OK;

	memset(f, 0, sizeof *f);
	for (size_t i = 0; i < s->composed.entries && !rc; i++) {
		struct acct_entry *e = &s->composed.entry[i];
		const struct acct_list *l = &e->rung.list;
		double count = acct_entry_count(e);

		if (!(count > 0))
			continue;
		rc = acct_entry_measure(e, ACCT_STATE_TAIL * s->delta);
		f->blur.rounds += count;
		f->blur.exponents += count * l->exponent;
		f->largest += l->infinite[0] > 0 || l->infinite[1] > 0 ? INFINITY : count * l->largest;
		for (int way = 0; way < 2; way++)
			finite[way] += count * log1p(-acct_list_certain(l, way));
		f->different++;
		if (e->rung.deviation > 0)
			f->lossy = true;
		else
			f->blurred = f->blurred || !l->lossless;
	}
	f->certain = -expm1(fmin(finite[0], finite[1])) * (1 - 1e-9);
	return rc;
}

/* Compute the answer from the list of rounds alone. */
static enum acct_rc from_scratch(const struct acct_state *s, size_t different, struct acct_bound *out)
{
	struct acct_round *rounds = calloc(different, sizeof *rounds);
	struct acct_bound b = { 0, INFINITY };
	enum acct_rc rc = ACCT_OK;
	size_t n = 0;

	if (!rounds)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < s->composed.entries && !rc; i++) {
		const struct acct_entry *e = &s->composed.entry[i];
		double count = acct_entry_count(e);

		if (!(count > 0))
			continue;
		rc = count > ACCT_MAX_COUNT ? ACCT_ELIMIT : ACCT_OK;
		rounds[n] = e->round;
		rounds[n++].count = (uint64_t)count;
	}
	if (!rc)
		rc = acct_epsilon_on_grids(rounds, n, s->delta, &b);
	free(rounds);
	if (!rc) {
		out->lower = fmax(out->lower, b.lower);
		out->upper = fmin(out->upper, b.upper);
	}
	return rc;
}

static enum acct_rc answer(struct acct_state *s, struct acct_bound *out)
{
	struct facts f;
	double blur;
	enum acct_rc rc = learn(s, &f), scratch;

	if (rc || !(f.blur.rounds > 0))
		return rc;
	blur = acct_plan_blur(&f.blur);
	if (f.certain > s->delta) {
		*out = (struct acct_bound){ INFINITY, INFINITY };
		return ACCT_OK;
	}
	if (!f.lossy) {
		out->upper = f.blurred && s->delta < blur ? blur : 0;
		return ACCT_OK;
	}
	out->upper = INFINITY;
	if (f.blur.rounds < 2) /* one round needs no composition */
		return from_scratch(s, 1, out);
	if (acct_composed_is_hopeless(&s->composed) && from_scratch(s, f.different, out) == ACCT_OK)
		return ACCT_OK;
	rc = acct_composed_epsilon(&s->composed, blur, out);
	out->upper = fmin(out->upper, f.largest * (1 + 1e-12) + blur);
	if (rc == ACCT_ENOMEM || (!rc && acct_composed_is_narrow(&s->composed, out)))
		return rc;
	/* A wide answer is valid: return it if no better one was found. */
	scratch = from_scratch(s, f.different, out);
	return rc ? scratch : ACCT_OK;
}

/* Add the candidates to the question. */
static enum acct_rc ask(struct acct_state *s, const struct acct_round *candidates, size_t n)
{
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		struct acct_entry *e;

		rc = entry_of(s, &candidates[i], &e);
		if (!rc && e->asked > ACCT_MAX_COUNT - candidates[i].count)
			rc = ACCT_ELIMIT;
		if (!rc)
			e->asked += candidates[i].count;
	}
	return rc;
}

enum acct_rc acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps)
{
	struct acct_bound out = { 0, 0 };
	enum acct_rc rc = ask(s, candidates, n);

	if (!rc)
		rc = answer(s, &out);
	for (size_t i = 0; i < s->composed.entries; i++)
		s->composed.entry[i].asked = 0;
	if (rc)
		return rc;
	eps->lower = fmax(0, out.lower);
	eps->upper = out.upper;
	return ACCT_OK;
}

enum acct_rc acct_state_epsilon(
	struct acct_state *s, const struct acct_round *candidate, struct acct_bound *eps)
{
	return acct_state_epsilon_with(s, candidate, candidate ? 1 : 0, eps);
}
