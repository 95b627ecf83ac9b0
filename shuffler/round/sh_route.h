/* sh_route.h - drops surplus messages of a round by tag, and checks classes, before the shuffler adds its
 * dummies and seals.
 *
 * If tags are classes, it checks that each class has enough participants.  If the descriptor says how many
 * messages each tag is to have, it drops the surplus uniformly.  A first pass counts the stored messages.  A
 * second pass keeps each message with probability (room left) / (messages to come) of its tag, so every
 * choice is equally likely in whatever order the messages lie (selection sampling: Fan, Muller and Rezucha
 * 1962).  The choice for one bucket, with the number of finished buckets, is durable before the next bucket
 * is handled.  After a crash the choices made so far stay, and the counts are computed again from the stored
 * messages.  Memory: one bucket, and 16 bytes per tag. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"
#include "cr_rand.h"

struct sh_round;

struct sh_route {
	uint64_t *count; /* number of stored messages of each tag; NULL: not counted yet */
	uint64_t *ahead; /* how many of them are in buckets that are not capped yet */
	uint32_t tags;   /* number of tags, the length of both arrays */
	uint32_t full;   /* while filling up: tags before this one have their full number */
	uint32_t capped; /* number of buckets in which surplus messages were dropped; durable */
	/* 1 + a class with too few participants, as in the manifest; 0: no class has too few */
	uint32_t lacking;
	bool over; /* at least one tag has more messages than are to be released */
};

/* Wipe and free; accepts a zeroed struct. */
void sh_route_fini(struct sh_route *t);
/* Do participants reach min_reports, and is no class known to have too few? */
bool sh_route_enough(const struct sh_round *r);
/* Is there a step left before the shuffler adds its dummies and seals?  Drawing noise is a step. */
bool sh_route_next(const struct sh_round *r);
/* Take the next step: draw noise, count, or cap buckets until one loses messages.  Any thread, while no other
 * thread uses the round.  CM_EDATA: the stored messages differ from the accepted ones. */
CM_CHECK enum cm_rc sh_route_step(struct sh_round *r, const struct cr_rng *rng, struct cm_err *err);

/* Messages that the shuffler must still make for tags that lack some.  If the round must not show how many
 * are missing, the shuffler makes tag_messages for every tag and discards those it does not need. */
uint64_t sh_route_missing(const struct sh_round *r);
/* Tag of the message with number `made`; counts it as stored.  False: discard the message. */
bool sh_route_take(struct sh_round *r, uint64_t made, uint32_t *tag);

/* Remove the tags from messages of rd_message_len, in place. */
void sh_route_strip(const struct sh_round *r, struct cm_buf *messages);
