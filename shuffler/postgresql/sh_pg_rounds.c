/* sh_pg_rounds.c - stores rounds and witnessed records in PostgreSQL. */
#include <string.h>

#include "sh_pg_state.h"

#define ROW_COLUMNS "id, sequence, state, descriptor, signature, manifest, manifest_signature, charge"

/* ---- Rounds ---- */

struct rows {
	sh_row_fn *fn;
	void *user;
};

enum cm_rc sh_pg_row_put(struct sh_pg *pg, const struct sh_row *row, struct cm_err *err)
{
	/* Inserting a second round with a used sequence number fails; it never replaces the first. */
	static const char put[] =
		"INSERT INTO tombola.round(" ROW_COLUMNS ", sum) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9)"
		" ON CONFLICT(id) DO UPDATE SET state=excluded.state, manifest=excluded.manifest,"
		" manifest_signature=excluded.manifest_signature, charge=excluded.charge, sum=excluded.sum";
	const struct sh_pg_value value[] = {
		sh_pg_bytes(row->round_id, PR_ROUND_ID_LEN),
		sh_pg_int((int64_t)row->sequence),
		sh_pg_int(row->state),
		sh_pg_bytes(row->descriptor.data, row->descriptor.len),
		sh_pg_bytes(row->signature.data, row->signature.len),
		sh_pg_bytes(row->manifest.data, row->manifest.len),
		sh_pg_bytes(row->manifest_signature.data, row->manifest_signature.len),
		sh_pg_bytes(row->charge.data, row->charge.len),
	};

	return sh_pg_put(pg, put, value, sizeof value / sizeof value[0], err);
}

static enum cm_rc take_row(void *user, const struct sh_pg_row *r, struct cm_err *err)
{
	const struct rows *rows = user;
	struct cr_span id = sh_pg_row_bytes(r, 0);
	int64_t state = sh_pg_row_int(r, 2);

	if (!sh_pg_row_whole(r) || id.len != PR_ROUND_ID_LEN || state < SH_COLLECTING || state > SH_VOID)
		return cm_fail(err, CM_EDATA, "database: a round's row is damaged");
	struct sh_row row = { .sequence = (uint64_t)sh_pg_row_int(r, 1),
		.state = (enum sh_state)state,
		.descriptor = sh_pg_row_bytes(r, 3),
		.signature = sh_pg_row_bytes(r, 4),
		.manifest = sh_pg_row_bytes(r, 5),
		.manifest_signature = sh_pg_row_bytes(r, 6),
		.charge = sh_pg_row_bytes(r, 7) };
	memcpy(row.round_id, id.data, id.len);
	return rows->fn(rows->user, &row, err);
}

enum cm_rc sh_pg_row_get(struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user,
	struct cm_err *err)
{
	const struct sh_pg_value id = sh_pg_bytes(round_id, PR_ROUND_ID_LEN);
	struct rows rows = { fn, user };
	size_t n = 0;

	enum cm_rc rc = sh_pg_query(pg, "SELECT " ROW_COLUMNS ", sum FROM tombola.round WHERE id=$1", &id, 1,
		take_row, &rows, &n, err);
	return rc == CM_OK && n == 0 ? cm_fail(err, CM_ENOINPUT, "no such round") : rc;
}

enum cm_rc sh_pg_row_each(struct sh_pg *pg, sh_row_fn *fn, void *user, struct cm_err *err)
{
	struct rows rows = { fn, user };

	return sh_pg_query(pg, "SELECT " ROW_COLUMNS ", sum FROM tombola.round ORDER BY sequence", NULL, 0,
		take_row, &rows, NULL, err);
}

/* ---- Records ---- */

struct records {
	sh_record_fn *fn;
	void *user;
	int64_t expect;
};

enum cm_rc sh_pg_records_put(
	struct sh_pg *pg, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_begin(pg, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++, first++) {
		const struct sh_pg_value value[] = { sh_pg_int((int64_t)first),
			sh_pg_bytes(records[i].data, records[i].len) };
		rc = sh_pg_put(pg, "INSERT INTO tombola.record VALUES($1,$2,$3)", value, 2, err);
	}
	return sh_pg_end(pg, rc, err);
}

static enum cm_rc take_record(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct records *r = user;
	struct cr_span body = sh_pg_row_bytes(row, 1);

	if (sh_pg_row_int(row, 0) != r->expect++)
		return cm_fail(err, CM_EDATA, "database: a witnessed ledger record is missing");
	if (!sh_pg_row_whole(row))
		return cm_fail(err, CM_EDATA, "database: a witnessed ledger record is damaged");
	return r->fn(r->user, body.data, body.len, err);
}

enum cm_rc sh_pg_record_get(struct sh_pg *pg, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err)
{
	const struct sh_pg_value value = sh_pg_int((int64_t)seq);
	struct records r = { fn, user, (int64_t)seq };
	size_t n = 0;

	enum cm_rc rc = sh_pg_query(pg, "SELECT seq, body, sum FROM tombola.record WHERE seq=$1", &value, 1,
		take_record, &r, &n, err);
	return rc == CM_OK && n == 0 ? cm_fail(err, CM_ENOINPUT, "no such record") : rc;
}

enum cm_rc sh_pg_record_each(struct sh_pg *pg, sh_record_fn *fn, void *user, struct cm_err *err)
{
	struct records r = { fn, user, 1 };

	return sh_pg_stream(
		pg, "SELECT seq, body, sum FROM tombola.record ORDER BY seq", NULL, 0, take_record, &r, err);
}
