/* sh_route.h - what a shuffler does by the tags of a round's messages before it adds its own and seals.
 *
 * Where tags are classes, it sees that each has participants enough.  Where the descriptor says how many
 * messages each tag is to have, it drops what is above, uniformly: one pass counts the stored messages, a
 * second keeps each of those to come with the chance (room left) / (messages to come) of its tag, which makes
 * every choice equally likely whatever order they lie in (selection sampling: Fan, Muller and Rezucha 1962).
 * A bucket's choice is durable whole before the next bucket's is made, with the number of buckets done; so
 * after any crash what was chosen stays, and the counts are made again from what is stored.  One bucket in
 * memory at a time, and 16 bytes a tag. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"
#include "cm_rand.h"

struct sh_round;

struct sh_route {
	uint64_t *count;  /* stored messages of each tag; NULL: not counted yet */
	uint64_t *ahead;  /* of them, those in buckets that are not capped yet */
	uint32_t tags;    /* numbers of both */
	uint32_t full;    /* filling up: tags before it lack nothing */
	uint32_t capped;  /* buckets that are; durable */
	uint32_t lacking; /* as in the manifest: 1 + a class with too few participants; 0: none */
	bool over;        /* some tag has too many messages */
};

/* Wipe and free; a zeroed struct is fine. */
void sh_route_fini(struct sh_route *t);
/* Is there a step to be taken before the shuffler adds its own and seals?  Drawing noise is one, too. */
bool sh_route_next(const struct sh_round *r);
/* Take it: draw, count, or cap the next buckets up to one that loses something.  Any thread, nothing else
 * touching the round.  CM_EDATA: what is stored is not what was accepted. */
CM_CHECK enum cm_rc sh_route_step(struct sh_round *r, const struct cm_rng *rng, struct cm_err *err);

/* Messages that the shuffler has yet to make for tags that lack some; one that must not show how many are
 * lacking makes tag_messages for every tag, and throws away what it does not need. */
uint64_t sh_route_missing(const struct sh_round *r);
/* The tag of number `made` of them; false if it is to be thrown away, else it is counted as stored. */
bool sh_route_take(struct sh_round *r, uint64_t made, uint32_t *tag);

/* Take the tags off messages of rd_message_len, in place. */
void sh_route_strip(const struct sh_round *r, struct cm_buf *messages);
