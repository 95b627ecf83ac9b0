/* sh_batch.h - accepted submissions that are not durable yet: messages, tags, counts.  No I/O.
 *
 * Arrival order is visible in here and nowhere after: all of it is wiped with the batch. */
#pragma once

#include "cm_buf.h"
#include "sh_tags.h"

struct sh_batch {
	size_t message_len;
	struct cm_buf
		sealed;     /* messages of message_len bytes: each after its routing tag, where it has one */
	struct cm_buf tags; /* struct sh_tag, one a submission */
	struct cm_buf counts; /* struct sh_count: devices added to a certificate, maybe several times */
};

/* message_len: rd_message_len.  max: bytes of each of the three at most. */
void sh_batch_init(struct sh_batch *b, size_t message_len, size_t max);
/* Wipe and free. */
void sh_batch_fini(struct sh_batch *b);
/* Make room for this many more, so that the adds below cannot fail.  CM_ELATER: over the maximum or out of
 * memory. */
CM_CHECK enum cm_rc sh_batch_reserve(
	struct sh_batch *b, size_t submissions, size_t messages_each, struct cm_err *err);
/* sealed: the messages of one submission, len bytes. */
void sh_batch_add(struct sh_batch *b, const struct sh_tag *tag, const uint8_t *sealed, size_t len);
void sh_batch_count(struct sh_batch *b, const struct sh_count *count);
size_t sh_batch_messages(const struct sh_batch *b);
size_t sh_batch_submissions(const struct sh_batch *b);
size_t sh_batch_bytes(const struct sh_batch *b);

/* Tags sorted by value and counts merged and sorted, as one plain text to be encrypted; appended to out.
 * u32 tags, u32 counts, the tags, the counts (tag, u32). */
CM_CHECK enum cm_rc sh_batch_tag_row(struct sh_batch *b, struct cm_buf *out, struct cm_err *err);
/* Back: add them to a round's tags and counts.  CM_EDATA when malformed, a tag is there twice, or there are
 * more than fit. */
CM_CHECK enum cm_rc sh_batch_tag_row_load(
	const uint8_t *bytes, size_t len, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err);
