/* acct_own.h - makes rounds from a privacy curve, and from the matrix of a randomizer's probabilities.
 *
 * keys: more keys of the round (acct_spec.h), as `key=value,...` with a decimal point; empty or NULL: no
 * keys.  On ACCT_EDOMAIN why gets one sentence of at most room bytes. */
#pragma once

#include "acct_profile.h"
#include "acct_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make the round of a curve, which is borrowed as long as the round is used.  keys: count, sampling,
 * defect. */
ACCT_CHECK enum acct_rc acct_own_curve(
	const struct acct_profile *p, const char *keys, struct acct_spec *out, char *why, size_t room);

#define ACCT_MOST_INPUTS  64u
#define ACCT_MOST_OUTPUTS 65536u

/* p[x * outputs + y]: the chance that input x sends y.  If one input can send y, all inputs can.  The
 * chances of an input sum to 1 within 1e-9, and are divided by their sum.  No chance is in (0, 1e-307). */
struct acct_matrix {
	size_t inputs;  /* 2..ACCT_MOST_INPUTS */
	size_t outputs; /* 1..ACCT_MOST_OUTPUTS */
	const double *p;
};

/* The shuffled round in which every participant's report is drawn from its input's row.  keys: n, count,
 * sampling, poisson, defect.
 *
 * The blanket is omega(y) = min over x of p(x, y), the largest there is, and each pair of inputs has its own
 * cells (doc/accounting.md, section 2.1).  Where all pairs have the same cells, up to the order of outputs
 * and of the two inputs, out->round has them.  Else it is the curve that at every epsilon lies above the
 * largest delta of any pair, by certified upper ends: *owned holds it, to be freed by acct_profile_free after
 * the round's last use; NULL otherwise.  Such a curve says nothing in lower ends.  out->p, beta, q are the
 * largest of all pairs; eps0 is log p.  ACCT_ELIMIT: a pair has more than ACCT_MAX_CELLS different cells, or
 * there are more than 256 different pairs.  Cost: pairs times outputs, and 100 points of a curve for every
 * different pair. */
ACCT_CHECK enum acct_rc acct_own_matrix(const struct acct_matrix *m, const char *keys, struct acct_spec *out,
	struct acct_profile **owned, char *why, size_t room);

#ifdef __cplusplus
}
#endif
