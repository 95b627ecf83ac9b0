/* acct_places_sum.h - the sums over nodes of acct_places.c, whose first comment has the bounds.
 *
 * Nodes below e^-ACCT_PLACES_NEGLECTED of the top are charged, not added, and most of them are never
 * computed.  Let m be the transform of a place divided by its value at c.  Then log |m|^2 <= |m|^2 - 1, and
 * D(t) = sum over places of 1 - |m(t)|^2 = 2 sum of E sin^2(t d/2), where d is the difference of two tilted
 * X.  This is the square of a norm, so sqrt D changes by at most sqrt(sum of the variances) per unit of t.
 * From a node where D is large, all nodes are negligible as far as D must still be large enough. */
#pragma once

#include <stdbool.h>

#include "acct_lane.h"
#include "acct_places.h"
#include "acct_round.h"

#define ACCT_PLACES_NEGLECTED 46.0
#define ACCT_PLACES_EDGE      8 /* parts into which the edge is cut */
#define ACCT_PLACES_POINTS    320u

/* A kind, tilted by c, on the points that all kinds share. */
struct acct_tilted {
	size_t from, to; /* its chances are 0 outside these points */
	double *p, *w;   /* its chances, and the tilted ones */
	const struct acct_place *of;
	/* log E e^cX; mean and variance of the tilted law; plain: variance at c = 0 */
	double log_m, mean, variance, plain;
	acct_lanes value, moduli, error; /* sums over the nodes so far, where all places are of this kind */
	acct_lanes apart, along;         /* sums A_j and C_j of acct_places.c */
	/* log of the modulus and argument, at four nodes, where all places are of this kind */
	acct_lanes power, angle;
	/* At four nodes: log of the transform, 1 - |m|^2, and a number that is at least 1/|m|. */
	acct_lanes re, im, lost, lift;
};

struct acct_places_sum {
	size_t kinds, points;
	struct acct_tilted *kind; /* the last one is the kind of fixed places */
	double n, fixed, tau, c, period, range, top;
	double center;                     /* the points are turned about this center */
	double off;                        /* every place may be larger than computed by this much */
	size_t worst, second;              /* the kinds at both ends of the edge */
	acct_lanes edge[ACCT_PLACES_EDGE]; /* values between the ends of the edge; the first is not used */
	size_t most_points;
	bool own[ACCT_PLACES_KINDS]; /* which of the given kinds have their own atoms among the points */
	double x[ACCT_PLACES_POINTS], gain[ACCT_PLACES_POINTS]; /* points, increasing; e^cx - 1 of each */
	acct_lanes cosine[ACCT_PLACES_POINTS], sine[ACCT_PLACES_POINTS]; /* of each point, at four nodes */
};

/* Add the nodes 0, step, .. last * step.  Returns false if that takes more work than `most`.  Adds to
 * *work. */
ACCT_CHECK bool acct_places_add_up(
	struct acct_places_sum *s, double step, size_t last, double most, double *work);

/* The work of one node. */
double acct_places_node_work(size_t kinds, size_t points);

/* acct_places_points.c: puts the kinds on points that all share. */

/* Put the given kinds on points, by falling variance.  The caller frees the result with free().  NULL: no
 * memory, or no bound. */
struct acct_places_sum *acct_places_points_new(const struct acct_places *of);

/* Give this kind its own atoms among the points.  Returns false if there is no room. */
bool acct_places_points_keep(struct acct_places_sum *s, const struct acct_places *of, size_t kind);

/* Set log E e^cX and what follows from it, for this kind.  acct_places_gains(s, c) must have been
 * called. */
void acct_places_tilt(const struct acct_places_sum *s, struct acct_tilted *k);
void acct_places_gains(struct acct_places_sum *s, double c);
