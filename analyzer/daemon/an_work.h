/* an_work.h - executes the actions of the current round's dialogue (an_round.h): sends, appends to the
 * ledger, opens the batch on a worker thread, publishes, destroys the key. */
#pragma once

#include "an_link.h"
#include "an_round.h"

struct an_work;
struct an_work_conf {
	struct an_context *context; /* borrowed, like the link */
	struct an_link *link;
	void *user;
	/* Called when the round is over, and forgotten when the call returns.  spoiled: CM_OK, or why its
	 * batch contradicts its manifest. */
	void (*on_done)(void *user, const struct an_round_state *r, const struct cm_err *spoiled);
	/* Called for a fault that no later try overcomes. */
	void (*on_fault)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_work_new(const struct an_work_conf *conf, struct an_work **out, struct cm_err *err);
void an_work_close(struct an_work *w);
void an_work_free(struct an_work *w);

/* Continue a round from its stage.  No other round may be under way. */
void an_work_begin(struct an_work *w, struct an_round_state *r);
/* Call when the link is up. */
void an_work_connected(struct an_work *w);
void an_work_frame(struct an_work *w, const Tombola__V1__Frame *frame);

/* The round under way; NULL if there is none. */
const struct an_round_state *an_work_round(const struct an_work *w);
/* Which answer its dialogue awaits; an_work_opens: whether its messages are being fetched or opened.  Call
 * both only while a round is under way. */
enum an_step an_work_step(const struct an_work *w);
bool an_work_opens(const struct an_work *w);
