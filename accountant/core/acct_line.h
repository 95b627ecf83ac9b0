/* acct_line.h - sums over nodes of the line c + it, four nodes at a time.  Private to acct_invert.c, whose
 * header has the integrals and the errors. */
#pragma once

#include "acct_lane.h"
#include "acct_path.h"

struct acct_sums {
	double value, slope, excess; /* excess without the factor tau^2 / M */
	double value_err, slope_err, excess_err;
	double value_size, slope_size, excess_size; /* sums of moduli */
	double nodes;
};

/* What a line needs at every node: sums of moduli, which do not depend on t but for size, sum omega |zx|
 * max(1, e^{cx}) <= size + t turning. */
struct acct_line {
	const struct acct_path *path; /* borrowed */
	double longest;               /* the largest |x_j| */
	double size, turning, whole, value, mass;
	acct_lanes t, weight; /* nodes that wait for others */
	size_t waiting;
};

void acct_line_init(struct acct_line *f, const struct acct_path *w);

/* The node at t of the trapezoid rule: its weight is the step over pi. */
void acct_line_add(struct acct_line *f, double t, double weight, struct acct_sums *sum);

/* Add the nodes that still wait. */
void acct_line_end(struct acct_line *f, struct acct_sums *sum);

/* e^(log + i phase) of n numbers, and its modulus, to 6 ulps and 3 |phase| of it. */
void acct_line_polar(size_t n, const double *log, const double *phase, double *re, double *im, double *size);
