/* cl_policy_next.c - reads the policy of a running client again. */
#include "cl_policy_next.h"

#include "cf_change.h"

enum cm_rc cl_policy_next_read(
	struct cl_policy_next *n, const struct cl_setup *s, bool judged, struct cm_err *err)
{
	struct cl_policy fresh;
	enum cm_rc rc = cl_setup_policy(s, &fresh, err);

	if (rc != CM_OK)
		return rc;
	cl_policy_next_fini(n);
	n->policy = fresh;
	n->waits = true;
	n->changes = cf_changes_log(s->conf.policy, cl_policy_rows, &s->policy, &fresh,
		judged ? CM_LOG_WARN : CM_LOG_INFO,
		judged ? "a changed key of the policy waits until the round is over, or for a restart"
		       : "a changed key of the policy is taken up");
	return CM_OK;
}

bool cl_policy_next_take(struct cl_policy_next *n, struct cl_policy *in_force, struct cl_policy *old)
{
	if (!n->waits)
		return false;
	n->waits = false;
	*old = *in_force;
	*in_force = n->policy;
	return true;
}

void cl_policy_next_fini(struct cl_policy_next *n)
{
	if (n->waits)
		cl_policy_free(&n->policy);
	n->waits = false;
}
