/* acct_own.c - makes rounds from a privacy curve and from a matrix of probabilities. */
#include "acct_own.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM_SLACK    1e-9
#define LEAST_CHANCE 1e-307 /* Smaller chances are no normal numbers, and their ratios are inaccurate. */
#define NONE         SIZE_MAX
#define MOST_PAIRS   256u
#define POINTS       400u
#define MOST_HELD    1e8   /* most terms of a search for the data set that loses most */
#define TAIL         1e-13 /* the curve has points up to where every delta is of this order */
#define MOST_EPSILON 600.0

static enum acct_rc say(char *why, size_t room, const char *sentence)
{
	(void)snprintf(why, room, "%s", sentence);
	return ACCT_EDOMAIN;
}

/* Read the keys as those of a named round; error messages call the round `name`. */
static enum acct_rc read_keys(const char *carrier, const char *name, const char *keys, struct acct_spec *out,
	char *why, size_t room)
{
	char text[ACCT_SPEC_MAX], fault[256] = "";
	const char *colon, *what = fault;
	int n = snprintf(text, sizeof text, "%s%s%s", carrier, keys && *keys ? "," : "", keys ? keys : "");

	if (n < 0 || (size_t)n >= sizeof text)
		return say(why, room, "a round is too long");
	enum acct_rc rc = acct_spec_parse(text, out, fault, sizeof fault);
	if (!rc)
		return ACCT_OK;
	colon = strchr(carrier, ':');
	if (strncmp(fault, carrier, (size_t)(colon - carrier)) == 0)
		what += colon - carrier;
	(void)snprintf(why, room, "%s%s%s", name, what == fault ? ": " : "", what);
	return rc;
}

enum acct_rc acct_own_curve(
	const struct acct_profile *p, const char *keys, struct acct_spec *out, char *why, size_t room)
{
	struct acct_spec s;
	const char *fault = "";
	enum acct_rc rc = read_keys("gaussian:sigma=1", "curve", keys, &s, why, room);

	if (rc)
		return rc;
	s.name = "curve";
	s.round = (struct acct_round){ .event = ACCT_PROFILE,
		.profile = p,
		.count = s.round.count,
		.sampling = s.round.sampling,
		.defect = s.round.defect };
	rc = acct_round_check(&s.round, &fault);
	if (rc)
		return say(why, room, fault);
	*out = s;
	return ACCT_OK;
}

/* Different cells of pairs of inputs.  Each list is sorted, with u and v in the order that sorts first, so
 * that equal lists are alike. */
struct pairs {
	struct acct_round *list;
	size_t size;
	double p, beta, q;
};

static bool close_to(double a, double b)
{
	/* the core treats numbers that differ so little as equal, too */
	return fabs(a - b) <= 16 * DBL_EPSILON * fmax(fabs(a), fabs(b));
}

static int by_ratio(const void *a, const void *b)
{
	const struct acct_cell *x = a, *y = b;

	if (!close_to(x->u, y->u))
		return x->u < y->u ? -1 : 1;
	if (!close_to(x->v, y->v))
		return x->v < y->v ? -1 : 1;
	return 0;
}

static bool same_cells(const struct acct_round *a, const struct acct_round *b)
{
	if (a->cells != b->cells)
		return false;
	for (size_t j = 0; j < a->cells; j++)
		if (by_ratio(&a->cell[j], &b->cell[j]) != 0 || !close_to(a->cell[j].omega, b->cell[j].omega))
			return false;
	return true;
}

/* The list with u and v exchanged. */
static struct acct_round mirrored(const struct acct_round *r)
{
	struct acct_round m = *r;

	for (size_t j = 0; j < m.cells; j++) {
		m.cell[j].u = r->cell[j].v;
		m.cell[j].v = r->cell[j].u;
	}
	qsort(m.cell, m.cells, sizeof m.cell[0], by_ratio);
	return m;
}

static enum acct_rc cells_of(const double *row[2], const double *omega, size_t outputs, struct acct_round *r)
{
	for (size_t y = 0; y < outputs; y++) {
		struct acct_cell c = { omega[y], row[0][y] / omega[y], row[1][y] / omega[y] };
		size_t j = 0;

		if (!(omega[y] > 0))
			continue; /* no input sends this output */
		while (j < r->cells && by_ratio(&r->cell[j], &c) != 0)
			j++;
		if (j == ACCT_MAX_CELLS)
			return ACCT_ELIMIT;
		if (j == r->cells)
			r->cell[r->cells++] = (struct acct_cell){ 0, c.u, c.v };
		r->cell[j].omega += omega[y];
	}
	qsort(r->cell, r->cells, sizeof r->cell[0], by_ratio);
	return ACCT_OK;
}

static void add_facts(struct pairs *p, const struct acct_round *r)
{
	double beta = 0;

	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];

		p->p = fmax(p->p, fmax(c->u, c->v) / fmin(c->u, c->v));
		p->q = fmax(p->q, fmax(c->u, c->v));
		beta += c->omega * fmax(0, c->u - c->v);
	}
	p->beta = fmax(p->beta, beta);
}

static enum acct_rc add_pair(struct pairs *p, const struct acct_round *r)
{
	struct acct_round m = mirrored(r);

	add_facts(p, r);
	for (size_t i = 0; i < p->size; i++)
		if (same_cells(&p->list[i], r) || same_cells(&p->list[i], &m))
			return ACCT_OK;
	if (p->size == MOST_PAIRS)
		return ACCT_ELIMIT;
	p->list[p->size++] = *r;
	return ACCT_OK;
}

/* Report a fault of input x, and of its output y unless y is NONE.  Both count from 0, and the message
 * counts from 1. */
static enum acct_rc say_where(char *why, size_t room, size_t x, size_t y, const char *sentence)
{
	if (y == NONE)
		(void)snprintf(why, room, "matrix: input %zu: %s", x + 1, sentence);
	else
		(void)snprintf(why, room, "matrix: input %zu, output %zu: %s", x + 1, y + 1, sentence);
	return ACCT_EDOMAIN;
}

/* Divide the chances of one input by their sum. */
static enum acct_rc normalise_row(const struct acct_matrix *m, size_t x, double *row, char *why, size_t room)
{
	const double *p = m->p + x * m->outputs;
	double sum = 0;

	for (size_t y = 0; y < m->outputs; y++) {
		if (!(p[y] >= 0 && p[y] <= 1 + SUM_SLACK))
			return say_where(why, room, x, y, "a chance must be a number from 0 to 1");
		if (p[y] > 0 && p[y] < LEAST_CHANCE)
			return say_where(why, room, x, y, "a chance must be 0 or at least 1e-307");
		sum += p[y];
	}
	if (!(fabs(sum - 1) <= SUM_SLACK))
		return say_where(why, room, x, NONE, "the chances must sum to 1");
	for (size_t y = 0; y < m->outputs; y++)
		row[y] = p[y] / sum;
	return ACCT_OK;
}

/* Write into `row` the rows divided by their sums, and behind them the least chance of each output.  It has
 * room for (inputs + 1) * outputs numbers. */
static enum acct_rc normalise(const struct acct_matrix *m, double *row, char *why, size_t room)
{
	double *omega = row + m->inputs * m->outputs;

	for (size_t x = 0; x < m->inputs; x++) {
		double *of_x = row + x * m->outputs;

		if (normalise_row(m, x, of_x, why, room))
			return ACCT_EDOMAIN;
		for (size_t y = 0; y < m->outputs; y++)
			omega[y] = x == 0 ? of_x[y] : fmin(omega[y], of_x[y]);
	}
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			if (row[x * m->outputs + y] > 0 && !(omega[y] > 0))
				return say_where(why, room, x, y,
					"another input never sends this output, which tells them apart");
	return ACCT_OK;
}

static enum acct_rc all_pairs(
	const struct acct_matrix *m, const double *row, const struct acct_round *like, struct pairs *out)
{
	const double *omega = row + m->inputs * m->outputs;
	enum acct_rc rc = ACCT_OK;

	for (size_t a = 0; a < m->inputs && !rc; a++)
		for (size_t b = a + 1; b < m->inputs && !rc; b++) {
			const double *two[2] = { row + a * m->outputs, row + b * m->outputs };
			struct acct_round r = *like;

			rc = cells_of(two, omega, m->outputs, &r);
			if (!rc)
				rc = add_pair(out, &r);
		}
	return rc;
}

/* Make the curve of the largest delta of any pair, with points up to where every delta is below TAIL. */
static enum acct_rc largest(struct pairs *p, struct acct_profile **out)
{
	double epsilon[POINTS], most[POINTS] = { 0 }, range = 1e-9;
	struct acct_bound delta[POINTS], far;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->size && !rc; i++) {
		p->list[i].count = 1;
		rc = acct_epsilon(&p->list[i], 1, TAIL, &far);
		if (!rc)
			range = fmin(MOST_EPSILON, fmax(range, far.upper));
	}
	for (size_t k = 0; k < POINTS; k++)
		epsilon[k] = range * (double)k / (POINTS - 1);
	for (size_t i = 0; i < p->size && !rc; i++) {
		rc = acct_deltas(&p->list[i], 1, epsilon, POINTS, delta);
		for (size_t k = 0; k < POINTS && !rc; k++)
			most[k] = fmax(most[k], delta[k].upper);
	}
	/* delta falls with epsilon: a bound at a smaller epsilon also holds at this one */
	for (size_t k = 1; k < POINTS; k++)
		most[k] = fmin(most[k], most[k - 1]);
	return rc ? rc : acct_profile_of_points(epsilon, (const double *const[2]){ most, NULL }, POINTS, out);
}

/* Are these the cells of binary response?  Of two inputs, a report then is a bit: given its cell it has the
 * same law whatever its sender holds (doc/binary.md). */
static bool are_bits(const struct acct_round *r)
{
	const struct acct_cell *c = r->cell;

	return r->cells == 2 && close_to(c[0].u, c[1].v) && close_to(c[0].v, c[1].u) &&
	       close_to(fmin(c[0].u, c[0].v), 1) && close_to(c[0].omega, c[1].omega) &&
	       close_to(c[0].omega, 1 / (1 + fmax(c[0].u, c[0].v)));
}

/* How much inputs a and b lose in the limit of many participants, if all others hold z. */
static double limit_of(const struct acct_matrix *m, const double *row, size_t a, size_t b, size_t z)
{
	double sum = 0;

	for (size_t y = 0; y < m->outputs; y++) {
		double d = row[a * m->outputs + y] - row[b * m->outputs + y];

		sum += d != 0 ? d * d / row[z * m->outputs + y]
			      : 0; /* NOLINT: all chances of y are 0 together */
	}
	return sum;
}

/* Set the data set in which the victim's two inputs and the input of all others lose most in the limit.  With
 * too many numbers all others hold the victim's first input. */
static void hold_most(const struct acct_matrix *m, const double *row, struct acct_spec *s)
{
	double most = -1, all = (double)m->inputs * (double)m->inputs / 2 * (double)m->outputs;
	size_t best[3] = { 0, 1, 0 };
	struct acct_round r = s->round;

	for (size_t a = 0; a < m->inputs; a++)
		for (size_t b = a + 1; b < m->inputs; b++)
			for (size_t z = 0; z < m->inputs; z++) {
				double sum;

				if (z != a && all * (double)m->inputs > MOST_HELD)
					continue;
				sum = limit_of(m, row, a, b, z);
				if (sum > most) {
					most = sum;
					best[0] = a;
					best[1] = b;
					best[2] = z;
				}
			}
	const double *two[2] = { row + best[0] * m->outputs, row + best[1] * m->outputs };

	r.cells = 0;
	r.messages = ACCT_ANY_MESSAGES;
	memset(r.cell, 0, sizeof r.cell);
	if (cells_of(two, row + best[2] * m->outputs, m->outputs, &r) == ACCT_OK)
		s->held = r;
}

/* Set the round, with its sampling and defect: they apply to the curve of the largest delta as they apply
 * to each pair's. */
static enum acct_rc settle(struct pairs *p, struct acct_spec *s, struct acct_profile **owned)
{
	const struct acct_round given = s->round;
	const bool silent = s->poisson > 0;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->size && silent && !rc; i++)
		rc = acct_round_poisson(&p->list[i], s->poisson, NULL);
	if (rc)
		return rc;
	s->p = p->p;
	s->beta = p->beta * (silent ? s->poisson : 1);
	s->q = p->q;
	s->eps0 = log(p->p);
	s->unpublished = p->size > 1;
	if (p->size == 1) {
		s->round = p->list[0];
		return ACCT_OK;
	}
	s->no_inputs = true; /* a curve has no cells */
	for (size_t i = 0; i < p->size; i++)
		p->list[i].sampling = p->list[i].defect = 0;
	rc = largest(p, owned);
	if (rc)
		return rc;
	s->round = (struct acct_round){ .event = ACCT_PROFILE,
		.profile = *owned,
		.count = given.count,
		.sampling = given.sampling,
		.defect = given.defect };
	return ACCT_OK;
}

enum acct_rc acct_own_matrix(const struct acct_matrix *m, const char *keys, struct acct_spec *out,
	struct acct_profile **owned, char *why, size_t room)
{
	struct pairs pairs = { .size = 0 };
	double *row = NULL;
	struct acct_spec s;
	enum acct_rc rc = read_keys("generic:eps0=1", "matrix", keys, &s, why, room);

	*owned = NULL;
	if (rc)
		return rc;
	if (m->inputs < 2 || m->inputs > ACCT_MOST_INPUTS || m->outputs < 1 || m->outputs > ACCT_MOST_OUTPUTS)
		return say(why, room, "matrix: 2 to 64 inputs, and 1 to 65536 outputs");
	s.name = "matrix";
	s.k = 0;
	s.uniform = false; /* of `generic`, whose cells stood for the matrix until here */
	/* rows are divided by their sums, and ratios as close as close_to() says are joined */
	s.rounding = 32 * DBL_EPSILON;
	s.round.cells = 0;
	memset(s.round.cell, 0, sizeof s.round.cell);
	row = calloc((m->inputs + 1) * m->outputs, sizeof *row);
	pairs.list = calloc(MOST_PAIRS, sizeof *pairs.list);
	rc = row && pairs.list ? normalise(m, row, why, room) : ACCT_ENOMEM;
	if (!rc && !(s.poisson > 0))
		hold_most(m, row, &s);
	if (!rc)
		rc = all_pairs(m, row, &s.round, &pairs);
	if (!rc && m->inputs == 2 && are_bits(&pairs.list[0]) && !(s.poisson > 0))
		pairs.list[0].messages = ACCT_BITS;
	if (!rc)
		rc = settle(&pairs, &s, owned);
	if (rc && rc != ACCT_EDOMAIN)
		(void)snprintf(why, room, "matrix: %s", acct_strerror(rc));
	free(row);
	free(pairs.list);
	if (!rc)
		*out = s;
	return rc;
}
