/* an_share.h - a share of a batch's messages: sorts their hashes, and decides which messages count.  No I/O
 * of its own.
 *
 * A batch is divided in two ways, so that each thread can do a part.  Hashes are divided by their
 * beginnings, which keeps their order, so the shares' trees lie side by side in the tree over all. Messages
 * are divided by the beginnings of the encapsulated keys, so that all messages with one key are in one
 * share, which alone decides about them (an_once.h).  So neither the tree nor the choice of messages
 * depends on the number of shares. */
#pragma once

#include "an_once.h"
#include "rd_tree.h"

#define AN_SHARES_MAX 16u

/* The spills of a batch. */
#define AN_SPILL_HASHES  0u /* hashes of all messages */
#define AN_SPILL_COUNTED 1u /* the two lists of an_once.h */
#define AN_SPILL_ASIDE   2u
#define AN_SPILLS        3u

struct an_share_conf {
	size_t sealed_len;
	uint64_t messages;            /* approximate number of messages of the whole batch */
	size_t bytes;                 /* bytes of memory, for all shares together */
	const struct rd_spill *spill; /* AN_SPILLS of them, borrowed; all shares use them at a time, but each
					 page is used by one */
	unsigned shares;              /* 1 to AN_SHARES_MAX */
};
struct an_share;
/* Create share number `share` of conf->shares. */
CM_CHECK enum cm_rc an_share_new(
	const struct an_share_conf *conf, unsigned share, struct an_share **out, struct cm_err *err);
void an_share_free(struct an_share *s);

/* The number of the share, of `shares`, to which a hash or a message belongs. */
uint8_t an_share_of(const uint8_t *bytes, unsigned shares);

/* Take n hashes, all of which belong to this share. */
CM_CHECK enum cm_rc an_share_hashes(
	struct an_share *s, const uint8_t (*hash)[PR_HASH_LEN], size_t n, struct cm_err *err);
/* Take the n messages of this share in the bucket.  Those that count now are moved to the front in byte
 * order; *now is their number. */
CM_CHECK enum cm_rc an_share_bucket(
	struct an_share *s, const uint8_t **message, size_t n, size_t *now, struct cm_err *err);

/* Call it after the last bucket. */
CM_CHECK enum cm_rc an_share_done(struct an_share *s, struct cm_err *err);
uint64_t an_share_hashed(const struct an_share *s);
/* Give the leaves of the tree that belong to this share, the first of them at `begin`.  Call it once, after
 * an_share_done. */
CM_CHECK enum cm_rc an_share_leaves(
	struct an_share *s, uint64_t begin, struct rd_range *leaves, struct cm_err *err);
/* Copy up to `most` further messages that were set aside and count.  If there are fewer, no more follow. */
CM_CHECK enum cm_rc an_share_aside(
	struct an_share *s, uint8_t *messages, size_t most, size_t *n, struct cm_err *err);
/* Number of messages that do not count, known after the last of those set aside. */
uint64_t an_share_duplicates(const struct an_share *s);
