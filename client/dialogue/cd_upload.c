/* cd_upload.c - keeps frames of stored reports: waiting, on a connection, or answered. */
#include "cd_upload.h"

#include <limits.h>
#include <string.h>

#include "cm_fault.h"

#define WAITING UINT_MAX /* instead of a connection's number */
#define ALIGNED 8u

struct frame {
	struct frame *next;  /* the next unanswered frame, or the next that is in no use */
	unsigned connection; /* number of the connection, or WAITING */
	size_t n;
	struct cd_frame_room at;
};

struct cd_upload {
	struct cd_upload_conf conf;
	size_t device_len;           /* sealed bytes of one device */
	struct frame *first, **last; /* unanswered frames, in the order in which they were given */
	struct frame *unused;        /* the first of these is what cd_upload_room gives */
	struct frame *answered;      /* the frame that the last cd_answer is about */
	uint8_t *outcome;            /* from its receipt, like the signature */
	uint8_t signature[CR_SIGN_LEN];
	/* The part of each device of a frame that a receipt signs, for the frame that was compared with a
	 * receipt last; when a receipt has been found to cover a frame, that is `answered`. */
	struct rd_receipt_device *device;
	/* Hashes of the devices of a frame, then of the messages of a device. */
	uint8_t (*leaf)[PR_HASH_LEN];
};

/* Give out the next n bytes of memory.  at NULL: only count them. */
static void *take(uint8_t *at, size_t *used, size_t n)
{
	void *out = at ? at + *used : NULL;

	*used += (n + ALIGNED - 1) / ALIGNED * ALIGNED;
	return out;
}

/* Divide the memory into the parts of u and its frames, or, where memory is NULL, count its bytes. */
static size_t divide(const struct cd_upload_conf *conf, uint8_t *memory, struct cd_upload *u)
{
	size_t used = 0, n = conf->devices, device_len = conf->shape.messages * conf->shape.message_len;
	struct frame *frame;

	(void)take(memory, &used, sizeof *u);
	frame = take(memory, &used, conf->frames * sizeof *frame);
	u->device = take(memory, &used, n * sizeof *u->device);
	u->leaf = take(memory, &used, (n > conf->shape.messages ? n : conf->shape.messages) * PR_HASH_LEN);
	u->outcome = take(memory, &used, n);
	for (size_t i = 0; i < conf->frames; i++) {
		struct cd_frame_room at;

		at.slot = take(memory, &used, n * sizeof *at.slot);
		at.pseudonyms = take(memory, &used, n * PR_PSEUDONYM_LEN);
		at.salts = take(memory, &used, n * RD_SALT_LEN);
		at.sealed = take(memory, &used, n * device_len);
		if (!memory)
			continue;
		frame[i] = (struct frame){ .next = u->unused, .at = at };
		u->unused = &frame[i];
	}
	return used;
}

size_t cd_upload_len(const struct cd_upload_conf *conf)
{
	struct cd_upload unused;

	return divide(conf, NULL, &unused);
}

struct cd_upload *cd_upload_begin(const struct cd_upload_conf *conf, void *memory)
{
	struct cd_upload *u = memory;

	*u = (struct cd_upload){
		.conf = *conf, .device_len = conf->shape.messages * conf->shape.message_len, .last = &u->first
	};
	(void)divide(conf, memory, u);
	return u;
}

size_t cd_upload_frame_devices(size_t device_len, size_t wanted)
{
	/* 128 bytes exceed the tags, lengths, round id and MAC of a Submit. */
	size_t fit = (PR_FRAME_MAX - 128u) / (device_len + PR_PSEUDONYM_LEN + RD_SALT_LEN);

	if (wanted > PR_SUBMISSIONS_MAX)
		wanted = PR_SUBMISSIONS_MAX;
	if (wanted > fit)
		wanted = fit;
	return wanted > 0 ? wanted : 1;
}

bool cd_upload_room(struct cd_upload *u, struct cd_frame_room *out)
{
	if (!u->unused)
		return false;
	*out = u->unused->at;
	return true;
}

void cd_upload_give(struct cd_upload *u, size_t n)
{
	struct frame *f = u->unused;

	u->unused = f->next;
	f->next = NULL;
	f->connection = WAITING;
	f->n = n;
	*u->last = f;
	u->last = &f->next;
}

/* Number of unanswered frames that are on this connection, or that are WAITING. */
static size_t count(const struct cd_upload *u, unsigned connection)
{
	size_t n = 0;

	for (const struct frame *f = u->first; f; f = f->next)
		n += f->connection == connection;
	return n;
}

size_t cd_upload_waiting(const struct cd_upload *u)
{
	return count(u, WAITING);
}

size_t cd_upload_unanswered(const struct cd_upload *u)
{
	size_t n = 0;

	for (const struct frame *f = u->first; f; f = f->next)
		n++;
	return n;
}

enum cm_rc cd_upload_next(struct cd_upload *u, unsigned connection, Tombola__V1__Submit *out)
{
	struct frame *f = u->first;

	if (count(u, connection) >= u->conf.window)
		return CM_EMORE;
	while (f && f->connection != WAITING)
		f = f->next;
	if (!f)
		return CM_EMORE;
	f->connection = connection;
	tombola__v1__submit__init(out);
	out->round_id = (ProtobufCBinaryData){ PR_ROUND_ID_LEN, u->conf.round_id };
	out->pseudonyms = (ProtobufCBinaryData){ f->n * PR_PSEUDONYM_LEN, f->at.pseudonyms };
	out->sealed = (ProtobufCBinaryData){ f->n * u->device_len, f->at.sealed };
	out->salts = (ProtobufCBinaryData){ f->n * RD_SALT_LEN, f->at.salts };
	out->mac = (ProtobufCBinaryData){ PR_MAC_LEN, u->conf.mac };
	out->gateway = (ProtobufCBinaryData){ PR_HASH_LEN, u->conf.gateway };
	return CM_OK;
}

static bool covers(struct cd_upload *u, const Tombola__V1__Receipt *r, const struct frame *f)
{
	uint8_t leaf[PR_HASH_LEN], root[PR_HASH_LEN], bytes[RD_RECEIPT_BYTES];
	struct rd_tree tree;
	struct cm_err unused;

	if (r->outcomes.len != f->n)
		return false;
	for (size_t i = 0; i < f->n; i++)
		rd_receipt_device(&u->conf.shape, f->at.pseudonyms + i * PR_PSEUDONYM_LEN,
			f->at.salts + i * RD_SALT_LEN, f->at.sealed + i * u->device_len, &u->device[i]);
	if (!CM_CHECKED("client.receipt"))
		return true;
	if (r->signature.len != CR_SIGN_LEN)
		return false;
	rd_tree_init(&tree);
	for (size_t i = 0; i < f->n; i++) {
		rd_receipt_leaf(&u->device[i], r->outcomes.data[i], leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
	rd_receipt_bytes(u->conf.round_id, root, f->n, bytes);
	return cr_verify(u->conf.shuffler, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, r->signature.data,
		       &unused) == CM_OK;
}

static enum cm_rc check_form(const struct cd_upload *u, const Tombola__V1__Receipt *r, struct cm_err *err)
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
static enum cm_rc find_answered(struct cd_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
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

enum cm_rc cd_upload_receipt(struct cd_upload *u, unsigned connection, const Tombola__V1__Receipt *receipt,
	struct cd_answer *out, struct cm_err *err)
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
	f->next = u->unused;
	u->unused = u->answered = f;
	memcpy(u->outcome, receipt->outcomes.data, f->n);
	if (receipt->signature.len == CR_SIGN_LEN)
		memcpy(u->signature, receipt->signature.data, CR_SIGN_LEN);
	*out = (struct cd_answer){ .slot = f->at.slot, .outcome = u->outcome, .n = f->n };
	return CM_OK;
}

void cd_upload_opening(struct cd_upload *u, size_t device, uint32_t message, struct rd_opening *out)
{
	const struct frame *f = u->answered;

	*out = (struct rd_opening){ .devices = f->n, .device = device };
	memcpy(out->name, u->device[device].name, PR_HASH_LEN);
	memcpy(out->signature, u->signature, CR_SIGN_LEN);
	for (size_t i = 0; i < f->n; i++)
		rd_receipt_leaf(&u->device[i], u->outcome[i], u->leaf[i]);
	rd_tree_path(u->leaf, f->n, device, out->frame_path);
	rd_opening_message(&u->conf.shape, f->at.salts + device * RD_SALT_LEN,
		f->at.sealed + device * u->device_len, message, u->leaf, out);
}

void cd_upload_lost(struct cd_upload *u, unsigned connection)
{
	for (struct frame *f = u->first; f; f = f->next)
		if (f->connection == connection)
			f->connection = WAITING;
}
