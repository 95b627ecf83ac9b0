/* acct_rung.h - one round's laws on a ladder of grids whose steps are one step times powers of two, so that
 * the laws of rounds computed independently fit on one grid (doc/accounting.md, "The ledger's state"). */
#pragma once

#include "acct_law.h"

enum acct_side {
	ACCT_ABOVE,
	ACCT_BELOW,   /* one direction of the round */
	ACCT_SWAPPED, /* the other direction; the same law when the round is symmetric */
	ACCT_SIDES,
};

struct acct_rung {
	struct acct_list list;
	double deviation;                /* as in struct acct_rounds; 0: the round has no loss */
	double range;                    /* loss beyond which delta is below tail */
	double most_nodes;               /* most nodes of the curve, from the work that one point may take */
	double tail;                     /* mass that may be given up, from acct_rung_init */
	double step;                     /* distance between nodes; 0: the laws are not computed yet */
	double even;                     /* loss up to which nodes are evenly spaced: acct_nodes_thinned */
	double width;                    /* relative width of points, as in struct acct_work */
	double unit;                     /* the unit of law[].at */
	struct acct_law law[ACCT_SIDES]; /* owned; the last is empty when the round is symmetric */
	double work;                     /* work of computing the laws, in the unit of struct acct_work */
};

/* Set deviation and range.  tail: mass that may be given up.  Call acct_rung_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_rung_init(struct acct_rung *r, const struct acct_list *list, double tail);
void acct_rung_fini(struct acct_rung *r);

/* A rung is a number of three binary digits; this is the largest that is at most x. */
double acct_rung_floor(double x);

/* Compute the laws with `h`, a rung, as their unit.  Nodes are h or a power of two times h apart, at most
 * `resolution` deviations unless h is more; further out than a tilt by `lean` matters, nodes are thinned.
 * width: as in struct acct_work.  Keeps the laws if their nodes do not change; else computes new points of
 * the curve.  The laws depend on nothing but list, tail, h, resolution, lean and width. */
ACCT_CHECK enum acct_rc acct_rung_fit(
	struct acct_rung *r, double h, double resolution, double lean, double width);

const struct acct_law *acct_rung_law(const struct acct_rung *r, enum acct_side side);
