/* an_open.h - opens a released batch on all cores: duplicates dropped, records decoded and counted.
 *
 * About one X25519 per message and core.  Memory: 43 bytes per message for the duplicate check, 8 per message
 * of the bucket at hand, counts otherwise. */
#pragma once

#include "an_tally.h"
#include "rd_descriptor.h"

struct an_open;

/* threads 1..256.  The descriptor is borrowed; the key is copied into the openers, and wiped with them. */
CM_CHECK enum cm_rc an_open_new(const struct rd_descriptor *d, const struct cm_key *secret, unsigned threads,
	const struct cm_rng *rng, struct an_open **out, struct cm_err *err);
void an_open_free(struct an_open *o);
/* Open n sealed messages of rd_sealed_len bytes; returns when all are counted.  Of several messages with one
 * encapsulated key the first in byte order counts, so that the order of arrival within the bucket changes
 * nothing.  A message that does not open or decode is counted as bad.  CM_EINTERNAL only. */
CM_CHECK enum cm_rc an_open_bucket(struct an_open *o, const uint8_t *sealed, size_t n, struct cm_err *err);
/* Everything opened so far; valid until the next call on o. */
const struct an_tally *an_open_tally(const struct an_open *o);
/* Processors this process may use, 1..256. */
unsigned an_open_cores(void);
