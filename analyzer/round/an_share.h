/* an_share.h - a share of a batch's messages: sorts their hashes, and decides which messages count.  No I/O
 * of its own.
 *
 * A batch is divided twice, so that each thread can do a part: by the beginnings of the hashes, which keeps
 * their order, so the shares' trees stand side by side in the tree over all; and by the beginnings of the
 * encapsulated keys, so that all messages with one key are in one share, which alone decides about them
 * (an_once.h).  So neither the tree nor what counts depends on the number of shares. */
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
	uint64_t messages; /* of the whole batch, about */
	size_t bytes;      /* of memory, for all shares together */
	const struct rd_spill
		*spill;  /* AN_SPILLS, borrowed; used by all shares at a time, each page by one */
	unsigned shares; /* 1 to AN_SHARES_MAX */
};
struct an_share;
/* Number `share` of conf->shares. */
CM_CHECK enum cm_rc an_share_new(
	const struct an_share_conf *conf, unsigned share, struct an_share **out, struct cm_err *err);
void an_share_free(struct an_share *s);

/* Into which share of `shares` a hash, or a message, falls. */
uint8_t an_share_of(const uint8_t *bytes, unsigned shares);

/* Takes n hashes, all of this share. */
CM_CHECK enum cm_rc an_share_hashes(
	struct an_share *s, const uint8_t (*hash)[PR_HASH_LEN], size_t n, struct cm_err *err);
/* Takes the bucket's messages of this share, all n of them.  Those that count now are moved to the front in
 * byte order, *now of them. */
CM_CHECK enum cm_rc an_share_bucket(
	struct an_share *s, const uint8_t **message, size_t n, size_t *now, struct cm_err *err);

/* After the last bucket. */
CM_CHECK enum cm_rc an_share_done(struct an_share *s, struct cm_err *err);
uint64_t an_share_hashed(const struct an_share *s);
/* The leaves of the tree that are this share's, the first of them at `begin`.  Once, after an_share_done. */
CM_CHECK enum cm_rc an_share_leaves(
	struct an_share *s, uint64_t begin, struct rd_range *leaves, struct cm_err *err);
/* Copies the next of the messages set aside that count, up to `most`.  Fewer than that: there are no more. */
CM_CHECK enum cm_rc an_share_aside(
	struct an_share *s, uint8_t *messages, size_t most, size_t *n, struct cm_err *err);
/* Messages that do not count, after the last of those set aside. */
uint64_t an_share_duplicates(const struct an_share *s);
