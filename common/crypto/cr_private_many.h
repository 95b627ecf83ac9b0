/* cr_private_many.h - creates many files and waits for the disk only once.  Needs libc.  Internal to this
 * folder and its tests.
 *
 * A file that must survive a power cut waits for the disk twice, some milliseconds each time.  Files that
 * are made together wait together. */
#pragma once

#include <stddef.h>

#include "cm_rc.h"

struct cr_private_many;

/* Returns NULL if memory runs out. */
struct cr_private_many *cr_private_many_new(void);
/* Write the bytes for the new file `path` beside it, under another name.  CM_ECREATE: it cannot be written,
 * and nothing of it is left. */
CM_CHECK enum cm_rc cr_private_many_add(struct cr_private_many *m, const char *path, const void *bytes,
	size_t n, unsigned mode, struct cm_err *err);
/* Create all of them, durable before it returns: either every file exists and is whole, or none exists.
 * CM_ECREATE when one exists already or cannot be written.  After a power cut during the call some may
 * exist, each whole. */
CM_CHECK enum cm_rc cr_private_many_commit(struct cr_private_many *m, struct cm_err *err);
/* Remove the files that commit made. */
void cr_private_many_undo(struct cr_private_many *m);
/* Drop files that were added and not committed; accepts NULL. */
void cr_private_many_free(struct cr_private_many *m);
