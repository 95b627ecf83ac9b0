/* pt_noise.h - blanket messages whose number is discrete Laplace noise: for each bin the shuffler adds
 * mean + L dummies of that bin, L on -mean..mean with chance proportional to a^|L|, a = decay / 2^64.
 *
 * Only the shuffler is trusted, and nothing depends on the number of participants.  One bin, with the victim
 * in it or not, is binary randomized response of epsilon ln(1/a) but for the chance `defect`, exactly; a
 * victim is in one of two bins, so a round is two of these (doc/protocols.md, "Noise of the shuffler"). */
#pragma once

#include "pt_histogram.h"
#include "pt_law.h"

/* Greatest mean: the law of a bin's dummies is a window of 2^18. */
#define PT_NOISE_MEAN_MAX 100000u
/* Greatest a^mean, the chance of an end over that of the middle: the defect is less, and a draw takes no more
 * than a seventh of the mean in generated numbers. */
#define PT_NOISE_END_MAX 0.001
/* Of what may be asked for. */
#define PT_NOISE_EPSILON_MIN 0.001

/* decay and mean for a round that is (r->noise_epsilon, r->noise_delta)-DP, towards more noise.  CM_ECONFIG.
 */
CM_CHECK enum cm_rc pt_noise_request(
	const char *name, const struct pt_request *r, struct pt_params *out, struct cm_err *err);
/* Is it possible, and is there nothing beside it that it does not go with?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_noise_check(const char *name, const struct pt_params *p, struct cm_err *err);

void pt_noise_cells(const struct pt_params *p, struct acct_round *out);
/* Chance that one of a bin's two ends was drawn, rounded up. */
double pt_noise_defect(const struct pt_params *p);
double pt_noise_variance(const struct pt_params *p); /* of a bin's dummies, exactly */
/* The law of a bin's dummies.  False out of memory. */
bool pt_noise_law(const struct pt_params *p, struct pt_law *out);

/* How many dummies of one bin, 0..2 mean: drawn from exactly that law. */
uint32_t pt_noise_draw(const struct pt_params *p, const struct cm_rng *rng);
