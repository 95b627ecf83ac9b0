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
/* Who may change or read a file that is going to be read. */
enum cr_kind {
	CR_ANYBODYS, /* made by somebody else, and judged by its contents alone */
	CR_SECRET,   /* as CR_OURS, and its group and others may not read it */
	CR_OURS,     /* the file decides about privacy, so cm_owned_check must accept it */
};
/* Read a file of at most max bytes into out, and set *n to their number.  CM_ENOINPUT if there is no such
 * file, CM_EDATA if it is longer or no regular file, CM_EIO.  CM_EPERM when somebody else may do what
 * `kind` forbids. */
CM_CHECK enum cm_rc cr_private_read(
	const char *path, enum cr_kind kind, uint8_t *out, size_t max, size_t *n, struct cm_err *err);
/* Overwrite, fsync, and unlink the file; does not sync the directory.  CM_OK if there is no such file. */
CM_CHECK enum cm_rc cr_private_destroy(const char *path, struct cm_err *err);
/* The path "dir/name" + suffix, malloc'd; NULL out of memory.  For paths without a suffix use
 * cm_file_join. */
char *cr_private_path(const char *dir, const char *name, const char *suffix);
