/* cl_upload.c - keeps frames of stored reports: waiting, on a connection, or answered. */
#include "cl_upload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

#define WAITING CL_CONNECTIONS_MAX

struct frame {
	struct frame *next;
	unsigned connection; /* number of the connection, or WAITING */
	size_t n;
	int64_t *slot;
	uint8_t *pseudonyms, *salts, *sealed;
	/* the part of each device that a receipt signs; computed when the first receipt arrives */
	struct rd_receipt_device *device;
};

struct cl_upload {
	struct cl_upload_conf conf;
	size_t device_len;           /* sealed bytes of one device */
	struct frame *first, **last; /* unanswered frames, in the order in which they were given */
	size_t frames, waiting;
	size_t on[CL_CONNECTIONS_MAX];
	struct frame *answered; /* the frame that the last cl_answer is about */
	uint8_t outcome[PR_SUBMISSIONS_MAX], signature[CR_SIGN_LEN]; /* from the receipt of `answered` */
	/* Hashes of the devices of a frame, then of the messages of a device. */
	uint8_t leaf[PR_SUBMISSIONS_MAX > PR_MESSAGES_MAX ? PR_SUBMISSIONS_MAX : PR_MESSAGES_MAX]
		    [PR_HASH_LEN];
};

struct cl_upload *cl_upload_new(const struct cl_upload_conf *conf)
{
	struct cl_upload *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->conf = *conf;
	u->device_len = conf->shape.messages * conf->shape.message_len;
	u->last = &u->first;
	return u;
}

static void frame_free(struct frame *f)
{
	if (!f)
		return;
	free(f->slot);
	free(f->pseudonyms);
	free(f->salts);
	free(f->sealed);
	free(f->device);
	free(f);
}

void cl_upload_free(struct cl_upload *u)
{
	if (!u)
		return;
	while (u->first) {
		struct frame *f = u->first;

		u->first = f->next;
		frame_free(f);
	}
	frame_free(u->answered);
	free(u);
}

size_t cl_upload_frame_devices(size_t device_len, size_t wanted)
{
	/* 128 bytes exceed the tags, lengths, round id and MAC of a Submit. */
	size_t fit = (PR_FRAME_MAX - 128u) / (device_len + PR_PSEUDONYM_LEN + RD_SALT_LEN);

	if (wanted > PR_SUBMISSIONS_MAX)
		wanted = PR_SUBMISSIONS_MAX;
	if (wanted > fit)
		wanted = fit;
	return wanted > 0 ? wanted : 1;
}

enum cm_rc cl_upload_give(struct cl_upload *u, const int64_t *slot, const uint8_t *pseudonyms,
	const uint8_t *salts, const uint8_t *sealed, size_t n, struct cm_err *err)
{
	struct frame *f = calloc(1, sizeof *f);

	if (f && n > 0 && n <= PR_SUBMISSIONS_MAX) {
		f->slot = malloc(n * sizeof *slot);
		f->pseudonyms = malloc(n * PR_PSEUDONYM_LEN);
		f->salts = malloc(n * RD_SALT_LEN);
		f->sealed = malloc(n * u->device_len);
	}
	if (!f || !f->slot || !f->pseudonyms || !f->salts || !f->sealed) {
		frame_free(f);
		return cm_fail(err, CM_EINTERNAL, "no memory for a frame of %zu devices", n);
	}
	f->connection = WAITING;
	f->n = n;
	memcpy(f->slot, slot, n * sizeof *slot);
	memcpy(f->pseudonyms, pseudonyms, n * PR_PSEUDONYM_LEN);
	memcpy(f->salts, salts, n * RD_SALT_LEN);
	memcpy(f->sealed, sealed, n * u->device_len);
	*u->last = f;
	u->last = &f->next;
	u->frames++;
	u->waiting++;
	return CM_OK;
}

size_t cl_upload_waiting(const struct cl_upload *u)
{
	return u->waiting;
}

size_t cl_upload_unanswered(const struct cl_upload *u)
{
	return u->frames;
}

enum cm_rc cl_upload_next(struct cl_upload *u, unsigned connection, Tombola__V1__Submit *out)
{
	struct frame *f = u->first;

	if (u->on[connection] >= u->conf.window)
		return CM_EMORE;
	while (f && f->connection != WAITING)
		f = f->next;
	if (!f)
		return CM_EMORE;
	f->connection = connection;
	u->on[connection]++;
	u->waiting--;
	tombola__v1__submit__init(out);
	out->round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, u->conf.round_id };
	out->pseudonyms = (ProtobufCBinaryData){ f->n * PR_PSEUDONYM_LEN, f->pseudonyms };
	out->sealed = (ProtobufCBinaryData){ f->n * u->device_len, f->sealed };
	out->salts = (ProtobufCBinaryData){ f->n * RD_SALT_LEN, f->salts };
	out->mac = (ProtobufCBinaryData){ PR_MAC_LEN, u->conf.mac };
	out->gateway = (ProtobufCBinaryData){ PR_HASH_LEN, u->conf.gateway };
	return CM_OK;
}

static bool make_devices(const struct cl_upload *u, struct frame *f)
{
	if (f->device)
		return true;
	f->device = malloc(f->n * sizeof *f->device);
	for (size_t i = 0; f->device && i < f->n; i++)
		rd_receipt_device(&u->conf.shape, f->pseudonyms + i * PR_PSEUDONYM_LEN,
			f->salts + i * RD_SALT_LEN, f->sealed + i * u->device_len, &f->device[i]);
	return f->device;
}

static bool covers(struct cl_upload *u, const Tombola__V1__Receipt *r, struct frame *f)
{
	uint8_t leaf[PR_HASH_LEN], root[PR_HASH_LEN], bytes[RD_RECEIPT_BYTES];
	struct rd_tree tree;
	struct cm_err unused;

	if (r->outcomes.len != f->n || !make_devices(u, f))
		return false;
	if (!CM_CHECKED("client.receipt"))
		return true;
	if (r->signature.len != CR_SIGN_LEN)
		return false;
	rd_tree_init(&tree);
	for (size_t i = 0; i < f->n; i++) {
		rd_receipt_leaf(&f->device[i], r->outcomes.data[i], leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
	rd_receipt_bytes(u->conf.round_id, root, f->n, bytes);
	return cr_verify(u->conf.shuffler, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, r->signature.data,
		       &unused) == CM_OK;
}

static enum cm_rc check_form(const struct cl_upload *u, const Tombola__V1__Receipt *r, struct cm_err *err)
{
	if (r->round_id.len != PR_ROUND_ID_LEN ||
		memcmp(r->round_id.data, u->conf.round_id, PR_ROUND_ID_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "receipt: for another round");
	if (r->outcomes.len == 0 || r->outcomes.len > PR_SUBMISSIONS_MAX)
		return cm_fail(err, CM_EPROTO, "receipt: %zu outcomes", r->outcomes.len);
	for (size_t i = 0; i < r->outcomes.len; i++)
		if (r->outcomes.data[i] < TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED ||
			r->outcomes.data[i] > TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT)
			return cm_fail(err, CM_EPROTO, "receipt: unknown outcome %u", r->outcomes.data[i]);
	return CM_OK;
}

/* Find the pointer to the frame that a receipt answers.  CM_EPROTO or CM_EPERM: there is no such frame. */
static enum cm_rc find_answered(struct cl_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
	struct frame ***out, struct cm_err *err)
{
	bool right_count = false;

	for (struct frame **at = &u->first, *f; (f = *at); at = &f->next) {
		if (f->connection != connection)
			continue;
		right_count = right_count || f->n == receipt->outcomes.len;
		if (covers(u, receipt, f)) {
			*out = at;
			return CM_OK;
		}
	}
	if (!right_count)
		return cm_fail(err, CM_EPROTO,
			"receipt: %zu outcomes, no frame that waits has so many devices",
			receipt->outcomes.len);
	return cm_fail(err, CM_EPERM, "receipt: not signed by the shuffler over what was sent");
}

enum cm_rc cl_upload_receipt(struct cl_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
	struct cl_answer *out, struct cm_err *err)
{
	struct frame **at = &u->first, *f;
	enum cm_rc rc = check_form(u, receipt, err);

	if (rc == CM_OK)
		rc = find_answered(u, connection, receipt, &at, err);
	if (rc != CM_OK)
		return rc;
	f = *at;
	*at = f->next;
	if (u->last == &f->next)
		u->last = at;
	u->frames--;
	u->on[connection]--;
	frame_free(u->answered);
	u->answered = f;
	memcpy(u->outcome, receipt->outcomes.data, f->n);
	if (receipt->signature.len == CR_SIGN_LEN)
		memcpy(u->signature, receipt->signature.data, CR_SIGN_LEN);
	*out = (struct cl_answer){ .slot = f->slot, .outcome = u->outcome, .n = f->n };
	return CM_OK;
}

void cl_upload_opening(struct cl_upload *u, size_t device, uint32_t message, struct rd_opening *out)
{
	const struct frame *f = u->answered;

	*out = (struct rd_opening){ .devices = f->n, .device = device };
	memcpy(out->name, f->device[device].name, PR_HASH_LEN);
	memcpy(out->signature, u->signature, CR_SIGN_LEN);
	for (size_t i = 0; i < f->n; i++)
		rd_receipt_leaf(&f->device[i], u->outcome[i], u->leaf[i]);
	rd_tree_path(u->leaf, f->n, device, out->frame_path);
	rd_opening_message(&u->conf.shape, f->salts + device * RD_SALT_LEN,
		f->sealed + device * u->device_len, message, u->leaf, out);
}

void cl_upload_lost(struct cl_upload *u, unsigned connection)
{
	for (struct frame *f = u->first; f; f = f->next)
		if (f->connection == connection) {
			f->connection = WAITING;
			u->waiting++;
		}
	u->on[connection] = 0;
}
