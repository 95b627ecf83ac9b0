/* cr_private_file.h - creates, reads and destroys files that other users must not read: keys, certificates.
 * Needs libc.  Internal to this folder and its tests. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

/* Create path with these bytes and mode, whole or not at all, durable (file and directory fsynced) before it
 * returns.  Leaves nothing on failure; cm_file_sweep removes the temporary file of a killed process.
 * CM_ECREATE if the file exists or cannot be written. */
CM_CHECK enum cm_rc cr_private_create(
	const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err);
/* At most max bytes of a file into out, their number into *n.  CM_ENOINPUT if there is none, CM_EDATA if it
 * is longer or no regular file, CM_EIO.  With `secret`, CM_EPERM when its group or others may read or write
 * it, or when it belongs to another user (cm_file_check_owner). */
CM_CHECK enum cm_rc cr_private_read(
	const char *path, int secret, uint8_t *out, size_t max, size_t *n, struct cm_err *err);
/* Overwrite, fsync, unlink; does not sync the directory.  CM_OK if there is none. */
CM_CHECK enum cm_rc cr_private_destroy(const char *path, struct cm_err *err);
/* "dir/name" + suffix, malloc'd; NULL out of memory.  Without a suffix: cm_file_join. */
char *cr_private_path(const char *dir, const char *name, const char *suffix);
