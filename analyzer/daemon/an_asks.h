/* an_asks.h - sends the shuffler a plan as a question before anybody signs it, and prints what would become
 * of it (an_rehearse.h).  Nothing is written. */
#pragma once

#include "an_link.h"

struct an_asks;
struct an_asks_conf {
	const struct an_context *context; /* borrowed, like the link */
	struct an_link *link;
	void *user;
	/* Called when the answer was printed.  faults: number of things that would go wrong. */
	void (*on_answer)(void *user, size_t faults);
	/* Called if there is no answer: the shuffler is too old, refuses, or rehearsed something else. */
	void (*on_end)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_asks_new(const struct an_asks_conf *conf, struct an_asks **out, struct cm_err *err);
void an_asks_close(struct an_asks *a);
void an_asks_free(struct an_asks *a);

/* Ask about a plan, which is borrowed until on_answer or on_end. */
void an_asks_begin(struct an_asks *a, const struct rd_plan *plan);
/* Call when the link is up. */
void an_asks_connected(struct an_asks *a);
/* Process a frame; true if it was an answer to this question. */
bool an_asks_frame(struct an_asks *a, const Tombola__V1__Frame *frame);
