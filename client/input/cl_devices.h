/* cl_devices.h - reads the list of participating devices from a file that an operator writes.  The list
 * never depends on readings or on published messages.
 *
 * The file has one name a line, of 1 to CL_DEVICE_MAX bytes without white space at its ends; empty lines
 * are skipped.  Every listed device takes part in every round that this client joins, with or without a
 * reading.  Readings of unlisted devices are ignored.  The list is kept in memory as pseudonyms, 32 bytes a
 * device, in the order of the file. */
#pragma once

#include <stdio.h>

#include "cr_secret.h"
#include "pr_limits.h"

struct cl_devices;
/* Read the list from a file.  CM_ENOINPUT, CM_EIO; CM_EDATA with the line: a line has no name, a name
 * occurs twice, or there are more than CL_BATCH_MAX names; CM_EINTERNAL: out of memory.  Free with
 * cl_devices_free, which accepts NULL. */
CM_CHECK enum cm_rc cl_devices_load(const char *path, const struct cr_key *secret, const char *population,
	struct cl_devices **out, struct cm_err *err);
void cl_devices_free(struct cl_devices *d);
/* Read the list from an open file; errors call it `path`. */
CM_CHECK enum cm_rc cl_devices_read(FILE *f, const char *path, const struct cr_key *secret,
	const char *population, struct cl_devices **out, struct cm_err *err);
/* Say why a list cannot hold this name, which is not empty, on a line of its own; NULL if it can. */
const char *cl_devices_fault(const char *name);
/* Number of devices; 0 for NULL. */
size_t cl_devices_n(const struct cl_devices *d);
/* Pseudonym of device i < n, PR_PSEUDONYM_LEN bytes; borrowed. */
const uint8_t *cl_devices_at(const struct cl_devices *d, size_t i);
/* The number of the line that names device i < n. */
uint32_t cl_devices_line(const struct cl_devices *d, size_t i);
