/* cl_policy_next.h - a policy that a running client has read again, until it is put into force. */
#pragma once

#include "cl_conf.h"

struct cl_policy_next {
	struct cl_policy policy; /* if it waits */
	bool waits;
	size_t changes; /* keys by which it differs from the policy in force */
};
/* Read the policy's file again, and log each changed key: at warn if a round is judged by the policy in
 * force, because the new one waits for that round's end.  A fault changes nothing. */
CM_CHECK enum cm_rc cl_policy_next_read(
	struct cl_policy_next *n, const struct cl_setup *s, bool judged, struct cm_err *err);
/* If one waits, put it into force: *old is the policy before, which the caller frees once no thread
 * reads it. */
bool cl_policy_next_take(struct cl_policy_next *n, struct cl_policy *in_force, struct cl_policy *old);
void cl_policy_next_fini(struct cl_policy_next *n); /* accepts a zeroed struct */
