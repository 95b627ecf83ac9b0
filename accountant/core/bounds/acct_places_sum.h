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
/* the edge between the two kinds that lose most is cut into so many parts */
#define ACCT_PLACES_EDGE   8
#define ACCT_PLACES_POINTS 320u

/* A kind of place, tilted by c, on the points that all kinds share. */
struct acct_tilted {
	size_t from, to; /* its chances are 0 outside the points from..to-1 */
	double *p, *w;   /* its chances at the points, and those of the tilted law */
	const struct acct_place *of;
	/* log_m: log E e^cX; mean and variance of the tilted law; plain: variance of the law itself, at c =
	 * 0 */
	double log_m, mean, variance, plain;
	/* sums over the nodes so far, where all free places are of this kind: of the terms, of their
	 * moduli, and of their errors */
	acct_lanes value, moduli, error;
	acct_lanes apart, along; /* sums A_j and C_j of acct_places.c */
	/* at four nodes: the log of the modulus of all places' transforms and its argument, where all free
	 * places are of this kind */
	acct_lanes power, angle;
	/* At four nodes: log of the transform (re, im), 1 - |m|^2 (lost), and a number that is at least
	 * 1/|m| (lift), where m is the transform divided by its value at c. */
	acct_lanes re, im, lost, lift;
};

struct acct_places_sum {
	size_t kinds, points;
	/* one for each kind, and at [kinds] that of fixed places, if there are any */
	struct acct_tilted *kind;
	/* n, fixed: numbers of free and of fixed places; tau: deviation of U; c, period: c and T of
	 * acct_places.c; range: largest minus least X; top: log of the worst kind's transform at c */
	double n, fixed, tau, c, period, range, top;
	/* the points are turned about this center, the worst kind's mean, where phases are smallest */
	double center;
	double off;           /* X of every place may exceed what is computed with by this much */
	size_t worst, second; /* the kind that loses most, and the next: the ends of the edge */
	/* sums of terms at the ends of the edge's parts; [0] is not used */
	acct_lanes edge[ACCT_PLACES_EDGE];
	size_t most_points;
	/* whether this one of the given kinds has its own atoms among the points */
	bool own[ACCT_PLACES_KINDS];
	/* the points, increasing, and e^cx - 1 of each */
	double x[ACCT_PLACES_POINTS], gain[ACCT_PLACES_POINTS];
	/* of t (x - center) for each point x, at four nodes t */
	acct_lanes cosine[ACCT_PLACES_POINTS], sine[ACCT_PLACES_POINTS];
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

/* Tilt this kind by c: set log E e^cX, the tilted chances, and their mean and variance.
 * acct_places_gains(s, c) must have been called before. */
void acct_places_tilt(const struct acct_places_sum *s, struct acct_tilted *k);
void acct_places_gains(struct acct_places_sum *s, double c);
