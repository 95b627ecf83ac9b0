/* sh_batch.c - gathers accepted reports that are not durable yet: messages, tags, counts. */
#include "sh_batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sh_permute.h"

#define COUNT_LEN (SH_TAG_LEN + 4u)

_Static_assert(sizeof(struct sh_tag) == 2 * (size_t)SH_TAG_LEN, "tags are stored as they lie in memory");

void sh_batch_init(struct sh_batch *b, size_t message_len, size_t max)
{
	*b = (struct sh_batch){ .message_len = message_len };
	cm_buf_init(&b->sealed, max);
	cm_buf_init(&b->tags, max);
	cm_buf_init(&b->counts, max);
	cm_buf_init(&b->stands, max);
	b->sealed.secret = b->tags.secret = b->counts.secret = b->stands.secret = 1;
}

void sh_batch_fini(struct sh_batch *b)
{
	cm_buf_fini(&b->sealed);
	cm_buf_fini(&b->tags);
	cm_buf_fini(&b->counts);
	cm_buf_fini(&b->stands);
}

enum cm_rc sh_batch_reserve(struct sh_batch *b, size_t submissions, size_t messages_each, struct cm_err *err)
{
	size_t bytes, tags;

	if (!cm_size_mul(submissions, messages_each, &bytes) || !cm_size_mul(bytes, b->message_len, &bytes) ||
		!cm_size_mul(submissions, sizeof(struct sh_tag), &tags) || !cm_buf_room(&b->sealed, bytes) ||
		!cm_buf_room(&b->tags, tags) || !cm_buf_room(&b->counts, sizeof(struct sh_count)) ||
		!cm_buf_room(&b->stands, sizeof(struct sh_stand)))
		return cm_fail(err, CM_ELATER, "too much is waiting to be stored");
	return CM_OK;
}

static void put(struct cm_buf *b, const void *bytes, size_t n)
{
	enum cm_rc rc = cm_buf_put(b, bytes, n);

	assert(rc == CM_OK); /* sh_batch_reserve() made room, so this cannot fail */
	(void)rc;
}

void sh_batch_add(struct sh_batch *b, const struct sh_tag *tag, const uint8_t *sealed, size_t len)
{
	assert(len % b->message_len == 0);
	put(&b->sealed, sealed, len);
	put(&b->tags, tag, sizeof *tag);
}

void sh_batch_count(struct sh_batch *b, const struct sh_count *count)
{
	put(&b->counts, count, sizeof *count);
}

void sh_batch_stand(struct sh_batch *b, const struct sh_stand *stand)
{
	put(&b->stands, stand, sizeof *stand);
}

size_t sh_batch_messages(const struct sh_batch *b)
{
	return b->sealed.len / b->message_len;
}

size_t sh_batch_submissions(const struct sh_batch *b)
{
	return b->tags.len / sizeof(struct sh_tag);
}

size_t sh_batch_bytes(const struct sh_batch *b)
{
	return b->sealed.len + b->tags.len + b->counts.len + b->stands.len;
}

static int by_tag(const void *a, const void *b)
{
	return memcmp(a, b, SH_TAG_LEN); /* an sh_count begins with its tag */
}

/* Merge counts of one certificate in the sorted array; returns the number left. */
static size_t merge(struct sh_count *c, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (left > 0 && memcmp(c[left - 1].tag, c[i].tag, SH_TAG_LEN) == 0)
			c[left - 1].n += c[i].n;
		else
			c[left++] = c[i];
	}
	return left;
}

enum cm_rc sh_batch_tag_row(
	struct sh_batch *b, const struct cr_rng *rng, struct cm_buf *out, struct cm_err *err)
{
	size_t tags = sh_batch_submissions(b), counts = b->counts.len / sizeof(struct sh_count);
	struct sh_count *count = (struct sh_count *)(void *)b->counts.data;

	/* a random order hides that of arrival as well as sorting would, at a tenth of the cost */
	if (tags > 0)
		sh_permute(b->tags.data, tags, sizeof(struct sh_tag), rng);
	if (counts > 0) {
		qsort(count, counts, sizeof *count, by_tag);
		counts = merge(count, counts);
	}
	uint8_t *at = cm_buf_room(out, 8 + tags * sizeof(struct sh_tag) + counts * COUNT_LEN);
	if (!at || tags > UINT32_MAX || counts > UINT32_MAX)
		return cm_fail(err, CM_EINTERNAL, "no memory for the tags of a commit");
	cm_put_le32(at, (uint32_t)tags);
	cm_put_le32(at + 4, (uint32_t)counts);
	at += 8;
	if (tags > 0)
		memcpy(at, b->tags.data, tags * sizeof(struct sh_tag));
	at += tags * sizeof(struct sh_tag);
	for (size_t i = 0; i < counts; i++, at += COUNT_LEN) {
		memcpy(at, count[i].tag, SH_TAG_LEN);
		cm_put_le32(at + SH_TAG_LEN, count[i].n);
	}
	out->len += 8 + tags * sizeof(struct sh_tag) + counts * COUNT_LEN;
	return CM_OK;
}

enum cm_rc sh_batch_tag_row_load(
	const uint8_t *bytes, size_t len, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err)
{
	uint64_t n_tags = len >= 8 ? cm_get_le32(bytes) : 0;
	uint64_t n_counts = len >= 8 ? cm_get_le32(bytes + 4) : 0;

	if (len < 8 || len != 8 + n_tags * sizeof(struct sh_tag) + n_counts * COUNT_LEN)
		return cm_fail(err, CM_EDATA, "stored tags have a wrong length");
	if (n_tags > tags->most - tags->n)
		return cm_fail(err, CM_EDATA, "more stored tags than the round may have");
	bytes += 8;
	for (uint64_t i = 0; i < n_tags; i++, bytes += sizeof(struct sh_tag)) {
		struct sh_tag tag;
		memcpy(&tag, bytes, sizeof tag);
		if (sh_tag_is_none(tag.tag))
			return cm_fail(err, CM_EDATA, "a stored tag is none");
		if (sh_tags_find(tags, &tag) != SH_SEEN_NEVER)
			return cm_fail(err, CM_EDATA, "a stored tag is there twice");
		sh_tags_add(tags, &tag);
	}
	for (uint64_t i = 0; i < n_counts; i++, bytes += COUNT_LEN) {
		if (sh_tag_is_none(bytes))
			return cm_fail(err, CM_EDATA, "a stored count is of no tag");
		struct sh_count *c = sh_counts_at(counts, bytes);
		if (!c)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		c->n += cm_get_le32(bytes + SH_TAG_LEN);
	}
	return CM_OK;
}
