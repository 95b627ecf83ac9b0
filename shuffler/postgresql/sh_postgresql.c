/* sh_postgresql.c - implements the store with PostgreSQL. */
#include "sh_postgresql.h"

#include <stdlib.h>

#include "cm_marker.h"
#include "sh_pg_parts.h"
#include "sh_pg_payload.h"
#include "sh_pg_start.h"
#include "sh_pg_state.h"

static void store_close(void *ctx)
{
	struct sh_pg_store *s = ctx;

	if (!s)
		return;
	sh_pg_servers_fini(&s->servers);
	sh_pg_close(s->standing);
	sh_pg_close(s->state);
	free(s);
}

static struct sh_pg *state_of(void *ctx)
{
	return ((struct sh_pg_store *)ctx)->state;
}

static enum cm_rc row_put(void *ctx, const struct sh_row *row, struct cm_err *err)
{
	return sh_pg_row_put(state_of(ctx), row, err);
}

static enum cm_rc row_get(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_row_get(state_of(ctx), round_id, fn, user, err);
}

static enum cm_rc row_each(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_row_each(state_of(ctx), fn, user, err);
}

static enum cm_rc records_put(
	void *ctx, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err)
{
	return sh_pg_records_put(state_of(ctx), first, records, n, err);
}

static enum cm_rc record_each(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_record_each(state_of(ctx), fn, user, err);
}

static enum cm_rc record_get(void *ctx, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_record_get(state_of(ctx), seq, fn, user, err);
}

static enum cm_rc pin_put(void *ctx, const struct sh_pin_row *pin, struct cm_err *err)
{
	return sh_pg_pin_put(state_of(ctx), pin, err);
}

static enum cm_rc pin_each(void *ctx, sh_pin_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_pin_each(state_of(ctx), fn, user, err);
}

static enum cm_rc loss_get(void *ctx, struct sh_loss *loss, struct cm_err *err)
{
	return sh_pg_loss_get(state_of(ctx), loss, err);
}

static enum cm_rc loss_put(void *ctx, const struct sh_loss *loss, struct cm_err *err)
{
	struct sh_pg *pg = state_of(ctx);
	enum cm_rc rc = sh_pg_begin(pg, err);

	if (rc == CM_OK)
		rc = sh_pg_loss(pg, loss, err);
	return sh_pg_end(pg, rc, err);
}

static enum cm_rc head_put(void *ctx, const struct sh_head_row *head, struct cm_err *err)
{
	return sh_pg_head_put(state_of(ctx), head, err);
}

static enum cm_rc head_each(void *ctx, sh_head_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_head_each(state_of(ctx), fn, user, err);
}

static enum cm_rc standings_put(void *ctx, const struct sh_standing *standing, size_t n, struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;

	return sh_pg_standings_put(s->standing ? s->standing : s->state, standing, n, err);
}

static enum cm_rc standing_get(
	void *ctx, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err)
{
	return sh_pg_standing_get(state_of(ctx), name, out, err);
}

/* ---- Data ---- */

static enum cm_rc data_open(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data, struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;
	struct sh_pg_parts *p = NULL;

	if (s->conf.readonly && create)
		return cm_fail(err, CM_EIO, "attempt to write a state that was opened for reading");
	enum cm_rc rc = sh_pg_parts_open(&s->servers, round_id,
		s->conf.readonly ? SH_PG_READ
		: create         ? SH_PG_CREATE
				 : SH_PG_WRITE,
		0, &p, err);
	*data = p;
	return rc;
}

static enum cm_rc data_epoch(void *data, bool close, struct sh_epoch *out, struct cm_err *err)
{
	return sh_pg_parts_epoch(data, close, out, err);
}

static enum cm_rc data_join(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t epoch, void **data, struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;
	struct sh_pg_parts *p = NULL;

	enum cm_rc rc = sh_pg_parts_open(&s->servers, round_id, SH_PG_JOIN, epoch, &p, err);
	*data = p;
	return rc;
}

static void data_close(void *data)
{
	sh_pg_parts_close(data);
}

static uint64_t data_runs(void *data)
{
	return sh_pg_parts_runs(data);
}

static enum cm_rc data_commit(
	void *data, sh_block_source *next, void *user, const struct sh_block *tags, struct cm_err *err)
{
	return sh_pg_parts_commit(data, NULL, next, user, tags, err);
}

static enum cm_rc data_replace(void *data, uint32_t bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	return sh_pg_parts_commit(data, &bucket, next, user, tags, err);
}

static enum cm_rc data_tags(void *data, sh_block_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_parts_tags(data, fn, user, err);
}

static enum cm_rc data_erase(
	void *ctx, void *data, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;

	return sh_pg_parts_erase(&s->servers, data, round_id, err);
}

static enum cm_rc data_drop(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;

	return sh_pg_parts_drop(&s->servers, round_id, err);
}

static enum cm_rc data_each(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;

	return sh_pg_parts_each(&s->servers, fn, user, err);
}

static enum cm_rc keeps(void *ctx, struct cm_err *err)
{
	const struct sh_pg_store *s = ctx;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < s->servers.n; i++)
		rc = sh_pg_keeps(s->servers.at[i].pg, err);
	return rc;
}

static bool database(void *ctx, size_t i, uint32_t *number, bool *up)
{
	const struct sh_pg_store *s = ctx;

	/* The state's server has a second session. */
	if (i == s->servers.n && s->standing) {
		*number = s->servers.at[0].number;
		*up = sh_pg_is_up(s->standing);
		return true;
	}
	if (i >= s->servers.n)
		return false;
	*number = s->servers.at[i].number;
	*up = sh_pg_is_up(s->servers.at[i].pg);
	return true;
}

/* An intake's session with the state; the sessions with its round's data belong to the data. */
static bool database_joined(void *ctx, size_t i, uint32_t *number, bool *up)
{
	*number = 0;
	*up = i == 0 && sh_pg_is_up(state_of(ctx));
	return i == 0;
}

static bool data_database(void *data, size_t i, uint32_t *number, bool *up)
{
	return sh_pg_parts_database(data, i, number, up);
}

/* ---- Payloads ---- */

static enum cm_rc payload_add(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, const void *bytes,
	size_t len, struct cm_err *err)
{
	return sh_pg_payload_add(state_of(ctx), hash, offset, bytes, len, err);
}

static enum cm_rc payload_finish(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	return sh_pg_payload_finish(state_of(ctx), hash, err);
}

static enum cm_rc payload_read(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err)
{
	return sh_pg_payload_read(state_of(ctx), hash, offset, out, len, err);
}

static enum cm_rc payload_drop(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	return sh_pg_payload_drop(state_of(ctx), hash, err);
}

static enum cm_rc payload_each(void *ctx, sh_payload_fn *fn, void *user, struct cm_err *err)
{
	return sh_pg_payload_each(state_of(ctx), fn, user, err);
}

/* ---- Opening ---- */

static enum cm_rc make(const char *state_dir, const struct sh_pg_conf *conf, bool readonly,
	const struct sh_loss *loss, struct sh_pg_store **out, struct cm_err *err)
{
	struct sh_pg_store *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->conf = *conf;
	s->conf.readonly = readonly;
	s->conf.name = conf->n_further > 0 ? conf->database : NULL;
	enum cm_rc rc = readonly ? sh_pg_start_reading(s, state_dir, err)
				 : sh_pg_start_writing(s, state_dir, loss, err);
	if (rc != CM_OK)
		store_close(s);
	else
		*out = s;
	return rc;
}

static enum cm_rc open_as(const char *state_dir, const struct sh_pg_conf *conf, bool readonly,
	struct sh_store *out, struct cm_err *err)
{
	struct sh_pg_store *s = NULL;

	enum cm_rc rc = make(state_dir, conf, readonly, NULL, &s, err);
	if (rc != CM_OK)
		return rc;
	*out = (struct sh_store){
		.ctx = s,
		.close = store_close,
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
		.data_epoch = readonly ? NULL : data_epoch, /* a store that only reads ends no epoch */
		.data_join = data_join,
		.data_runs = data_runs,
		.data_commit = data_commit,
		.data_replace = data_replace,
		.data_buckets = sh_pg_parts_buckets,
		.data_tags = data_tags,
		.data_erase = data_erase,
		.data_drop = data_drop,
		.data_each = data_each,
		.keeps = keeps,
		.database = database,
		.data_database = data_database,
		.payload_add = payload_add,
		.payload_finish = payload_finish,
		.payload_read = payload_read,
		.payload_drop = payload_drop,
		.payload_each = payload_each,
	};
	return CM_OK;
}

enum cm_rc sh_postgresql_open(
	const char *state_dir, const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err)
{
	return open_as(state_dir, conf, false, out, err);
}

enum cm_rc sh_postgresql_open_readonly(
	const char *state_dir, const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err)
{
	return open_as(state_dir, conf, true, out, err);
}

enum cm_rc sh_postgresql_anew(
	const char *state_dir, const struct sh_pg_conf *conf, const struct sh_loss *loss, struct cm_err *err)
{
	struct cm_marker marker;
	struct sh_pg_store *s = NULL;

	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK && !marker.there)
		rc = cm_fail(err, CM_EOTHER, "%s: no shuffler has been in service here: no loss to accept",
			state_dir);
	if (rc == CM_OK)
		rc = make(state_dir, conf, false, loss, &s, err);
	store_close(s);
	return rc;
}

enum cm_rc sh_postgresql_join(const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err)
{
	struct sh_pg_store *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->conf = *conf;
	enum cm_rc rc = sh_pg_start_joined(s, err);
	if (rc != CM_OK) {
		store_close(s);
		return rc;
	}
	*out = (struct sh_store){ .ctx = s,
		.close = store_close,
		.data_join = data_join,
		.data_close = data_close,
		.data_runs = data_runs,
		.data_commit = data_commit,
		.data_tags = data_tags,
		.database = database_joined,
		.data_database = data_database };
	return CM_OK;
}
