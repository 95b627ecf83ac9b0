/* cl_pseudonym_set.h - remembers which devices have a stored report in the active round, so that no code can
 * randomize a device's value twice.  Only cl_reports.c uses it.
 *
 * Pseudonyms are uniform, so eight bytes of each suffice to know that a device is new.  These bytes may
 * agree by chance (in 1e-6 of rounds of ten million devices); then the stored pseudonyms decide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm_rc.h"

/* Zeroed, it knows no device.  It uses 11 to 22 bytes per device. */
struct cl_pseudonym_set {
	uint64_t *slot; /* owned; a hash table with open addressing, where 0 is a free slot */
	size_t slots, n;
	int64_t next; /* number of the next device to be stored; 0: the database has not been read yet */
};
/* Forget all devices and free the table; it is zeroed afterwards. */
void cl_pseudonym_set_fini(struct cl_pseudonym_set *set);
/* Add a device.  *maybe: this device, or one with equal first bytes, was there already.  CM_EINTERNAL: out
 * of memory. */
CM_CHECK enum cm_rc cl_pseudonym_set_add(
	struct cl_pseudonym_set *set, const uint8_t *pseudonym, bool *maybe, struct cm_err *err);
