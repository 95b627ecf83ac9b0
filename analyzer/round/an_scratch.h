/* an_scratch.h - disk space for what a large batch does not keep in memory.
 *
 * The files are in the state folder but have no name, so nothing of them survives the process.  Each is
 * encrypted under a key that only this process has (AES-256-GCM).  So nobody can read sealed messages,
 * keys, hashes or their order from what a disk keeps of erased files.  A file is created when its first
 * page is put.  A page takes its own length plus 28 bytes.  Pages that are never put are holes. */
#pragma once

#include "an_open.h"

struct an_scratch;
/* dir: the folder, borrowed.  Creates no file yet.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc an_scratch_new(const char *dir, struct an_scratch **out, struct cm_err *err);
/* Close the files, which also erases them. */
void an_scratch_free(struct an_scratch *s);
/* Make every later put and read fail with CM_ELATER, so that a thread that sorts a large batch ends soon.
 * Call it from any thread.  Accepts NULL. */
void an_scratch_stop(struct an_scratch *s);
/* An array of AN_SPILLS spills, valid until s is freed.  Several threads may use each at a time, and pages
 * may be put in any order.  A page may be read by the thread that put it, or by another after synchronising
 * with that one.  CM_EIO: the disk is full or broken.  CM_ECREATE: no file can be created.  Both name the
 * folder. */
const struct rd_spill *an_scratch_spills(const struct an_scratch *s);
