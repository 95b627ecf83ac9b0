/* sh_pg_payload.c - stores payloads of rounds in PostgreSQL, in pieces. */
#include "sh_pg_payload.h"

#include <string.h>

enum cm_rc sh_pg_payload_add(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
	const void *bytes, size_t len, struct cm_err *err)
{
	/* This need not be durable yet.  An interrupted transfer may have left pieces above the offset. */
	static const char add[] = "WITH later AS (SELECT set_config('synchronous_commit', 'off', true)),"
				  " gone AS (DELETE FROM tombola.payload WHERE hash=$1 AND at > $2)"
				  " INSERT INTO tombola.payload SELECT $1, $2, $3 FROM later"
				  " ON CONFLICT(hash, at) DO UPDATE SET body=excluded.body";
	const struct sh_pg_value value[] = { sh_pg_bytes(hash, PR_HASH_LEN), sh_pg_int((int64_t)offset),
		sh_pg_bytes(bytes, len) };

	return len > 0 ? sh_pg_query(pg, add, value, 3, NULL, NULL, NULL, err) : CM_OK;
}

enum cm_rc sh_pg_payload_finish(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	const struct sh_pg_value value = sh_pg_bytes(hash, PR_HASH_LEN);

	/* This commit is durable only after the earlier ones are. */
	return sh_pg_query(pg, "INSERT INTO tombola.payload_whole VALUES($1) ON CONFLICT DO NOTHING", &value,
		1, NULL, NULL, NULL, err);
}

struct reading {
	uint8_t *out;
	uint64_t offset, next, end;
};

static enum cm_rc take_piece(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct reading *r = user;
	uint64_t at = (uint64_t)sh_pg_row_int(row, 0);
	struct cr_span body = sh_pg_row_bytes(row, 1);

	if (at > r->next || at + body.len <= r->next)
		return cm_fail(err, CM_ENOINPUT, "database: a piece of a payload is missing");
	const uint8_t *from = (const uint8_t *)body.data + (r->next - at);
	uint64_t n = at + body.len - r->next;
	if (n > r->end - r->next)
		n = r->end - r->next;
	memcpy(r->out + (r->next - r->offset), from, n);
	r->next += n;
	return CM_OK;
}

enum cm_rc sh_pg_payload_read(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err)
{
	const struct sh_pg_value value[] = { sh_pg_bytes(hash, PR_HASH_LEN), sh_pg_int((int64_t)offset),
		sh_pg_int((int64_t)(offset + len)) };
	struct reading r = { out, offset, offset, offset + len };

	enum cm_rc rc = sh_pg_query(pg,
		"SELECT at, body FROM tombola.payload WHERE hash=$1 AND at < $3 AND at + length(body) > $2 ORDER BY at",
		value, 3, take_piece, &r, NULL, err);
	return rc == CM_OK && r.next < r.end ? cm_fail(err, CM_ENOINPUT, "no such payload") : rc;
}

enum cm_rc sh_pg_payload_drop(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	const struct sh_pg_value value = sh_pg_bytes(hash, PR_HASH_LEN);

	return sh_pg_query(pg,
		"WITH whole AS (DELETE FROM tombola.payload_whole WHERE hash=$1)"
		" DELETE FROM tombola.payload WHERE hash=$1",
		&value, 1, NULL, NULL, NULL, err);
}

struct visit {
	sh_payload_fn *fn;
	void *user;
};

static enum cm_rc take_payload(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct visit *v = user;
	struct cr_span hash = sh_pg_row_bytes(row, 0);
	struct sh_payload p = { .bytes = (uint64_t)sh_pg_row_int(row, 1),
		.whole = sh_pg_row_int(row, 2) == 1 };

	if (hash.len != sizeof p.hash)
		return cm_fail(err, CM_EDATA, "database: the hash of a payload is damaged");
	memcpy(p.hash, hash.data, hash.len);
	return v->fn(v->user, &p, err);
}

enum cm_rc sh_pg_payload_each(struct sh_pg *pg, sh_payload_fn *fn, void *user, struct cm_err *err)
{
	struct visit v = { fn, user };

	return sh_pg_query(pg,
		"SELECT hash, max(at + length(body))::int8,"
		" (hash IN (SELECT hash FROM tombola.payload_whole))::int4 FROM tombola.payload GROUP BY hash",
		NULL, 0, take_payload, &v, NULL, err);
}
