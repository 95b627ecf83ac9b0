/* sh_memory.c - a shuffler's store in memory. */
#include "sh_memory.h"

#include <stdlib.h>
#include <string.h>

#include "sh_memory_rows.h"

/* An open round's place. */
struct data {
	struct sh_memory *m;
	uint8_t key[PR_HASH_LEN];
	uint64_t epoch; /* number of the intake's epoch; 0: the head's */
};

/* ---- Rounds ---- */

static enum cm_rc row_put(void *ctx, const struct sh_row *row, struct cm_err *err)
{
	struct row r = { .table = ROUNDS,
		.number = row->sequence,
		.state = (int)row->state,
		.span = { row->descriptor, row->signature, row->manifest, row->manifest_signature,
			row->charge } };
	size_t i = 0;

	(void)err;
	/* The old row goes last: what is put may be borrowed from it. */
	const struct row *old = next(ctx, ROUNDS, key_of(row->round_id, r.key), &i);
	if (old && old->number != row->sequence)
		abort();
	put(ctx, &r);
	if (old)
		drop(ctx, i - 1);
	return CM_OK;
}

static enum cm_rc row_get(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user, struct cm_err *err)
{
	uint8_t key[PR_HASH_LEN];
	size_t i = 0;
	const struct row *r = next(ctx, ROUNDS, key_of(round_id, key), &i);

	return r ? show_row(r, fn, user, err) : cm_fail(err, CM_ENOINPUT, "no such round");
}

static enum cm_rc row_each(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(ctx, ROUNDS, NULL, &i));)
		rc = show_row(r, fn, user, err);
	return rc;
}

/* ---- The ledger ---- */

static enum cm_rc records_put(
	void *ctx, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err)
{
	(void)err;
	for (size_t i = 0; i < n; i++)
		put(ctx, &(struct row){ .table = RECORDS, .number = first + i, .span = { records[i] } });
	return CM_OK;
}

static enum cm_rc record_each(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(ctx, RECORDS, NULL, &i));)
		rc = fn(user, r->span[0].data, r->span[0].len, err);
	return rc;
}

static enum cm_rc record_get(void *ctx, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;

	for (size_t i = 0; (r = next(ctx, RECORDS, NULL, &i));)
		if (r->number == seq)
			return fn(user, r->span[0].data, r->span[0].len, err);
	return cm_fail(err, CM_ENOINPUT, "no such record");
}

static enum cm_rc pin_put(void *ctx, const struct sh_pin_row *pin, struct cm_err *err)
{
	const struct row *r;

	for (size_t i = 0; (r = next(ctx, PINS, NULL, &i));)
		if (r->number == pin->record)
			return cm_fail(err, CM_EIO, "the pin is there");
	put(ctx, &(struct row){ .table = PINS,
			 .number = pin->record,
			 .state = pin->state,
			 .epsilon = pin->epsilon,
			 .span = { pin->taken } });
	return CM_OK;
}

static enum cm_rc pin_each(void *ctx, sh_pin_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(ctx, PINS, NULL, &i));) {
		const struct sh_pin_row pin = { r->number, r->state, r->epsilon, r->span[0] };
		rc = fn(user, &pin, err);
	}
	return rc;
}

static enum cm_rc loss_get(void *ctx, struct sh_loss *loss, struct cm_err *err)
{
	size_t i = 0;
	const struct row *r = next(ctx, LOSSES, NULL, &i);

	(void)err;
	*loss = (struct sh_loss){ 0 };
	if (r)
		*loss = (struct sh_loss){ .closed_to = r->number, .waits = r->state != 0 };
	return CM_OK;
}

static enum cm_rc loss_put(void *ctx, const struct sh_loss *loss, struct cm_err *err)
{
	size_t i = 0;

	(void)err;
	if (next(ctx, LOSSES, NULL, &i))
		drop(ctx, i - 1);
	put(ctx, &(struct row){ .table = LOSSES, .number = loss->closed_to, .state = loss->waits });
	return CM_OK;
}

static enum cm_rc head_put(void *ctx, const struct sh_head_row *head, struct cm_err *err)
{
	struct row r = { .table = HEADS,
		.number = head->seq,
		.bucket = head->devices,
		.span = { { head->before, PR_HASH_LEN }, { head->descriptor_hash, PR_HASH_LEN } } };

	(void)err;
	memcpy(r.key, head->name, PR_HASH_LEN);
	take_away(ctx, HEADS, r.key);
	put(ctx, &r);
	return CM_OK;
}

static enum cm_rc head_each(void *ctx, sh_head_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(ctx, HEADS, NULL, &i));) {
		struct sh_head_row head = { .devices = r->bucket, .seq = r->number };
		memcpy(head.name, r->key, PR_HASH_LEN);
		memcpy(head.before, r->span[0].data, PR_HASH_LEN);
		memcpy(head.descriptor_hash, r->span[1].data, PR_HASH_LEN);
		rc = fn(user, &head, err);
	}
	return rc;
}

static enum cm_rc standings_put(void *ctx, const struct sh_standing *s, size_t n, struct cm_err *err)
{
	(void)err;
	for (size_t i = 0; i < n; i++) {
		struct row r = { .table = STANDINGS,
			.number = s[i].sequence,
			.span = { { s[i].descriptor_hash, PR_HASH_LEN }, { s[i].mac, PR_MAC_LEN } } };
		memcpy(r.key, s[i].name, PR_HASH_LEN);
		take_away(ctx, STANDINGS, r.key);
		put(ctx, &r);
	}
	return CM_OK;
}

static enum cm_rc standing_get(
	void *ctx, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err)
{
	size_t i = 0;
	const struct row *r = next(ctx, STANDINGS, name, &i);

	(void)err;
	*out = (struct sh_standing){ .sequence = r ? r->number : 0 };
	if (!r)
		return CM_OK;
	memcpy(out->name, name, PR_HASH_LEN);
	memcpy(out->descriptor_hash, r->span[0].data, PR_HASH_LEN);
	memcpy(out->mac, r->span[1].data, PR_MAC_LEN);
	return CM_OK;
}

/* ---- Messages and tags ---- */

static enum cm_rc data_open(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data, struct cm_err *err)
{
	struct data *d = some(calloc(1, sizeof *d));
	size_t i = 0;

	d->m = ctx;
	if (!next(ctx, PLACES, key_of(round_id, d->key), &i)) {
		struct row r = { .table = PLACES };
		if (!create) {
			free(d);
			return cm_fail(err, CM_ENOINPUT, "the place is missing");
		}
		memcpy(r.key, d->key, PR_HASH_LEN);
		put(ctx, &r);
	}
	*data = d;
	return CM_OK;
}

static void data_close(void *data)
{
	free(data);
}

static void keep(const struct data *d, enum table table, const struct sh_block *b)
{
	struct row r = { .table = table,
		.number = b->id,
		.bucket = b->bucket,
		.state = (int)b->devices,
		.span = { { b->body, b->len } } };

	memcpy(r.key, d->key, PR_HASH_LEN);
	put(d->m, &r);
}

/* One above the highest number of its blocks. */
static uint64_t data_runs(void *data)
{
	const struct data *d = data;
	const struct row *r;
	uint64_t runs = 0;

	for (size_t i = 0; (r = next(d->m, BLOCKS, d->key, &i));)
		if ((r->number & SH_RUN_BLOCK) != 0 && (r->number & ~SH_RUN_BLOCK) / PR_BUCKETS_MAX >= runs)
			runs = (r->number & ~SH_RUN_BLOCK) / PR_BUCKETS_MAX + 1;
	return runs;
}

/* A fault of the source ends the test: nothing can be full here. */
static enum cm_rc data_epoch(void *data, bool close, struct sh_epoch *out, struct cm_err *err)
{
	static int epochs; /* of all stores */
	const struct data *d = data;
	struct row *place = some(place_of(d->m, d->key));
	const struct row *r;

	(void)err;
	*out = (struct sh_epoch){ .closed = place->bucket != 0 };
	if (close)
		place->bucket = 1;
	else if (!out->closed)
		place->state = ++epochs;
	out->number = (uint64_t)place->state;
	for (size_t i = 0; (r = next(d->m, TAGS, d->key, &i));)
		out->devices += (uint64_t)r->state;
	return CM_OK;
}

static enum cm_rc data_join(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t epoch, void **data, struct cm_err *err)
{
	enum cm_rc rc = data_open(ctx, round_id, false, data, err);

	if (rc == CM_OK)
		((struct data *)*data)->epoch = epoch;
	return rc;
}

static enum cm_rc data_commit(
	void *data, sh_block_source *source, void *user, const struct sh_block *tags, struct cm_err *err)
{
	const struct data *d = data;
	const struct row *place = place_of(d->m, d->key);
	struct sh_block b;
	enum cm_rc rc;

	if (d->epoch != 0 && (!place || place->bucket != 0 || (uint64_t)place->state != d->epoch))
		return cm_fail(err, CM_ELATER, "the epoch is over");

	while ((rc = source(user, &b, err)) == CM_OK)
		keep(data, BLOCKS, &b);
	if (rc != CM_EMORE)
		abort();
	keep(data, TAGS, tags);
	return CM_OK;
}

static enum cm_rc data_replace(void *data, uint32_t bucket, sh_block_source *source, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	const struct data *d = data;

	for (size_t i = 0; next(d->m, BLOCKS, d->key, &i);)
		if (d->m->row[i - 1].bucket == bucket)
			drop(d->m, --i);
	return data_commit(data, source, user, tags, err);
}

static enum cm_rc each_block(const struct data *d, enum table table, uint32_t first, uint32_t buckets,
	sh_block_fn *fn, void *user, struct cm_err *err)
{
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(d->m, table, d->key, &i));) {
		const struct cr_span *s = &r->span[0];
		struct sh_block b = { .bucket = r->bucket, .id = r->number, .body = s->data, .len = s->len };
		if (table == TAGS || (r->bucket >= first && r->bucket - first < buckets))
			rc = fn(user, &b, err);
	}
	return rc;
}

static enum cm_rc data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err)
{
	return each_block(data, BLOCKS, first, n, fn, user, err);
}

static enum cm_rc data_tags(void *data, sh_block_fn *fn, void *user, struct cm_err *err)
{
	return each_block(data, TAGS, 0, 0, fn, user, err);
}

static enum cm_rc data_drop(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	uint8_t key[PR_HASH_LEN];

	(void)err;
	key_of(round_id, key);
	take_away(ctx, BLOCKS, key);
	take_away(ctx, TAGS, key);
	take_away(ctx, PLACES, key);
	return CM_OK;
}

static enum cm_rc data_erase(
	void *ctx, void *data, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	data_close(data);
	return data_drop(ctx, round_id, err);
}

/* fn may remove the place that it is shown. */
static enum cm_rc data_each(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err)
{
	struct sh_memory *m = ctx;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && next(m, PLACES, NULL, &i);) {
		uint8_t round_id[PR_ROUND_ID_LEN];
		size_t rows = m->rows;
		memcpy(round_id, m->row[i - 1].key, PR_ROUND_ID_LEN);
		rc = fn(user, round_id, err);
		i = m->rows < rows ? 0 : i;
	}
	return rc;
}

/* ---- Payloads: state 1 is whole ---- */

static struct row *payload_of(struct sh_memory *m, const uint8_t *hash)
{
	size_t i = 0;

	return next(m, PAYLOADS, hash, &i);
}

static enum cm_rc payload_add(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, const void *bytes,
	size_t len, struct cm_err *err)
{
	struct row *r = payload_of(ctx, hash), fresh = { .table = PAYLOADS };
	uint8_t *grown;

	(void)err;
	if (!r) {
		memcpy(fresh.key, hash, PR_HASH_LEN);
		put(ctx, &fresh);
		r = payload_of(ctx, hash);
	}
	if (r->state != 0 || r->span[0].len != offset)
		abort();
	grown = some(malloc(offset + len));
	if (offset > 0)
		memcpy(grown, r->span[0].data, offset);
	memcpy(grown + offset, bytes, len);
	free((void *)(uintptr_t)r->span[0].data);
	r->span[0] = (struct cr_span){ grown, offset + len };
	return CM_OK;
}

static enum cm_rc payload_finish(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	(void)err;
	payload_of(ctx, hash)->state = 1;
	return CM_OK;
}

static enum cm_rc payload_read(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err)
{
	const struct row *r = payload_of(ctx, hash);

	if (!r || r->span[0].len < offset + len)
		return cm_fail(err, CM_ENOINPUT, "no such payload");
	memcpy(out, (const uint8_t *)r->span[0].data + offset, len);
	return CM_OK;
}

static enum cm_rc payload_drop(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	(void)err;
	take_away(ctx, PAYLOADS, hash);
	return CM_OK;
}

static enum cm_rc payload_each(void *ctx, sh_payload_fn *fn, void *user, struct cm_err *err)
{
	struct sh_memory *m = ctx;
	const struct row *r;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && (r = next(m, PAYLOADS, NULL, &i));) {
		struct sh_payload p = { .bytes = r->span[0].len, .whole = r->state != 0 };
		size_t rows = m->rows;

		memcpy(p.hash, r->key, PR_HASH_LEN);
		rc = fn(user, &p, err);
		i = m->rows < rows ? 0 : i;
	}
	return rc;
}

/* ---- */

struct sh_memory *sh_memory_new(void)
{
	return some(calloc(1, sizeof(struct sh_memory)));
}

void sh_memory_free(struct sh_memory *m)
{
	if (!m)
		return;
	while (m->rows > 0)
		drop(m, m->rows - 1);
	free(m->row);
	free(m);
}

struct sh_store sh_memory_store(struct sh_memory *m)
{
	return (struct sh_store){ .ctx = m,
		.row_put = row_put,
		.row_get = row_get,
		.row_each = row_each,
		.records_put = records_put,
		.record_each = record_each,
		.record_get = record_get,
		.pin_put = pin_put,
		.pin_each = pin_each,
		.loss_get = loss_get,
		.loss_put = loss_put,
		.head_put = head_put,
		.head_each = head_each,
		.standings_put = standings_put,
		.standing_get = standing_get,
		.data_open = data_open,
		.data_close = data_close,
		.data_runs = data_runs,
		.data_commit = data_commit,
		.data_replace = data_replace,
		.data_epoch = data_epoch,
		.data_join = data_join,
		.data_buckets = data_buckets,
		.data_tags = data_tags,
		.data_erase = data_erase,
		.data_drop = data_drop,
		.data_each = data_each,
		.payload_add = payload_add,
		.payload_finish = payload_finish,
		.payload_read = payload_read,
		.payload_drop = payload_drop,
		.payload_each = payload_each };
}
