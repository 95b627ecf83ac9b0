/* sh_sealed.h - remembers beside the round keys which rounds were sealed.
 *
 * A store that is restored or fails over may go back to before a seal, while the round's key is still here.
 * Sealed again, the round could have lost messages, and what the two releases differ by would be theirs.
 * The mark is a file of key_dir and goes with the key: without the key nothing can be sealed again. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"
#include "pr_limits.h"

/* Durable, before the manifest is shown to anybody. */
CM_CHECK enum cm_rc sh_sealed_mark(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* CM_EDATA: a round that the store has as collecting was sealed here. */
CM_CHECK enum cm_rc sh_sealed_check(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* After the key was erased; CM_OK if there is none. */
CM_CHECK enum cm_rc sh_sealed_forget(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
