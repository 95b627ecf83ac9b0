/* acct_places_sum.h - the sums over nodes of acct_places.c, whose comment has the bounds.
 *
 * Nodes below e^-ACCT_PLACES_NEGLECTED of the top are charged, not added, and most are never computed.  With
 * m the transform of a place over that at c, log |m|^2 <= |m|^2 - 1, and D(t) = sum over places of 1 -
 * |m(t)|^2 = 2 sum of E sin^2(t d/2),   d the difference of two tilted X, is the square of a norm: sqrt D
 * changes by at most sqrt(sum of the variances) per unit of t.  From a node where D is large, all nodes are
 * negligible up to where it may no longer be. */
#pragma once

#include <stdbool.h>

#include "acct_lane.h"
#include "acct_places.h"
#include "acct_round.h"

#define ACCT_PLACES_NEGLECTED 46.0
#define ACCT_PLACES_EDGE      8 /* parts of the edge */
#define ACCT_PLACES_POINTS    320u

/* A kind, tilted by c, on the points that all share. */
struct acct_tilted {
	size_t from, to; /* elsewhere its chances are 0 */
	double *p, *w;   /* chances; tilted */
	const struct acct_place *of;
	double log_m, mean, variance, plain; /* log E e^cX, and of the tilted law; plain: variance at c = 0 */
	acct_lanes value, moduli, error;     /* sums over the nodes so far */
	acct_lanes apart, along;             /* the same of A_j and C_j */
	acct_lanes power, angle;             /* at four nodes: where all places are of this kind */
	/* At four nodes: log of the transform, 1 - |m|^2, and at least 1/|m|. */
	acct_lanes re, im, lost, lift;
};

struct acct_places_sum {
	size_t kinds, points;
	struct acct_tilted *kind; /* the last one is that of fixed places */
	double n, fixed, tau, c, period, range, top;
	double center;                     /* about which the points are turned */
	double off;                        /* by so much every place may be larger than it is taken for */
	size_t worst, second;              /* the kinds at the ends of the edge */
	acct_lanes edge[ACCT_PLACES_EDGE]; /* values between them; the first is not used */
	size_t most_points;
	bool own[ACCT_PLACES_KINDS]; /* of the kinds given: their atoms are points */
	double x[ACCT_PLACES_POINTS], gain[ACCT_PLACES_POINTS];          /* increasing; e^cx - 1 */
	acct_lanes cosine[ACCT_PLACES_POINTS], sine[ACCT_PLACES_POINTS]; /* at four nodes */
};

/* Adds the nodes 0, step, .. last * step.  False: more work than `most`.  *work: added to. */
ACCT_CHECK bool acct_places_add_up(
	struct acct_places_sum *s, double step, size_t last, double most, double *work);

/* Of one node. */
double acct_places_node_work(size_t kinds, size_t points);

/* acct_places_points.c: the kinds on points that all share. */

/* free() it.  NULL: no memory, or nothing can be said.  The kinds are those given, by falling variance. */
struct acct_places_sum *acct_places_points_new(const struct acct_places *of);

/* Gives this kind its own atoms among the points.  False: there is no room. */
bool acct_places_points_keep(struct acct_places_sum *s, const struct acct_places *of, size_t kind);

/* log E e^cX and what follows from it, of this kind; acct_places_gains(s, c) was called before. */
void acct_places_tilt(const struct acct_places_sum *s, struct acct_tilted *k);
void acct_places_gains(struct acct_places_sum *s, double c);
