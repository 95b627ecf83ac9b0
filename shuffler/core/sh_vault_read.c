/* sh_vault_read.c - decrypts the messages and tags of a stored round.
 *
 * A commit leaves few messages in each bucket, and those of neighbouring buckets side by side.  A bucket of a
 * round of many commits would be gathered from very many pieces; so several buckets are read at once, and
 * kept until they are asked for.  Where pieces are long that gains nothing, and one bucket at a time stays in
 * the processor's cache. */
#include <stdlib.h>
#include <string.h>

#include "sh_permute.h"
#include "sh_vault_private.h"

#define WINDOW_BYTES (8u << 20) /* read at once, unless one bucket has more */
#define BLOCK_LONG   4096u      /* mean length of blocks that are read bucket by bucket */

void sh_window_stale(struct sh_window *w, const uint32_t *bucket)
{
	if (!bucket || (*bucket >= w->next && *bucket < w->end))
		w->end = w->next;
}

void sh_window_fini(struct sh_window *w)
{
	for (uint32_t i = 0; i < w->room; i++)
		cm_buf_fini(&w->bucket[i]);
	free(w->bucket);
	*w = (struct sh_window){ 0 };
}

/* The data were read, and this row of them is not ours. */
static enum cm_rc foreign(struct sh_vault *v, const char *what, struct cm_err *err)
{
	v->foreign = true;
	return cm_fail(err, CM_EDATA, "a stored block %s", what);
}

/* Decrypt a block onto the end of out. */
static enum cm_rc open_block(
	struct sh_vault *v, uint32_t bucket, const struct sh_block *b, struct cm_buf *out, struct cm_err *err)
{
	uint8_t aad[SH_VAULT_AAD_LEN];

	if (b->len < CR_BOX_OVERHEAD)
		return foreign(v, "is cut short", err);
	uint8_t *plain = cm_buf_room(out, b->len - CR_BOX_OVERHEAD + 1);
	if (!plain)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	sh_vault_aad(v, bucket, b->id, aad);
	if (cr_boxes_open(v->boxes, aad, sizeof aad, b->body, b->len, plain, err) != CM_OK)
		return foreign(v, "is damaged", err);
	out->len += b->len - CR_BOX_OVERHEAD;
	return CM_OK;
}

static enum cm_rc read_block(void *user, const struct sh_block *block, struct cm_err *err)
{
	struct sh_vault *v = user;
	struct sh_window *w = &v->window;

	if (block->len < CR_BOX_OVERHEAD || (block->len - CR_BOX_OVERHEAD) % v->message_len != 0)
		return foreign(v, "has a wrong length", err);
	if (block->bucket < w->first || block->bucket >= w->end)
		return cm_fail(err, CM_EDATA, "a stored block is not of the buckets asked for");
	w->blocks++;
	return open_block(v, block->bucket, block, &w->bucket[block->bucket - w->first], err);
}

static enum cm_rc make_room(struct sh_window *w, uint32_t n, struct cm_err *err)
{
	struct cm_buf *grown = n > w->room ? realloc(w->bucket, n * sizeof *grown) : w->bucket;

	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	w->bucket = grown;
	for (; w->room < n; w->room++) {
		cm_buf_init(&w->bucket[w->room], SIZE_MAX / 4);
		w->bucket[w->room].secret = 1;
	}
	for (uint32_t i = 0; i < n; i++)
		w->bucket[i].len = 0;
	return CM_OK;
}

/* How many to read next, after n buckets of so many bytes in all. */
static uint32_t next_wanted(const struct sh_window *w, uint32_t n, size_t bytes)
{
	if (bytes <= WINDOW_BYTES / 2 && bytes / BLOCK_LONG < w->blocks)
		return 2 * n;
	return bytes > WINDOW_BYTES && n > 1 ? n / 2 : n;
}

/* Read from this bucket on: as many as wanted, and one when it is not the one that follows. */
static enum cm_rc fill(struct sh_vault *v, uint32_t bucket, struct cm_err *err)
{
	struct sh_window *w = &v->window;
	uint32_t left = v->buckets - bucket, n = bucket == w->end && w->wanted > 0 ? w->wanted : 1;
	size_t bytes = 0;

	n = n < left ? n : left;
	w->first = w->next = w->end = bucket;
	enum cm_rc rc = make_room(w, n, err);
	if (rc != CM_OK)
		return rc;
	w->end = bucket + n;
	w->blocks = 0;
	rc = v->store->data_buckets(v->data, bucket, n, read_block, v, err);
	for (uint32_t i = 0; i < n; i++)
		bytes += w->bucket[i].len;
	if (rc != CM_OK)
		w->end = bucket;
	w->wanted = next_wanted(w, n, bytes);
	return rc;
}

/* Append, and take out of the window; an empty `out` gets the bytes as they lie. */
static enum cm_rc take(struct sh_window *w, uint32_t bucket, struct cm_buf *out, struct cm_err *err)
{
	struct cm_buf *from = &w->bucket[bucket - w->first], hold = *from;
	enum cm_rc rc = CM_OK;

	if (out->len == 0 && from->len <= out->max) {
		from->data = out->data;
		from->cap = out->cap;
		out->data = hold.data;
		out->cap = hold.cap;
		out->len = hold.len;
	} else {
		rc = cm_buf_put(out, from->data, from->len);
	}
	from->len = 0;
	w->next = bucket + 1;
	return rc == CM_OK ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

bool sh_vault_has_read(const struct sh_vault *v, uint32_t bucket)
{
	return bucket >= v->window.next && bucket < v->window.end;
}

enum cm_rc sh_vault_read(struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err)
{
	struct sh_window *w = &v->window;
	enum cm_rc rc = sh_vault_has_read(v, bucket) ? CM_OK : fill(v, bucket, err);

	if (rc == CM_OK)
		rc = take(w, bucket, out, err);
	if (bucket + 1 == v->buckets)
		sh_window_fini(w);
	return rc;
}

/* ---- Tags ---- */

struct reader {
	struct sh_vault *v;
	struct sh_tags *tags;
	struct sh_counts *counts;
};

static enum cm_rc read_tags(void *user, const struct sh_block *block, struct cm_err *err)
{
	struct reader *r = user;
	struct cm_buf plain;

	cm_buf_init(&plain, SIZE_MAX / 4);
	plain.secret = 1;
	enum cm_rc rc = open_block(r->v, SH_VAULT_TAG_ROW, block, &plain, err);
	if (rc == CM_OK)
		rc = sh_batch_tag_row_load(plain.data, plain.len, r->tags, r->counts, err);
	if (rc == CM_EDATA)
		r->v->foreign = true;
	cm_buf_fini(&plain);
	return rc;
}

enum cm_rc sh_vault_tags(
	struct sh_vault *v, struct sh_tags *tags, struct sh_counts *counts, struct cm_err *err)
{
	struct reader r = { .v = v, .tags = tags, .counts = counts };

	return v->store->data_tags(v->data, read_tags, &r, err);
}

/* ---- Release ---- */

struct cr_rng_seeded *sh_vault_stream(
	const struct sh_vault *v, const void *use, size_t len, struct cr_rng *out)
{
	uint8_t seed[CR_SEED_LEN];

	cr_hkdf(v->order.bytes, sizeof v->order.bytes, v->round_id, PR_ROUND_ID_LEN, use, len, seed,
		sizeof seed);
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, out);
	cr_wipe(seed, sizeof seed);
	return g;
}

enum cm_rc sh_vault_release(struct sh_vault *v, uint32_t bucket, struct cm_buf *out, struct cm_err *err)
{
	uint8_t number[4];
	size_t start = out->len;
	struct cr_rng rng;

	enum cm_rc rc = sh_vault_read(v, bucket, out, err);
	if (rc != CM_OK || out->len == start)
		return rc;
	cm_put_le32(number, bucket);
	struct cr_rng_seeded *g = sh_vault_stream(v, number, sizeof number, &rng);
	if (!g)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	sh_permute(out->data + start, (out->len - start) / v->message_len, v->message_len, &rng);
	cr_rng_seeded_free(g);
	return CM_OK;
}
