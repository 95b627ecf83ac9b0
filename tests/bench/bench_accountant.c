/* bench_accountant.c - seconds of the accountant's questions, median of several runs each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "acct.h"
#include "acct_spec.h"

#define RUNS 7

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(const char *text, double delta)
{
	struct acct_spec s;
	struct acct_bound eps = { 0, 0 };
	double seconds[RUNS];
	char why[200];

	if (acct_spec_parse(text, &s, why, sizeof why)) {
		fprintf(stderr, "%s: %s\n", text, why);
		return 1;
	}
	for (int i = 0; i < RUNS; i++) {
		double start = now();

		if (acct_epsilon(&s.round, 1, delta, &eps))
			return 1;
		seconds[i] = now() - start;
	}
	qsort(seconds, RUNS, sizeof *seconds, ascending);
	printf("%-58s %-7g %12.6g %9.1e %9.3f\n", text, delta, eps.upper, 1 - eps.lower / eps.upper,
		1e3 * seconds[RUNS / 2]);
	return 0;
}

int main(void)
{
	static const char *const questions[] = { "generic:eps0=2,n=10000", "generic:eps0=2,n=1000000",
		"generic:eps0=2,n=100000000", "grr:k=16,eps0=3,n=10000", "grr:k=256,eps0=3,n=10000",
		"bins:k=16,dummies=100000000", "generic:eps0=2,n=10000,count=256",
		"generic:eps0=2,n=100000,count=256", "generic:eps0=2,n=1000000,count=256",
		"grr:k=16,eps0=1,n=100000,count=256", "vrr:s=4,eps0=4,n=10000,count=256",
		"rappor:d=16,eps0=3,n=100000,count=256", "bins:k=16,dummies=1000,count=16",
		"generic:eps0=2,n=100,count=16", "generic:eps0=2,n=1000000000,count=1000000" };
	int failed = 0;

	printf("%-58s %-7s %12s %9s %9s\n", "round", "delta", "epsilon", "width", "ms");
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		failed |= measure(questions[i], 1e-6);
		failed |= measure(questions[i], 1e-16);
	}
	return failed;
}
