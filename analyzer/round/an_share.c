/* an_share.c - sorts a share's hashes, and decides about its part of the duplicates. */
#include "an_share.h"

#include <stdlib.h>
#include <string.h>

#define TREE_SHARE 8u /* one eighth of the memory is for sorting the hashes */

/* The pages of a spill that belong to one share: every page whose number modulo `shares` is the share's. */
struct slice {
	const struct rd_spill *of;
	unsigned share, shares;
};

struct an_share {
	size_t sealed_len;
	struct slice slice[AN_SPILLS];
	struct rd_spill spill[AN_SPILLS];
	struct an_once *once;
	struct rd_sort *sort;
	uint64_t hashed;
};

static enum cm_rc put(void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err)
{
	const struct slice *s = ctx;

	return s->of->put(s->of->ctx, page * s->shares + s->share, bytes, len, err);
}

static enum cm_rc get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err)
{
	const struct slice *s = ctx;

	return s->of->get(s->of->ctx, page * s->shares + s->share, bytes, len, err);
}

enum cm_rc an_share_new(
	const struct an_share_conf *conf, unsigned share, struct an_share **out, struct cm_err *err)
{
	struct an_share *s = calloc(1, sizeof *s);
	size_t bytes = conf->bytes / conf->shares + 1;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->sealed_len = conf->sealed_len;
	for (unsigned i = 0; i < AN_SPILLS; i++) {
		s->slice[i] = (struct slice){ &conf->spill[i], share, conf->shares };
		s->spill[i] = (struct rd_spill){ &s->slice[i], put, get };
	}
	const struct an_once_conf once = { .sealed_len = conf->sealed_len,
		.messages = conf->messages / conf->shares + 1,
		.bytes = bytes,
		.counted = &s->spill[AN_SPILL_COUNTED],
		.aside = &s->spill[AN_SPILL_ASIDE] };
	enum cm_rc rc = an_once_new(&once, &s->once, err);

	s->sort = rd_sort_new(PR_HASH_LEN, bytes / TREE_SHARE / PR_HASH_LEN + 1, &s->spill[AN_SPILL_HASHES]);
	if (rc == CM_OK && !s->sort)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		*out = s;
	else
		an_share_free(s);
	return rc;
}

void an_share_free(struct an_share *s)
{
	if (!s)
		return;
	an_once_free(s->once);
	rd_sort_free(s->sort);
	free(s);
}

uint8_t an_share_of(const uint8_t *bytes, unsigned shares)
{
	return (uint8_t)(cm_get_be32(bytes) * (uint64_t)shares >> 32);
}

enum cm_rc an_share_hashes(
	struct an_share *s, const uint8_t (*hash)[PR_HASH_LEN], size_t n, struct cm_err *err)
{
	s->hashed += n;
	return rd_sort_add(s->sort, hash, n, err);
}

/* qsort has no context argument in C17; the length is the same for every message of a round. */
static _Thread_local size_t compare_len;

static int compare(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, compare_len);
}

enum cm_rc an_share_bucket(
	struct an_share *s, const uint8_t **message, size_t n, size_t *now, struct cm_err *err)
{
	compare_len = s->sealed_len;
	if (n > 1)
		qsort(message, n, sizeof *message, compare);
	return an_once_bucket(s->once, message, n, now, err);
}

enum cm_rc an_share_done(struct an_share *s, struct cm_err *err)
{
	return an_once_done(s->once, err);
}

uint64_t an_share_hashed(const struct an_share *s)
{
	return s->hashed;
}

enum cm_rc an_share_leaves(struct an_share *s, uint64_t begin, struct rd_range *leaves, struct cm_err *err)
{
	const uint8_t *hash;
	uint8_t leaf[PR_HASH_LEN];
	enum cm_rc rc = rd_sort_done(s->sort, err);

	rd_range_init(leaves, begin);
	while (rc == CM_OK && (rc = rd_sort_next(s->sort, &hash, err)) == CM_OK) {
		rd_tree_leaf(hash, PR_HASH_LEN, leaf);
		rd_range_add(leaves, leaf);
	}
	/* Free its memory for what follows. */
	rd_sort_free(s->sort);
	s->sort = NULL;
	return rc == CM_EMORE ? CM_OK : rc;
}

enum cm_rc an_share_aside(struct an_share *s, uint8_t *messages, size_t most, size_t *n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*n = 0;
	while (rc == CM_OK && *n < most) {
		rc = an_once_next(s->once, messages + *n * s->sealed_len, err);
		*n += rc == CM_OK;
	}
	return rc == CM_EMORE ? CM_OK : rc;
}

uint64_t an_share_duplicates(const struct an_share *s)
{
	return an_once_duplicates(s->once);
}
