/* acct_mech.c - small randomizers by name. */
#include "acct_mech.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "acct_mech_laws.h"

#define EPS0 1.1 /* eps0 of the cases, times the scale */

void mech_normalise(struct mech *m)
{
	for (size_t x = 0; x < m->inputs; x++) {
		double sum = 0;

		for (size_t y = 0; y < m->outputs; y++)
			sum += m->law[x][y];
		for (size_t y = 0; y < m->outputs; y++)
			m->law[x][y] /= sum;
	}
}

/* text, then eps0= if the case takes one. */
static const struct {
	const char *text;
	void (*build)(struct mech *m, const struct mech_args *g);
	bool local;
	struct mech_args args;
} table[] = {
	{ "generic:", mech_response, true, { .a = 2 } },
	{ "rr:", mech_response, true, { .a = 2 } },
	{ "grr:k=2,", mech_response, true, { .a = 2 } },
	{ "grr:k=3,", mech_response, true, { .a = 3 } },
	{ "grr:k=4,", mech_response, true, { .a = 4 } },
	{ "mixbins:k=2,", mech_mixbins, true, { .a = 2 } },
	{ "mixbins:k=3,", mech_mixbins, true, { .a = 3 } },
	{ "mixbins:k=3,eps0=inf", mech_bins, false, { .a = 3 } },
	{ "bins:k=2", mech_bins, false, { .a = 2 } },
	{ "bins:k=4", mech_bins, false, { .a = 4 } },
	{ "levels:b=1,", mech_levels, true, { .a = 1 } },
	{ "levels:b=3,", mech_levels, true, { .a = 3 } },
	{ "hashed:b=2", mech_hashed, false, { .a = 2, .b = 2 } },
	{ "hashed:b=3", mech_hashed, false, { .a = 3, .b = 3 } },
	{ "hashed:b=3,collision=0", mech_shifted, false, { .a = 3, .b = 3 } },
	{ "hashed:b=2,collision=0", mech_shifted, false, { .a = 2, .b = 2 } },
	{ "rappor:d=2,", mech_rappor, true, { .a = 2 } },
	{ "rappor:d=3,", mech_rappor, true, { .a = 3 } },
	{ "sue:d=4,", mech_rappor, true, { .a = 4 } },
	{ "oue:d=2,", mech_oue, true, { .a = 2 } },
	{ "oue:d=3,", mech_oue, true, { .a = 3 } },
	{ "oue:d=4,", mech_oue, true, { .a = 4 } },
	{ "subset:d=2,k=1,", mech_subset, true, { .a = 2, .b = 1 } },
	{ "subset:d=3,k=2,", mech_subset, true, { .a = 3, .b = 2 } },
	{ "subset:d=4,k=2,", mech_subset, true, { .a = 4, .b = 2 } },
	{ "subset:d=6,k=3,", mech_subset, true, { .a = 6, .b = 3 } },
	{ "privset:d=4,k=2,s=1,", mech_privset, true, { .a = 4, .b = 2, .c = 1 } },
	{ "privset:d=4,k=1,s=2,", mech_privset, true, { .a = 4, .b = 1, .c = 2 } },
	{ "privset:d=4,k=1,s=3,", mech_privset, true, { .a = 4, .b = 1, .c = 3 } },
	{ "privset:d=6,k=2,s=2,", mech_privset, true, { .a = 6, .b = 2, .c = 2 } },
	{ "privset:d=6,k=4,s=2,", mech_privset, true, { .a = 6, .b = 4, .c = 2 } },
	{ "privset:d=6,k=3,s=2,", mech_privset, true, { .a = 6, .b = 3, .c = 2 } },
	{ "privset:d=6,k=1,s=3,", mech_privset, true, { .a = 6, .b = 1, .c = 3 } },
	{ "privset:d=5,k=2,s=3,", mech_privset, true, { .a = 5, .b = 2, .c = 3 } },
	{ "privset:d=6,k=2,s=1,", mech_privset, true, { .a = 6, .b = 2, .c = 1 } },
	{ "olh:l=2,d=2,", mech_olh, true, { .a = 2, .b = 2 } },
	{ "olh:l=2,d=3,", mech_olh, true, { .a = 3, .b = 2 } },
	{ "olh:l=3,d=3,", mech_olh, true, { .a = 3, .b = 3, .c = 1 } },
	{ "olh:l=2,d=4,", mech_olh, true, { .a = 4, .b = 2, .c = 1 } },
	{ "olh:l=4,d=2,", mech_olh, true, { .a = 2, .b = 4 } },
	{ "hadamard:d=2,", mech_hadamard, true, { .a = 2, .b = 1, .c = 4 } },
	{ "hadamard:d=3,", mech_hadamard, true, { .a = 3, .b = 1, .c = 4 } },
	{ "hadamard:d=5,", mech_hadamard, true, { .a = 5, .b = 1, .c = 8 } },
	{ "hadamard:d=7,blocks=1,", mech_hadamard, true, { .a = 7, .b = 1, .c = 8 } },
	{ "hadamard:d=2,blocks=2,", mech_hadamard, true, { .a = 2, .b = 2, .c = 2 } },
	{ "hadamard:d=4,blocks=2,", mech_hadamard, true, { .a = 4, .b = 2, .c = 4 } },
	{ "hadamard:d=6,blocks=2,", mech_hadamard, true, { .a = 6, .b = 2, .c = 4 } },
	{ "hadamard:d=3,blocks=3,", mech_hadamard, true, { .a = 3, .b = 3, .c = 2 } },
	{ "hadamard:d=6,blocks=3,", mech_hadamard, true, { .a = 6, .b = 3, .c = 4 } },
	{ "duchi:", mech_duchi, true, { .a = 1 } },
	{ "duchi:d=2,", mech_duchi, true, { .a = 2 } },
	{ "duchi:d=3,", mech_duchi, true, { .a = 3 } },
	{ "duchi:d=4,", mech_duchi, true, { .a = 4 } },
	{ "harmony:", mech_harmony, true, { .a = 1 } },
	{ "harmony:d=2,", mech_harmony, true, { .a = 2 } },
	{ "harmony:d=4,", mech_harmony, true, { .a = 4 } },
	{ "words:w=1,", mech_words, true, { .a = 1, .b = 2 } },
	{ "words:w=1,groups=3,", mech_words, true, { .a = 1, .b = 3 } },
	{ "words:w=2,groups=2,", mech_words, true, { .a = 2, .b = 2 } },
	{ "vrr:s=1,", mech_vrr, true, { .a = 2, .b = 1 } },
	{ "vrr:s=2,", mech_vrr, true, { .a = 2, .b = 2 } },
	{ "vrr:s=2,", mech_vrr, true, { .a = 3, .b = 2 } },
	{ "vrr:s=4,", mech_vrr, true, { .a = 4, .b = 4 } },
	{ "laplace-levels:b=1,", mech_laplace, true, { .a = 1, .b = 2 } },
	{ "laplace-levels:b=2,", mech_laplace, true, { .a = 2, .b = 0 } },
	{ "laplace-levels:b=3,", mech_laplace, true, { .a = 3, .b = 1 } },
	{ "laplace-levels:b=8,", mech_laplace, true, { .a = 8, .b = 9 } },
	{ "staircase:b=1,r=1,", mech_staircase, true, { .a = 1, .b = 2, .c = 1 } },
	{ "staircase:b=2,r=1,", mech_staircase, true, { .a = 2, .b = 5, .c = 1 } },
	{ "staircase:b=3,r=2,", mech_staircase, true, { .a = 3, .b = 6, .c = 2 } },
	{ "staircase:b=8,r=3,", mech_staircase, true, { .a = 8, .b = 20, .c = 3 } },
	{ "staircase:b=8,r=8,", mech_staircase, true, { .a = 8, .b = 20, .c = 8 } },
	{ "piecewise:b=1,w=1,", mech_piecewise, true, { .a = 1, .b = 1 } },
	{ "piecewise:b=2,w=2,", mech_piecewise, true, { .a = 2, .b = 2 } },
	{ "piecewise:b=3,w=1,", mech_piecewise, true, { .a = 3, .b = 1 } },
	{ "piecewise:b=4,w=2,", mech_piecewise, true, { .a = 4, .b = 2 } },
	{ "piecewise:b=2,w=4,", mech_piecewise, true, { .a = 2, .b = 4 } },
	{ "balcer-cheu:t=.5", mech_coins, false, { .x = 0.5 } },
	{ "balcer-cheu:t=.1,k=1", mech_coins, false, { .x = 0.1 } },
	{ "cheu:f=.2", mech_cheu, false, { .x = 0.2, .a = 3, .b = 1 } },
	{ "cheu:f=.3,fakes=0,d=2", mech_cheu, false, { .x = 0.3, .a = 2, .b = 0 } },
	{ "cheu:f=.1,fakes=2,d=2", mech_cheu, false, { .x = 0.1, .a = 2, .b = 2 } },
	{ "hierarchy:f=2,H=1,", mech_hierarchy, true, { .a = 2, .b = 1 } },
	{ "hierarchy:f=2,H=2,", mech_hierarchy, true, { .a = 2, .b = 2 } },
	{ "hierarchy:f=3,H=2,", mech_hierarchy, true, { .a = 3, .b = 2 } },
	{ "hierarchy:f=2,H=4,", mech_hierarchy, true, { .a = 2, .b = 4 } },
	{ "parallel:k=2/2,", mech_parallel, true, { .a = 2, .b = 2 } },
	{ "parallel:k=2/3,", mech_parallel, true, { .a = 2, .b = 3 } },
	{ "parallel:k=4/5,", mech_parallel, true, { .a = 4, .b = 5 } },
	{ "planar:w=2,h=2,", mech_planar, true, { .a = 2, .b = 2 } },
	{ "planar:w=3,h=2,", mech_planar, true, { .a = 3, .b = 2 } },
	{ "planar:w=2,h=4,", mech_planar, true, { .a = 2, .b = 4 } },
	{ "parallel:k=2/3,eps0=2/.5,share=.25/.75", mech_shared, false, { .a = 2, .b = 3 } },
};

bool mech_case(size_t i, double scale, struct mech *m)
{
	if (i >= sizeof table / sizeof *table)
		return false;
	struct mech_args g = table[i].args;

	memset(m, 0, sizeof *m);
	g.eps0 = EPS0 * scale;
	if (table[i].local)
		snprintf(m->text, sizeof m->text, "%seps0=%.17g", table[i].text, g.eps0);
	else
		snprintf(m->text, sizeof m->text, "%s", table[i].text);
	table[i].build(m, &g);
	mech_normalise(m);
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
