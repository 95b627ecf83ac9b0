/* an_open.h - opens a released batch on all cores: drops duplicates, decodes and counts the records.
 *
 * Costs about one X25519 per message, in batches (cr_hpke_open_many), and some SHA-256 and sorting.  All of
 * it is spread over the cores: each message is hashed and opened by the next thread that is free, and each
 * thread has a share of the sorting (an_share.h).  Nothing that comes out depends on the number of threads.
 *
 * Memory, however many messages there are: conf.bytes for the duplicates (an_once.h) and the tree over all
 * messages, and, after the last bucket, 4 KiB a share for each conf.bytes / 8 that went to a spill, in place
 * of half of conf.bytes; 74 bytes per message of the current bucket; 64 records a thread, 1024 messages or 64
 * a thread, and the counts.  To the spills go 32 bytes a message and what an_once.h says, once they do not
 * fit. */
#pragma once

#include "an_share.h"
#include "an_tally.h"
#include "rd_descriptor.h"

struct an_open_conf {
	const struct rd_descriptor *d; /* borrowed */
	const struct cr_key *secret;   /* copied for the threads and wiped with them */
	unsigned threads;              /* 1..256 */
	uint64_t messages;             /* of the whole batch, from its manifest */
	size_t bytes;                  /* of memory; at least 1 */
	const struct rd_spill *spill;  /* AN_SPILLS of them, borrowed; used by several threads at a time, each
					* page  put by one of them, in no order */
};
struct an_open;
CM_CHECK enum cm_rc an_open_new(const struct an_open_conf *conf, struct an_open **out, struct cm_err *err);
void an_open_free(struct an_open *o);
/* Open n sealed messages of rd_sealed_len bytes; returns when all are counted but those that an_once.h sets
 * aside, which are counted with the last bucket.  Of several messages with one encapsulated key only that of
 * the first bucket, and in it the first in byte order, counts, so the order within the bucket has no effect.
 * A message that does not open or decode is counted as bad.  *right: the bucket has this root
 * (rd_bucket_sum).  Else nothing of it is opened: the batch is of no use.  CM_EINTERNAL, and what the spills
 * fail with; o is unusable then. */
CM_CHECK enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n,
	const uint8_t root[PR_HASH_LEN], bool *right, struct cm_err *err);
/* Root of the tree over the sorted hashes of all messages, after the last bucket; NULL before. */
const uint8_t *an_open_root(const struct an_open *o);
/* The counts, after the last bucket; valid until the next call on o.  Before it some messages are not
 * decided. */
const struct an_tally *an_open_tally(const struct an_open *o);
