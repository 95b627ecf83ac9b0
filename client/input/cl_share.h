/* cl_share.h - limits how many rows and bytes of a file one device may have: its further rows are left out
 * without being parsed.  So one device's rows delay the others in the file for a bounded time, apart from
 * the time that it takes to find out whose row it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cm_rc.h"

#define CL_SHARE_ROWS 4096u /* most rows of one device */

struct cl_share;
/* bytes: the most that one device may have.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_share_new(size_t bytes, struct cl_share **out, struct cm_err *err);
void cl_share_free(struct cl_share *s);
/* Count a row of n bytes that belongs to the device with this name.  *out: this row and all rows before it
 * are within the device's limits.  Names are distinguished by a 64-bit hash under a random key of this
 * table: among 10^7 names two have the same hash with probability 3e-6, and then share one limit.
 * CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_share_take(
	struct cl_share *s, const void *name, size_t len, size_t n, bool *out, struct cm_err *err);
