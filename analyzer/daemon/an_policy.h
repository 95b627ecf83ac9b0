/* an_policy.h - asks the shuffler for its policy before a plan is pinned, and waits while the plan does not
 * fit it, because a pinned plan takes its slice of the budget for ever. */
#pragma once

#include "an_link.h"

struct an_policy;
struct an_policy_conf {
	const struct an_context *context; /* borrowed, like the link */
	struct an_link *link;
	void *user;
	/* Called when the plan fits, when the shuffler is too old to tell, or when a rehearsal will say
	 * what else would go wrong. */
	void (*on_fits)(void *user);
	/* Called when the run ends: the plan does not fit and the run does not wait until it does, or the
	 * shuffler refuses for good. */
	void (*on_end)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_policy_new(
	const struct an_policy_conf *conf, struct an_policy **out, struct cm_err *err);
void an_policy_close(struct an_policy *p);
void an_policy_free(struct an_policy *p);

/* Ask until on_fits or on_end is called.  made: the plan, borrowed until then.  pinned: its slice was taken
 * already. */
void an_policy_begin(struct an_policy *p, const struct rd_plan *made, bool pinned);
/* Call when the link is up. */
void an_policy_connected(struct an_policy *p);
/* Process a frame; true if it was an answer to this question. */
bool an_policy_frame(struct an_policy *p, const Tombola__V1__Frame *frame);
/* Whether the answer is awaited; an_policy_fault: the first fault that it found in the plan, empty if there
 * is none. */
bool an_policy_asks(const struct an_policy *p);
const char *an_policy_fault(const struct an_policy *p);
/* Number of faults that were found; a rehearsal goes on with them. */
size_t an_policy_faults(const struct an_policy *p);
