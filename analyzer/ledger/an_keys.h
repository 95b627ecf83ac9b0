/* an_keys.h - stores the HPKE private key of each open round in a file, destroyed with the round. */
#pragma once

#include <stdbool.h>

#include "rd_descriptor.h"

/* Create a key pair; the private key is in STATE_DIR/keys/ROUNDID.key, durable on return. */
CM_CHECK enum cm_rc an_key_create(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct cr_rng *rng, uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);
/* Load the private key of a descriptor and check it against the public key there.  CM_ENOINPUT: it was
 * destroyed.  The caller wipes `out`. */
CM_CHECK enum cm_rc an_key_load(
	const char *state_dir, const struct rd_descriptor *d, struct cr_key *out, struct cm_err *err);
/* Check, before a round is charged, that its key exists, since without it the round has no estimate.
 * number: the round's number, for err.  CM_ENOINPUT, CM_EDATA: it cannot be read; err says what to do. */
CM_CHECK enum cm_rc an_key_check(
	const char *state_dir, const struct rd_descriptor *d, uint32_t number, struct cm_err *err);
CM_CHECK enum cm_rc an_key_erase(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
bool an_key_exists(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Destroy every key for which `known` does not know a round.  A crash after the key was created and before
 * the round was reserved leaves such a key. */
CM_CHECK enum cm_rc an_keys_sweep(const char *state_dir,
	bool (*known)(void *user, const uint8_t round_id[PR_ROUND_ID_LEN]), void *user, struct cm_err *err);
