/* acct_method_rows.h - the functions behind acct_method.c's rows.  Not installed. */
#pragma once

#include "acct_gspa.h"
#include "acct_method.h"

typedef enum acct_rc acct_method_fn(const struct acct_spec *rounds, size_t n, double at,
	struct acct_method_answer *out, const char **why);

/* acct_method_pairs.c: privacy-loss distributions of dominating pairs, and of one pair of data sets. */
acct_method_fn acct_pld_epsilon, acct_pld_delta;
enum acct_rc acct_pld_epsilons(const struct acct_spec *spec, size_t n, const double *delta, size_t deltas,
	struct acct_method_answer *out, const char **why);
acct_method_fn acct_clones_epsilon, acct_clones_delta;
acct_method_fn acct_strong_clones_epsilon, acct_strong_clones_delta;
acct_method_fn acct_attained_epsilon, acct_attained_delta;
acct_method_fn acct_published_epsilon, acct_published_delta;
/* The rounds of n specs, for the functions of acct.h.  The caller frees them with free().  NULL: no
 * memory. */
struct acct_round *acct_method_rounds(const struct acct_spec *spec, size_t n);
/* Lower an upper bound on epsilon to the sum of the guarantees that the texts state, if every text states
 * one.  The sum is one of decimals, so ten rounds of 0.1 make exactly 1. */
void acct_method_pure(const struct acct_spec *spec, size_t n, struct acct_bound *epsilon);
/* Check a question: ACCT_EDOMAIN for no rounds, for a delta outside (0, 1), and for an epsilon outside [0,
 * inf). */
enum acct_rc acct_method_asked(size_t n, bool for_epsilon, double at, const char **why);
/* Check that an analysis from the local guarantee applies: ACCT_EDOMAIN unless every participant uses one
 * randomizer of finite eps0 and no input is disclosed (defect 0).  sampling: the analysis allows that
 * participants are sampled. */
enum acct_rc acct_method_local(const struct acct_spec *s, bool sampling, const char **why);

/* acct_method_gspa.c: set the classes of one round, for acct_gspa.h: the victim's own, and those of the
 * personalised others.  The guarantee of a class follows from its share of blanket, k/(e^eps + k - 1). */
enum acct_rc acct_method_classes(const struct acct_spec *s, struct acct_gspa_class cls[1 + ACCT_MAX_LEVELS],
	size_t *n, const char **why);

/* acct_method_normal.c: the normal limit of the privacy loss. */
acct_method_fn acct_clt_epsilon, acct_clt_delta;

/* acct_method_gdp.c: rounds as Gaussian mechanisms with a defect. */
acct_method_fn acct_gdp_method_epsilon, acct_gdp_method_delta;

/* acct_method_renyi.c: epsilon from Renyi divergences. */
acct_method_fn acct_rdp_epsilon, acct_girgis_method_epsilon, acct_erlingsson_rdp_epsilon;

/* acct_method_parts.c: each round judged by itself at a part of delta, then composed. */
acct_method_fn acct_sum_epsilon, acct_advanced_epsilon;
acct_method_fn acct_hoeffding_epsilon, acct_hoeffding_delta, acct_bennett_epsilon, acct_bennett_delta;
acct_method_fn acct_closed_epsilon, acct_closed_tight_epsilon;
acct_method_fn acct_clones_closed_epsilon, acct_erlingsson_epsilon;

/* acct_method_gspa.c: the analyses of GSPA, for participants with guarantees of their own (acct_gspa.h). */
acct_method_fn acct_gspa_method_epsilon, acct_gspa_method_delta, acct_liu_epsilon;

/* acct_method_flame.c: the analyses of FLAME, for vectors sent one coordinate per message
 * (acct_flame.h). */
acct_method_fn acct_flame_method_epsilon, acct_flame_first_epsilon;
