/* acct_mech.c - small randomizers written out from their definitions. */
#include "acct_mech.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EPS0 1.1 /* of the cases, times the scale */

struct args {
	double eps0, x;
	unsigned a, b, c;
};

static unsigned power(unsigned base, unsigned exponent)
{
	unsigned r = 1;

	while (exponent-- > 0)
		r *= base;
	return r;
}

/* Weights to laws. */
static void normalise(struct mech *m)
{
	for (size_t x = 0; x < m->inputs; x++) {
		double sum = 0;

		for (size_t y = 0; y < m->outputs; y++)
			sum += m->law[x][y];
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] /= sum;
	}
}

static void uniform_dummies(struct mech *m)
{
	m->dummies = true;
	for (size_t y = 0; y < m->outputs; y++)
		m->dummy[y] = 1.0 / (double)m->outputs;
}

/* a symbols. */
static void response(struct mech *m, const struct args *g)
{
	m->inputs = m->outputs = g->a;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = x == y ? exp(g->eps0) : 1;
}

static void mixbins(struct mech *m, const struct args *g)
{
	response(m, g);
	uniform_dummies(m);
}

static void bins(struct mech *m, const struct args *g)
{
	m->inputs = m->outputs = g->a;
	for (size_t x = 0; x < m->inputs; x++)
		m->law[x][x] = 1;
	uniform_dummies(m);
	m->truthful = true;
}

static void levels(struct mech *m, const struct args *g)
{
	response(m, &(struct args){ .eps0 = g->eps0, .a = g->a + 1 });
}

/* All functions from a inputs to b values, and a value. */
static void hashed(struct mech *m, const struct args *g)
{
	m->inputs = g->a;
	m->outputs = power(g->b, g->a) * g->b;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = y / g->b / power(g->b, (unsigned)x) % g->b == y % g->b;
	uniform_dummies(m);
	m->truthful = true;
}

/* One hash, x + seed mod b: inputs never collide. */
static void shifted(struct mech *m, const struct args *g)
{
	m->inputs = g->a;
	m->outputs = g->b * g->b;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = (x + y / g->b) % g->b == y % g->b;
	uniform_dummies(m);
	m->truthful = true;
}

static void olh(struct mech *m, const struct args *g)
{
	hashed(m, g);
	m->dummies = m->truthful = false;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = m->law[x][y] > 0 ? exp(g->eps0) : 1;
}

/* a bits; chance of a set bit: own for the input's, `other` elsewhere. */
static void unary(struct mech *m, unsigned a, double own, double other)
{
	m->inputs = a;
	m->outputs = power(2, a);
	for (size_t x = 0; x <= m->inputs; x++) /* the last: no bit is the input's */
		for (size_t y = 0; y < m->outputs; y++) {
			double chance = 1;

			for (size_t j = 0; j < a; j++) {
				double set = j == x ? own : other;

				chance *= y >> j & 1 ? set : 1 - set;
			}
			*(x < m->inputs ? &m->law[x][y] : &m->dummy[y]) = chance;
		}
}

static void rappor(struct mech *m, const struct args *g)
{
	double f = 1 / (1 + exp(g->eps0 / 2));

	unary(m, g->a, 1 - f, f);
}

static void oue(struct mech *m, const struct args *g)
{
	unary(m, g->a, 0.5, 1 / (1 + exp(g->eps0)));
}

static void cheu(struct mech *m, const struct args *g)
{
	unary(m, g->a, 1 - g->x, g->x);
	m->dummies = true;
	m->per_participant = g->b;
}

static unsigned bits(size_t y)
{
	unsigned n = 0;

	for (; y; y &= y - 1)
		n++;
	return n;
}

/* Words of a bits with b of them set, in order. */
static size_t words(unsigned a, unsigned b, size_t out[MECH_OUTPUTS])
{
	size_t n = 0;

	for (size_t y = 0; y < power(2, a); y++)
		if (bits(y) == b)
			out[n++] = y;
	return n;
}

/* b-subsets of a items; inputs are c-subsets. */
static void privset(struct mech *m, const struct args *g)
{
	size_t in[MECH_OUTPUTS], out[MECH_OUTPUTS];

	m->inputs = words(g->a, g->c, in);
	m->outputs = words(g->a, g->b, out);
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = in[x] & out[y] ? exp(g->eps0) : 1;
}

static void subset(struct mech *m, const struct args *g)
{
	privset(m, &(struct args){ g->eps0, 0, g->a, g->b, 1 });
}

/* a inputs, b blocks of c symbols: row 1 + x/b of the Hadamard matrix in block x % b. */
static void hadamard(struct mech *m, const struct args *g)
{
	m->inputs = g->a;
	m->outputs = g->b * g->c;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = y / g->c == x % g->b && bits((1 + x / g->b) & y % g->c) % 2 == 0
					       ? exp(g->eps0)
					       : 1;
}

/* a signs. */
static void duchi(struct mech *m, const struct args *g)
{
	m->inputs = m->outputs = power(2, g->a);
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = 2 * bits(x ^ y) < g->a ? exp(g->eps0) : 1;
}

static void harmony(struct mech *m, const struct args *g)
{
	m->inputs = power(2, g->a);
	m->outputs = 2 * g->a;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = (x >> (y / 2) & 1) == y % 2 ? exp(g->eps0) : 1;
}

/* a bits, b sampled of them. */
static void vrr(struct mech *m, const struct args *g)
{
	size_t mask[MECH_OUTPUTS], masks = words(g->a, g->b, mask);
	double keep = exp(g->eps0 / g->b);

	m->inputs = power(2, g->a);
	m->outputs = 0;
	for (size_t s = 0; s < masks; s++)
		for (size_t y = 0; y < power(2, g->a); y++) {
			if (y & ~mask[s])
				continue;
			for (size_t x = 0; x < m->inputs; x++)
				m->law[x][m->outputs] = pow(keep, g->b - bits((x ^ y) & mask[s]));
			m->outputs++;
		}
}

/* Levels 0..a and noise on -b..a+b, what is beyond piled up at the ends; e^-80 is lost. */
static void noise(struct mech *m, unsigned a, unsigned b, double (*weight)(int z, const struct args *g),
	const struct args *g)
{
	int far = (int)a * (int)ceil(80 / g->eps0);

	m->inputs = a + 1;
	m->outputs = a + 2 * b + 1;
	for (int x = 0; x <= (int)a; x++)
		for (int z = -far; z <= far; z++) {
			int y = x + z + (int)b;

			y = y < 0 ? 0 : y >= (int)m->outputs ? (int)m->outputs - 1 : y;
			m->law[x][y] += weight(z, g);
		}
}

static double laplace_weight(int z, const struct args *g)
{
	return exp(-g->eps0 * fabs((double)z) / g->a);
}

static void laplace(struct mech *m, const struct args *g)
{
	noise(m, g->a, g->b, laplace_weight, g);
}

/* c: the inner step. */
static double staircase_weight(int z, const struct args *g)
{
	unsigned far = (unsigned)(z < 0 ? -z : z);

	return exp(-g->eps0 * (far / g->a + (far % g->a >= g->c)));
}

static void staircase(struct mech *m, const struct args *g)
{
	noise(m, g->a, g->b, staircase_weight, g);
}

/* Levels 0..a, window b. */
static void piecewise(struct mech *m, const struct args *g)
{
	m->inputs = g->a + 1;
	m->outputs = g->a + g->b;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = y >= x && y < x + g->b ? exp(g->eps0) : 1;
}

/* The counter's message or none; the dummy is the coin. */
static void coins(struct mech *m, const struct args *g)
{
	m->inputs = m->outputs = 2;
	m->law[0][0] = m->law[1][1] = 1;
	m->dummy[0] = 1 - g->x;
	m->dummy[1] = g->x;
	m->dummies = m->truthful = true;
	m->per_participant = 1;
}

/* Adds outputs: a k-ary response to part(x), with chance share. */
static void add_query(struct mech *m, double share, unsigned k, double eps0, unsigned divide)
{
	for (size_t y = 0; y < k; y++) {
		for (size_t x = 0; x < m->inputs; x++)
			m->law[x][m->outputs] =
				share * (x / divide % k == y ? exp(eps0) : 1) / (exp(eps0) + k - 1);
		m->outputs++;
	}
}

/* fan-out a, b levels. */
static void hierarchy(struct mech *m, const struct args *g)
{
	m->inputs = power(g->a, g->b);
	m->outputs = 0;
	for (unsigned h = 1; h <= g->b; h++)
		add_query(m, 1.0 / g->b, power(g->a, h), g->eps0, power(g->a, g->b - h));
}

/* Two sub-queries of a and b symbols; the input is a pair. */
static void parallel(struct mech *m, const struct args *g)
{
	m->inputs = g->a * g->b;
	m->outputs = 0;
	add_query(m, 0.5, g->a, g->eps0, g->b);
	add_query(m, 0.5, g->b, g->eps0, 1);
}

static void shared(struct mech *m, const struct args *g)
{
	m->inputs = g->a * g->b;
	m->outputs = 0;
	add_query(m, 0.25, g->a, 2, g->b);
	add_query(m, 0.75, g->b, 0.5, 1);
}

/* text, then eps0= if the case takes one. */
static const struct {
	const char *text;
	void (*build)(struct mech *m, const struct args *g);
	bool local;
	struct args args;
} table[] = {
	{ "generic:", response, true, { .a = 2 } },
	{ "rr:", response, true, { .a = 2 } },
	{ "grr:k=2,", response, true, { .a = 2 } },
	{ "grr:k=3,", response, true, { .a = 3 } },
	{ "grr:k=4,", response, true, { .a = 4 } },
	{ "mixbins:k=2,", mixbins, true, { .a = 2 } },
	{ "mixbins:k=3,", mixbins, true, { .a = 3 } },
	{ "mixbins:k=3,eps0=inf", bins, false, { .a = 3 } },
	{ "bins:k=2", bins, false, { .a = 2 } },
	{ "bins:k=4", bins, false, { .a = 4 } },
	{ "levels:b=1,", levels, true, { .a = 1 } },
	{ "levels:b=3,", levels, true, { .a = 3 } },
	{ "hashed:b=2", hashed, false, { .a = 2, .b = 2 } },
	{ "hashed:b=3", hashed, false, { .a = 3, .b = 3 } },
	{ "hashed:b=3,collision=0", shifted, false, { .a = 3, .b = 3 } },
	{ "hashed:b=2,collision=0", shifted, false, { .a = 2, .b = 2 } },
	{ "rappor:d=2,", rappor, true, { .a = 2 } },
	{ "rappor:d=3,", rappor, true, { .a = 3 } },
	{ "sue:d=4,", rappor, true, { .a = 4 } },
	{ "oue:d=2,", oue, true, { .a = 2 } },
	{ "oue:d=3,", oue, true, { .a = 3 } },
	{ "oue:d=4,", oue, true, { .a = 4 } },
	{ "subset:d=2,k=1,", subset, true, { .a = 2, .b = 1 } },
	{ "subset:d=3,k=2,", subset, true, { .a = 3, .b = 2 } },
	{ "subset:d=4,k=2,", subset, true, { .a = 4, .b = 2 } },
	{ "subset:d=6,k=3,", subset, true, { .a = 6, .b = 3 } },
	{ "privset:d=4,k=2,s=1,", privset, true, { .a = 4, .b = 2, .c = 1 } },
	{ "privset:d=4,k=1,s=2,", privset, true, { .a = 4, .b = 1, .c = 2 } },
	{ "privset:d=4,k=1,s=3,", privset, true, { .a = 4, .b = 1, .c = 3 } },
	{ "privset:d=6,k=2,s=2,", privset, true, { .a = 6, .b = 2, .c = 2 } },
	{ "privset:d=6,k=4,s=2,", privset, true, { .a = 6, .b = 4, .c = 2 } },
	{ "privset:d=6,k=3,s=2,", privset, true, { .a = 6, .b = 3, .c = 2 } },
	{ "privset:d=6,k=1,s=3,", privset, true, { .a = 6, .b = 1, .c = 3 } },
	{ "privset:d=5,k=2,s=3,", privset, true, { .a = 5, .b = 2, .c = 3 } },
	{ "privset:d=6,k=2,s=1,", privset, true, { .a = 6, .b = 2, .c = 1 } },
	{ "olh:l=2,d=2,", olh, true, { .a = 2, .b = 2 } },
	{ "olh:l=2,d=3,", olh, true, { .a = 3, .b = 2 } },
	{ "olh:l=3,d=3,", olh, true, { .a = 3, .b = 3 } },
	{ "olh:l=4,d=2,", olh, true, { .a = 2, .b = 4 } },
	{ "hadamard:d=2,", hadamard, true, { .a = 2, .b = 1, .c = 4 } },
	{ "hadamard:d=3,", hadamard, true, { .a = 3, .b = 1, .c = 4 } },
	{ "hadamard:d=5,", hadamard, true, { .a = 5, .b = 1, .c = 8 } },
	{ "hadamard:d=7,blocks=1,", hadamard, true, { .a = 7, .b = 1, .c = 8 } },
	{ "hadamard:d=2,blocks=2,", hadamard, true, { .a = 2, .b = 2, .c = 2 } },
	{ "hadamard:d=4,blocks=2,", hadamard, true, { .a = 4, .b = 2, .c = 4 } },
	{ "hadamard:d=6,blocks=2,", hadamard, true, { .a = 6, .b = 2, .c = 4 } },
	{ "duchi:", duchi, true, { .a = 1 } },
	{ "duchi:d=2,", duchi, true, { .a = 2 } },
	{ "duchi:d=3,", duchi, true, { .a = 3 } },
	{ "duchi:d=4,", duchi, true, { .a = 4 } },
	{ "harmony:", harmony, true, { .a = 1 } },
	{ "harmony:d=2,", harmony, true, { .a = 2 } },
	{ "harmony:d=4,", harmony, true, { .a = 4 } },
	{ "vrr:s=1,", vrr, true, { .a = 2, .b = 1 } },
	{ "vrr:s=2,", vrr, true, { .a = 2, .b = 2 } },
	{ "vrr:s=2,", vrr, true, { .a = 3, .b = 2 } },
	{ "vrr:s=4,", vrr, true, { .a = 4, .b = 4 } },
	{ "laplace-levels:b=1,", laplace, true, { .a = 1, .b = 2 } },
	{ "laplace-levels:b=2,", laplace, true, { .a = 2, .b = 0 } },
	{ "laplace-levels:b=3,", laplace, true, { .a = 3, .b = 1 } },
	{ "laplace-levels:b=8,", laplace, true, { .a = 8, .b = 9 } },
	{ "staircase:b=1,r=1,", staircase, true, { .a = 1, .b = 2, .c = 1 } },
	{ "staircase:b=2,r=1,", staircase, true, { .a = 2, .b = 5, .c = 1 } },
	{ "staircase:b=3,r=2,", staircase, true, { .a = 3, .b = 6, .c = 2 } },
	{ "staircase:b=8,r=3,", staircase, true, { .a = 8, .b = 20, .c = 3 } },
	{ "staircase:b=8,r=8,", staircase, true, { .a = 8, .b = 20, .c = 8 } },
	{ "piecewise:b=1,w=1,", piecewise, true, { .a = 1, .b = 1 } },
	{ "piecewise:b=2,w=2,", piecewise, true, { .a = 2, .b = 2 } },
	{ "piecewise:b=3,w=1,", piecewise, true, { .a = 3, .b = 1 } },
	{ "piecewise:b=2,w=4,", piecewise, true, { .a = 2, .b = 4 } },
	{ "balcer-cheu:t=.5", coins, false, { .x = 0.5 } },
	{ "balcer-cheu:t=.1,k=1", coins, false, { .x = 0.1 } },
	{ "cheu:f=.2", cheu, false, { .x = 0.2, .a = 3, .b = 1 } },
	{ "cheu:f=.3,fakes=0", cheu, false, { .x = 0.3, .a = 2, .b = 0 } },
	{ "cheu:f=.1,fakes=2", cheu, false, { .x = 0.1, .a = 2, .b = 2 } },
	{ "hierarchy:f=2,H=1,", hierarchy, true, { .a = 2, .b = 1 } },
	{ "hierarchy:f=2,H=2,", hierarchy, true, { .a = 2, .b = 2 } },
	{ "hierarchy:f=3,H=2,", hierarchy, true, { .a = 3, .b = 2 } },
	{ "hierarchy:f=2,H=4,", hierarchy, true, { .a = 2, .b = 4 } },
	{ "parallel:k=2/2,", parallel, true, { .a = 2, .b = 2 } },
	{ "parallel:k=2/3,", parallel, true, { .a = 2, .b = 3 } },
	{ "parallel:k=4/5,", parallel, true, { .a = 4, .b = 5 } },
	{ "parallel:k=2/3,eps0=2/.5,share=.25/.75", shared, false, { .a = 2, .b = 3 } },
};

bool mech_case(size_t i, double scale, struct mech *m)
{
	if (i >= sizeof table / sizeof *table)
		return false;
	struct args g = table[i].args;

	memset(m, 0, sizeof *m);
	g.eps0 = EPS0 * scale;
	if (table[i].local)
		snprintf(m->text, sizeof m->text, "%seps0=%.17g", table[i].text, g.eps0);
	else
		snprintf(m->text, sizeof m->text, "%s", table[i].text);
	table[i].build(m, &g);
	normalise(m);
	return true;
}

static bool proportional(const struct mech *m, size_t y, size_t z)
{
	double a = 0, b = 0;

	for (size_t x = 0; x < m->inputs; x++) {
		a += m->law[x][y];
		b += m->law[x][z];
	}
	bool same = fabs(m->dummy[y] * b - m->dummy[z] * a) <= 1e-14 * m->dummy[y] * b;
	for (size_t x = 0; x < m->inputs && same; x++)
		same = fabs(m->law[x][y] * b - m->law[x][z] * a) <= 1e-14 * m->law[x][y] * b;
	return same;
}

void mech_merge(struct mech *m)
{
	for (size_t y = 0; y < m->outputs; y++)
		for (size_t z = y + 1; z < m->outputs;) {
			if (!proportional(m, y, z)) {
				z++;
				continue;
			}
			m->outputs--;
			m->dummy[y] += m->dummy[z];
			m->dummy[z] = m->dummy[m->outputs];
			for (size_t x = 0; x < m->inputs; x++) {
				m->law[x][y] += m->law[x][z];
				m->law[x][z] = m->law[x][m->outputs];
			}
		}
}
