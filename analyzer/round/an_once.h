/* an_once.h - of all messages with one encapsulated key lets one count, in bounded memory.  No I/O of its
 * own.
 *
 * Messages come bucket by bucket.  Of those whose keys agree in their first 16 bytes the first counts: that
 * of the earlier bucket, then the one before in byte order.  (Two honest keys agree with chance n^2 2^-128,
 * and whoever makes such keys loses messages of his own.)  That is exact, although memory does not hold the
 * keys:
 *
 * - A filter of bits has every key that came.  Where it lacks a key, none such came before, and the message
 *   counts at once; its key goes to a list.
 * - Every other message is set aside, sealed: its key came before, or the bits of other keys look like it.
 * - After the last bucket both lists are sorted and read side by side.  If a key is in the first list, its
 *   first message has counted.  Else all messages of the key are set aside, and the first of them counts.
 *
 * Whoever repeats messages or makes keys for the filter has more messages set aside, at most all.
 *
 * Memory: conf.bytes, of which the filter has up to half, until an_once_done; then 4 KiB for each conf.bytes
 * / 8 that went to a spill.  The filter has at least 16 bits a message where they fit: then one in 4,600
 * messages of honest clients is set aside.  The lists have an eighth each; what does not fit goes to their
 * spills: 16 bytes a message that counts, and each message that is set aside with 4 bytes more. */
#pragma once

#include "rd_sort.h"

#define AN_ONCE_KEY 16u

struct an_once_conf {
	size_t sealed_len;                      /* bytes of a message, of which the first 32 are its key */
	uint64_t messages;                      /* about how many there will be: the filter's size */
	size_t bytes;                           /* of memory, at least 1 */
	const struct rd_spill *counted, *aside; /* of the two lists; borrowed */
};
struct an_once;
CM_CHECK enum cm_rc an_once_new(const struct an_once_conf *conf, struct an_once **out, struct cm_err *err);
void an_once_free(struct an_once *o);
/* The next bucket's messages, in byte order.  Those that count now are moved to the front, *now of them, in
 * their order; the others are copied. */
CM_CHECK enum cm_rc an_once_bucket(
	struct an_once *o, const uint8_t **message, size_t n, size_t *now, struct cm_err *err);
/* After the last bucket.  The filter's memory is free from here on. */
CM_CHECK enum cm_rc an_once_done(struct an_once *o, struct cm_err *err);
/* Copy the next of the messages set aside that count.  CM_EMORE after the last. */
CM_CHECK enum cm_rc an_once_next(struct an_once *o, uint8_t *message, struct cm_err *err);
/* Messages that do not count, so far as is decided: all of them after CM_EMORE. */
uint64_t an_once_duplicates(const struct an_once *o);
