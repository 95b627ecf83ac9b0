/* sh_sqlite_ledger.c - stores witnessed records, pins, standings, heads and the accepted loss in state.db. */
#include "sh_sqlite_ledger.h"

#include <string.h>

#include "db_sqlite.h"

#define RECORD_SUM   "row_sum(seq, body)"
#define PIN_SUM      "row_sum(record, state, epsilon, taken)"
#define HEAD_SUM     "row_sum(name, devices, seq, before, descriptor)"
#define STANDING_SUM "row_sum(name, sequence, descriptor)"

#define KEPT(s) offsetof(struct sh_sqlite_ledger, s)

static const struct db_statement statements[] = {
	{ KEPT(put_record), "INSERT INTO record(seq, body, sum) VALUES(?1,?2,row_sum(?1,?2))" },
	{ KEPT(all_records), "SELECT seq, body, sum=" RECORD_SUM " FROM record ORDER BY seq" },
	{ KEPT(get_record), "SELECT seq, body, sum=" RECORD_SUM " FROM record WHERE seq=?" },
	{ KEPT(put_pin), "INSERT INTO pin(record, state, epsilon, taken, sum) "
			 "VALUES(?1,?2,?3,?4,row_sum(?1,?2,?3,?4))" },
	{ KEPT(all_pins), "SELECT record, state, epsilon, taken, sum=" PIN_SUM " FROM pin ORDER BY record" },
	{ KEPT(put_standing),
		"INSERT INTO standing(name, sequence, descriptor, sum) "
		"VALUES(?1,?2,?3,row_sum(?1,?2,?3))"
		" ON CONFLICT(name) DO UPDATE SET sequence=excluded.sequence, "
		"descriptor=excluded.descriptor, sum=excluded.sum WHERE standing.sequence<=excluded.sequence" },
	{ KEPT(get_standing),
		"SELECT sequence, descriptor, sum=" STANDING_SUM " FROM standing WHERE name=?" },
	{ KEPT(put_head), "INSERT OR REPLACE INTO head(name, devices, seq, before, descriptor, sum)"
			  " VALUES(?1,?2,?3,?4,?5,row_sum(?1,?2,?3,?4,?5))" },
	{ KEPT(all_heads), "SELECT name, devices, seq, before, descriptor, sum=" HEAD_SUM " FROM head" },
};
#define STATEMENTS (sizeof statements / sizeof *statements)

enum cm_rc sh_sqlite_ledger_init(struct sh_sqlite_ledger *p, sqlite3 *db, struct cm_err *err)
{
	*p = (struct sh_sqlite_ledger){ .db = db };
	return db_prepare_all(db, statements, STATEMENTS, p, err);
}

void sh_sqlite_ledger_fini(struct sh_sqlite_ledger *p)
{
	db_finalize_all(statements, STATEMENTS, p);
}

/* ---- Records ---- */

enum cm_rc sh_sqlite_records_put(struct sh_sqlite_ledger *p, uint64_t first, const struct cr_span *records,
	size_t n, struct cm_err *err)
{
	enum cm_rc rc = db_begin(p->db, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++, first++) {
		(void)sqlite3_bind_int64(p->put_record, 1, (sqlite3_int64)first);
		db_bind(p->put_record, 2, records[i].data, records[i].len);
		rc = db_done(p->put_record, err);
	}
	return db_end(p->db, rc, err);
}

static enum cm_rc take_record(sqlite3_stmt *s, sh_record_fn *fn, void *user, struct cm_err *err)
{
	struct cr_span body = db_blob(s, 1);

	if (sqlite3_column_int(s, 2) != 1)
		return cm_fail(err, CM_EDATA, "state.db: a witnessed ledger record is damaged");
	return fn(user, body.data, body.len, err);
}

enum cm_rc sh_sqlite_record_get(
	struct sh_sqlite_ledger *p, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err)
{
	(void)sqlite3_bind_int64(p->get_record, 1, (sqlite3_int64)seq);
	enum cm_rc rc = CM_OK;
	if (db_row(p->get_record, &rc, err))
		rc = take_record(p->get_record, fn, user, err);
	else if (rc == CM_OK)
		rc = cm_fail(err, CM_ENOINPUT, "no such record");
	(void)sqlite3_reset(p->get_record);
	return rc;
}

enum cm_rc sh_sqlite_record_each(struct sh_sqlite_ledger *p, sh_record_fn *fn, void *user, struct cm_err *err)
{
	sqlite3_int64 expect = 1;
	enum cm_rc rc = CM_OK;

	while (db_row(p->all_records, &rc, err))
		rc = sqlite3_column_int64(p->all_records, 0) == expect++
			     ? take_record(p->all_records, fn, user, err)
			     : cm_fail(err, CM_EDATA, "state.db: a witnessed ledger record is missing");
	(void)sqlite3_reset(p->all_records);
	return rc;
}

/* ---- Pins ---- */

enum cm_rc sh_sqlite_pin_put(struct sh_sqlite_ledger *p, const struct sh_pin_row *pin, struct cm_err *err)
{
	/* Doubles are stored as bytes, so that they are restored to the last bit, infinity included. */
	(void)sqlite3_bind_int64(p->put_pin, 1, (sqlite3_int64)pin->record);
	(void)sqlite3_bind_int64(p->put_pin, 2, pin->state);
	db_bind(p->put_pin, 3, &pin->epsilon, sizeof pin->epsilon);
	db_bind(p->put_pin, 4, pin->taken.data, pin->taken.len);
	return db_done(p->put_pin, err);
}

static enum cm_rc pin_read(sqlite3_stmt *s, struct sh_pin_row *pin, struct cm_err *err)
{
	struct cr_span epsilon = db_blob(s, 2);

	if (sqlite3_column_int(s, 4) != 1 || epsilon.len != sizeof pin->epsilon)
		return cm_fail(err, CM_EDATA, "state.db: a plan's pin is damaged");
	*pin = (struct sh_pin_row){ .record = (uint64_t)sqlite3_column_int64(s, 0),
		.state = sqlite3_column_int(s, 1),
		.taken = db_blob(s, 3) };
	memcpy(&pin->epsilon, epsilon.data, epsilon.len);
	return CM_OK;
}

enum cm_rc sh_sqlite_pin_each(struct sh_sqlite_ledger *p, sh_pin_fn *fn, void *user, struct cm_err *err)
{
	struct sh_pin_row pin;
	enum cm_rc rc = CM_OK;

	while (db_row(p->all_pins, &rc, err)) {
		rc = pin_read(p->all_pins, &pin, err);
		if (rc == CM_OK)
			rc = fn(user, &pin, err);
	}
	(void)sqlite3_reset(p->all_pins);
	return rc;
}

/* ---- After a loss ---- */

/* Row 1: the record up to which plans are closed.  Row 2: whether more clients must state the ledger's
 * length. */
static enum cm_rc insert_loss(sqlite3 *db, int id, uint64_t value, struct cm_err *err)
{
	return db_change(db, "INSERT INTO closed(id, record, sum) VALUES(?1, ?2, row_sum(?1, ?2))", err,
		DB_INT(id), DB_INT(value));
}

enum cm_rc sh_sqlite_loss(sqlite3 *db, const struct sh_loss *loss, struct cm_err *err)
{
	enum cm_rc rc = db_run(db, "DELETE FROM closed", err);

	if (rc == CM_OK && loss->closed_to > 0)
		rc = insert_loss(db, 1, loss->closed_to, err);
	if (rc == CM_OK && loss->waits)
		rc = insert_loss(db, 2, 1, err);
	return rc;
}

enum cm_rc sh_sqlite_loss_put(struct sh_sqlite_ledger *p, const struct sh_loss *loss, struct cm_err *err)
{
	enum cm_rc rc = db_begin(p->db, err);

	if (rc == CM_OK)
		rc = sh_sqlite_loss(p->db, loss, err);
	return db_end(p->db, rc, err);
}

enum cm_rc sh_sqlite_loss_get(struct sh_sqlite_ledger *p, struct sh_loss *loss, struct cm_err *err)
{
	sqlite3_stmt *s = NULL;
	enum cm_rc rc = db_prepare(p->db, "SELECT id, record, sum=row_sum(id, record) FROM closed", &s, err);

	*loss = (struct sh_loss){ .closed_to = 0 };
	while (db_row(s, &rc, err)) {
		int64_t id = sqlite3_column_int64(s, 0), record = sqlite3_column_int64(s, 1);
		if (sqlite3_column_int(s, 2) != 1 || record < 1 || id < 1 || id > 2)
			rc = cm_fail(err, CM_EDATA, "state.db: what a loss has closed is damaged");
		else if (id == 1)
			loss->closed_to = (uint64_t)record;
		else
			loss->waits = true;
	}
	(void)sqlite3_finalize(s);
	return rc;
}

/* ---- Heads ---- */

enum cm_rc sh_sqlite_head_put(struct sh_sqlite_ledger *p, const struct sh_head_row *head, struct cm_err *err)
{
	db_bind(p->put_head, 1, head->name, PR_HASH_LEN);
	(void)sqlite3_bind_int64(p->put_head, 2, head->devices);
	(void)sqlite3_bind_int64(p->put_head, 3, (sqlite3_int64)head->seq);
	db_bind(p->put_head, 4, head->before, PR_HASH_LEN);
	db_bind(p->put_head, 5, head->descriptor_hash, PR_HASH_LEN);
	return db_done(p->put_head, err);
}

static enum cm_rc head_read(sqlite3_stmt *s, struct sh_head_row *head, struct cm_err *err)
{
	struct cr_span name = db_blob(s, 0), before = db_blob(s, 3), descriptor = db_blob(s, 4);
	int64_t devices = sqlite3_column_int64(s, 1), seq = sqlite3_column_int64(s, 2);

	if (sqlite3_column_int(s, 5) != 1 || name.len != PR_HASH_LEN || before.len != PR_HASH_LEN ||
		descriptor.len != PR_HASH_LEN || devices < 0 || devices > UINT32_MAX || seq < 1)
		return cm_fail(err, CM_EDATA, "state.db: the head that a client stated is damaged");
	*head = (struct sh_head_row){ .devices = (uint32_t)devices, .seq = (uint64_t)seq };
	memcpy(head->name, name.data, PR_HASH_LEN);
	memcpy(head->before, before.data, PR_HASH_LEN);
	memcpy(head->descriptor_hash, descriptor.data, PR_HASH_LEN);
	return CM_OK;
}

enum cm_rc sh_sqlite_head_each(struct sh_sqlite_ledger *p, sh_head_fn *fn, void *user, struct cm_err *err)
{
	struct sh_head_row head;
	enum cm_rc rc = CM_OK;

	while (db_row(p->all_heads, &rc, err)) {
		rc = head_read(p->all_heads, &head, err);
		if (rc == CM_OK)
			rc = fn(user, &head, err);
	}
	(void)sqlite3_reset(p->all_heads);
	return rc;
}

/* ---- Standings ---- */

/* The column `descriptor` has the descriptor's hash, and then the client's MAC; a version before MACs wrote
 * only the hash. */
enum cm_rc sh_sqlite_standings_put(
	struct sh_sqlite_ledger *p, const struct sh_standing *standing, size_t n, struct cm_err *err)
{
	uint8_t both[PR_HASH_LEN + PR_MAC_LEN];
	enum cm_rc rc = db_begin(p->db, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		memcpy(both, standing[i].descriptor_hash, PR_HASH_LEN);
		memcpy(both + PR_HASH_LEN, standing[i].mac, PR_MAC_LEN);
		db_bind(p->put_standing, 1, standing[i].name, PR_HASH_LEN);
		(void)sqlite3_bind_int64(p->put_standing, 2, (sqlite3_int64)standing[i].sequence);
		db_bind(p->put_standing, 3, both, sizeof both);
		rc = db_done(p->put_standing, err);
	}
	return db_end(p->db, rc, err);
}

enum cm_rc sh_sqlite_standing_get(struct sh_sqlite_ledger *p, const uint8_t name[PR_HASH_LEN],
	struct sh_standing *out, struct cm_err *err)
{
	*out = (struct sh_standing){ .sequence = 0 };
	db_bind(p->get_standing, 1, name, PR_HASH_LEN);
	enum cm_rc rc = CM_OK;
	if (db_row(p->get_standing, &rc, err)) {
		struct cr_span hash = db_blob(p->get_standing, 1);
		if (sqlite3_column_int(p->get_standing, 2) != 1 ||
			(hash.len != PR_HASH_LEN && hash.len != PR_HASH_LEN + PR_MAC_LEN)) {
			rc = cm_fail(err, CM_EDATA, "state.db: a certificate's standing is damaged");
		} else {
			out->sequence = (uint64_t)sqlite3_column_int64(p->get_standing, 0);
			memcpy(out->name, name, PR_HASH_LEN);
			memcpy(out->descriptor_hash, hash.data, PR_HASH_LEN);
			memcpy(out->mac, (const uint8_t *)hash.data + PR_HASH_LEN, hash.len - PR_HASH_LEN);
		}
	}
	(void)sqlite3_reset(p->get_standing);
	(void)sqlite3_clear_bindings(p->get_standing);
	return rc;
}
