/* es_tree.c - computes weighted least squares on a tree in two passes. */
#include "es_tree.h"

#include <stddef.h>

/* Upwards: combine a node's own estimate with the sum of its children. */
static void gather(double *node, size_t nodes, const double *child, uint32_t fanout, double variance,
	double child_variance, double *together)
{
	double of_children = fanout * child_variance;
	double own = of_children / (variance + of_children);

	for (size_t i = 0; i < nodes; i++) {
		double sum = 0;

		for (uint32_t j = 0; j < fanout; j++)
			sum += child[i * fanout + j];
		node[i] = own * node[i] + (1 - own) * sum;
	}
	*together = variance * of_children / (variance + of_children);
}

/* Downwards: divide what the children lack of their parent equally among them, since their variances are
 * equal. */
static void settle(const double *node, size_t nodes, double *child, uint32_t fanout)
{
	for (size_t i = 0; i < nodes; i++) {
		double missing = node[i];

		for (uint32_t j = 0; j < fanout; j++)
			missing -= child[i * fanout + j];
		for (uint32_t j = 0; j < fanout; j++)
			child[i * fanout + j] += missing / fanout;
	}
}

void es_tree_consistent(double *value, uint32_t fanout, uint32_t levels, const double *variance, double total)
{
	size_t at = 0, nodes = fanout;
	double known;

	for (uint32_t i = 1; i < levels; i++) {
		at += nodes;
		nodes *= fanout;
	}
	/* `at` is the index at which the finest level begins */
	known = variance[levels - 1];
	for (uint32_t i = levels - 1; i > 0; i--) {
		nodes /= fanout;
		gather(value + at - nodes, nodes, value + at, fanout, variance[i - 1], known, &known);
		at -= nodes;
	}
	settle(&total, 1, value, fanout);
	for (uint32_t i = 1; i < levels; i++) {
		settle(value + at, nodes, value + at + nodes, fanout);
		at += nodes;
		nodes *= fanout;
	}
}
