/* an_judge.h - judges on a worker thread whether the next round may run, and records the decision in the
 * ledger. */
#pragma once

#include "an_context.h"

struct an_judge;
struct an_judge_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* Called when the decision is durable.  take: the round is reserved; otherwise it was refused, and
	 * that was logged. */
	void (*on_judged)(void *user, struct an_round_state *r, bool take);
	void (*on_fault)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_judge_new(const struct an_judge_conf *conf, struct an_judge **out, struct cm_err *err);
void an_judge_close(struct an_judge *j);
void an_judge_free(struct an_judge *j);

void an_judge_begin(struct an_judge *j, struct an_round_state *r);
/* Whether a worker thread is judging. */
bool an_judge_works(const struct an_judge *j);
/* The round that is being judged or was judged last; NULL if none was. */
struct an_round_state *an_judge_round(const struct an_judge *j);
