/* acct_many.c - epsilon of many different rounds in one question. */
#include "acct_many.h"

enum acct_rc acct_many_epsilon(const struct acct_plan *p, double delta, struct acct_bound *out, bool *narrow)
{
	struct acct_composed c = { .delta = delta };
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->parts && !rc; i++) {
		struct acct_entry *e = acct_composed_append(&c);

		if (!e) {
			rc = ACCT_ENOMEM;
			break;
		}
		e->rung.list = p->part[i].curve.list;
		e->count = (uint64_t)p->part[i].count;
		rc = acct_entry_measure(e, ACCT_STATE_TAIL * delta);
	}
	if (!rc)
		rc = acct_composed_epsilon(&c, acct_plan_blur(p), out);
	*narrow = !rc && acct_composed_is_narrow(&c, out);
	acct_composed_fini(&c);
	return rc;
}
