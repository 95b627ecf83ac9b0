/* bench_gaps.c - how far what is charged may be above the truth, for every randomizer by name: charged
 * epsilon, the epsilon that some data sets lose for certain, and their quotient. */
#include <stdio.h>
#include <string.h>

#include "acct_method.h"
#include "acct_named.h"

/* A round of every name; n and eps0 are put in. */
static const char *const round_of[] = { "generic:", "rr:", "grr:k=16,", "mixbins:k=16,",
	"mixbins:k=2,dummies=1000,", "mixbins:k=16,dummies=1000,", "levels:b=1,", "levels:b=8,",
	"prefixes:k=16,", "bins:k=16,dummies=2000", "noise:epsilon=.1,mean=400", "hashed:b=16,dummies=2000",
	"rappor:d=4,", "rappor:d=16,", "oue:d=4,", "oue:d=16,", "subset:d=6,k=2,", "subset:d=12,k=3,",
	"privset:d=16,k=3,s=2,", "olh:l=4,", "olh:l=16,", "hadamard:d=15,", "hadamard:d=60,blocks=4,",
	"duchi:", "duchi:d=3,", "duchi:d=2,", "duchi:d=4,", "harmony:", "words:w=1,", "words:w=3,",
	"vrr:s=1,", "vrr:s=2,", "vrr:s=3,", "vrr:s=4,", "laplace-levels:b=8,", "staircase:b=8,",
	"piecewise:b=8,", "balcer-cheu:t=.1,", "cheu:f=.2,", "digits:base=2,digits=4,",
	"ranges:leaves=16,fanout=4,", "marginals:k=4/8,", "ss-simple:d=4,levels=2,",
	"ss-double:k=4,levels=2,", "hierarchy:f=2,H=4,", "parallel:k=2/8,", "parallel:k=3/8,",
	"laplace-noise:", "planar:w=4,h=4,", "metric:distance=1,most=3", "metric-laplace:distance=1,most=3",
	"balcer-cheu:t=.1,d=4" };

static int one(const char *text, const char *shown)
{
	static struct acct_spec part[ACCT_SPEC_PARTS];
	struct acct_method_answer pld = { .worth = ACCT_PROVED }, lower = pld;
	size_t parts;
	char why[200] = "";
	const char *reason;

	if (acct_spec_parts(text, part, &parts, why, sizeof why)) {
		fprintf(stderr, "%s: %s\n", text, why);
		return 1;
	}
	if (acct_method_find("pld")->epsilon(part, parts, 1e-6, &pld, &reason))
		return 1;
	if (acct_method_find("lower")->epsilon(part, parts, 1e-6, &lower, &reason)) {
		printf("%-28s %9.5g %9s %7s  %s\n", shown, pld.bound.upper, "-", "-", reason ? reason : "");
		return 0;
	}
	printf("%-28s %9.5g %9.5g %7.4f\n", shown, pld.bound.upper, lower.bound.lower,
		pld.bound.upper / lower.bound.lower);
	return lower.bound.lower > pld.bound.upper;
}

int main(void)
{
	static const struct {
		double n, eps0;
	} at[] = { { 1e3, 1 }, { 1e4, 1 }, { 1e4, 3 }, { 1e6, 3 } };
	int failed = 0;

	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		printf("\nn=%.0f eps0=%g delta=1e-6\n%-28s %9s %9s %7s\n", at[k].n, at[k].eps0, "", "charged",
			"at least", "gap");
		for (size_t i = 0; i < sizeof round_of / sizeof *round_of; i++) {
			size_t last = strlen(round_of[i]) - 1;
			bool local = strchr(",:", round_of[i][last]) && !strstr(round_of[i], ":t=") &&
				     !strstr(round_of[i], ":f=.");
			char text[200];

			if (local)
				(void)snprintf(text, sizeof text, "%seps0=%g,n=%.0f", round_of[i], at[k].eps0,
					at[k].n);
			else
				(void)snprintf(text, sizeof text, "%s%sn=%.0f", round_of[i],
					strchr(",:", round_of[i][last]) ? "" : ",", at[k].n);
			failed |= one(text, round_of[i]);
		}
	}
	return failed;
}
