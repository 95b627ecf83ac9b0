/* sh_pg_state.c - stores rounds, records, pins, heads, standings and the accepted loss in PostgreSQL. */
#include "sh_pg_state.h"

#include <stdlib.h>
#include <string.h>

#define ROW_COLUMNS "id, sequence, state, descriptor, signature, manifest, manifest_signature, charge"

/* ---- Pins ---- */

struct pins {
	sh_pin_fn *fn;
	void *user;
};

enum cm_rc sh_pg_pin_put(struct sh_pg *pg, const struct sh_pin_row *pin, struct cm_err *err)
{
	/* Doubles are stored as bytes, so that they are restored to the last bit, infinity included. */
	const struct sh_pg_value value[] = { sh_pg_int((int64_t)pin->record), sh_pg_int(pin->state),
		sh_pg_bytes(&pin->epsilon, sizeof pin->epsilon),
		sh_pg_bytes(pin->taken.data, pin->taken.len) };

	return sh_pg_put(pg, "INSERT INTO tombola.pin VALUES($1,$2,$3,$4,$5)", value, 4, err);
}

static enum cm_rc take_pin(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct pins *pins = user;
	struct cr_span epsilon = sh_pg_row_bytes(row, 2);

	if (!sh_pg_row_whole(row) || epsilon.len != sizeof(double))
		return cm_fail(err, CM_EDATA, "database: the pin of a plan is damaged");
	struct sh_pin_row pin = { .record = (uint64_t)sh_pg_row_int(row, 0),
		.state = (int)sh_pg_row_int(row, 1),
		.taken = sh_pg_row_bytes(row, 3) };
	memcpy(&pin.epsilon, epsilon.data, epsilon.len);
	return pins->fn(pins->user, &pin, err);
}

enum cm_rc sh_pg_pin_each(struct sh_pg *pg, sh_pin_fn *fn, void *user, struct cm_err *err)
{
	struct pins pins = { fn, user };

	return sh_pg_query(pg, "SELECT record, state, epsilon, taken, sum FROM tombola.pin ORDER BY record",
		NULL, 0, take_pin, &pins, NULL, err);
}

/* ---- After a loss ---- */

/* Row 1: the record up to which plans are closed.  Row 2: whether more clients must state the ledger's
 * length. */
static enum cm_rc insert_loss(struct sh_pg *pg, int id, uint64_t value, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_int(id), sh_pg_int((int64_t)value) };

	return sh_pg_put(pg, "INSERT INTO tombola.closed VALUES($1,$2,$3)", row, 2, err);
}

enum cm_rc sh_pg_loss(struct sh_pg *pg, const struct sh_loss *loss, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_run(pg, "DELETE FROM tombola.closed", err);

	if (rc == CM_OK && loss->closed_to > 0)
		rc = insert_loss(pg, 1, loss->closed_to, err);
	if (rc == CM_OK && loss->waits)
		rc = insert_loss(pg, 2, 1, err);
	return rc;
}

static enum cm_rc take_loss(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct sh_loss *loss = user;
	int64_t id = sh_pg_row_int(row, 0), record = sh_pg_row_int(row, 1);

	if (!sh_pg_row_whole(row) || record < 1 || id < 1 || id > 2)
		return cm_fail(err, CM_EDATA, "database: what a loss has closed is damaged");
	if (id == 1)
		loss->closed_to = (uint64_t)record;
	else
		loss->waits = true;
	return CM_OK;
}

enum cm_rc sh_pg_loss_get(struct sh_pg *pg, struct sh_loss *loss, struct cm_err *err)
{
	*loss = (struct sh_loss){ .closed_to = 0 };
	return sh_pg_query(
		pg, "SELECT id, record, sum FROM tombola.closed", NULL, 0, take_loss, loss, NULL, err);
}

/* ---- Heads ---- */

struct heads {
	sh_head_fn *fn;
	void *user;
};

enum cm_rc sh_pg_head_put(struct sh_pg *pg, const struct sh_head_row *head, struct cm_err *err)
{
	const struct sh_pg_value value[] = { sh_pg_bytes(head->name, PR_HASH_LEN), sh_pg_int(head->devices),
		sh_pg_int((int64_t)head->seq), sh_pg_bytes(head->before, PR_HASH_LEN),
		sh_pg_bytes(head->descriptor_hash, PR_HASH_LEN) };

	return sh_pg_put(pg,
		"INSERT INTO tombola.head VALUES($1,$2,$3,$4,$5,$6) ON CONFLICT(name) DO UPDATE SET"
		" devices=excluded.devices, seq=excluded.seq, before=excluded.before,"
		" descriptor=excluded.descriptor, sum=excluded.sum",
		value, 5, err);
}

static enum cm_rc take_head(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct heads *heads = user;
	struct cr_span name = sh_pg_row_bytes(row, 0), before = sh_pg_row_bytes(row, 3),
		       descriptor = sh_pg_row_bytes(row, 4);
	int64_t devices = sh_pg_row_int(row, 1), seq = sh_pg_row_int(row, 2);

	if (!sh_pg_row_whole(row) || name.len != PR_HASH_LEN || before.len != PR_HASH_LEN ||
		descriptor.len != PR_HASH_LEN || devices < 0 || devices > UINT32_MAX || seq < 1)
		return cm_fail(err, CM_EDATA, "database: the head that a client stated is damaged");
	struct sh_head_row head = { .devices = (uint32_t)devices, .seq = (uint64_t)seq };
	memcpy(head.name, name.data, PR_HASH_LEN);
	memcpy(head.before, before.data, PR_HASH_LEN);
	memcpy(head.descriptor_hash, descriptor.data, PR_HASH_LEN);
	return heads->fn(heads->user, &head, err);
}

enum cm_rc sh_pg_head_each(struct sh_pg *pg, sh_head_fn *fn, void *user, struct cm_err *err)
{
	struct heads heads = { fn, user };

	return sh_pg_query(pg, "SELECT name, devices, seq, before, descriptor, sum FROM tombola.head", NULL,
		0, take_head, &heads, NULL, err);
}

/* ---- Standings ---- */

/* The column `descriptor` has the descriptor's hash, and then the client's MAC; a version before MACs wrote
 * only the hash. */
#define STOOD_LEN (PR_HASH_LEN + PR_MAC_LEN)

/* One statement for all: names, the column's values, and sums.  An intake may name a certificate twice. */
static enum cm_rc put_all(
	struct sh_pg *pg, const struct sh_standing *standing, size_t n, uint8_t *bytes, struct cm_err *err)
{
	static const char put[] =
		"INSERT INTO tombola.standing AS o SELECT DISTINCT ON (1) substr($1, (i * 32 + 1)::int4, 32), $2,"
		" substr($3, (i * 64 + 1)::int4, 64), substr($4, (i * 32 + 1)::int4, 32)"
		" FROM generate_series(0, $5 - 1) i ORDER BY 1"
		" ON CONFLICT(name) DO UPDATE SET sequence=excluded.sequence, descriptor=excluded.descriptor,"
		" sum=excluded.sum WHERE o.sequence <= excluded.sequence";
	uint8_t *names = bytes, *stood = names + n * PR_HASH_LEN, *sums = stood + n * STOOD_LEN;
	const struct sh_pg_value sequence = sh_pg_int((int64_t)standing->sequence);

	for (size_t i = 0; i < n; i++) {
		uint8_t *name = names + i * PR_HASH_LEN, *both = stood + i * STOOD_LEN;
		memcpy(name, standing[i].name, PR_HASH_LEN);
		memcpy(both, standing[i].descriptor_hash, PR_HASH_LEN);
		memcpy(both + PR_HASH_LEN, standing[i].mac, PR_MAC_LEN);
		const struct sh_pg_value row[] = { sh_pg_bytes(name, PR_HASH_LEN), sequence,
			sh_pg_bytes(both, STOOD_LEN) };
		sh_pg_sum(row, 3, sums + i * CR_HASH_LEN);
	}
	const struct sh_pg_value all[] = { sh_pg_bytes(names, n * PR_HASH_LEN), sequence,
		sh_pg_bytes(stood, n * STOOD_LEN), sh_pg_bytes(sums, n * CR_HASH_LEN),
		sh_pg_int((int64_t)n) };
	enum cm_rc rc = sh_pg_query(pg, put, all, 5, NULL, NULL, NULL, err);
	return rc == CM_OK ? sh_pg_keeps(pg, err) : rc;
}

enum cm_rc sh_pg_standings_put(
	struct sh_pg *pg, const struct sh_standing *standing, size_t n, struct cm_err *err)
{
	uint8_t *bytes = n > 0 ? malloc(n * (PR_HASH_LEN + STOOD_LEN + CR_HASH_LEN)) : NULL;

	if (n > 0 && !bytes)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = n > 0 ? put_all(pg, standing, n, bytes, err) : CM_OK;
	free(bytes);
	return rc;
}

static enum cm_rc take_standing(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct sh_standing *out = user;
	struct cr_span name = sh_pg_row_bytes(row, 0), hash = sh_pg_row_bytes(row, 2);

	if (!sh_pg_row_whole(row) || name.len != PR_HASH_LEN ||
		(hash.len != PR_HASH_LEN && hash.len != STOOD_LEN))
		return cm_fail(err, CM_EDATA, "database: a certificate's standing is damaged");
	out->sequence = (uint64_t)sh_pg_row_int(row, 1);
	memcpy(out->name, name.data, PR_HASH_LEN);
	memcpy(out->descriptor_hash, hash.data, PR_HASH_LEN);
	memcpy(out->mac, (const uint8_t *)hash.data + PR_HASH_LEN, hash.len - PR_HASH_LEN);
	return CM_OK;
}

enum cm_rc sh_pg_standing_get(
	struct sh_pg *pg, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err)
{
	const struct sh_pg_value key = sh_pg_bytes(name, PR_HASH_LEN);

	*out = (struct sh_standing){ .sequence = 0 };
	return sh_pg_query(pg, "SELECT name, sequence, descriptor, sum FROM tombola.standing WHERE name=$1",
		&key, 1, take_standing, out, NULL, err);
}

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
