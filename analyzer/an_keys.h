/* an_keys.h - the HPKE private keys of open rounds, a file each, destroyed with the round. */
#pragma once

#include <stdbool.h>

#include "rd_descriptor.h"

/* STATE_DIR/keys/ROUNDID.key is the private half, durable when this returns. */
CM_CHECK enum cm_rc an_key_create(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct cm_rng *rng, uint8_t public_key[CM_HPKE_PUBLIC_LEN], struct cm_err *err);
/* The key of a descriptor, checked against its public half.  CM_ENOINPUT when it was destroyed.  The caller
 * wipes it. */
CM_CHECK enum cm_rc an_key_load(
	const char *state_dir, const struct rd_descriptor *d, struct cm_key *out, struct cm_err *err);
CM_CHECK enum cm_rc an_key_erase(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
bool an_key_exists(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Destroy every key whose round `known` does not know: a crash between key and reservation leaves one. */
CM_CHECK enum cm_rc an_keys_sweep(const char *state_dir,
	bool (*known)(void *user, const uint8_t round_id[PR_ROUND_ID_LEN]), void *user, struct cm_err *err);
