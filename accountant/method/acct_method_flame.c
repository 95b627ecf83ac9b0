/* acct_method_flame.c (acct_method_rows.h) - FLAME's analyses for rounds of this accountant. */
#include "acct_fault.h"
#include "acct_flame.h"
#include "acct_method_rows.h"

/* Judge a vector of `count` coordinates, each sent as a message of its own (SS-Simple). */
static enum acct_rc simple(const struct acct_spec *s, size_t n, double delta, enum acct_flame_amplifier by,
	struct acct_method_answer *out, const char **why)
{
	double eps;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	if (!rc && n != 1)
		return acct_fault(why, "it takes one round, whose count is the length of the vector");
	if (!rc)
		rc = acct_method_local(s, false, why);
	if (rc)
		return rc;
	if (!(s->k >= 2 && s->k <= 1e9) && !s->laplace)
		return acct_fault(why, "it is known for k-ary response and Laplace noise only");
	if (s->round.dummies > 0)
		return acct_fault(why, "it is known without dummies only");
	struct acct_flame_slot slot = { .epsilon = s->eps0, .bins = s->laplace ? 0 : (uint64_t)s->k };
	rc = acct_flame_simple_theorem1(&slot, s->round.count, s->participants, delta, by, &eps, why);
	if (!rc)
		out->bound = (struct acct_bound){ by == ACCT_FLAME_BENNETT_FIRST ? eps : 0, eps };
	return rc;
}

enum acct_rc acct_flame_method_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	out->note =
		"SS-Simple with the corrected Bennett bound; a message holds one coordinate, count of them";
	return simple(s, n, delta, ACCT_FLAME_BENNETT, out, why);
}

enum acct_rc acct_flame_first_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PAPER_VALUE;
	out->note = "with the Bennett bound as first published, which is below the truth";
	return simple(s, n, delta, ACCT_FLAME_BENNETT_FIRST, out, why);
}
