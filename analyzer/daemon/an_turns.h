/* an_turns.h - chooses the next round of the plan.  It looks whether a round's key exists, and does no
 * other I/O. */
#pragma once

#include "an_context.h"

struct an_turns {
	const struct an_context *context; /* borrowed */
	unsigned pass;  /* number of the current pass, from 1; each pass tries every open round once */
	unsigned *last; /* for each round of the plan file: the last pass that tried it; owned */
	bool *barred;   /* for each round of the plan file: whether the shuffler refused it; owned */
};
CM_CHECK enum cm_rc an_turns_init(struct an_turns *t, const struct an_context *context, struct cm_err *err);
void an_turns_fini(struct an_turns *t);

/* The next round: one that is in progress, of any plan; otherwise one that this pass has not tried.  A new
 * pass begins while a round may be tried again, unless an operator selected the round.  NULL if none is
 * left. */
struct an_round_state *an_turns_next(struct an_turns *t, struct an_state *s);
/* Whether the round is in progress, or its key must still be destroyed; then it is not judged again. */
bool an_turns_decided(const struct an_turns *t, const struct an_round_state *r);
/* Record that the round is tried in this pass. */
void an_turns_tried(struct an_turns *t, const struct an_round_state *r);
/* Record that the dialogue of a round has ended: a round that the shuffler refused is not tried again. */
void an_turns_ended(struct an_turns *t, const struct an_round_state *r);
