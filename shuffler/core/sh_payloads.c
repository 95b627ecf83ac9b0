/* sh_payloads.c - keeps the payloads of rounds. */
#include "sh_payloads.h"

#include <string.h>

#include "cm_fault.h"

#define PIECE 32768u

static struct sh_payload *find(struct sh_payloads *s, const uint8_t *hash)
{
	for (size_t i = 0; i < s->n; i++)
		if (memcmp(s->payload[i].hash, hash, PR_HASH_LEN) == 0)
			return &s->payload[i];
	return NULL;
}

static bool is_needed(const struct sh_payloads *s, const uint8_t *hash)
{
	for (size_t i = 0; i < s->live->n; i++)
		if (s->live->round[i]->d.payload_size > 0 &&
			memcmp(s->live->round[i]->d.payload_hash, hash, PR_HASH_LEN) == 0)
			return true;
	return false;
}

static enum cm_rc drop(struct sh_payloads *s, struct sh_payload *p, struct cm_err *err)
{
	const struct sh_store *store = s->store;
	uint8_t hash[PR_HASH_LEN];

	memcpy(hash, p->hash, sizeof hash);
	*p = s->payload[--s->n];
	return store->payload_drop(store->ctx, hash, err);
}

enum cm_rc sh_payloads_drop(struct sh_payloads *s, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	struct sh_payload *p = find(s, hash);

	return p && !is_needed(s, hash) ? drop(s, p, err) : CM_OK;
}

/* Load one stored payload.  An incomplete one may be continued.  A complete one that no live round has may
 * be of a round that is over.  A store may list a payload twice. */
static enum cm_rc load(void *user, const struct sh_payload *p, struct cm_err *err)
{
	struct sh_payloads *s = user;
	const struct sh_store *store = s->store;
	struct sh_payload *known = find(s, p->hash);
	bool first = true;

	if (known) {
		*known = known->whole ? *known : *p;
		return CM_OK;
	}
	for (size_t i = 0; i < s->n; i++)
		first = first && s->payload[i].whole;
	if (s->n == SH_PAYLOADS_MAX || (p->whole ? !is_needed(s, p->hash) : !first))
		return store->payload_drop(store->ctx, p->hash, err);
	s->payload[s->n++] = *p;
	return CM_OK;
}

enum cm_rc sh_payloads_load(struct sh_payloads *s, struct cm_err *err)
{
	const struct sh_store *store = s->store;

	return store->payload_each(store->ctx, load, s, err);
}

enum cm_rc sh_payloads_check(
	const struct sh_payloads *s, const struct rd_descriptor *d, struct sh_refusal *no)
{
	if (d->payload_size == 0 || !CM_CHECKED("shuffler.payload.held"))
		return CM_OK;
	for (size_t i = 0; i < s->n; i++)
		if (memcmp(s->payload[i].hash, d->payload_hash, PR_HASH_LEN) == 0 && s->payload[i].whole &&
			s->payload[i].bytes == d->payload_size)
			return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
		"the round's payload is not here: it is put before the round is announced");
}

/* ---- Put ---- */

static enum cm_rc check_put(const struct sh_payloads *s, const struct sh_put *put, struct sh_refusal *no)
{
	const Tombola__V1__ErrorCode bad = TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE;

	if (put->hash.len != PR_HASH_LEN)
		return sh_refuse(no, bad, 0, "a payload's hash has %u bytes", PR_HASH_LEN);
	if (CM_CHECKED("shuffler.payload.size") && put->size > s->max_bytes)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: a payload of %llu bytes, max_payload is %llu", (unsigned long long)put->size,
			(unsigned long long)s->max_bytes);
	if (put->size == 0 || put->offset > put->size || put->data.len > put->size - put->offset)
		return sh_refuse(no, bad, 0, "a part that is not of a payload of %llu bytes",
			(unsigned long long)put->size);
	return CM_OK;
}

/* Find the payload with this hash, as far as it is held, and erase all others that no round has. */
static enum cm_rc begin(
	struct sh_payloads *s, const struct sh_put *put, struct sh_payload **out, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*out = find(s, put->hash.data);
	/* More bytes are held than this payload has, so they were sent with another size. */
	if (*out && !(*out)->whole && (*out)->bytes > put->size) {
		rc = drop(s, *out, err);
		*out = NULL;
	}
	if (*out || rc != CM_OK)
		return rc;
	for (size_t i = s->n; rc == CM_OK && i-- > 0;)
		if (!is_needed(s, s->payload[i].hash))
			rc = drop(s, &s->payload[i], err);
	if (rc == CM_OK && s->n == SH_PAYLOADS_MAX)
		return cm_fail(err, CM_EINTERNAL, "more payloads than rounds");
	if (rc != CM_OK)
		return rc;
	*out = &s->payload[s->n++];
	**out = (struct sh_payload){ .bytes = 0 };
	memcpy((*out)->hash, put->hash.data, PR_HASH_LEN);
	return CM_OK;
}

static enum cm_rc hash_of(
	const struct sh_payloads *s, const struct sh_payload *p, uint8_t out[PR_HASH_LEN], struct cm_err *err)
{
	const struct sh_store *store = s->store;
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

static enum cm_rc finish(
	struct sh_payloads *s, struct sh_payload *p, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = s->store;
	uint8_t hash[PR_HASH_LEN];
	enum cm_rc rc = hash_of(s, p, hash, err);

	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("shuffler.payload.hash") && memcmp(hash, p->hash, PR_HASH_LEN) != 0) {
		rc = drop(s, p, err);
		return rc != CM_OK ? rc
				   : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
					     "the payload's bytes do not have its hash");
	}
	rc = store->payload_finish(store->ctx, p->hash, err);
	p->whole = rc == CM_OK;
	return rc;
}

enum cm_rc sh_payloads_put(struct sh_payloads *s, const struct sh_put *put, uint64_t *held,
	struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_store *store = s->store;
	struct sh_payload *p = NULL;

	enum cm_rc rc = check_put(s, put, no);
	if (rc == CM_OK)
		rc = begin(s, put, &p, err);
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
		rc = finish(s, p, no, err);
	if (rc == CM_OK)
		*held = p->bytes;
	return rc;
}

/* ---- Get ---- */

enum cm_rc sh_payloads_get(const struct sh_payloads *s, const struct rd_descriptor *d,
	const struct sh_part *part, uint8_t *out, size_t *out_len, struct sh_refusal *no, struct cm_err *err)
{
	if (d->payload_size == 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "the round has no payload");
	if (part->length == 0 || part->length > PR_PAYLOAD_PART || part->offset >= d->payload_size)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0,
			"the payload has %llu bytes, and at most %u are given at a time",
			(unsigned long long)d->payload_size, PR_PAYLOAD_PART);
	*out_len = d->payload_size - part->offset < part->length ? (size_t)(d->payload_size - part->offset)
								 : part->length;
	enum cm_rc rc =
		s->store->payload_read(s->store->ctx, d->payload_hash, part->offset, out, *out_len, err);
	/* Its clients take part as if they had no reading, so the round continues. */
	return rc != CM_ENOINPUT ? rc
				 : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0,
					   "the round's payload is lost here");
}
