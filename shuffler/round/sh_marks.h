/* sh_marks.h - remembers beside a round's key what a store that goes back would forget.
 *
 * A store that is restored or fails over may go back in the middle of a round, while the round's key is still
 * here.  Two files of key_dir say so: that the round was sealed, and how many devices have had a receipt or
 * may have one.  Sealed again, the round could have lost messages, and what the two releases differ by would
 * be theirs; sealed with fewer devices than have receipts, it would have lost acknowledged reports in
 * silence.  The marks go with the key: without it nothing can be sealed.
 *
 * The number is written after a commit of the store, and before any of its receipts is sent.  So it is never
 * above what the store has, however a process or a host ends, and never below what was acknowledged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"
#include "pr_limits.h"

/* Durable, before the manifest is shown to anybody. */
CM_CHECK enum cm_rc sh_mark_sealed(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* CM_EDATA: a round that the store has as collecting was sealed here. */
CM_CHECK enum cm_rc sh_mark_check_open(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);

/* Make the mark of a round with this number of devices; durable. */
CM_CHECK enum cm_rc sh_mark_begin(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t devices, struct cm_err *err);
/* A mark of which the number can be raised.  Its file stays open as long as its round: a commit would else
 * need a descriptor, and strangers may hold all that there are. */
struct sh_mark;
/* CM_ENOINPUT: there is none; CM_EDATA: it is damaged.  Free it with sh_mark_free. */
CM_CHECK enum cm_rc sh_mark_open(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_mark **out, struct cm_err *err);
/* Raise the number to at least this one, durably, with one fdatasync.  CM_ENOINPUT: the file was deleted, as
 * it is when the round is over.  Any thread, also beside another. */
CM_CHECK enum cm_rc sh_mark_raise(struct sh_mark *m, uint64_t devices, struct cm_err *err);
/* Keep it beyond its round's end, until one more sh_mark_free; both on one thread.  Returns m. */
struct sh_mark *sh_mark_hold(struct sh_mark *m);
/* Accepts NULL. */
void sh_mark_free(struct sh_mark *m);
/* *there: the round was announced here, and not erased since (false: also one of an earlier version). */
CM_CHECK enum cm_rc sh_mark_read(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], bool *there,
	uint64_t *devices, struct cm_err *err);

/* Both, after the key was erased; CM_OK if there are none. */
CM_CHECK enum cm_rc sh_marks_forget(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
