/* bench_gaps.c - the slack of every randomizer by name: charged epsilon, the epsilon that some data set loses
 * for certain, their quotient, and the seconds that the charge took.
 *
 *     bench_gaps [NAME ...]
 *
 * Without names it shows all.  Where the quotient is above SLACK, either the charge may be lowered or a worse
 * data set be found: doc/imitation.md says for which names that is open.  Exits 1 if a lower end is above a
 * charge, or if a name of shuffled reports has no text here. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acct_method.h"
#include "acct_named.h"

#define SLACK 1.05

/* A round of every name; n and eps0 are put in where a text ends with a comma or a colon. */
static const char *const round_of[] = { "generic:", "rr:", "grr:k=16,", "mixbins:k=16,",
	"mixbins:k=2,dummies=1000,", "mixbins:k=16,dummies=1000,", "levels:b=1,", "levels:b=8,",
	"prefixes:k=16,", "bins:k=16,dummies=2000", "noise:epsilon=.1,mean=400", "hashed:b=16,dummies=2000",
	"rappor:d=4,", "sue:d=16,", "oue:d=4,", "oue:d=16,", "subset:d=6,k=2,", "subset:d=12,k=3,",
	"privset:d=10,k=2,s=2,", "privset:d=16,k=3,s=2,", "olh:l=4,", "olh:l=4,triple=0.0625,", "olh:l=16,",
	"hadamard:d=15,", "hadamard:d=60,blocks=4,", "duchi:", "duchi:d=3,", "duchi:d=2,", "duchi:d=4,",
	"harmony:", "words:w=1,", "words:w=2,dummies=1000,", "words:w=3,", "rotated:w=3,", "vrr:s=1,",
	"vrr:s=2,", "vrr:s=3,", "vrr:s=4,", "vrr:s=8,", "vrr:s=20,", "laplace-levels:b=8,",
	"laplace-levels:b=63,", "laplace-levels:b=64,", "staircase:b=8,", "piecewise:b=8,",
	"balcer-cheu:t=.1", "balcer-cheu:t=.1,d=4", "cheu:f=.2", "digits:base=2,digits=4,",
	"ranges:leaves=16,fanout=4,", "marginals:k=4/8,", "ss-simple:d=4,levels=2,",
	"ss-double:k=4,levels=2,", "ss-topk:k=2,levels=4,padded=200,", "hierarchy:f=2,H=4,",
	"parallel:k=2/2,", "parallel:k=2/8,", "parallel:k=3/8,", "laplace-noise:", "planar:w=4,h=4,",
	"metric:distance=1,most=3", "metric-laplace:distance=1,most=3", "planar-laplace:distance=1,most=3",
	"gspa-classes:k=4,eps0=1/2,least=100/150", "gspa-pooled:k=2,eps0=1/2,least=100/150",
	"gspa-pooled:k=4,eps0=1/2,least=100/150", "pair:p=3,beta=.2,q=3",
	"cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2" };

#define TEXTS (sizeof round_of / sizeof *round_of)

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_of(const char *text, const char *name)
{
	size_t length = strlen(name);

	return strncmp(text, name, length) == 0 && text[length] == ':';
}

static int one(const char *text, const char *shown)
{
	static struct acct_spec part[ACCT_SPEC_PARTS];
	struct acct_method_answer pld = { .worth = ACCT_PROVED }, lower = pld;
	double begun, gap;
	size_t parts;
	char why[200] = "";
	const char *reason;

	if (acct_spec_parts(text, part, &parts, why, sizeof why)) {
		fprintf(stderr, "%s: %s\n", text, why);
		return 1;
	}
	begun = seconds();
	if (acct_method_find("pld")->epsilon(part, parts, 1e-6, &pld, &reason))
		return 1;
	begun = seconds() - begun;
	if (acct_method_find("lower")->epsilon(part, parts, 1e-6, &lower, &reason)) {
		printf("%-40s %9.5g %9s %7s  %7.3f  %s\n", shown, pld.bound.upper, "-", "-", begun,
			reason ? reason : "");
		return 0;
	}
	gap = pld.bound.upper / lower.bound.lower;
	printf("%-40s %9.5g %9.5g %7.4f%c %7.3f\n", shown, pld.bound.upper, lower.bound.lower, gap,
		gap > SLACK ? '*' : ' ', begun);
	(void)fflush(stdout);
	return lower.bound.lower > pld.bound.upper;
}

/* Show one name's round at n and eps0.  Where eps0 is not put in, the round is shown once for each n. */
static int at(const char *round, double n, double eps0, bool again)
{
	char last = round[strlen(round) - 1], text[200];

	if (last == ',' || last == ':')
		(void)snprintf(text, sizeof text, "%seps0=%g,n=%.0f", round, eps0, n);
	else if (again)
		return 0;
	else
		(void)snprintf(text, sizeof text, "%s,n=%.0f", round, n);
	return one(text, round);
}

static int every_name_is_here(void)
{
	const struct acct_named *row;
	int missing = 0;

	for (size_t i = 0; (row = acct_named_row(i)) != NULL; i++) {
		bool found = strncmp(row->summary, "central:", 8) == 0;

		for (size_t k = 0; k < TEXTS && !found; k++)
			found = is_of(round_of[k], row->name);
		if (!found)
			fprintf(stderr, "bench_gaps: %s has no text here\n", row->name);
		missing |= !found;
	}
	return missing;
}

int main(int argc, char **argv)
{
	static const double size[] = { 300, 1e3, 1e4, 1e6 }, guarantee[] = { 1, 3, 5 };
	int failed = every_name_is_here();

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		for (size_t j = 0; j < sizeof guarantee / sizeof *guarantee; j++) {
			printf("\nn=%.0f eps0=%g delta=1e-6\n%-40s %9s %9s %7s  %7s\n", size[i], guarantee[j],
				"", "charged", "at least", "gap", "seconds");
			for (size_t k = 0; k < TEXTS; k++) {
				bool shown = argc < 2;

				for (int a = 1; a < argc && !shown; a++)
					shown = is_of(round_of[k], argv[a]);
				if (shown)
					failed |= at(round_of[k], size[i], guarantee[j], j > 0);
			}
		}
	return failed;
}
