/* sh_serve_rehearse.h - rehearsals on the network: the analyzer's question, and drafts to clients. */
#pragma once

#include "sh_serve_private.h"

void sh_serve_on_rehearse(struct peer *p, const Tombola__V1__Frame *frame);
void sh_serve_on_rehearsal_answer(struct peer *p, const Tombola__V1__Frame *frame);
/* Send the draft of the rehearsal under way to a client that waits for a round; false: there is none, its
 * certificate was asked, or there is no room now. */
bool sh_serve_offer_draft(struct peer *p);
/* Everything that was sent to the peer is on its way. */
void sh_serve_draft_read(struct peer *p);
void sh_serve_poll_rehearsal(struct peer *p, bool late);
/* The peer's link is closing: its rehearsal ends. */
void sh_serve_rehearsal_gone(struct peer *p);
