/* acct_named.c - the table of named randomizers. */
#include "acct_named.h"

#include <string.h>

#define EPS0                                               \
	{                                                  \
		"eps0", ACCT_BETWEEN, 0, 700, false, false \
	}
#define SYMBOLS(k)                                   \
	{                                            \
		k, ACCT_WHOLE, 2, 1e12, false, false \
	}
#define DUMMIES(optional)                                                           \
	{                                                                           \
		"dummies", ACCT_WHOLE, 0, (double)ACCT_MAX_REPORTS, optional, false \
	}
#define NONE                                          \
	{                                             \
		"none", ACCT_WHOLE, 0, 1, true, false \
	}
#define CHANCE                                            \
	{                                                 \
		"chance", ACCT_BETWEEN, 0, 1, true, false \
	}
#define COLLISION                                         \
	{                                                 \
		"collision", ACCT_REAL, 0, 0, true, false \
	}
#define OTHERS                                                                  \
	{ "others_eps", ACCT_BETWEEN, 0, 700, true, true },                     \
	{                                                                       \
		"others_n", ACCT_WHOLE, 1, (double)ACCT_MAX_REPORTS, true, true \
	}
#define EPS0_INF                                               \
	{                                                      \
		"eps0", ACCT_BETWEEN_INF, 0, 700, false, false \
	}
#define COUNTED(k, most, option)                      \
	{                                             \
		k, ACCT_WHOLE, 1, most, option, false \
	}
#define CLASSES                                                               \
	{ "eps0", ACCT_BETWEEN, 0, 700, false, true },                        \
	{                                                                     \
		"least", ACCT_WHOLE, 1, (double)ACCT_MAX_REPORTS, false, true \
	}
#define WORDS_KEYS "w=,eps0=[,groups=any][,slots=1][,dummies=0][,chance=] (eps0=inf allowed)"
#define WORDS                                                             \
	COUNTED("w", 40, false), EPS0_INF, COUNTED("groups", 1e12, true), \
		COUNTED("slots", ACCT_MAX_COUNT, true), DUMMIES(true), CHANCE
#define NUMBERS(k)                              \
	{                                       \
		k, ACCT_REAL, 0, 0, false, true \
	}
#define NUMBER(k, option)                         \
	{                                         \
		k, ACCT_REAL, 0, 0, option, false \
	}

#define METRIC_KEYS "distance=,most="
#define METRIC      NUMBER("distance", false), NUMBER("most", false)

static const struct acct_named table[] = {
	{ "generic", "eps0=", "any randomizer with this local guarantee", acct_named_generic, false,
		{ EPS0 } },
	{ "rr", "eps0=[,others_eps=a/b/..,others_n=c/d/..]",
		"binary response; others with guarantees of their own", acct_named_rr, false,
		{ EPS0, OTHERS } },
	{ "grr", "k=,eps0=[,others_eps=a/b/..,others_n=c/d/..]", "response on k symbols", acct_named_grr,
		false, { SYMBOLS("k"), EPS0, OTHERS } },
	{ "mixbins", "k=,eps0=[,dummies=0][,chance=] (eps0=inf allowed)",
		"response on k symbols among uniform dummies; inf is bins", acct_named_mixbins, true,
		{ SYMBOLS("k"), EPS0_INF, DUMMIES(true), CHANCE } },
	{ "bins", "k=,dummies=[,chance=]", "truthful messages in k bins among uniform dummies",
		acct_named_bins, true, { SYMBOLS("k"), DUMMIES(false), CHANCE } },
	{ "noise", "epsilon=,mean=", "bins among the shuffler's discrete Laplace noise about mean",
		acct_named_noise, true,
		{ { "epsilon", ACCT_BETWEEN, 0, 700, false, false }, COUNTED("mean", 1e6, false) } },
	{ "levels", "b=,eps0=[,dummies=0][,chance=] (eps0=inf allowed)",
		"numbers rounded to levels 0..b, mixbins on the b+1 levels", acct_named_levels, true,
		{ COUNTED("b", 1e12, false), EPS0_INF, DUMMIES(true), CHANCE } },
	{ "prefixes", "k=,eps0=[,dummies=0][,chance=] (eps0=inf allowed)",
		"mixbins on candidates and a bin for none of them", acct_named_prefixes, true,
		{ SYMBOLS("k"), EPS0_INF, DUMMIES(true), CHANCE } },
	{ "hashed", "b=,dummies=[,collision=1/b][,chance=]",
		"a seed and a hash in 0..b-1, truthful, among uniform dummies", acct_named_hashed, true,
		{ SYMBOLS("b"), DUMMIES(false), COLLISION, CHANCE } },
	{ "rappor", "d=,eps0=", "unary encoding in d bits, every bit flipped alike", acct_named_rappor, false,
		{ SYMBOLS("d"), EPS0 } },
	{ "sue", "d=,eps0=", "the same as rappor", acct_named_rappor, false, { SYMBOLS("d"), EPS0 } },
	{ "oue", "d=,eps0=", "optimised unary encoding in d bits", acct_named_oue, false,
		{ SYMBOLS("d"), EPS0 } },
	{ "subset", "d=,k=,eps0=", "k of d items for one item", acct_named_subset, false,
		{ SYMBOLS("d"), { "k", ACCT_WHOLE, 1, 1e12, false, false }, EPS0 } },
	{ "privset", "d=,k=,s=,eps0=", "k of d items for a set of s", acct_named_privset, false,
		{ { "d", ACCT_WHOLE, 2, 1e4, false, false }, { "k", ACCT_WHOLE, 1, 1e4, false, false },
			{ "s", ACCT_WHOLE, 1, 1e4, false, false }, EPS0 } },
	{ "olh", "l=,eps0=[,d=any][,collision=1/l][,triple=any]",
		"a seed and response on the l hashes of d inputs", acct_named_olh, false,
		{ SYMBOLS("l"), EPS0, { "d", ACCT_WHOLE, 2, 1e12, true, false }, COLLISION,
			NUMBER("triple", true) } },
	{ "hadamard", "d=,eps0=[,blocks=1]", "Hadamard response on d inputs", acct_named_hadamard, false,
		{ SYMBOLS("d"), EPS0, { "blocks", ACCT_WHOLE, 1, 1e12, true, false } } },
	{ "duchi", "eps0=[,d=1]", "the signs of d numbers in [-1, 1]", acct_named_duchi, false,
		{ EPS0, { "d", ACCT_WHOLE, 1, 4096, true, false } } },
	{ "harmony", "eps0=[,d=any]", "one of d coordinates at random, response on its sign",
		acct_named_harmony, false, { EPS0, { "d", ACCT_WHOLE, 1, 1e12, true, false } } },
	{ "words", WORDS_KEYS, "slots of mixbins, each on w signs of one group of many", acct_named_words,
		true, { WORDS } },
	{ "rotated", WORDS_KEYS, "words of a vector that was rotated in public", acct_named_words, true,
		{ WORDS } },
	{ "vrr", "s=,eps0=[,d=any]", "vector response: s sampled bits, eps0/s each", acct_named_vrr, false,
		{ { "s", ACCT_WHOLE, 1, ACCT_MAX_CELLS - 1, false, false }, EPS0,
			COUNTED("d", 1e12, true) } },
	{ "laplace-levels", "b=,eps0=", "levels 0..b and discrete Laplace noise of scale b/eps0",
		acct_named_laplace, false, { { "b", ACCT_WHOLE, 1, 1e12, false, false }, EPS0 } },
	{ "laplace-noise", "eps0=", "a number in [0, 1] and Laplace noise of scale 1/eps0",
		acct_named_laplace_noise, false, { EPS0 } },
	{ "metric", METRIC_KEYS, "metric privacy: records at a distance, a domain of diameter most",
		acct_named_metric, false, { METRIC } },
	{ "metric-laplace", METRIC_KEYS, "metric privacy: a number and Laplace noise of scale 1",
		acct_named_metric_line, false, { METRIC } },
	{ "planar-laplace", METRIC_KEYS, "metric privacy: a place and planar Laplace noise of scale 1",
		acct_named_metric_plane, false, { METRIC } },
	{ "planar", "w=,h=,eps0=[,distance=any]",
		"a cell of a w by h grid, planar Laplace noise on the cells", acct_named_planar, false,
		{ { "w", ACCT_WHOLE, 2, 128, false, false }, { "h", ACCT_WHOLE, 2, 128, false, false },
			{ "eps0", ACCT_BETWEEN, 0, 64, false, false },
			{ "distance", ACCT_BETWEEN, 0, 1e3, true, false } } },
	{ "staircase", "b=,eps0=[,r=best]", "levels 0..b and discrete staircase noise, inner step r",
		acct_named_staircase, false,
		{ { "b", ACCT_WHOLE, 1, 1e12, false, false }, EPS0,
			{ "r", ACCT_WHOLE, 1, 1e12, true, false } } },
	{ "piecewise", "b=,eps0=[,w=best]", "levels 0..b to 0..b+w-1, a window of w likely values",
		acct_named_piecewise, false,
		{ { "b", ACCT_WHOLE, 1, 1e12, false, false }, EPS0,
			{ "w", ACCT_WHOLE, 1, 1e12, true, false } } },
	{ "balcer-cheu", "t=[,k=1|,d=][,coins=1]",
		"a message if the bit is set, and coins of chance t; counters", acct_named_balcer_cheu, false,
		{ { "t", ACCT_BETWEEN, 0, 1, false, false }, COUNTED("k", 1e12, true),
			{ "d", ACCT_WHOLE, 2, 1e12, true, false },
			COUNTED("coins", (double)ACCT_MAX_REPORTS, true) } },
	{ "cheu", "f=[,fakes=1][,dummies=0][,d=any]",
		"unary encoding with flips of chance f, and fake zero vectors", acct_named_cheu, false,
		{ { "f", ACCT_BETWEEN, 0, 0.5, false, false },
			{ "fakes", ACCT_WHOLE, 0, (double)ACCT_MAX_REPORTS, true, false }, DUMMIES(true),
			{ "d", ACCT_WHOLE, 2, 1e12, true, false } } },
	{ "digits", "base=,digits=,eps0=[,dummies=0][,none=0] (eps0=inf allowed)",
		"a slot of mixbins for each digit; live rounds: none=1", acct_named_digits, true,
		{ { "base", ACCT_WHOLE, 2, 1e6, false, false }, COUNTED("digits", ACCT_SPEC_PARTS, false),
			EPS0_INF, DUMMIES(true), NONE } },
	{ "ranges", "leaves=,fanout=,eps0=[,dummies=0][,none=0] (eps0=inf allowed)",
		"a slot of mixbins for each level of a tree; live rounds: none=1", acct_named_ranges, true,
		{ SYMBOLS("leaves"), SYMBOLS("fanout"), EPS0_INF, DUMMIES(true), NONE } },
	{ "marginals", "k=a/b/..,eps0=[,dummies=0] (eps0=inf allowed)",
		"a slot of mixbins for each marginal, on its k combinations", acct_named_marginals, true,
		{ { "k", ACCT_WHOLE, 2, 1e12, false, true }, EPS0_INF, DUMMIES(true) } },
	{ "ss-simple", "d=,levels=,eps0=", "a slot for each of d coordinates, response on its levels",
		acct_named_coordinates, false,
		{ COUNTED("d", ACCT_MAX_COUNT, false), SYMBOLS("levels"), EPS0 } },
	{ "ss-double", "k=,levels=,eps0=", "one coordinate of each of k groups, response on its levels",
		acct_named_coordinates, false,
		{ COUNTED("k", ACCT_MAX_COUNT, false), SYMBOLS("levels"), EPS0 } },
	{ "ss-topk", "k=,levels=,eps0=,padded=",
		"the k largest coordinates, padded of each; shuffler sees which", acct_named_topk, true,
		{ COUNTED("k", ACCT_MAX_COUNT, false), SYMBOLS("levels"), EPS0,
			COUNTED("padded", (double)ACCT_MAX_REPORTS, false) } },
	{ "gspa-classes", "k=,eps0=a/b/..,least=c/d/..", "classes of guarantees, each a batch of its own",
		acct_named_gspa_classes, true, { SYMBOLS("k"), CLASSES } },
	{ "gspa-pooled", "k=,eps0=a/b/..,least=c/d/..", "classes of guarantees, their values in one batch",
		acct_named_gspa_pooled, true, { SYMBOLS("k"), CLASSES } },
	{ "hierarchy", "f=,H=,eps0=", "response on a random level of a tree: f, f^2, .. f^H nodes",
		acct_named_hierarchy, false,
		{ SYMBOLS("f"), { "H", ACCT_WHOLE, 1, 40, false, false }, EPS0 } },
	{ "parallel", "k=a/b/..,eps0=c[/d/..][,share=equal]", "one of several responses, drawn in public",
		acct_named_parallel, false,
		{ { "k", ACCT_WHOLE, 2, 1e12, false, true }, { "eps0", ACCT_BETWEEN, 0, 700, false, true },
			{ "share", ACCT_BETWEEN, 0, 1, true, true } } },
	{ "gaussian", "sigma=", "central: normal noise of sigma times the L2 distance", acct_named_gaussian,
		true, { NUMBER("sigma", false) } },
	{ "sampled-gaussian", "sigma=,rate=", "central: Poisson-sampled records of norm 1, normal noise",
		acct_named_gaussian, true, { NUMBER("sigma", false), NUMBER("rate", false) } },
	{ "laplace", "scale=", "central: a number, Laplace noise of scale times the distance",
		acct_named_central_laplace, true, { NUMBER("scale", false) } },
	{ "guarantee", "epsilon=[,delta=0]", "central: whatever is (epsilon, delta)-differentially private",
		acct_named_guarantee, true, { NUMBER("epsilon", false), NUMBER("delta", true) } },
	{ "pair", "p=,beta=,q=[,q2=q] (p=inf allowed)", "a dominating pair by its parameters",
		acct_named_pair, false,
		{ NUMBER("p", false), NUMBER("beta", false), NUMBER("q", false), NUMBER("q2", true) } },
	{ "cells",
		"omega=a/b/..,u=a/b/..,v=a/b/..[,dummies=0][,others_share=c/d/..,others_n=e/f/"
		"..][,messages=0][,triple=0][,shape=0/0/0][,present=1]",
		"any list of blanket cells; others may be less of it", acct_named_listed, false,
		{ NUMBERS("omega"), NUMBERS("u"), NUMBERS("v"), DUMMIES(true),
			{ "others_share", ACCT_REAL, 0, 0, true, true },
			{ "others_n", ACCT_WHOLE, 0, (double)ACCT_MAX_REPORTS, true, true },
			{ "messages", ACCT_WHOLE, 0, 10, true, false },
			{ "triple", ACCT_REAL, 0, 0, true, false }, { "shape", ACCT_REAL, 0, 0, true, true },
			{ "present", ACCT_BETWEEN, 0, 1, true, false } } },
};

#define ROWS (sizeof table / sizeof *table)

const struct acct_named *acct_named_row(size_t i)
{
	return i < ROWS ? &table[i] : NULL;
}

const struct acct_named *acct_named_find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}
