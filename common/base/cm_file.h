/* cm_file.h - whole files, durably.  libc only.  Every message names the path. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

/* All of a regular file of at most max bytes appended to b.  CM_ENOINPUT (none, or not a regular file),
 * CM_EPERM (we may not), CM_EDATA (too long), CM_EIO. */
CM_CHECK enum cm_rc cm_file_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err);
/* Replace path atomically: temporary file, fsync, rename, fsync of the folder. */
CM_CHECK enum cm_rc cm_file_write(
	const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err);
/* Where such a file is until it is whole, for mkostemp; malloc'd, NULL out of memory. */
char *cm_file_temp(const char *path);
/* Remove the temporary files that a killed process left in a folder which nobody else writes; a folder that
 * is not there is swept. */
CM_CHECK enum cm_rc cm_file_sweep(const char *path, struct cm_err *err);
/* fn for each entry of a directory, in no order, until one is not CM_OK: that is returned.  fn may remove its
 * entry.  A directory that is not there has none.  CM_EIO, CM_EINTERNAL out of memory. */
typedef enum cm_rc cm_file_entry_fn(void *user, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_each(const char *dir, cm_file_entry_fn *fn, void *user, struct cm_err *err);
/* Make a directory (0700) unless it exists, durably; its parent must exist. */
CM_CHECK enum cm_rc cm_file_mkdir(const char *path, struct cm_err *err);
/* Make the entries of a directory durable; or the entry of path, by its directory. */
CM_CHECK enum cm_rc cm_file_sync_dir(const char *path, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_sync_parent(const char *path, struct cm_err *err);
/* Write all n bytes, however often the system takes fewer or is interrupted; false with errno. */
CM_CHECK bool cm_file_put(int fd, const void *bytes, size_t n);
/* The directory that holds path, malloc'd; NULL out of memory. */
char *cm_file_folder(const char *path);
/* "dir/name" malloc'd; NULL out of memory. */
char *cm_file_join(const char *dir, const char *name);
/* Take an exclusive lock on DIR/lock for the life of the process; CM_ELATER "another PROGRAM has DIR". */
CM_CHECK enum cm_rc cm_file_lock(const char *dir, struct cm_err *err);
