/* acct_method_rows.h - the functions behind acct_method.c's rows.  Not installed. */
#pragma once

#include "acct_method.h"

typedef enum acct_rc acct_method_fn(const struct acct_spec *rounds, size_t n, double at,
	struct acct_method_answer *out, const char **why);

/* acct_method_pairs.c: privacy-loss distributions of dominating pairs. */
acct_method_fn acct_pld_epsilon, acct_pld_delta;
acct_method_fn acct_clones_epsilon, acct_clones_delta;
acct_method_fn acct_strong_clones_epsilon, acct_strong_clones_delta;
/* The rounds of n specs, for the functions of acct.h; NULL out of memory; free. */
struct acct_round *acct_method_rounds(const struct acct_spec *spec, size_t n);
/* Cells for the clone reductions of a spec that states an eps0. */
enum acct_rc acct_method_clones(
	const struct acct_spec *s, bool strong, struct acct_round *r, const char **why);

/* acct_method_normal.c: the normal limit of the privacy loss. */
acct_method_fn acct_normal_epsilon, acct_normal_delta;
