/* sh_vault.c - encrypts and decrypts the messages and tags of a stored round, under a round key kept outside
 * the store. */
#include "sh_vault.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "sh_marks.h"
#include "sh_permute.h"

#define NAME_LEN (2 * PR_ROUND_ID_LEN + 1)
#define ID_BITS  63
/* stands for the bucket number in the associated data of a tag row, which belongs to no bucket */
#define TAG_ROW 0xffffffffu
#define AAD_LEN (PR_ROUND_ID_LEN + 12u)
/* most bytes of buckets that are read at once, unless one bucket has more */
#define WINDOW_BYTES (8u << 20)
#define BLOCK_LONG   4096u /* if blocks have at least this mean length, buckets are read one by one */

static void make_aad(const struct sh_vault *v, uint32_t bucket, uint64_t id, uint8_t aad[AAD_LEN])
{
	memcpy(aad, v->round_id, PR_ROUND_ID_LEN);
	cm_put_le32(aad + PR_ROUND_ID_LEN, bucket);
	cm_put_le64(aad + PR_ROUND_ID_LEN + 4, id);
}

static void derive(const struct cr_key *key, const uint8_t *round_id, const char *use, struct cr_key *out)
{
	cr_hkdf(key->bytes, sizeof key->bytes, round_id, PR_ROUND_ID_LEN, use, strlen(use), out->bytes,
		sizeof out->bytes);
}

/* Forget what was read ahead: all of it, or if `bucket` is not NULL, only that bucket. */
static void window_stale(struct sh_window *w, const uint32_t *bucket)
{
	if (!bucket || (*bucket >= w->next && *bucket < w->end))
		w->end = w->next;
}

/* Wipe and free; accepts a zeroed struct. */
static void window_fini(struct sh_window *w)
{
	for (uint32_t i = 0; i < w->room; i++)
		cm_buf_fini(&w->bucket[i]);
	free(w->bucket);
	*w = (struct sh_window){ 0 };
}

static void set_up(struct sh_vault *v, const struct sh_store *store, const uint8_t *round_id,
	uint32_t buckets, size_t message_len)
{
	*v = (struct sh_vault){ .store = store, .buckets = buckets, .message_len = message_len };
	memcpy(v->round_id, round_id, PR_ROUND_ID_LEN);
}

void sh_vault_keys_fini(struct sh_vault_keys *k)
{
	cr_key_fini(&k->box);
	cr_key_fini(&k->tag);
}

static enum cm_rc set_key(struct sh_vault *v, struct cr_key *key, struct cm_err *err)
{
	struct cr_key box;

	derive(key, v->round_id, "box", &box);
	derive(key, v->round_id, "tag", &v->tag);
	derive(key, v->round_id, "permute", &v->order);
	v->boxes = cr_boxes_new(&box);
	cr_key_fini(&box);
	cr_key_fini(key);
	return v->boxes ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc sh_vault_create(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len,
	const struct cr_rng *rng, struct cm_err *err)
{
	char name[NAME_LEN];
	struct cr_key key;

	set_up(v, store, round_id, buckets, message_len);
	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	/* Create the data before the key: after a crash the cleanup finds both by the data. */
	enum cm_rc rc = store->data_open(store->ctx, round_id, true, &v->data, err);
	if (rc == CM_OK)
		rc = cr_keyfile_create(key_dir, name, rng, &key, err);
	if (rc == CM_OK)
		rc = set_key(v, &key, err);
	if (rc != CM_OK)
		sh_vault_close(v);
	return rc;
}

enum cm_rc sh_vault_open(struct sh_vault *v, const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint32_t buckets, size_t message_len, struct cm_err *err)
{
	char name[NAME_LEN];
	struct cr_key key;

	set_up(v, store, round_id, buckets, message_len);
	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	enum cm_rc rc = cr_keyfile_load(key_dir, name, &key, err);
	if (rc != CM_OK)
		return rc;
	rc = set_key(v, &key, err);
	if (rc == CM_OK)
		rc = store->data_open(store->ctx, round_id, false, &v->data, err);
	if (rc != CM_OK)
		sh_vault_close(v);
	return rc;
}

enum cm_rc sh_vault_lend(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_vault_keys *out, struct cm_err *err)
{
	char name[NAME_LEN];
	struct cr_key key;

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	enum cm_rc rc = cr_keyfile_load(key_dir, name, &key, err);
	if (rc != CM_OK)
		return rc;
	derive(&key, round_id, "box", &out->box);
	derive(&key, round_id, "tag", &out->tag);
	cr_key_fini(&key);
	return CM_OK;
}

enum cm_rc sh_vault_join(struct sh_vault *v, const struct sh_store *store, const struct sh_vault_keys *keys,
	const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t epoch, uint32_t buckets, size_t message_len,
	struct cm_err *err)
{
	set_up(v, store, round_id, buckets, message_len);
	v->joined = true;
	v->tag = keys->tag;
	v->boxes = cr_boxes_new(&keys->box);
	enum cm_rc rc = v->boxes ? store->data_join(store->ctx, round_id, epoch, &v->data, err)
				 : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK)
		sh_vault_close(v);
	return rc;
}

void sh_vault_forget(struct sh_vault *v)
{
	window_fini(&v->window);
	cr_boxes_free(v->boxes);
	v->boxes = NULL;
	cr_key_fini(&v->tag);
	cr_key_fini(&v->order);
}

void sh_vault_close(struct sh_vault *v)
{
	if (v->data)
		v->store->data_close(v->data);
	sh_vault_forget(v);
	*v = (struct sh_vault){ 0 };
}

enum cm_rc sh_vault_destroy_key(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char name[NAME_LEN];

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	enum cm_rc rc = cr_keyfile_erase(key_dir, name, err);
	return rc == CM_OK ? sh_marks_forget(key_dir, round_id, err) : rc;
}

enum cm_rc sh_vault_destroy(const struct sh_store *store, const char *key_dir,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	enum cm_rc rc = sh_vault_destroy_key(key_dir, round_id, err);

	return rc == CM_OK ? store->data_drop(store->ctx, round_id, err) : rc;
}

enum cm_rc sh_vault_erase(struct sh_vault *v, struct cm_err *err)
{
	enum cm_rc rc = v->store->data_erase(v->store->ctx, v->data, v->round_id, err);

	v->data = NULL;
	sh_vault_close(v);
	return rc;
}

void sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN])
{
	uint8_t full[CR_HASH_LEN];

	cr_hmac(v->tag.bytes, sizeof v->tag.bytes,
		(const struct cr_span[]){ { "d", 1 }, { key_hash, 32 }, { pseudonym, PR_PSEUDONYM_LEN } }, 3,
		full);
	memcpy(out, full, SH_TAG_LEN);
}

void sh_vault_digest(const struct sh_vault *v, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t *sealed, size_t len, uint8_t out[SH_TAG_LEN])
{
	uint8_t full[CR_HASH_LEN];

	cr_hmac(v->tag.bytes, sizeof v->tag.bytes,
		(const struct cr_span[]){ { "s", 1 }, { pseudonym, PR_PSEUDONYM_LEN }, { sealed, len } }, 3,
		full);
	memcpy(out, full, SH_TAG_LEN);
}

void sh_vault_certificate(const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN])
{
	uint8_t full[CR_HASH_LEN];

	cr_hmac(v->tag.bytes, sizeof v->tag.bytes, (const struct cr_span[]){ { "c", 1 }, { key_hash, 32 } },
		2, full);
	memcpy(out, full, SH_TAG_LEN);
}

void sh_standing_name(const uint8_t key_hash[32], uint8_t out[CR_HASH_LEN])
{
	static const char use[] = "tombola standing of";

	cr_sha256_spans((const struct cr_span[]){ { use, sizeof use }, { key_hash, 32 } }, 2, out);
}

void sh_standing_gateway_name(const uint8_t gateway[32], uint8_t out[CR_HASH_LEN])
{
	static const char use[] = "tombola standing of gateway";

	cr_sha256_spans((const struct cr_span[]){ { use, sizeof use }, { gateway, 32 } }, 2, out);
}

static void own_tag(const struct sh_vault *v, const char *use, uint8_t out[SH_TAG_LEN])
{
	uint8_t full[CR_HASH_LEN];

	cr_hmac(v->order.bytes, sizeof v->order.bytes, (const struct cr_span[]){ { use, 1 } }, 1, full);
	memcpy(out, full, SH_TAG_LEN);
}

void sh_vault_dummies(const struct sh_vault *v, uint8_t out[SH_TAG_LEN])
{
	own_tag(v, "b", out);
}

void sh_vault_capped(const struct sh_vault *v, uint8_t out[SH_TAG_LEN])
{
	own_tag(v, "k", out);
}

/* ---- Writing ---- */

/* Makes the blocks of one commit, one at a time, while the store takes them. */
struct cutter {
	struct sh_vault *v;
	const struct sh_batch *batch;
	/* the only bucket that receives messages; NULL: a bucket is drawn for each */
	const uint32_t *only;
	const struct cr_rng *rng;
	struct cr_nonces nonces; /* the nonces of the blocks of a run */
	bool is_run;             /* the commit is a run: it has a number */
	uint64_t run;
	uint32_t *index; /* message numbers, grouped by bucket */
	size_t *end;     /* where each bucket's group ends in index */
	uint32_t next;   /* the next bucket for which a block is made */
	struct cm_buf plain, box;
};

/* Draw a bucket for each message, group the messages by bucket (a counting sort), and permute each group. */
static enum cm_rc draw_buckets(struct cutter *c, struct cm_err *err)
{
	size_t n = sh_batch_messages(c->batch), k = c->v->buckets;
	uint16_t *bucket = calloc(n ? n : 1, sizeof *bucket);

	c->index = calloc(n ? n : 1, sizeof *c->index);
	c->end = calloc(k, sizeof *c->end);
	if (!bucket || !c->index || !c->end) {
		free(bucket);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		bucket[i] = (uint16_t)(c->only ? *c->only : cr_rng_below(c->rng, k));
		c->end[bucket[i]]++;
	}
	size_t sum = 0;
	for (size_t b = 0; b < k; b++) {
		size_t start = sum;
		sum += c->end[b];
		c->end[b] = start;
	}
	for (size_t i = 0; i < n; i++)
		c->index[c->end[bucket[i]]++] = (uint32_t)i;
	for (size_t b = 0; CM_CHECKED("shuffler.permute") && b < k; b++) {
		size_t start = b ? c->end[b - 1] : 0;
		sh_permute_index(c->index + start, c->end[b] - start, c->rng);
	}
	cr_wipe(bucket, n * sizeof *bucket);
	free(bucket);
	return CM_OK;
}

static uint64_t random_id(const struct cr_rng *rng)
{
	return cr_rng_u64(rng) >> (64 - ID_BITS);
}

/* Encrypt plain into c->box as the body of a new block.  A block's nonce is drawn when all other draws for
 * the block are done, and a run's nonces when all draws for the run are done: see cr_nonces. */
static enum cm_rc seal_block(
	struct cutter *c, uint32_t bucket, uint64_t id, struct sh_block *out, struct cm_err *err)
{
	uint8_t aad[AAD_LEN];
	size_t len = c->plain.len + CR_BOX_OVERHEAD;

	c->box.len = 0;
	uint8_t *body = cm_buf_room(&c->box, len);
	if (!body)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	make_aad(c->v, bucket, id, aad);
	if (!c->is_run)
		cr_nonces_draw(&c->nonces, c->rng);
	enum cm_rc rc = cr_boxes_seal(
		c->v->boxes, &c->nonces, aad, sizeof aad, c->plain.data, c->plain.len, body, err);
	*out = (struct sh_block){ .bucket = bucket, .id = id, .body = body, .len = len };
	return rc;
}

static enum cm_rc next_block(void *user, struct sh_block *out, struct cm_err *err)
{
	struct cutter *c = user;

	for (; c->next < c->v->buckets; c->next++) {
		size_t start = c->next ? c->end[c->next - 1] : 0, n = c->end[c->next] - start;
		if (n == 0)
			continue;
		size_t len = c->v->message_len;
		c->plain.len = 0;
		if (!cm_buf_room(&c->plain, n * len))
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		for (size_t i = 0; i < n; i++)
			memcpy(c->plain.data + i * len, c->batch->sealed.data + c->index[start + i] * len,
				len);
		c->plain.len = n * len;
		uint64_t id = c->is_run ? SH_RUN_ID(c->run, c->next) : random_id(c->rng);
		return seal_block(c, c->next++, id, out, err);
	}
	return CM_EMORE;
}

static void cutter_fini(struct cutter *c)
{
	if (c->index)
		cr_wipe(c->index, sh_batch_messages(c->batch) * sizeof *c->index);
	free(c->index);
	free(c->end);
	cm_buf_fini(&c->plain);
	cm_buf_fini(&c->box);
}

/* only: the bucket whose contents the batch replaces; NULL: there is none. */
static enum cm_rc commit(struct sh_vault *v, const uint32_t *only, struct sh_batch *batch,
	const struct cr_rng *rng, struct cm_err *err)
{
	struct cutter c = { .v = v, .batch = batch, .only = only, .rng = rng };
	struct cutter t = { .v = v, .batch = batch, .rng = rng };
	struct sh_block tags = { .devices = 0 };

	for (struct cutter *each = &c; each; each = each == &c ? &t : NULL) {
		cm_buf_init(&each->plain, SIZE_MAX / 4);
		cm_buf_init(&each->box, SIZE_MAX / 4);
		each->plain.secret = 1;
	}
	c.is_run = !only && !v->joined && sh_batch_submissions(batch) >= SH_RUN_LEAST;
	c.run = c.is_run ? v->store->data_runs(v->data) : 0;
	enum cm_rc rc = sh_batch_tag_row(batch, rng, &t.plain, err);
	if (rc == CM_OK)
		rc = seal_block(&t, TAG_ROW, random_id(rng), &tags, err);
	tags.devices = (uint32_t)sh_batch_submissions(batch);
	if (rc == CM_OK)
		rc = draw_buckets(&c, err);
	if (rc == CM_OK && c.is_run)
		cr_nonces_draw(&c.nonces, rng);
	window_stale(&v->window, only);
	if (rc == CM_OK)
		rc = only ? v->store->data_replace(v->data, *only, next_block, &c, &tags, err)
			  : v->store->data_commit(v->data, next_block, &c, &tags, err);
	cutter_fini(&c);
	cutter_fini(&t);
	return rc;
}

enum cm_rc sh_vault_commit(
	struct sh_vault *v, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err)
{
	return commit(v, NULL, batch, rng, err);
}

enum cm_rc sh_vault_replace(struct sh_vault *v, uint32_t bucket, struct sh_batch *batch,
	const struct cr_rng *rng, struct cm_err *err)
{
	return commit(v, &bucket, batch, rng, err);
}

/* ---- Reading ----
 *
 * A commit leaves few messages in each bucket, and those of neighbouring buckets side by side.  A bucket of a
 * round of many commits would be gathered from very many pieces, so several buckets are read at once and kept
 * until they are asked for.  Where pieces are long that gains nothing, and one bucket at a time stays in the
 * processor's cache. */

/* Report that data were read of which this row is not ours. */
static enum cm_rc foreign(struct sh_vault *v, const char *what, struct cm_err *err)
{
	v->foreign = true;
	return cm_fail(err, CM_EDATA, "a stored block %s", what);
}

/* Decrypt a block and append it to out. */
static enum cm_rc open_block(
	struct sh_vault *v, uint32_t bucket, const struct sh_block *b, struct cm_buf *out, struct cm_err *err)
{
	uint8_t aad[AAD_LEN];

	if (b->len < CR_BOX_OVERHEAD)
		return foreign(v, "is cut short", err);
	uint8_t *plain = cm_buf_room(out, b->len - CR_BOX_OVERHEAD + 1);
	if (!plain)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	make_aad(v, bucket, b->id, aad);
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

/* How many buckets to read next, after n buckets of so many bytes in all. */
static uint32_t next_wanted(const struct sh_window *w, uint32_t n, size_t bytes)
{
	if (bytes <= WINDOW_BYTES / 2 && bytes / BLOCK_LONG < w->blocks)
		return 2 * n;
	return bytes > WINDOW_BYTES && n > 1 ? n / 2 : n;
}

/* Read from this bucket on: as many buckets as wanted; only one if it does not follow the one before. */
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

/* Append a bucket's messages to `out`, and take them out of the window; an empty `out` takes over the
 * bytes. */
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
		window_fini(w);
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
	enum cm_rc rc = open_block(r->v, TAG_ROW, block, &plain, err);
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
