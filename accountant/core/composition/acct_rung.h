/* acct_rung.h - one round's laws on a ladder of grids whose steps are one step times powers of two, so that
 * the laws of rounds computed independently fit on one grid (doc/accounting.md, "The ledger's state"). */
#pragma once

#include "acct_law.h"

enum acct_side {
	ACCT_ABOVE,
	ACCT_BELOW, /* a law from below, in one direction of the round */
	/* the law from below with the two inputs exchanged; that of ACCT_BELOW if the round is symmetric */
	ACCT_SWAPPED,
	ACCT_SIDES,
};

struct acct_rung {
	struct acct_list list;
	/* standard deviation of the finite losses, estimated; 0: the round has no loss */
	double deviation;
	double range; /* loss beyond which the round's delta is below `tail`: nodes end there */
	/* most nodes of the curve, so that the least work of its points stays within the limit */
	double most_nodes;
	double tail;  /* mass that the law may give up, as acct_rung_init was told */
	double step;  /* distance between nodes; 0: the laws are not computed yet */
	double even;  /* loss up to which nodes are evenly spaced: acct_nodes_thinned */
	double width; /* relative width of the points of the curve, as in struct acct_work */
	double unit;  /* law[].at counts in this unit */
	struct acct_law law[ACCT_SIDES]; /* owned; the last is empty when the round is symmetric */
	double work;                     /* work of computing the laws, in the unit of struct acct_work */
};

/* Set the round's deviation and range, and how many nodes it may have.  tail: mass that its law may give
 * up.  Call acct_rung_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_rung_init(struct acct_rung *r, const struct acct_list *list, double tail);
void acct_rung_fini(struct acct_rung *r);

/* The largest rung that is at most x.  A rung is a number of three binary digits: 4, 5, 6 or 7 times a
 * power of two. */
double acct_rung_floor(double x);

/* Compute the laws with `h`, a rung, as their unit.  Nodes are h or a power of two times h apart: at most
 * `resolution` deviations, unless h is more.  Beyond the losses that a tilt by `lean` makes matter they are
 * further apart.  width: as in struct acct_work.  Keeps the laws if their nodes do not change; else
 * computes new points of the curve.  The laws depend on nothing but list, tail, h, resolution, lean and
 * width. */
ACCT_CHECK enum acct_rc acct_rung_fit(
	struct acct_rung *r, double h, double resolution, double lean, double width);

const struct acct_law *acct_rung_law(const struct acct_rung *r, enum acct_side side);
