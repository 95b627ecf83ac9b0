/* cd_encode.h - randomizes the value of one device once, and seals its messages.  Works in its caller's
 * memory, so that a device without a heap and a daemon with several threads share it.  No I/O. */
#pragma once

#include "rd_descriptor.h"

/* Sealed bytes of one device: messages_per_client messages of rd_message_len each. */
size_t cd_device_len(const struct rd_descriptor *d);
/* Bytes of working memory for cd_randomize; a multiple of 64. */
size_t cd_room_len(const struct rd_descriptor *d);

/* Randomize a device's value, and draw an ephemeral key for each of its messages.
 *
 * room: cd_room_len bytes, aligned to 64, all zero before the first value of a round; later values of the
 * round may use them again, on one thread at a time.  records: messages_per_client times record_len bytes,
 * which nobody may see; the caller wipes them and the keys.  sealed: cd_device_len bytes, of which this call
 * writes the tags, if the round has tags. */
void cd_randomize(const struct rd_descriptor *d, const struct qy_value *value, const struct cr_rng *rng,
	void *room, uint8_t *records, struct cr_key *secret, uint8_t *sealed);
/* Seal the messages of some devices whose records and keys lie one after the other: writes all of `sealed`
 * but the tags, which cd_randomize wrote. */
CM_CHECK enum cm_rc cd_seal(const struct rd_descriptor *d, struct cr_hpke_sealer *sealer, size_t devices,
	const uint8_t *records, const struct cr_key *secret, uint8_t *sealed, struct cm_err *err);
