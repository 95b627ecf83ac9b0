/* cl_encode.h - randomizes each device's value once and seals each of its messages.  No I/O; threads may
 * encode different entries of one round at a time, each with its own generator. */
#pragma once

#include "cl_batch.h"
#include "rd_descriptor.h"

/* Bytes of one device: messages_per_client messages of rd_message_len each. */
size_t cl_device_len(const struct rd_descriptor *d);

/* n devices into sealed (n times cl_device_len bytes).  About one X25519 key generation and one agreement a
 * message.  The randomized records are wiped.  CM_EDATA for an unusable round key, CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_encode(const struct rd_descriptor *d, const struct cl_entry *entry, size_t n,
	const struct cm_rng *rng, uint8_t *sealed, struct cm_err *err);
/* The same for one value, also giving its records (messages_per_client times record_len bytes): for showing
 * what would leave the machine.  records is the caller's to wipe. */
CM_CHECK enum cm_rc cl_encode_shown(const struct rd_descriptor *d, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records, uint8_t *sealed, struct cm_err *err);
