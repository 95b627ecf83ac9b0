/* an_link.h - keeps the link to the shuffler: dials, waits for answers, dials again.  It knows nothing of
 * rounds. */
#pragma once

#include "an_context.h"
#include "lk_link.h"

struct an_link;
struct an_link_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* Called when the shuffler's Hello has arrived, after every dial: frames can be sent from then
	 * on. */
	void (*on_ready)(void *user);
	void (*on_frame)(void *user, const Tombola__V1__Frame *frame);
	/* Called when the link gave up: the address cannot be dialled, or a person waits and the shuffler
	 * stays away. */
	void (*on_gone)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_link_new(const struct an_link_conf *conf, struct an_link **out, struct cm_err *err);
void an_link_close(struct an_link *l);
void an_link_free(struct an_link *l);

/* Dial the shuffler, unless a link exists or a pause before dialling is running. */
void an_link_want(struct an_link *l);
/* Close the link.  Unless the code of `why` is CM_OK, a new one is dialled after a pause. */
void an_link_drop(struct an_link *l, const struct cm_err *why);
/* Close the link, and dial no new one until an_link_want. */
void an_link_rest(struct an_link *l);
/* Send a frame and expect an answer.  If there is no link the frame is dropped, because the dialogue
 * restarts with the next link. */
void an_link_send(struct an_link *l, const Tombola__V1__Frame *frame);
/* Load the new certificates into a new TLS context and open a new link.  asked: somebody asked for it, as
 * by SIGHUP; otherwise a link stays if the new certificates accept its shuffler. */
void an_link_reload(struct an_link *l, bool asked);

bool an_link_ready(const struct an_link *l);
/* Unix time of the shuffler's last frame; 0 if none has come since the start. */
int64_t an_link_seen_ms(const struct an_link *l);
/* Why the shuffler cannot be reached; empty if it can be. */
const char *an_link_away(const struct an_link *l);
