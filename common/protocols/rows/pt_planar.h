/* pt_planar.h - places: a cell of a grid, with planar Laplace noise.
 *
 * The cells of a w by h grid are columns 0..w-1 and rows 0..h-1; cell x + w y is at (x, y).  The noise is a
 * place on a torus of T = 2w - (w mod 2) by as many for h.  Offset o has a chance proportional to the
 * integer weight of its distance, which is measured around the torus and rounded up to m / 1024 cells.
 * With t = decay / 2^64 the weight is floor(t^m 2^52), where t^m is computed as the product of those powers
 * t, t^2, t^4, .. whose exponents are in m, from the least up, and each product is cut to 2^-64.  The
 * device adds the offset to its cell on the torus and sends the nearest cell of the grid: of the places
 * w..T-1 outside the first half are sent as w-1, the others as 0.
 *
 * Guarantee.  Distances that are rounded up are still a metric, and the noise is the same wherever a device
 * is.  So two places at distance d have chances within t^-(1024 d) of each other for every place of the
 * torus, and hence for every cell: metric privacy of planar Laplace noise (Andres et al.  2013).  epsilon0
 * is that of the two places that differ most, computed from the integers themselves. */
#pragma once

#include "pt_device.h"

#define PT_PLANAR_CELLS_MAX 256u
/* The largest (w + 1)(h + 1), where w h is at most 256 and neither is below 2. */
#define PT_PLANAR_WEIGHTS 387u

/* The law of the noise. */
struct pt_planar_law {
	uint32_t size[2], circle[2];        /* w and h; the number of places of the torus along each axis */
	uint64_t weight[PT_PLANAR_WEIGHTS]; /* weight[i + (w + 1) j] is that of an offset of i and j */
	uint64_t total;                     /* sum of the weights over the torus, below 2^63 */
};
/* Compute the law.  The sizes have been checked. */
void pt_planar_law_of(const struct pt_randomizer *p, struct pt_planar_law *law);
/* For a device in this cell: how many of `total` draws lead to each cell. */
void pt_planar_row(const struct pt_planar_law *law, uint32_t cell, uint64_t chance[PT_PLANAR_CELLS_MAX]);
/* Check sizes that a plan or a peer may ask for.  If they are not possible, returns `code`. */
CM_CHECK enum cm_rc pt_planar_sizes(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
uint32_t pt_planar_cells(const struct pt_randomizer *p);
