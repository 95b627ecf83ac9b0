/* pt_noise_analysis.h - derives the shuffler's noise from a wanted privacy loss, and computes its loss:
 * pt_noise.h. */
#pragma once

#include "pt_noise.h"
#include "pt_protocol.h"

/* Range of the epsilon that may be asked for. */
#define PT_NOISE_EPSILON_MIN 0.001

/* Derive decay and mean for a round that is (r->noise_epsilon, r->noise_delta)-DP, rounded towards more
 * noise.  CM_ECONFIG. */
CM_CHECK enum cm_rc pt_noise_request(const struct pt_protocol *row, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err);
void pt_noise_cells(const struct pt_randomizer *p, struct acct_round *out);
/* The chance that one of a bin's two ends was drawn, rounded up. */
double pt_noise_defect(const struct pt_randomizer *p);
