/* acct_method_normal.c (acct_method_rows.h) - the normal limit of the privacy loss. */
#include <stdlib.h>

#include "acct_method_rows.h"
#include "acct_normal.h"

/* acct_normal_epsilon or acct_normal_delta. */
typedef enum acct_rc limit_fn(
	const struct acct_round *rounds, size_t n, double at, double *value, const char **why);

static enum acct_rc limit(limit_fn *of, const struct acct_spec *s, size_t n, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(s, n);
	double value = 0;
	enum acct_rc rc = r ? acct_method_asked(n, epsilon, at, why) : ACCT_ENOMEM;

	if (!rc)
		rc = of(r, n, at, &value, why);
	*out = (struct acct_method_answer){ .bound = { value, value },
		.worth = ACCT_APPROXIMATE,
		.note = "the normal limit of the privacy loss: good for many rounds among many reports, "
			"poor for few" };
	free(r);
	return rc;
}

enum acct_rc acct_clt_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	return limit(acct_normal_epsilon, s, n, true, delta, out, why);
}

enum acct_rc acct_clt_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	return limit(acct_normal_delta, s, n, false, epsilon, out, why);
}
