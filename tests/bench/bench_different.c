/* bench_different.c - CPU seconds of compositions of 1000 rounds that all differ, in one question and one by
 * one, and of single rounds whose curve is rough.
 *
 *   bench_different          the whole table
 *   bench_different TEXT     1000 rounds of a text with %g in place of eps0, one by one */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "acct_spec.h"
#include "acct_state.h"

#define ROUNDS 1000u
#define DELTA  1e-6

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void row(const char *how, const char *text, double seconds, const struct acct_bound *eps)
{
	printf("%-12s %-34s %10.9g %9.1e %9.1f\n", how, text, eps->upper, 1 - eps->lower / eps->upper,
		1e3 * seconds);
}

/* The rounds of a text with %g in place of eps0, from 0.5 to 2.5; NULL after saying why. */
static struct acct_round *different(const char *text)
{
	struct acct_round *round = calloc(ROUNDS, sizeof *round);
	struct acct_spec s;
	char filled[200], why[200];

	for (unsigned i = 0; i < ROUNDS && round; i++) {
		(void)snprintf(filled, sizeof filled, text, 0.5 + 2.0 * (double)i / ROUNDS); // NOLINT
		if (acct_spec_parse(filled, &s, why, sizeof why)) {
			fprintf(stderr, "%s: %s\n", filled, why);
			free(round);
			return NULL;
		}
		round[i] = s.round;
	}
	return round;
}

static int one_by_one(const char *text, const struct acct_round *round)
{
	struct acct_bound eps = { 0, 0 };
	double start = now();
	struct acct_state *state = acct_state_new(DELTA);
	enum acct_rc rc = state ? ACCT_OK : ACCT_ENOMEM;

	for (unsigned i = 0; i < ROUNDS && !rc; i++)
		rc = acct_state_add(state, &round[i]);
	if (!rc)
		rc = acct_state_epsilon(state, NULL, &eps);
	if (rc)
		fprintf(stderr, "%s: %s\n", text, acct_strerror(rc));
	row("state", text, now() - start, &eps);
	acct_state_free(state);
	return rc ? 1 : 0;
}

static int together(const char *text, const struct acct_round *round, size_t n)
{
	struct acct_bound eps = { 0, 0 };
	double start = now();
	enum acct_rc rc = acct_epsilon(round, n, DELTA, &eps);

	if (rc)
		fprintf(stderr, "%s: %s\n", text, acct_strerror(rc));
	row(n > 1 ? "acct_epsilon" : "one round", text, now() - start, &eps);
	return rc ? 1 : 0;
}

/* 0.5 to 2.5 in place of eps0. */
static int many_rounds(const char *text, bool both)
{
	struct acct_round *round = different(text);
	int failed = 1;

	if (round)
		failed = one_by_one(text, round) | (both ? together(text, round, ROUNDS) : 0);
	free(round);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const many[] = { "generic:eps0=%g,n=100000", "grr:k=16,eps0=%g,n=10000",
		"rr:eps0=%g,n=10000", "vrr:s=4,eps0=%g,n=10000", "vrr:s=2,eps0=%g,n=10000",
		"rappor:d=16,eps0=%g,n=10000", "harmony:eps0=%g,n=10000,d=4" };
	static const char *const rough[] = { "grr:k=16,eps0=5,n=1000", "grr:k=64,eps0=6,n=1000",
		"grr:k=16,eps0=6,n=300", "rappor:d=16,eps0=6,n=1000", "vrr:s=4,eps0=8,n=1000",
		"bins:k=16,dummies=1000" };
	int failed = 0;

	if (argc == 2)
		return many_rounds(argv[1], false);
	printf("%-12s %-34s %10s %9s %9s\n", "", "round", "epsilon", "width", "ms");
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		failed |= many_rounds(many[i], true);
	for (size_t i = 0; i < sizeof rough / sizeof *rough; i++) {
		struct acct_spec s;
		char why[200];

		if (acct_spec_parse(rough[i], &s, why, sizeof why))
			return 1;
		failed |= together(rough[i], &s.round, 1);
	}
	return failed;
}
