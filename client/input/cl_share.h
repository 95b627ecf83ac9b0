/* cl_share.h - what one device may have of a file: so many rows and bytes are parsed of it, and the rest of
 * its rows is left out.  So one device's rows keep the others of its file waiting for a bounded time, but for
 * what it takes to see whose a row is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cm_rc.h"

#define CL_SHARE_ROWS 4096u /* of one device */

struct cl_share;
/* bytes: of one device.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_share_new(size_t bytes, struct cl_share **out, struct cm_err *err);
void cl_share_free(struct cl_share *s);
/* Count a row of n bytes of the device that the file calls so.  *out: it is within what the device may have,
 * as all of its rows before.
 * Names are told apart by 64 bits that are drawn with a key of this table: two of 10^7 are taken for one with
 * a probability of 3e-6, and have one share then.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_share_take(
	struct cl_share *s, const void *name, size_t len, size_t n, bool *out, struct cm_err *err);
