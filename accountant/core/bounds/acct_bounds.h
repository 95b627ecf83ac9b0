/* acct_bounds.h - bounds on one round's curve that know more than its cells: bits, bits with labels, and
 * reports whose laws are all known (doc/binary.md, doc/imitation.md).
 *
 * It takes a list whose messages are such, and gives points: above, the least of the bounds there are and the
 * cells'; below, what some data sets lose. */
#pragma once

#include "acct_exact.h"
#include "acct_list.h"
#include "acct_point.h"

struct acct_bounds;

/* *out stays NULL where nothing is known beside the cells. */
ACCT_CHECK enum acct_rc acct_bounds_new(const struct acct_list *l, struct acct_bounds **out);
void acct_bounds_free(struct acct_bounds *b); /* NULL is fine */

/* One point, before defect and sampling.  l: the list that b was made of; most, width: of struct acct_work.
 * Returns the work done. */
double acct_bounds_at(const struct acct_list *l, const struct acct_bounds *b, double eps, bool swap,
	double most, double width, struct acct_point *at);

/* What the data sets lose, alone: about the curve, for choosing grids. */
double acct_bounds_held_at(const struct acct_list *l, const struct acct_bounds *b, double eps, double most,
	double width, struct acct_point *at);

/* acct_bits_list.c: where these bits are few, list the outcomes of their pair, sorted: a point then takes a
 * search.  For a curve that is asked at many points.  Cost: up to 30 milliseconds. */
ACCT_CHECK enum acct_rc acct_bits_list(const struct acct_bit_facts *b, bool symmetric, struct acct_exact *e);
