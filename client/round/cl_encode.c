/* cl_encode.c - turns values into sealed messages. */
#include "cl_encode.h"

#include <stdlib.h>
#include <string.h>

enum cm_rc cl_encode_sealer(
	const struct rd_descriptor *d, size_t devices, struct cr_hpke_sealer **out, struct cm_err *err)
{
	uint8_t info[RD_INFO_LEN];
	enum cm_rc rc;

	rd_hpke_info(d, info);
	rc = cr_hpke_sealer_new(d->suite, d->hpke_key, info, sizeof info, out, err);
	if (rc == CM_OK)
		cr_hpke_sealer_expect(*out, devices * d->messages_per_client);
	return rc;
}

/* Some devices of a round, sealed together. */
struct batch {
	size_t devices;        /* how many devices fit */
	uint8_t *records;      /* the records of all their messages, in order */
	struct cr_key *secret; /* ephemeral keys, one for each message */
	void *room;            /* working memory of cd_randomize */
};

static void batch_fini(const struct rd_descriptor *d, struct batch *b)
{
	size_t messages = b->devices * d->messages_per_client;

	if (b->records)
		cr_wipe(b->records, messages * d->record_len);
	if (b->secret)
		cr_wipe(b->secret, messages * sizeof *b->secret);
	free(b->records);
	free(b->secret);
	free(b->room);
}

/* Allocate the working memory of cd_randomize, which all values of the batch use one after the other. */
static void *room_for(const struct rd_descriptor *d)
{
	/* For 0 bytes aligned_alloc may return NULL. */
	size_t needed = cd_room_len(d), n = needed > 0 ? needed : 64;
	void *room = aligned_alloc(64, n);

	if (room)
		memset(room, 0, n);
	return room;
}

/* Allocate a batch for at most n devices: for as many as have at most CR_HPKE_MANY messages together, and
 * for at least one. */
static enum cm_rc batch_init(const struct rd_descriptor *d, size_t n, struct batch *b, struct cm_err *err)
{
	size_t enough = d->messages_per_client < CR_HPKE_MANY ? CR_HPKE_MANY / d->messages_per_client : 1;
	size_t messages = (n < enough ? n : enough) * d->messages_per_client;

	*b = (struct batch){ n < enough ? n : enough, malloc(messages * d->record_len),
		malloc(messages * sizeof *b->secret), room_for(d) };
	return b->records && b->secret && b->room ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Randomize the next devices of the batch; `some` says how many. */
static void randomize_all(const struct rd_descriptor *d, struct cl_values *values,
	const struct cl_entry *entry, size_t some, const struct cr_rng *rng, const struct batch *b,
	uint8_t *sealed)
{
	size_t device_len = cd_device_len(d);

	for (size_t i = 0; i < some; i++) {
		size_t first = i * d->messages_per_client;
		struct qy_value value;

		/* Random numbers that a test fixes belong to this device only. */
		cr_rng_point("device", d->sequence, entry[i].place);
		value = cl_values_of(values, &entry[i].value, rng);
		cd_randomize(d, &value, rng, b->room, b->records + first * d->record_len, b->secret + first,
			sealed + i * device_len);
	}
}

enum cm_rc cl_encode(const struct rd_descriptor *d, const struct cl_entry *entry, size_t n,
	const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err)
{
	const struct cl_payload_bytes nothing = { NULL, 0 };
	const struct cl_encoding encoding = { d, &nothing, NULL };

	return cl_encode_computed(&encoding, entry, n, rng, sealed, err);
}

enum cm_rc cl_encode_computed(const struct cl_encoding *encoding, const struct cl_entry *entry, size_t n,
	const struct cr_rng *rng, uint8_t *sealed, struct cm_err *err)
{
	const struct rd_descriptor *d = encoding->d;
	size_t device_len = cd_device_len(d);
	struct cr_hpke_sealer *sealer = NULL;
	struct cl_values *values = NULL;
	struct batch b = { 0 };
	enum cm_rc rc = batch_init(d, n, &b, err);

	if (rc == CM_OK)
		rc = encoding->sealer ? cr_hpke_sealer_like(encoding->sealer, &sealer, err)
				      : cl_encode_sealer(d, n, &sealer, err);
	if (rc == CM_OK)
		rc = cl_values_new(d, encoding->payload, &values, err);
	for (size_t at = 0; rc == CM_OK && at < n; at += b.devices) {
		size_t some = n - at < b.devices ? n - at : b.devices;

		randomize_all(d, values, entry + at, some, rng, &b, sealed + at * device_len);
		rc = cd_seal(d, sealer, some, b.records, b.secret, sealed + at * device_len, err);
	}
	cl_values_free(values);
	cr_hpke_sealer_free(sealer);
	batch_fini(d, &b);
	return rc;
}

enum cm_rc cl_encode_shown(const struct rd_descriptor *d, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, uint8_t *sealed, struct cm_err *err)
{
	struct cr_hpke_sealer *sealer = NULL;
	struct batch b = { 0 };
	enum cm_rc rc = batch_init(d, 1, &b, err);

	if (rc == CM_OK)
		rc = cl_encode_sealer(d, 1, &sealer, err);
	if (rc == CM_OK) {
		cd_randomize(d, value, rng, b.room, b.records, b.secret, sealed);
		memcpy(records, b.records, (size_t)d->messages_per_client * d->record_len);
		rc = cd_seal(d, sealer, 1, b.records, b.secret, sealed, err);
	}
	cr_hpke_sealer_free(sealer);
	batch_fini(d, &b);
	return rc;
}
