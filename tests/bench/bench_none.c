/* bench_none.c - what it costs to count devices without a reading apart: epsilon and error of the same
 * request, and error at the same epsilon, with "even" and with the symbol.
 *
 *   bench_none [EPSILON DELTA]       markdown tables; 1 and 1e-6 by default */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pl_choose.h"

static double target = 1, delta = 1e-6;

struct answer {
	double epsilon, error;
};

static struct answer ask(
	const struct qy_query *q, const struct pt_protocol *row, const struct pt_request *r, uint64_t n)
{
	struct pt_randomizer p;
	struct pt_loss loss;
	struct acct_bound b = { 0, INFINITY };
	struct cm_err err = { 0 };

	if (pt_derive(row, q, r, &p, &err) != CM_OK || pt_loss(&p, n, &loss, &err) != CM_OK ||
		acct_epsilon(loss.part, loss.parts, delta, &b) != ACCT_OK)
		return (struct answer){ INFINITY, INFINITY };
	return (struct answer){ b.upper, pt_expected_error(q, &p, n) };
}

static struct qy_query of(uint32_t categories, enum qy_none none)
{
	return (struct qy_query){ .kind = QY_HISTOGRAM, .categories = categories, .none = none };
}

static void same_request(const char *name, double epsilon0, double dummies, uint64_t n, uint32_t categories)
{
	struct pt_request r = { .epsilon0 = epsilon0, .min_reports = n };
	struct qy_query even = of(categories, QY_NONE_EVEN), symbol = of(categories, QY_NONE_SYMBOL);
	struct answer a, b;

	pt_request_dummies(&r, dummies);
	a = ask(&even, pt_find(name), &r, n);
	b = ask(&symbol, pt_find(name), &r, n);
	printf("| `%s`, %g, %g | %g | %u | %.4f | %.4f | %.4g | %.4g |\n", name, epsilon0, dummies, (double)n,
		(unsigned)categories, a.epsilon, b.epsilon, a.error, b.error);
}

static double best(const struct qy_query *q, uint64_t n, double epsilon0)
{
	struct pl_need need = { .query = q,
		.reports = n,
		.honest = n,
		.epsilon = target,
		.delta = delta,
		.epsilon0 = epsilon0,
		.max_bytes = 16384 };
	struct pl_choice c;
	struct cm_err err = { 0 };

	return pl_choose(&need, &c, &err) == CM_OK ? c.best.error : (double)INFINITY;
}

static void same_epsilon(uint64_t n, uint32_t categories)
{
	struct qy_query even = of(categories, QY_NONE_EVEN), symbol = of(categories, QY_NONE_SYMBOL);

	printf("| %g | %u | %.4g | %.4g | %.4g | %.4g |\n", (double)n, (unsigned)categories,
		best(&even, n, 8), best(&symbol, n, 8), best(&even, n, INFINITY), best(&symbol, n, INFINITY));
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	static const uint32_t domains[] = { 2, 4, 16, 256 };

	if (argc == 3) {
		target = strtod(argv[1], NULL);
		delta = strtod(argv[2], NULL);
	} else if (argc != 1) {
		(void)fputs("usage: bench_none [EPSILON DELTA]\n", stderr);
		return 64;
	}
	puts("| row, epsilon0, dummies | n | categories | epsilon, even | with the symbol | error, even | "
	     "with the "
	     "symbol |\n|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		same_request("grr", 1, 0, 10000, domains[i]);
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		same_request("grr", 6, 0, 50000, domains[i]);
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		same_request("bins", INFINITY, 1, 50000, domains[i]);
	puts("\n| n | categories | epsilon0 8, even | with the symbol | inf, even | with the symbol |\n"
	     "|---|---|---|---|---|---|");
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		for (uint64_t n = 10000; n <= 100000; n *= 10)
			same_epsilon(n, domains[i]);
	return 0;
}
