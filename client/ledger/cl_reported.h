/* cl_reported.h - remembers which devices have a stored report in the active round, so that no code can
 * randomize a device's value twice.  Part of cl_store.c.
 *
 * Pseudonyms are uniform, so eight bytes of each are enough to say that a device is new.  They may agree by
 * chance (1e-6 of rounds of ten million devices): then the stored pseudonyms decide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_rc.h"

/* Zeroed: nothing is known.  11 to 22 bytes a device. */
struct cl_reported {
	uint64_t *slot; /* owned; open addressing, 0: free */
	size_t slots, n;
	int64_t next; /* number of the next device to be stored; 0: the store is not read yet */
};
/* Forget all: as zeroed. */
void cl_reported_fini(struct cl_reported *reported);
/* Add a device.  *maybe: it, or one of equal first bytes, is there already.  CM_EINTERNAL: no memory. */
CM_CHECK enum cm_rc cl_reported_add(
	struct cl_reported *reported, const uint8_t *pseudonym, bool *maybe, struct cm_err *err);
