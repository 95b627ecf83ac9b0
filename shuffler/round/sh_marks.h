/* sh_marks.h - keeps two marks beside a round's key, which show that the store went back to an older copy.
 *
 * A store that is restored or fails over may go back in the middle of a round, while the round's key is
 * still here.  The marks are two files in key_dir: one says that the round was sealed, the other how many
 * devices have or may have a receipt.  A round that is sealed twice may lack messages in one of the
 * releases, and their difference shows whose they are.  A round that is sealed with fewer devices than have
 * receipts has lost acknowledged reports.  The marks are deleted with the key, without which nothing can be
 * sealed.
 *
 * The number is written after a commit of the store, and before any of the commit's receipts is sent.  So
 * however a process or a host ends, the number is never above what the store has, and never below what was
 * acknowledged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"
#include "pr_limits.h"

/* Mark the round as sealed, durably; before the manifest is shown to anybody. */
CM_CHECK enum cm_rc sh_mark_sealed(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* Check that a round that the store shows as collecting was not sealed here.  CM_EDATA: it was. */
CM_CHECK enum cm_rc sh_mark_check_open(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);

/* Make the mark of a round with this number of devices; durable. */
CM_CHECK enum cm_rc sh_mark_begin(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t devices, struct cm_err *err);
/* An open mark, whose number can be raised.  Its file stays open as long as its round: if a commit had to
 * open it, it might find no free descriptor, since strangers can use up all of them. */
struct sh_mark;
/* Open a mark, to be freed with sh_mark_free.  CM_ENOINPUT: there is none; CM_EDATA: it is damaged. */
CM_CHECK enum cm_rc sh_mark_open(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_mark **out, struct cm_err *err);
/* Raise the number to at least this one, durably, with one fdatasync.  CM_ENOINPUT: the file was deleted, as
 * it is when the round is over.  Any thread, also beside another. */
CM_CHECK enum cm_rc sh_mark_raise(struct sh_mark *m, uint64_t devices, struct cm_err *err);
/* Keep the mark beyond its round's end, until one more sh_mark_free; call both on one thread.  Returns
 * m. */
struct sh_mark *sh_mark_hold(struct sh_mark *m);
/* Accepts NULL. */
void sh_mark_free(struct sh_mark *m);
/* Read a mark.  *there: the round was announced here, and not erased since; false also if an earlier
 * version announced it. */
CM_CHECK enum cm_rc sh_mark_read(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], bool *there,
	uint64_t *devices, struct cm_err *err);

/* Delete both marks, after the key was erased.  CM_OK if there are none. */
CM_CHECK enum cm_rc sh_marks_forget(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
