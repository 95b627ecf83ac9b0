/* bench_deltas.c - epsilon at 50 deltas: one question for all against one question each, as a ratio of CPU
 * seconds. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "acct.h"
#include "acct_spec.h"

#define DELTAS 50u

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const char *text)
{
	struct acct_spec s;
	struct acct_bound together[DELTAS], alone;
	double delta[DELTAS], widest = 0, start, one, each;
	char why[200];

	for (size_t i = 0; i < DELTAS; i++)
		delta[i] = pow(10, -12 + 10.0 * (double)i / (DELTAS - 1));
	if (acct_spec_parse(text, &s, why, sizeof why)) {
		fprintf(stderr, "%s: %s\n", text, why);
		return 1;
	}
	start = now();
	if (acct_epsilons(&s.round, 1, delta, DELTAS, together))
		return 1;
	one = now() - start;
	start = now();
	for (size_t i = 0; i < DELTAS; i++) {
		if (acct_epsilon(&s.round, 1, delta[i], &alone))
			return 1;
		if (!(together[i].lower <= alone.upper && alone.lower <= together[i].upper)) {
			fprintf(stderr, "%s: the intervals at delta %g are disjoint\n", text, delta[i]);
			return 1;
		}
		widest = fmax(widest, 1 - together[i].lower / together[i].upper);
	}
	each = now() - start;
	printf("%-44s %9.1f %9.1f %7.1f %9.1e\n", text, 1e3 * one, 1e3 * each, each / one, widest);
	return 0;
}

int main(void)
{
	static const char *const text[] = { "generic:eps0=2,n=10000", "generic:eps0=2,n=10000,count=256",
		"grr:k=16,eps0=3,n=10000,count=8", "vrr:s=4,eps0=4,n=10000,count=256",
		"rappor:d=16,eps0=3,n=100000,count=256", "bins:k=16,dummies=1000,count=16",
		"generic:eps0=2,n=100,count=16" };
	int failed = 0;

	printf("%-44s %9s %9s %7s %9s\n", "round, 50 deltas", "one ms", "each ms", "ratio", "width");
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		failed |= compare(text[i]);
	return failed;
}
