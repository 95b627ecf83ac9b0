/* acct_bounds.h - bounds on the curve of a round about which more is known than its cells: its messages are
 * bits, bits with labels, or reports whose laws are all known (doc/binary.md, doc/imitation.md).
 *
 * The upper end of a point is the least of all bounds, and the cells' bound is one of them.  The lower end
 * is the loss of some data set. */
#pragma once

#include "acct_exact.h"
#include "acct_list.h"
#include "acct_point.h"

struct acct_bounds;

/* Prepare the bounds of a list.  *out stays NULL if nothing is known besides the cells. */
ACCT_CHECK enum acct_rc acct_bounds_new(const struct acct_list *l, struct acct_bounds **out);
void acct_bounds_free(struct acct_bounds *b); /* NULL is fine */

/* Compute one point, before defect and sampling.  l: the list that b was made of; most, width: as in struct
 * acct_work.  Returns the work done. */
double acct_bounds_at(const struct acct_list *l, const struct acct_bounds *b, double eps, bool swap,
	double most, double width, struct acct_point *at);

/* Compute only the loss of data sets that are known to lose much.  It is near the curve, and is used to
 * choose grids. */
double acct_bounds_held_at(const struct acct_list *l, const struct acct_bounds *b, double eps, double most,
	double width, struct acct_point *at);

/* acct_bits_list.c: if these bits are few, list the outcomes of the pair that dominates the round, sorted,
 * so that a point takes one search: for a curve that is asked at many points.  Cost: up to 30
 * milliseconds. */
ACCT_CHECK enum acct_rc acct_bits_list(const struct acct_bit_facts *b, bool symmetric, struct acct_exact *e);
