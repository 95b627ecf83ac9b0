/* acct_mech_laws.c - the definitions of the randomizers, as weights of outputs. */
#include <math.h>
#include <string.h>

#include "acct_mech_laws.h"

static unsigned power(unsigned base, unsigned exponent)
{
	unsigned r = 1;

	while (exponent-- > 0)
		r *= base;
	return r;
}

static void uniform_dummies(struct mech *m)
{
	m->dummies = true;
	for (size_t y = 0; y < m->outputs; y++)
		m->dummy[y] = 1.0 / (double)m->outputs;
}

/* a symbols. */
void mech_response(struct mech *m, const struct mech_args *g)
{
	m->inputs = m->outputs = g->a;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = x == y ? exp(g->eps0) : 1;
}

void mech_mixbins(struct mech *m, const struct mech_args *g)
{
	mech_response(m, g);
	uniform_dummies(m);
}

void mech_bins(struct mech *m, const struct mech_args *g)
{
	m->inputs = m->outputs = g->a;
	for (size_t x = 0; x < m->inputs; x++)
		m->law[x][x] = 1;
	uniform_dummies(m);
	m->truthful = true;
}

void mech_levels(struct mech *m, const struct mech_args *g)
{
	mech_response(m, &(struct mech_args){ .eps0 = g->eps0, .a = g->a + 1 });
}

/* All functions from a inputs to b values, and a value. */
void mech_hashed(struct mech *m, const struct mech_args *g)
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
void mech_shifted(struct mech *m, const struct mech_args *g)
{
	m->inputs = g->a;
	m->outputs = g->b * g->b;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = (x + y / g->b) % g->b == y % g->b;
	uniform_dummies(m);
	m->truthful = true;
}

/* How many of a inputs take the commonest of b values under hash h. */
static unsigned most_agree(size_t h, unsigned a, unsigned b)
{
	unsigned most = 0;

	for (unsigned value = 0; value < b; value++) {
		unsigned agree = 0;

		for (size_t x = 0, rest = h; x < a; x++, rest /= b)
			agree += rest % b == value;
		most = agree > most ? agree : most;
	}
	return most;
}

/* Hashes of a inputs to b values: all of them; with c, those under which all but one agree.  Where a = b = 3,
 * or a = 4 and b = 2, these are a pairwise independent family, and one under which all never agree. */
void mech_olh(struct mech *m, const struct mech_args *g)
{
	m->inputs = g->a;
	for (size_t h = 0; h < power(g->b, g->a); h++)
		for (size_t value = 0; (g->c == 0 || most_agree(h, g->a, g->b) == g->a - 1) && value < g->b;
			value++, m->outputs++)
			for (size_t x = 0, rest = h; x < g->a; x++, rest /= g->b)
				m->law[x][m->outputs] = rest % g->b == value ? exp(g->eps0) : 1;
}

/* a bits; chance of a set bit: own for the input's, `other` elsewhere. */
static void unary(struct mech *m, unsigned a, double own, double other)
{
	m->inputs = a;
	m->outputs = power(2, a);
	for (size_t x = 0; x <= m->inputs; x++) /* the last value: no bit is the input's */
		for (size_t y = 0; y < m->outputs; y++) {
			double chance = 1;

			for (size_t j = 0; j < a; j++) {
				double set = j == x ? own : other;

				chance *= y >> j & 1 ? set : 1 - set;
			}
			*(x < m->inputs ? &m->law[x][y] : &m->dummy[y]) = chance;
		}
}

void mech_rappor(struct mech *m, const struct mech_args *g)
{
	double f = 1 / (1 + exp(g->eps0 / 2));

	unary(m, g->a, 1 - f, f);
}

void mech_oue(struct mech *m, const struct mech_args *g)
{
	unary(m, g->a, 0.5, 1 / (1 + exp(g->eps0)));
}

void mech_cheu(struct mech *m, const struct mech_args *g)
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
void mech_privset(struct mech *m, const struct mech_args *g)
{
	size_t in[MECH_OUTPUTS], out[MECH_OUTPUTS];

	m->inputs = words(g->a, g->c, in);
	m->outputs = words(g->a, g->b, out);
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = in[x] & out[y] ? exp(g->eps0) : 1;
}

void mech_subset(struct mech *m, const struct mech_args *g)
{
	mech_privset(m, &(struct mech_args){ g->eps0, 0, g->a, g->b, 1 });
}

/* a inputs, b blocks of c symbols: row 1 + x/b of the Hadamard matrix in block x % b. */
void mech_hadamard(struct mech *m, const struct mech_args *g)
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
void mech_duchi(struct mech *m, const struct mech_args *g)
{
	m->inputs = m->outputs = power(2, g->a);
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = 2 * bits(x ^ y) < g->a ? exp(g->eps0) : 1;
}

void mech_harmony(struct mech *m, const struct mech_args *g)
{
	m->inputs = power(2, g->a);
	m->outputs = 2 * g->a;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = (x >> (y / 2) & 1) == y % 2 ? exp(g->eps0) : 1;
}

/* b words of a bits, one of them drawn. */
void mech_words(struct mech *m, const struct mech_args *g)
{
	size_t k = power(2, g->a);

	m->inputs = power(2, g->a * g->b);
	m->outputs = g->b * k;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = (x >> (y / k * g->a)) % k == y % k ? exp(g->eps0) : 1;
	uniform_dummies(m);
}

/* a bits, b sampled of them. */
void mech_vrr(struct mech *m, const struct mech_args *g)
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

/* Levels 0..a and noise on -b..a+b; what is beyond comes back by periods, after which ratios are the same;
 * e^-80 is lost. */
static void noise(struct mech *m, unsigned a, unsigned b, int period,
	double (*weight)(int z, const struct mech_args *g), const struct mech_args *g)
{
	int far = (int)a * (int)ceil(80 / g->eps0), last = (int)(a + 2 * b);

	m->inputs = a + 1;
	m->outputs = a + 2 * b + 1;
	for (int x = 0; x <= (int)a; x++)
		for (int z = -far; z <= far; z++) {
			int y = x + z + (int)b;

			if (y < 0)
				y += (period - 1 - y) / period * period;
			if (y > last)
				y -= (period - 1 + y - last) / period * period;
			m->law[x][y] += weight(z, g);
		}
}

static double laplace_weight(int z, const struct mech_args *g)
{
	return exp(-g->eps0 * fabs((double)z) / g->a);
}

void mech_laplace(struct mech *m, const struct mech_args *g)
{
	noise(m, g->a, g->b, 1, laplace_weight, g);
}

/* c: the inner step. */
static double staircase_weight(int z, const struct mech_args *g)
{
	unsigned far = (unsigned)(z < 0 ? -z : z);

	return exp(-g->eps0 * (far / g->a + (far % g->a >= g->c)));
}

void mech_staircase(struct mech *m, const struct mech_args *g)
{
	noise(m, g->a, g->b, (int)g->a, staircase_weight, g);
}

/* Levels 0..a, window b. */
void mech_piecewise(struct mech *m, const struct mech_args *g)
{
	m->inputs = g->a + 1;
	m->outputs = g->a + g->b;
	for (size_t x = 0; x < m->inputs; x++)
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] = y >= x && y < x + g->b ? exp(g->eps0) : 1;
}

/* The message of the counter, or none; dummies are the coin. */
void mech_coins(struct mech *m, const struct mech_args *g)
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
void mech_hierarchy(struct mech *m, const struct mech_args *g)
{
	m->inputs = power(g->a, g->b);
	m->outputs = 0;
	for (unsigned h = 1; h <= g->b; h++)
		add_query(m, 1.0 / g->b, power(g->a, h), g->eps0, power(g->a, g->b - h));
}

/* Two sub-queries of a and b symbols; the input is a pair. */
void mech_parallel(struct mech *m, const struct mech_args *g)
{
	m->inputs = g->a * g->b;
	m->outputs = 0;
	add_query(m, 0.5, g->a, g->eps0, g->b);
	add_query(m, 0.5, g->b, g->eps0, 1);
}

void mech_shared(struct mech *m, const struct mech_args *g)
{
	m->inputs = g->a * g->b;
	m->outputs = 0;
	add_query(m, 0.25, g->a, 2, g->b);
	add_query(m, 0.75, g->b, 0.5, 1);
}

/* The law of a cell of a by b at this rate: every place of the torus, by the nearest of its nine images. */
static void fill_planar(struct mech *m, const struct mech_args *g, double rate)
{
	int w = (int)g->a, h = (int)g->b, tw = 2 * w - w % 2, th = 2 * h - h % 2;

	memset(m->law, 0, sizeof m->law);
	for (int x = 0; x < w * h; x++)
		for (int k = 0; k < tw * th; k++) {
			int i = k % tw, j = k / tw, col = i < w ? i : 2 * i < w + tw ? w - 1 : 0;
			int row = j < h ? j : 2 * j < h + th ? h - 1 : 0;
			double least = INFINITY;

			for (int image = 0; image < 9; image++)
				least = fmin(least, hypot(i - x % w + tw * (image % 3 - 1),
							    j - x / w + th * (image / 3 - 1)));
			m->law[x][col + w * row] += exp(-rate * ceil(1024 * least * (1 - 1e-15)));
		}
}

static double furthest(const struct mech *m)
{
	double most = 1;

	for (size_t x = 0; x < m->inputs; x++)
		for (size_t z = 0; z < m->inputs; z++)
			for (size_t y = 0; y < m->outputs; y++)
				most = fmax(most, m->law[x][y] / m->law[z][y]);
	return log(most);
}

/* A grid of a by b cells: the rate is where the two inputs that are furthest apart are eps0 apart. */
void mech_planar(struct mech *m, const struct mech_args *g)
{
	double low = 0, high = g->eps0 / 256;

	m->inputs = m->outputs = (size_t)g->a * g->b;
	m->above = true;
	for (int i = 0; i < 60; i++) {
		double rate = low + (high - low) / 2;

		fill_planar(m, g, rate);
		if (furthest(m) > g->eps0)
			high = rate;
		else
			low = rate;
	}
	fill_planar(m, g, low);
}
