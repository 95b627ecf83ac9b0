/* an_copy.h - asks the shuffler, once a run, what it and its clients have seen of the ledger, before
 * anything is judged or written.  An older copy of the ledger lacks a part of what was spent, so judging by
 * it would be wrong, and every record appended to it would be a fork. */
#pragma once

#include "an_link.h"

struct an_copy;
struct an_copy_conf {
	const struct an_context *context; /* borrowed, like the link */
	struct an_link *link;
	void *user;
	/* Called when our ledger has all records that the shuffler and its clients have seen. */
	void (*on_whole)(void *user);
	/* Called when the run ends: our ledger lacks some of these records (CM_EPERM), or the shuffler
	 * refuses for good. */
	void (*on_end)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_copy_new(const struct an_copy_conf *conf, struct an_copy **out, struct cm_err *err);
void an_copy_free(struct an_copy *c);

/* Ask until on_whole or on_end is called; calls on_whole at once if the question was answered before. */
void an_copy_begin(struct an_copy *c);
/* Call when the link is up. */
void an_copy_connected(struct an_copy *c);
/* Process a frame; true if it was an answer to this question. */
bool an_copy_frame(struct an_copy *c, const Tombola__V1__Frame *frame);
/* Whether the answer is awaited; an_copy_whole: whether it has come and our ledger is complete. */
bool an_copy_asks(const struct an_copy *c);
bool an_copy_whole(const struct an_copy *c);
