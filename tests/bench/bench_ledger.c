/* bench_ledger.c - seconds of one more charge to a ledger of so many rounds (1024, or as many as the argument
 * says), beside composing all of them anew, which is left out above 1024. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "acct_state.h"

#define DELTA        1e-6
#define SCRATCH_MOST 1024

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct acct_round numbered(size_t i, bool equal)
{
	struct acct_round r = { 0 };

	if (acct_cells_generic(equal ? 1.0 : 0.5 + 0.001 * (double)(i % 700), &r, NULL))
		exit(1);
	r.others = equal ? 9999 : 9999 + 37 * i;
	r.count = 1;
	return r;
}

/* A charge as a ledger makes it: judge the candidate, then add it. */
static double charge(struct acct_state *s, const struct acct_round *r, struct acct_bound *total)
{
	double start = now();

	if (acct_state_epsilon(s, r, total) || acct_state_add(s, r))
		exit(1);
	return now() - start;
}

static double from_scratch(size_t rounds, bool equal, struct acct_bound *total)
{
	struct acct_round *r = calloc(rounds, sizeof *r);
	double start;

	if (!r)
		exit(1);
	for (size_t i = 0; i < rounds; i++)
		r[i] = numbered(i, equal);
	start = now();
	if (acct_epsilon(r, rounds, DELTA, total))
		exit(1);
	free(r);
	return now() - start;
}

static void run(bool equal, size_t most)
{
	struct acct_state *s = acct_state_new(DELTA);
	struct acct_bound total = { 0, 0 }, anew;
	double mean = 0, longest = 0;
	size_t shown = 1, since = 0;

	printf("%s rounds\n%8s %12s %10s %12s %12s %14s %12s\n", equal ? "equal" : "all different", "before",
		"epsilon", "width", "mean ms", "longest ms", "from scratch", "ratio");
	for (size_t i = 0; s && i < most; i++) {
		struct acct_round r = numbered(i, equal);
		double t = charge(s, &r, &total);

		mean += t;
		longest = t > longest ? t : longest;
		since++;
		if (i + 1 < shown)
			continue;
		double scratch = 0;
		anew = total;
		if (i < SCRATCH_MOST)
			scratch = from_scratch(i + 1, equal, &anew);
		printf("%8zu %12.6g %10.1e %12.3f %12.3f %14.3f %12.6f\n", i, total.upper,
			1 - total.lower / total.upper, 1e3 * mean / (double)since, 1e3 * longest,
			1e3 * scratch, total.upper / anew.upper);
		mean = longest = 0;
		since = 0;
		shown *= 2;
	}
	acct_state_free(s);
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : SCRATCH_MOST;

	run(true, most);
	run(false, most);
	return 0;
}
