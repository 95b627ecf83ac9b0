/* cm_file.h - reads and writes whole files, durably. libc only.  Every error message names the path. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

/* What kind of fault an errno of opening a file for reading is.  CM_EINTERNAL: for want of memory or
 * descriptors, which a later start may have; CM_EPERM; else CM_ENOINPUT. */
enum cm_rc cm_file_open_code(int e);
/* Fail with "path: what: " and the text of errno; CM_EINTERNAL in place of `code` for want of memory. */
enum cm_rc cm_file_fail(struct cm_err *err, enum cm_rc code, const char *path, const char *what);
/* Append a whole regular file of at most max bytes to b.  CM_ENOINPUT: there is none, or it is not a regular
 * file.  CM_EPERM: this process may not read it.  CM_EDATA: it is longer.  CM_EIO. */
CM_CHECK enum cm_rc cm_file_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err);
/* The same; the open file is judged before it is read: what `judge` returns but CM_OK is returned. */
typedef enum cm_rc cm_file_judge_fn(const char *path, int fd, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_read_judged(
	const char *path, size_t max, cm_file_judge_fn *judge, struct cm_buf *b, struct cm_err *err);
/* Replace path atomically: temporary file, fsync, rename, fsync of the folder. */
CM_CHECK enum cm_rc cm_file_write(
	const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err);
/* Path of the temporary file in which cm_file_write collects the new contents, for mkostemp; malloc'd, NULL
 * out of memory. */
char *cm_file_temp(const char *path);
/* Remove the temporary files that a killed process left in a folder to which no other process writes.  CM_OK
 * when the folder does not exist. */
CM_CHECK enum cm_rc cm_file_sweep(const char *path, struct cm_err *err);
/* Call fn for each entry of a directory, in no order, until fn returns anything but CM_OK, which is then
 * returned. fn may remove its entry.  CM_OK when the directory does not exist; CM_EIO; CM_EINTERNAL out of
 * memory. */
typedef enum cm_rc cm_file_entry_fn(void *user, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_each(const char *dir, cm_file_entry_fn *fn, void *user, struct cm_err *err);
/* Make a directory (0700) unless it exists, durably; its parent must exist. */
CM_CHECK enum cm_rc cm_file_mkdir(const char *path, struct cm_err *err);
/* Make the entries of a directory durable; or the entry `path`, through its directory. */
CM_CHECK enum cm_rc cm_file_sync_dir(const char *path, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_sync_parent(const char *path, struct cm_err *err);
/* Write all n bytes: goes on after short writes and interruptions.  False with errno. */
CM_CHECK bool cm_file_put(int fd, const void *bytes, size_t n);
/* The directory that holds path, malloc'd; NULL out of memory. */
char *cm_file_folder(const char *path);
/* "dir/name" malloc'd; NULL out of memory. */
char *cm_file_join(const char *dir, const char *name);
