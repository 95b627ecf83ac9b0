/* cl_encode.h - encodes many devices of a round (cd_encode.h), some at a time, and seals the messages of
 * several devices together.  No I/O.  Several threads may encode different entries of one round, each with
 * its own generator. */
#pragma once

#include "cd_encode.h"
#include "cl_values.h"

/* Encode n devices into sealed (n times cd_device_len bytes).  Each message costs about one X25519 key
 * generation and one agreement; the messages of several devices are computed together.  The randomized
 * records are wiped.  CM_EDATA: the round's key is unusable; CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_encode(const struct rd_descriptor *d, const struct cl_entry *entry, size_t n,
	const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err);
/* What the entries of a round have in common; all borrowed. */
struct cl_encoding {
	const struct rd_descriptor *d;
	const struct cl_payload_bytes *payload;
	const struct cr_hpke_sealer *sealer; /* made by cl_encode_sealer() and used by all threads; NULL: each
						call makes its own */
};
/* Like cl_encode, for entries whose values are computed with the payload (cl_values.h). */
CM_CHECK enum cm_rc cl_encode_computed(const struct cl_encoding *encoding, const struct cl_entry *entry,
	size_t n, const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err);
/* Make a sealer for the round's messages of this many devices.  CM_EDATA: the round's key is unusable. */
CM_CHECK enum cm_rc cl_encode_sealer(
	const struct rd_descriptor *d, size_t devices, struct cr_hpke_sealer **out, struct cm_err *err);
/* Encode one value and also return its records (messages_per_client times record_len bytes), to show what
 * would leave the machine.  The caller wipes `records`. */
CM_CHECK enum cm_rc cl_encode_shown(const struct rd_descriptor *d, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, uint8_t *sealed, struct cm_err *err);
