/* an_link.h - the link to the shuffler: dials, waits for answers, dials again.  Knows no round. */
#pragma once

#include "an_context.h"
#include "lk_link.h"

struct an_link;
struct an_link_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* The shuffler's Hello has arrived: frames can be sent.  Also called after every later dial. */
	void (*on_ready)(void *user);
	void (*on_frame)(void *user, const Tombola__V1__Frame *frame);
	/* The link gave up: the address cannot be dialled, or a person waits and the shuffler stays away. */
	void (*on_gone)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_link_new(const struct an_link_conf *conf, struct an_link **out, struct cm_err *err);
void an_link_close(struct an_link *l);
void an_link_free(struct an_link *l);

/* Dial the shuffler, unless a link exists or a pause before dialling is running. */
void an_link_want(struct an_link *l);
/* Close the link; unless why is CM_OK, a new one is dialled after a pause. */
void an_link_drop(struct an_link *l, const struct cm_err *why);
/* Close the link, and dial no new one before an_link_want. */
void an_link_rest(struct an_link *l);
/* Send a frame and expect an answer.  Without a link it is dropped: the dialogue restarts with the next. */
void an_link_send(struct an_link *l, const Tombola__V1__Frame *frame);
/* Load the new certificates into a fresh TLS context and open a fresh link.  Unless somebody asked for it, as
 * by SIGHUP, a link whose shuffler they accept stays. */
void an_link_reload(struct an_link *l, bool asked);

bool an_link_ready(const struct an_link *l);
/* Unix time of the shuffler's last frame; 0: none since the start. */
int64_t an_link_seen_ms(const struct an_link *l);
/* Why the shuffler cannot be reached; "": it can. */
const char *an_link_away(const struct an_link *l);
