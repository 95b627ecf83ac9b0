/* sh_batch.h - accepted reports that are not durable yet: messages, tags, counts.  No I/O.
 *
 * Only this batch holds the order of arrival.  It is wiped with the batch and is visible nowhere else. */
#pragma once

#include "cm_buf.h"
#include "cr_hash.h"
#include "cr_rand.h"
#include "pr_limits.h"
#include "sh_tags.h"

/* A certificate whose first report of the round makes a standing for it, and for the gateway that its client
 * names (sh_store.h). */
struct sh_stand {
	uint8_t key_hash[CR_HASH_LEN];
	uint8_t gateway[PR_HASH_LEN]; /* as the client's Submit has it; zeros: it had none */
	uint8_t mac[PR_MAC_LEN];      /* the MAC that the client's Submit has; zeros: it had none */
};

struct sh_batch {
	size_t message_len;
	/* messages of message_len bytes each; if the round has tags, each follows its routing tag */
	struct cm_buf sealed;
	struct cm_buf tags;   /* struct sh_tag, one per report */
	struct cm_buf counts; /* struct sh_count: devices to add to a certificate; a certificate may appear
			       * several times */
	struct cm_buf stands; /* struct sh_stand, one per certificate whose first report of the round is in
			       * this batch */
};

/* Make an empty batch.  message_len: rd_message_len.  max: most bytes of each of the four buffers. */
void sh_batch_init(struct sh_batch *b, size_t message_len, size_t max);
/* Wipe and free. */
void sh_batch_fini(struct sh_batch *b);
/* Reserve room for this many more reports, so that the additions below cannot fail.  CM_ELATER: above the
 * maximum, or out of memory. */
CM_CHECK enum cm_rc sh_batch_reserve(
	struct sh_batch *b, size_t submissions, size_t messages_each, struct cm_err *err);
/* Add one report; sealed has its messages, len bytes. */
void sh_batch_add(struct sh_batch *b, const struct sh_tag *tag, const uint8_t *sealed, size_t len);
void sh_batch_count(struct sh_batch *b, const struct sh_count *count);
void sh_batch_stand(struct sh_batch *b, const struct sh_stand *stand);
size_t sh_batch_messages(const struct sh_batch *b);
size_t sh_batch_submissions(const struct sh_batch *b);
size_t sh_batch_bytes(const struct sh_batch *b);

/* Append the plain text of a tag row to `out`, to be encrypted: u32 number of tags, u32 number of counts,
 * the tags in uniformly random order, the counts merged and sorted (tag, u32). */
CM_CHECK enum cm_rc sh_batch_tag_row(
	struct sh_batch *b, const struct cr_rng *rng, struct cm_buf *out, struct cm_err *err);
/* Parse that text and add its tags and counts to a round's.  CM_EDATA: it is malformed, has a tag twice, or
 * exceeds the room. */
CM_CHECK enum cm_rc sh_batch_tag_row_load(
	const uint8_t *bytes, size_t len, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err);
