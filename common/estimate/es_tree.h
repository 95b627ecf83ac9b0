/* es_tree.h - changes the estimates of a tree's nodes so that they add up.  It is pure post-processing, and
 * costs no privacy. */
#pragma once

#include <stdint.h>

/* Replace the estimates of all nodes below the root, level after level from the coarsest, by the best linear
 * unbiased ones: children sum to their parent and the first level to `total`, which is known.  Level i has
 * fanout^(i+1) nodes, whose estimates have variance[i] > 0 and negligible correlation.  Source: Hay,
 * Rastogi, Miklau, Suciu 2010, with weights by variance. */
void es_tree_consistent(
	double *value, uint32_t fanout, uint32_t levels, const double *variance, double total);
