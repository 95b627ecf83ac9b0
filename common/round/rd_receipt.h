/* rd_receipt.h - the bytes that a receipt signs, and how one message of one device is proved from it later.
 * No I/O.
 *
 * For each device a receipt covers a Merkle root over its messages, blinded with a salt of the device's; a
 * second tree covers the devices of the Submit.  So one message can be opened (rd_opening) without revealing
 * any other message, of the same device or of another: messages that are not opened are hashed together with
 * numbers that only the device knows. doc/wire.md, section 6, has the bytes. */
#pragma once

#include "cr_sign.h"
#include "rd_descriptor.h"
#include "rd_tree.h"
#include "tombola.pb-c.h"

#define RD_SALT_LEN         PR_HASH_LEN
#define RD_RECEIPT_BYTES    (PR_ROUND_ID_LEN + PR_HASH_LEN + 8u)
#define RD_FRAME_DEPTH_MAX  12u /* depth of a tree of PR_SUBMISSIONS_MAX devices */
#define RD_DEVICE_DEPTH_MAX 13u /* depth of a tree of PR_MESSAGES_MAX messages */

/* How a device's part of a Submit divides into messages. */
struct rd_receipt_shape {
	uint32_t messages;           /* number of messages of each device */
	size_t message_len, tag_len; /* bytes of each message; the tag is the first tag_len of them */
};
struct rd_receipt_shape rd_receipt_shape(const struct rd_descriptor *d);

/* The part of a receipt about one device, without the outcome. */
struct rd_receipt_device {
	uint8_t name[PR_HASH_LEN]; /* the device's pseudonym, blinded */
	uint8_t root[PR_HASH_LEN]; /* root of the tree over the device's messages, each blinded */
};
/* sealed: the device's messages.  Cost: about five hashes a message. */
void rd_receipt_device(const struct rd_receipt_shape *shape, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t salt[RD_SALT_LEN], const uint8_t *sealed, struct rd_receipt_device *out);
void rd_receipt_leaf(const struct rd_receipt_device *device, uint8_t outcome, uint8_t leaf[PR_HASH_LEN]);
/* The signed bytes, for purpose RD_PURPOSE_RECEIPT: round_id || root over the devices' leaves || u64 n. */
void rd_receipt_bytes(const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t root[PR_HASH_LEN], uint64_t n,
	uint8_t out[RD_RECEIPT_BYTES]);

/* One message in a receipt: everything that a third person needs to verify that the shuffler signed it as
 * accepted. */
struct rd_opening {
	/* number of devices in the Submit, and the index of this one among them */
	uint64_t devices, device;
	uint8_t name[PR_HASH_LEN];
	/* The device's path: rd_tree_path_len(device, devices) hashes. */
	uint8_t frame_path[RD_FRAME_DEPTH_MAX][PR_HASH_LEN];
	uint8_t signature[CR_SIGN_LEN];
	uint32_t message;           /* index of the message among the device's messages */
	uint8_t blind[PR_HASH_LEN]; /* the number with which the message is hashed */
	uint8_t hash[PR_HASH_LEN];  /* SHA-256 of the sealed message */
	/* The message's path: rd_tree_path_len(message, messages) hashes. */
	uint8_t device_path[RD_DEVICE_DEPTH_MAX][PR_HASH_LEN];
};
/* Fills the device's half of an opening: message, blind, hash, device_path. message < shape->messages.
 * leaves: room for a hash of each of the device's messages. */
void rd_opening_message(const struct rd_receipt_shape *shape, const uint8_t salt[RD_SALT_LEN],
	const uint8_t *sealed, uint32_t message, uint8_t (*leaves)[PR_HASH_LEN], struct rd_opening *out);
/* CM_OK if this key signed that it accepted the opened message in this round, whose devices send `messages`
 * each; else CM_EPERM. */
CM_CHECK enum cm_rc rd_opening_verify(const struct rd_opening *o, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint32_t messages, const struct cr_verifier *shuffler, struct cm_err *err);

/* The least number of devices that sent these accepted messages.  A shuffler accepts one submission of a
 * device, so different messages with the same index are from different devices. */
uint64_t rd_opening_devices(const struct rd_opening *o, size_t n);

/* Encode, read and decode the document Opening.  messages: number of messages that each device sends.
 * CM_EPROTO: malformed; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc rd_opening_encode(
	const struct rd_opening *o, uint32_t messages, struct cm_buf *out, struct cm_err *err);
CM_CHECK enum cm_rc rd_opening_read(
	const Tombola__V1__Opening *w, uint32_t messages, struct rd_opening *out, struct cm_err *err);
CM_CHECK enum cm_rc rd_opening_decode(
	const uint8_t *bytes, size_t len, uint32_t messages, struct rd_opening *out, struct cm_err *err);
