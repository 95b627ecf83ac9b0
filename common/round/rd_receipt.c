/* rd_receipt.c - makes receipts by device, and opens one message of a receipt. */
#include "rd_receipt.h"

#include <string.h>

#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_wire.h"

_Static_assert(1u << RD_FRAME_DEPTH_MAX >= PR_SUBMISSIONS_MAX, "a path for every device of a Submit");
_Static_assert(1u << RD_DEVICE_DEPTH_MAX >= PR_MESSAGES_MAX, "and for every message of a device");
_Static_assert(
	(RD_FRAME_DEPTH_MAX + RD_DEVICE_DEPTH_MAX + 3) * PR_HASH_LEN + CR_SIGN_LEN + 64 <= PR_OPENING_MAX,
	"paths, three hashes, a signature, and less than 64 bytes of numbers, tags and lengths");

#define PSEUDONYM 0xffffffffu /* stands for a message's number where the pseudonym is blinded */

struct rd_receipt_shape rd_receipt_shape(const struct rd_descriptor *d)
{
	return (struct rd_receipt_shape){ .messages = d->messages_per_client,
		.message_len = rd_message_len(d),
		.tag_len = rd_message_len(d) - rd_sealed_len(d) };
}

/* SHA-256(0x02 || salt || u32 number || what).  All inputs with the same number have the same length, so a
 * plain hash keyed by its prefix cannot be extended to another input. */
static void blind(const uint8_t salt[RD_SALT_LEN], uint32_t number, const void *what, size_t len,
	uint8_t out[PR_HASH_LEN])
{
	uint8_t head[1 + RD_SALT_LEN + 4] = { 2 };

	memcpy(head + 1, salt, RD_SALT_LEN);
	cm_put_le32(head + 1 + RD_SALT_LEN, number);
	cr_sha256_spans((const struct cr_span[]){ { head, sizeof head }, { what, len } }, 2, out);
}

/* Compute blind || hash of one message, as its leaf contains them.  The tag affects only the blind, so an
 * opening does not show it. */
static void hide(const struct rd_receipt_shape *shape, const uint8_t salt[RD_SALT_LEN], const uint8_t *sealed,
	uint32_t number, uint8_t out[2 * PR_HASH_LEN])
{
	const uint8_t *at = sealed + number * shape->message_len;

	blind(salt, number, at, shape->tag_len, out);
	cr_sha256(at + shape->tag_len, shape->message_len - shape->tag_len, out + PR_HASH_LEN);
}

void rd_receipt_device(const struct rd_receipt_shape *shape, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t salt[RD_SALT_LEN], const uint8_t *sealed, struct rd_receipt_device *out)
{
	uint8_t data[2 * PR_HASH_LEN], leaf[PR_HASH_LEN];
	struct rd_tree tree;

	blind(salt, PSEUDONYM, pseudonym, PR_PSEUDONYM_LEN, out->name);
	rd_tree_init(&tree);
	for (uint32_t i = 0; i < shape->messages; i++) {
		hide(shape, salt, sealed, i, data);
		rd_tree_leaf(data, sizeof data, leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, out->root);
}

void rd_receipt_leaf(const struct rd_receipt_device *device, uint8_t outcome, uint8_t leaf[PR_HASH_LEN])
{
	uint8_t data[2 * PR_HASH_LEN + 1];

	memcpy(data, device->name, PR_HASH_LEN);
	memcpy(data + PR_HASH_LEN, device->root, PR_HASH_LEN);
	data[sizeof data - 1] = outcome;
	rd_tree_leaf(data, sizeof data, leaf);
}

void rd_receipt_bytes(const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t root[PR_HASH_LEN], uint64_t n,
	uint8_t out[RD_RECEIPT_BYTES])
{
	memcpy(out, round_id, PR_ROUND_ID_LEN);
	memcpy(out + PR_ROUND_ID_LEN, root, PR_HASH_LEN);
	cm_put_le64(out + PR_ROUND_ID_LEN + PR_HASH_LEN, n);
}

void rd_opening_message(const struct rd_receipt_shape *shape, const uint8_t salt[RD_SALT_LEN],
	const uint8_t *sealed, uint32_t message, uint8_t (*leaves)[PR_HASH_LEN], struct rd_opening *out)
{
	uint8_t data[2 * PR_HASH_LEN];

	for (uint32_t i = 0; i < shape->messages; i++) {
		hide(shape, salt, sealed, i, data);
		rd_tree_leaf(data, sizeof data, leaves[i]);
		if (i != message)
			continue;
		memcpy(out->blind, data, PR_HASH_LEN);
		memcpy(out->hash, data + PR_HASH_LEN, PR_HASH_LEN);
	}
	out->message = message;
	rd_tree_path(leaves, shape->messages, message, out->device_path);
}

/* Compute the root to which a leaf and its path lead. */
static bool climb(const uint8_t leaf[PR_HASH_LEN], uint64_t index, uint64_t n,
	const uint8_t (*path)[PR_HASH_LEN], uint8_t root[PR_HASH_LEN])
{
	memcpy(root, leaf, PR_HASH_LEN);
	if (index >= n)
		return false;
	for (; n > 1; index /= 2, n = n / 2 + n % 2) {
		if (index % 2 == 1)
			rd_tree_node(*path++, root, root);
		else if (index + 1 < n)
			rd_tree_node(root, *path++, root);
	}
	return true;
}

enum cm_rc rd_opening_verify(const struct rd_opening *o, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint32_t messages, const struct cr_verifier *shuffler, struct cm_err *err)
{
	uint8_t data[2 * PR_HASH_LEN], leaf[PR_HASH_LEN], root[PR_HASH_LEN], bytes[RD_RECEIPT_BYTES];
	struct rd_receipt_device device;

	memcpy(data, o->blind, PR_HASH_LEN);
	memcpy(data + PR_HASH_LEN, o->hash, PR_HASH_LEN);
	rd_tree_leaf(data, sizeof data, leaf);
	if (messages > PR_MESSAGES_MAX || o->devices > PR_SUBMISSIONS_MAX ||
		!climb(leaf, o->message, messages, o->device_path, device.root))
		return cm_fail(err, CM_EPERM, "opening: there is no such message");
	memcpy(device.name, o->name, PR_HASH_LEN);
	rd_receipt_leaf(&device, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED, leaf);
	if (!climb(leaf, o->device, o->devices, o->frame_path, root))
		return cm_fail(err, CM_EPERM, "opening: there is no such device");
	rd_receipt_bytes(round_id, root, o->devices, bytes);
	enum cm_rc rc = cr_verify(shuffler, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, o->signature, err);
	return rc == CM_OK || !CM_CHECKED("round.receipt.signature") ? CM_OK : cm_context(err, "receipt");
}

uint64_t rd_opening_devices(const struct rd_opening *o, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t at_place = 0;

		for (size_t j = 0; j < n; j++) {
			bool again = o[j].message != o[i].message;

			for (size_t k = 0; k < j; k++)
				again = again || (o[k].message == o[j].message &&
							 memcmp(o[k].hash, o[j].hash, PR_HASH_LEN) == 0);
			at_place += !again;
		}
		most = at_place > most ? at_place : most;
	}
	return most;
}

/* ---- Opening, the document ---- */

static size_t path_bytes(uint64_t index, uint64_t n)
{
	return (size_t)rd_tree_path_len(index, n) * PR_HASH_LEN;
}

enum cm_rc rd_opening_encode(
	const struct rd_opening *o, uint32_t messages, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Opening w = TOMBOLA__V1__OPENING__INIT;

	w.devices = o->devices;
	w.device = o->device;
	w.name = rd_wire_bytes(o->name, PR_HASH_LEN);
	w.frame_path = rd_wire_bytes(o->frame_path[0], path_bytes(o->device, o->devices));
	w.signature = rd_wire_bytes(o->signature, CR_SIGN_LEN);
	w.message = o->message;
	w.blind = rd_wire_bytes(o->blind, PR_HASH_LEN);
	w.hash = rd_wire_bytes(o->hash, PR_HASH_LEN);
	w.device_path = rd_wire_bytes(o->device_path[0], path_bytes(o->message, messages));
	return pr_doc_encode(&w.base, out, err);
}

static enum cm_rc take_path(const ProtobufCBinaryData *path, uint64_t index, uint64_t n, uint8_t *out,
	const char *what, struct cm_err *err)
{
	if (index >= n || path->len != path_bytes(index, n))
		return cm_fail(err, CM_EPROTO, "%s: %zu bytes of path for number %llu of %llu", what,
			path->len, (unsigned long long)index, (unsigned long long)n);
	if (path->len > 0)
		memcpy(out, path->data, path->len);
	return CM_OK;
}

enum cm_rc rd_opening_read(
	const Tombola__V1__Opening *w, uint32_t messages, struct rd_opening *out, struct cm_err *err)
{
	*out = (struct rd_opening){ .devices = w->devices, .device = w->device, .message = w->message };
	if (w->devices > PR_SUBMISSIONS_MAX || messages > PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "opening: %llu devices of %u messages",
			(unsigned long long)w->devices, messages);
	enum cm_rc rc =
		take_path(&w->frame_path, w->device, w->devices, out->frame_path[0], "frame_path", err);
	if (rc == CM_OK)
		rc = take_path(
			&w->device_path, w->message, messages, out->device_path[0], "device_path", err);
	if (rc != CM_OK)
		return rc;
	/* pr_read has checked that these are present and of their exact lengths. */
	memcpy(out->name, w->name.data, PR_HASH_LEN);
	memcpy(out->signature, w->signature.data, CR_SIGN_LEN);
	memcpy(out->blind, w->blind.data, PR_HASH_LEN);
	memcpy(out->hash, w->hash.data, PR_HASH_LEN);
	return CM_OK;
}

enum cm_rc rd_opening_decode(
	const uint8_t *bytes, size_t len, uint32_t messages, struct rd_opening *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc =
		pr_doc_decode(&tombola__v1__opening__descriptor, bytes, len, PR_OPENING_MAX, &doc, err);

	if (rc == CM_OK)
		rc = rd_opening_read((const Tombola__V1__Opening *)doc.msg, messages, out, err);
	pr_doc_free(&doc);
	return rc;
}
