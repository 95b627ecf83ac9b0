/* cm_file.h - reads and writes whole files, durably. libc only.  Every error message names the path. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"

/* The kind of fault that an errno of opening a file for reading means.  CM_EINTERNAL: memory or descriptors
 * are short, which a later start may have; CM_EPERM; otherwise CM_ENOINPUT. */
enum cm_rc cm_file_open_code(int e);
/* Fail with "path: what: " and the text of errno, and with `code`, or CM_EINTERNAL if memory is short. */
enum cm_rc cm_file_fail(struct cm_err *err, enum cm_rc code, const char *path, const char *what);
/* Append a whole regular file of at most max bytes to b.  CM_ENOINPUT: there is no such file, or it is not
 * a regular file.  CM_EPERM: this process may not read it.  CM_EDATA: it is longer.  CM_EIO. */
CM_CHECK enum cm_rc cm_file_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err);
/* The same, but `judge` sees the open file before it is read; if it does not return CM_OK, its result is
 * returned. */
typedef enum cm_rc cm_file_judge_fn(const char *path, int fd, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_read_judged(
	const char *path, size_t max, cm_file_judge_fn *judge, struct cm_buf *b, struct cm_err *err);
/* Replace path atomically: temporary file, fsync, rename, fsync of the folder. */
CM_CHECK enum cm_rc cm_file_write(
	const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err);
/* The path of the temporary file in which cm_file_write collects the new contents, for mkostemp; malloc'd,
 * NULL out of memory. */
char *cm_file_temp(const char *path);
/* Remove the temporary files that a killed process left in a folder to which no other process writes.  CM_OK
 * when the folder does not exist. */
CM_CHECK enum cm_rc cm_file_sweep(const char *path, struct cm_err *err);
/* Call fn for each entry of a directory, in any order, until fn returns something other than CM_OK, which
 * is then returned.  fn may remove its entry.  CM_OK when the directory does not exist; CM_EIO;
 * CM_EINTERNAL out of memory. */
typedef enum cm_rc cm_file_entry_fn(void *user, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_each(const char *dir, cm_file_entry_fn *fn, void *user, struct cm_err *err);
/* Make a directory (0700) unless it exists, durably; its parent must exist. */
CM_CHECK enum cm_rc cm_file_mkdir(const char *path, struct cm_err *err);
/* Make the entries of a directory durable; or make the entry `path` durable, through its directory. */
CM_CHECK enum cm_rc cm_file_sync_dir(const char *path, struct cm_err *err);
CM_CHECK enum cm_rc cm_file_sync_parent(const char *path, struct cm_err *err);
/* Write all n bytes, continuing after short writes and interruptions.  On false errno is set. */
CM_CHECK bool cm_file_put(int fd, const void *bytes, size_t n);
/* The directory that holds path, malloc'd; NULL out of memory. */
char *cm_file_folder(const char *path);
/* The path "dir/name", malloc'd; NULL out of memory. */
char *cm_file_join(const char *dir, const char *name);
