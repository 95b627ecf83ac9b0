/* an_signed.h - the file in the state directory by which `plan sign` hands a plan that a person signed to the
 * analyzer that runs.
 *
 * The running analyzer alone writes the ledger.  It asks the shuffler once more, and pins these bytes in a
 * PLAN record: nothing is spent before.  The file is then of no use, and is removed. */
#pragma once

#include "an_ledger_files.h"

/* Sign the bytes of a plan (an_ledger_files_draft) and store them durably; a file that is there is replaced.
 * Makes the state directory if there is none.  CM_EPERM: somebody else could write there. */
CM_CHECK enum cm_rc an_signed_write(
	const char *state_dir, const struct cm_buf *plan, const struct cr_signer *signer, struct cm_err *err);
/* Append the bytes of the plan to out if they may be pinned next: signed by this key, of the plan file that
 * was read, and following the plans in the ledger.  CM_ENOINPUT: there is no file.  CM_ECONFIG: the plan was
 * signed for another plan file or another ledger.  CM_EPERM: by another key.  CM_EDATA: it is no signed
 * plan. */
CM_CHECK enum cm_rc an_signed_read(const struct an_ledger_files *b, const struct cr_signer *signer,
	struct cm_buf *out, struct cm_err *err);
/* The plan was pinned. */
void an_signed_remove(const char *state_dir);
