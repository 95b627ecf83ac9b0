/* sh_core_payload.c - payloads of rounds: put by the analyzer before the round, given to clients while it is
 * open.
 *
 * They are public bytes, so they are stored as they are.  There is one for each live round at most, and one
 * that no round has yet. */
#include <string.h>

#include "cm_fault.h"
#include "sh_core_private.h"

#define PIECE 32768u

static struct sh_payload *find(struct sh_core *c, const uint8_t *hash)
{
	for (size_t i = 0; i < c->payloads; i++)
		if (memcmp(c->payload[i].hash, hash, PR_HASH_LEN) == 0)
			return &c->payload[i];
	return NULL;
}

static bool is_needed(const struct sh_core *c, const uint8_t *hash)
{
	for (size_t i = 0; i < c->rounds; i++)
		if (c->round[i]->d.payload_size > 0 &&
			memcmp(c->round[i]->d.payload_hash, hash, PR_HASH_LEN) == 0)
			return true;
	return false;
}

static enum cm_rc drop(struct sh_core *c, struct sh_payload *p, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	uint8_t hash[PR_HASH_LEN];

	memcpy(hash, p->hash, sizeof hash);
	*p = c->payload[--c->payloads];
	return store->payload_drop(store->ctx, hash, err);
}

enum cm_rc sh_core_drop_payload(struct sh_core *c, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	struct sh_payload *p = find(c, hash);

	return p && !is_needed(c, hash) ? drop(c, p, err) : CM_OK;
}

/* One that is not whole may be continued; a whole one that no round has may be of a round that is over.  A
 * store may show one twice. */
static enum cm_rc load(void *user, const struct sh_payload *p, struct cm_err *err)
{
	struct sh_core *c = user;
	const struct sh_store *store = c->conf.env.store;
	struct sh_payload *known = find(c, p->hash);
	bool first = true;

	if (known) {
		*known = known->whole ? *known : *p;
		return CM_OK;
	}
	for (size_t i = 0; i < c->payloads; i++)
		first = first && c->payload[i].whole;
	if (c->payloads == SH_PAYLOADS_MAX || (p->whole ? !is_needed(c, p->hash) : !first))
		return store->payload_drop(store->ctx, p->hash, err);
	c->payload[c->payloads++] = *p;
	return CM_OK;
}

enum cm_rc sh_core_load_payloads(struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;

	return store->payload_each(store->ctx, load, c, err);
}

enum cm_rc sh_core_check_payload(
	const struct sh_core *c, const struct rd_descriptor *d, struct sh_refusal *no)
{
	if (d->payload_size == 0 || !CM_CHECKED("shuffler.payload.held"))
		return CM_OK;
	for (size_t i = 0; i < c->payloads; i++)
		if (memcmp(c->payload[i].hash, d->payload_hash, PR_HASH_LEN) == 0 && c->payload[i].whole &&
			c->payload[i].bytes == d->payload_size)
			return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
		"the round's payload is not here: it is put before the round is announced");
}

/* ---- Put ---- */

static enum cm_rc check_put(const struct sh_core *c, const struct sh_put *put, struct sh_refusal *no)
{
	const Tombola__V1__ErrorCode bad = TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE;

	if (put->hash.len != PR_HASH_LEN)
		return sh_refuse(no, bad, 0, "a payload's hash has %u bytes", PR_HASH_LEN);
	if (CM_CHECKED("shuffler.payload.size") && put->size > (uint64_t)c->conf.policy->max_payload)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: a payload of %llu bytes, max_payload is %lld", (unsigned long long)put->size,
			(long long)c->conf.policy->max_payload);
	if (put->size == 0 || put->offset > put->size || put->data.len > put->size - put->offset)
		return sh_refuse(no, bad, 0, "a part that is not of a payload of %llu bytes",
			(unsigned long long)put->size);
	return CM_OK;
}

/* The payload of this hash, as far as it is held; all others that no round has are erased. */
static enum cm_rc begin(
	struct sh_core *c, const struct sh_put *put, struct sh_payload **out, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*out = find(c, put->hash.data);
	/* What was begun with another size is not this payload's. */
	if (*out && !(*out)->whole && (*out)->bytes > put->size) {
		rc = drop(c, *out, err);
		*out = NULL;
	}
	if (*out || rc != CM_OK)
		return rc;
	for (size_t i = c->payloads; rc == CM_OK && i-- > 0;)
		if (!is_needed(c, c->payload[i].hash))
			rc = drop(c, &c->payload[i], err);
	if (rc == CM_OK && c->payloads == SH_PAYLOADS_MAX)
		return cm_fail(err, CM_EINTERNAL, "more payloads than rounds");
	if (rc != CM_OK)
		return rc;
	*out = &c->payload[c->payloads++];
	**out = (struct sh_payload){ .bytes = 0 };
	memcpy((*out)->hash, put->hash.data, PR_HASH_LEN);
	return CM_OK;
}

static enum cm_rc hash_of(
	const struct sh_core *c, const struct sh_payload *p, uint8_t out[PR_HASH_LEN], struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct cr_hasher *h = cr_hasher_new();
	uint8_t piece[PIECE];
	enum cm_rc rc = CM_OK;

	for (uint64_t at = 0; rc == CM_OK && at < p->bytes; at += sizeof piece) {
		size_t n = p->bytes - at < sizeof piece ? (size_t)(p->bytes - at) : sizeof piece;

		rc = store->payload_read(store->ctx, p->hash, at, piece, n, err);
		if (rc == CM_OK)
			cr_hasher_add(h, piece, n);
	}
	cr_hasher_done(h, out);
	cr_hasher_free(h);
	return rc == CM_ENOINPUT ? cm_fail(err, CM_EIO, "a stored payload is gone") : rc;
}

static enum cm_rc finish(struct sh_core *c, struct sh_payload *p, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	uint8_t hash[PR_HASH_LEN];
	enum cm_rc rc = hash_of(c, p, hash, err);

	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("shuffler.payload.hash") && memcmp(hash, p->hash, PR_HASH_LEN) != 0) {
		rc = drop(c, p, err);
		return rc != CM_OK ? rc
				   : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
					     "the payload's bytes do not have its hash");
	}
	rc = store->payload_finish(store->ctx, p->hash, err);
	p->whole = rc == CM_OK;
	return rc;
}

enum cm_rc sh_core_put_payload(struct sh_core *c, const struct sh_put *put, uint64_t *held,
	struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct sh_payload *p = NULL;

	enum cm_rc rc = check_put(c, put, no);
	if (rc == CM_OK)
		rc = begin(c, put, &p, err);
	if (rc != CM_OK)
		return rc;
	if (p->whole && p->bytes != put->size)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"the payload of this hash has %llu bytes", (unsigned long long)p->bytes);
	if (!p->whole && put->offset == p->bytes && put->data.len > 0) {
		rc = store->payload_add(store->ctx, p->hash, p->bytes, put->data.data, put->data.len, err);
		if (rc == CM_OK)
			p->bytes += put->data.len;
	}
	if (rc == CM_OK && !p->whole && p->bytes == put->size)
		rc = finish(c, p, no, err);
	if (rc == CM_OK)
		*held = p->bytes;
	return rc;
}

/* ---- Get ---- */

enum cm_rc sh_core_get_payload(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_part *part, uint8_t *out, size_t *out_len, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	const struct sh_round *r = round_id_len == PR_ROUND_ID_LEN ? sh_core_find(c, round_id) : NULL;

	if (!r)
		return sh_core_not_found(no);
	if (r->state != SH_COLLECTING)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0, "the round is over");
	if (r->d.payload_size == 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "the round has no payload");
	if (part->length == 0 || part->length > PR_PAYLOAD_PART || part->offset >= r->d.payload_size)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"the payload has %llu bytes, and at most %u are given at a time",
			(unsigned long long)r->d.payload_size, PR_PAYLOAD_PART);
	*out_len = r->d.payload_size - part->offset < part->length
			   ? (size_t)(r->d.payload_size - part->offset)
			   : part->length;
	enum cm_rc rc = store->payload_read(store->ctx, r->d.payload_hash, part->offset, out, *out_len, err);
	/* Its clients take part as if they had no reading: the round goes on. */
	return rc != CM_ENOINPUT ? rc
				 : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
					   "the round's payload is lost here");
}
