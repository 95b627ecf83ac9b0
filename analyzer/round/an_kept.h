/* an_kept.h - stores the signed manifests of all tries, one file each, for the population's life.  They
 * convict a shuffler that signs two different manifests for one round, whoever received the other one.
 *
 * STATE_DIR/manifests/ROUNDID is a piece of evidence (rd_evidence.h) with one manifest.  It proves nothing
 * by itself; together with the file of a client that received another manifest it does. */
#pragma once

#include "rd_evidence.h"

/* Store this manifest, verified as that of round `round_id`; durable on return.  Storing the same again
 * changes nothing.  CM_EPROTO: a different one is stored; both are then in
 * STATE_DIR/evidence-ROUNDID-manifests, which err names.  CM_EDATA: the stored file is damaged. */
CM_CHECK enum cm_rc an_kept_manifest(const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct rd_signed *manifest, const struct cr_verifier *shuffler, struct cm_err *err);
