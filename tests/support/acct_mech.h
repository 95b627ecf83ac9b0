/* acct_mech.h - small randomizers written out from their definitions, every input and every output, for tests
 * of the accountant's named rounds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MECH_INPUTS  32
#define MECH_OUTPUTS 256

struct mech {
	char text[120]; /* as a round, without n= and dummies= */
	size_t inputs, outputs;
	double law[MECH_INPUTS][MECH_OUTPUTS];
	double dummy[MECH_OUTPUTS]; /* law of a message without data */
	bool dummies;               /* the round has messages of that law */
	bool truthful;              /* participants hide nobody */
	bool above; /* the cells are above those of every pair of inputs, and not those of any one pair */
	unsigned per_participant; /* number of dummies that n implies; 0: dummies= gives it */
};

/* Case i of the table; false past the last.  eps0 of the cases that take one is scaled by `scale`. */
bool mech_case(size_t i, double scale, struct mech *m);

/* Weights to laws. */
void mech_normalise(struct mech *m);

/* Join outputs whose laws are proportional under all inputs: no test tells them apart. */
void mech_merge(struct mech *m);
