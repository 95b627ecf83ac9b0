/* an_payload.h - keeps the bytes of payloads whose rounds are under way, in files named by their hash.
 *
 * They are stored before the round is reserved, so that the next process continues with the same bytes,
 * whatever ends this one. */
#pragma once

#include "an_state.h"

/* A payload that an operator gives for one round.  Borrowed. */
struct an_payload {
	const uint8_t *bytes;
	size_t len; /* 0 if no payload is given */
};

/* Check that this may be the payload of that round.  CM_EUSAGE: the round has no payload, or needs one and
 * none is given.  CM_EDATA: it is empty, too long, not in the form of the round's map, or differs from the
 * one with which the round is under way.  Nothing is spent then. */
CM_CHECK enum cm_rc an_payload_check(
	const struct an_round_state *r, const struct an_payload *given, struct cm_err *err);
/* Store a payload in STATE_DIR/payloads, durable on return. */
CM_CHECK enum cm_rc an_payload_keep(
	const char *state_dir, const struct an_payload *given, uint8_t hash[PR_HASH_LEN], struct cm_err *err);
/* Append the payload of a descriptor to out.  CM_ENOINPUT: it is gone.  CM_EDATA: the stored bytes
 * differ. */
CM_CHECK enum cm_rc an_payload_load(
	const char *state_dir, const struct rd_descriptor *d, struct cm_buf *out, struct cm_err *err);
/* Erase the payload of a round that is over, unless another round that is under way has the same
 * payload. */
CM_CHECK enum cm_rc an_payload_erase(
	const char *state_dir, const struct an_state *s, const struct rd_descriptor *d, struct cm_err *err);
/* Erase payloads that belong to no round under way.  A crash after storing a payload and before reserving
 * its round leaves such a payload. */
CM_CHECK enum cm_rc an_payloads_sweep(const char *state_dir, const struct an_state *s, struct cm_err *err);
