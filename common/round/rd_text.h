/* rd_text.h - checks text from peers: names, and text for display. libc only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cm_rc.h"

/* One or more of [a-z0-9._-], safe as a file name: does not start with '.' or '-'. */
bool rd_is_name(const char *text);

/* Copy text to out[size], size including the NUL.  CM_EPROTO naming `field` when it is empty, too long or no
 * name; or not printable. */
CM_CHECK enum cm_rc rd_copy_name(
	const char *text, const char *field, char *out, size_t size, struct cm_err *err);
CM_CHECK enum cm_rc rd_copy_text(
	const char *text, const char *field, char *out, size_t size, struct cm_err *err);
