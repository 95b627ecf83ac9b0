/* an_open.h - opens a released batch on all cores: drops duplicates, decodes and counts the records.
 *
 * Costs about one X25519 per message, spread over the cores, in batches (cr_hpke_open_many).  Memory: 43
 * bytes per message for the duplicate check, 32 for the tree over all messages (4.3 and 3.2 GB at 10^8), 40
 * per message of the current bucket, 64 records a thread, and the counts. */
#pragma once

#include "an_tally.h"
#include "rd_descriptor.h"

struct an_open;

/* threads: 1..256; messages: number in the whole batch, from its manifest.  The descriptor is borrowed.  The
 * key is copied for the threads and wiped with them. */
CM_CHECK enum cm_rc an_open_new(const struct rd_descriptor *d, const struct cr_key *secret, unsigned threads,
	uint64_t messages, const struct cr_rng *rng, struct an_open **out, struct cm_err *err);
void an_open_free(struct an_open *o);
/* Open n sealed messages of rd_sealed_len bytes; returns when all are counted.  Of several messages with one
 * encapsulated key only the first in byte order counts, so the order within the bucket has no effect.  A
 * message that does not open or decode is counted as bad.  CM_EINTERNAL only. */
CM_CHECK enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err);
/* Root of the tree over the sorted hashes of all messages, after the last bucket; NULL before. */
const uint8_t *an_open_root(const struct an_open *o);
/* The counts so far; valid until the next call on o. */
const struct an_tally *an_open_tally(const struct an_open *o);
/* Number of processors that this process may use, 1..256. */
unsigned an_open_cores(void);
