/* bench_accountant.c - CPU seconds of the accountant's questions, median of several runs each.
 *
 *   bench_accountant                   a table of its own questions
 *   bench_accountant DELTA SPEC...     one composed account: lower, upper, seconds, peak KiB (peers.py reads
 * it) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "acct.h"
#include "acct_spec.h"

#define RUNS 7
#define MOST 64

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median seconds, or -1 after saying why. */
static double measure(const char *const *text, size_t rounds, double delta, struct acct_bound *eps)
{
	static struct acct_round r[MOST];
	struct acct_spec s;
	double seconds[RUNS];
	char why[200];

	for (size_t i = 0; i < rounds; i++) {
		if (acct_spec_parse(text[i], &s, why, sizeof why)) {
			fprintf(stderr, "%s: %s\n", text[i], why);
			return -1;
		}
		r[i] = s.round;
	}
	for (int i = 0; i < RUNS; i++) {
		double start = now();
		enum acct_rc rc = acct_epsilon(r, rounds, delta, eps);

		if (rc) {
			fprintf(stderr, "%s: %s\n", text[0], acct_strerror(rc));
			return -1;
		}
		seconds[i] = now() - start;
	}
	qsort(seconds, RUNS, sizeof *seconds, ascending);
	return seconds[RUNS / 2];
}

/* KiB this program ever held; getrusage would count what forked it. */
static long peak(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int table(void)
{
	static const char *const questions[] = { "generic:eps0=2,n=10000", "generic:eps0=2,n=1000000",
		"generic:eps0=2,n=100000000", "grr:k=16,eps0=3,n=10000", "grr:k=256,eps0=3,n=10000",
		"bins:k=16,dummies=100000000", "generic:eps0=2,n=10000,count=256",
		"generic:eps0=2,n=100000,count=256", "generic:eps0=2,n=1000000,count=256",
		"grr:k=16,eps0=1,n=100000,count=256", "vrr:s=4,eps0=4,n=10000,count=256",
		"rappor:d=16,eps0=3,n=100000,count=256", "bins:k=16,dummies=1000,count=16",
		"generic:eps0=2,n=100,count=16", "generic:eps0=2,n=1000000000,count=1000000" };
	static const double deltas[] = { 1e-6, 1e-16 };
	int failed = 0;

	printf("%-58s %-7s %12s %9s %9s\n", "round", "delta", "epsilon", "width", "ms");
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		for (size_t j = 0; j < 2; j++) {
			struct acct_bound eps = { 0, 0 };
			double seconds = measure(&questions[i], 1, deltas[j], &eps);

			if (seconds < 0)
				failed = 1;
			else
				printf("%-58s %-7g %12.6g %9.1e %9.3f\n", questions[i], deltas[j], eps.upper,
					1 - eps.lower / eps.upper, 1e3 * seconds);
		}
	printf("peak memory %.1f MiB\n", (double)peak() / 1024);
	return failed;
}

int main(int argc, char **argv)
{
	struct acct_bound eps = { 0, 0 };

	if (argc == 1)
		return table();
	if (argc == 2 || argc - 2 > MOST) {
		fprintf(stderr, "usage: bench_accountant [DELTA SPEC...]\n");
		return 64;
	}
	double seconds = measure((const char *const *)argv + 2, (size_t)argc - 2, atof(argv[1]), &eps);
	if (seconds < 0)
		return 1;
	printf("%.17g %.17g %.9f %ld\n", eps.lower, eps.upper, seconds, peak());
	return 0;
}
