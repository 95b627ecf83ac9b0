/* an_open.h - opens a released batch on all cores: drops duplicates, decodes and counts the records.
 *
 * Costs about one X25519 per message, in batches (cr_hpke_open_many), and some SHA-256 and sorting.  All of
 * it is spread over the cores: each message is hashed and opened by the next thread that is free, and each
 * thread has a share of the sorting (an_share.h).  No result depends on the number of threads.
 *
 * Memory: conf.bytes for the duplicates (an_once.h) and the tree over all messages; after the last bucket,
 * instead of half of conf.bytes, 4 KiB per share for each conf.bytes / 8 that went to a spill; 74 bytes per
 * message of the present bucket; 64 records per thread, 1024 messages or 64 per thread, and the counts.
 * What does not fit goes to the spills: 32 bytes per message, and what an_once.h says. */
#pragma once

#include "an_share.h"
#include "an_tally.h"
#include "rd_descriptor.h"

struct an_open_conf {
	const struct rd_descriptor *d; /* borrowed */
	const struct cr_key *secret;   /* copied for the threads and wiped with them */
	unsigned threads;              /* 1..256 */
	uint64_t messages;             /* number of messages of the whole batch, from its manifest */
	size_t bytes;                  /* bytes of memory; at least 1 */
	const struct rd_spill *spill;  /* AN_SPILLS of them, borrowed; used by several threads at a time, each
					* page  put by one of them, in no order */
};
struct an_open;
CM_CHECK enum cm_rc an_open_new(const struct an_open_conf *conf, struct an_open **out, struct cm_err *err);
void an_open_free(struct an_open *o);
/* Open n sealed messages of rd_sealed_len bytes.  Returns when all are counted except those that an_once.h
 * sets aside, which are counted after the last bucket.  Of several messages with the same encapsulated key
 * only the one in the first bucket counts, and within a bucket the first in byte order, so the order within
 * the bucket has no effect.  A message that does not open or decode is counted as bad.  *right: the bucket
 * has this root (rd_bucket_sum).  Otherwise none of it is opened, since the batch cannot be used.
 * CM_EINTERNAL, or a fault of the spills; o is unusable then. */
CM_CHECK enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n,
	const uint8_t root[PR_HASH_LEN], bool *right, struct cm_err *err);
/* The root of the tree over the sorted hashes of all messages, after the last bucket; NULL before. */
const uint8_t *an_open_root(const struct an_open *o);
/* The counts, after the last bucket; valid until the next call on o.  Before that some messages are not
 * decided. */
const struct an_tally *an_open_tally(const struct an_open *o);
