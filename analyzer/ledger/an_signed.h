/* an_signed.h - stores the plan that a person signed in a file of the state directory, from which the
 * running analyzer takes it (`plan sign`).
 *
 * Only the running analyzer writes the ledger.  It asks the shuffler once more, and pins these bytes in a
 * PLAN record; nothing is spent before that.  After that the file has no use, and is removed. */
#pragma once

#include "an_ledger_files.h"

/* Sign the bytes of a plan (an_ledger_files_draft) and store them durably, replacing an earlier file.
 * Creates the state directory if it is missing.  CM_EPERM: another user could write there. */
CM_CHECK enum cm_rc an_signed_write(
	const char *state_dir, const struct cm_buf *plan, const struct cr_signer *signer, struct cm_err *err);
/* Append the bytes of the plan to out if they may be pinned next: signed by this key, made from the plan
 * file that was read, and following the plans in the ledger.  CM_ENOINPUT: there is no file.  CM_ECONFIG:
 * the plan was signed for another plan file or another ledger.  CM_EPERM: another key signed it.  CM_EDATA:
 * the file is not a signed plan. */
CM_CHECK enum cm_rc an_signed_read(const struct an_ledger_files *b, const struct cr_signer *signer,
	struct cm_buf *out, struct cm_err *err);
/* Remove the file after the plan was pinned. */
void an_signed_remove(const char *state_dir);
