/* an_once.h - lets only one of the messages with the same encapsulated key count, in bounded memory.  No
 * I/O of its own.
 *
 * Messages arrive bucket by bucket.  Of those whose keys agree in their first 16 bytes the first counts:
 * the one in the earlier bucket, and within a bucket the first in byte order.  (Two honest keys agree with
 * chance n^2 2^-128, and whoever makes such keys loses his own messages.)  This is exact, although memory
 * does not hold all keys:
 *
 * - A filter of bits contains every key that arrived.  If a key is not in the filter, it has not arrived
 *   before, and the message
 *   counts at once; its key goes to the first list.
 * - Every other message is set aside, sealed, in the second list.  Either its key arrived before, or the
 *   bits of other keys look like it.
 * - After the last bucket both lists are sorted and read side by side.  If a key is in the first list, its
 *   first message has counted.  Otherwise all messages with the key are set aside, and the first of them
 *   counts.
 *
 * Somebody who repeats messages or makes keys for the filter causes more messages to be set aside, at most
 * all.
 *
 * Memory: conf.bytes, of which the filter has up to half, until an_once_done; then 4 KiB for each
 * conf.bytes / 8 that went to a spill.  The filter has at least 16 bits per message if they fit; then one
 * in 4,600 messages of honest clients is set aside.  The lists have an eighth each.  What does not fit goes
 * to their spills: 16 bytes for each message that counts, and each message that is set aside with 4 bytes
 * more. */
#pragma once

#include "rd_sort.h"

#define AN_ONCE_KEY 16u

struct an_once_conf {
	size_t sealed_len; /* length of a message in bytes; its first 32 bytes are the key */
	uint64_t messages; /* approximate number of messages, from which the filter's size follows */
	size_t bytes;      /* bytes of memory, at least 1 */
	const struct rd_spill *counted, *aside; /* the spills of the two lists; borrowed */
};
struct an_once;
CM_CHECK enum cm_rc an_once_new(const struct an_once_conf *conf, struct an_once **out, struct cm_err *err);
void an_once_free(struct an_once *o);
/* Take the next bucket's messages, in byte order.  Those that count now are moved to the front, *now of
 * them, in their order; the others are copied. */
CM_CHECK enum cm_rc an_once_bucket(
	struct an_once *o, const uint8_t **message, size_t n, size_t *now, struct cm_err *err);
/* Call it after the last bucket.  It frees the filter's memory. */
CM_CHECK enum cm_rc an_once_done(struct an_once *o, struct cm_err *err);
/* Copy the next message that was set aside and counts.  CM_EMORE: there are no more. */
CM_CHECK enum cm_rc an_once_next(struct an_once *o, uint8_t *message, struct cm_err *err);
/* Number of messages that do not count, as far as that is decided.  After CM_EMORE it is complete. */
uint64_t an_once_duplicates(const struct an_once *o);
