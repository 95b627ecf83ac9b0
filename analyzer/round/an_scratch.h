/* an_scratch.h - room on the disk for what a large batch does not keep in memory.
 *
 * Files of the state folder without a name, so that nothing of them survives the process, each encrypted
 * under a key that only this process has (AES-256-GCM): sealed messages, keys and hashes of them, and how
 * they are ordered, cannot be read from what the disk keeps of erased files.  A file is made when its first
 * page is put; pages are as large as they were put, and 28 bytes.  Pages that are never put are holes. */
#pragma once

#include "an_open.h"

struct an_scratch;
/* dir: the folder, borrowed.  Makes nothing there yet.  CM_EINTERNAL. */
CM_CHECK enum cm_rc an_scratch_new(const char *dir, struct an_scratch **out, struct cm_err *err);
/* Closes the files, which is their end. */
void an_scratch_free(struct an_scratch *s);
/* From any thread: whatever is put or read from now on fails with CM_ELATER, so that an opening that sorts a
 * large batch ends soon.  Accepts NULL. */
void an_scratch_stop(struct an_scratch *s);
/* AN_SPILLS of them, until s is freed.  Each may be used by several threads at a time, and takes pages in any
 * order; one that was put may be read by the thread that put it, or after the two have met.  They fail with
 * CM_EIO when the disk is full or broken, with CM_ECREATE when no file can be made, and name the folder. */
const struct rd_spill *an_scratch_spills(const struct an_scratch *s);
