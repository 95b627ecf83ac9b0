/* sh_sqlite_ledger.c - stores witnessed records, pins, standings, heads and the accepted loss in state.db. */
#include "sh_sqlite_ledger.h"

#include <string.h>

#include "db_sqlite.h"

#define RECORD_SUM   "row_sum(seq, body)"
#define PIN_SUM      "row_sum(record, state, epsilon, taken)"
#define HEAD_SUM     "row_sum(name, devices, seq, before, descriptor)"
#define STANDING_SUM "row_sum(name, sequence, descriptor)"

enum cm_rc sh_sqlite_ledger_init(struct sh_sqlite_ledger *p, sqlite3 *db, struct cm_err *err)
{
	*p = (struct sh_sqlite_ledger){ .db = db };
	enum cm_rc rc = db_prepare(
		db, "INSERT INTO record(seq, body, sum) VALUES(?1,?2,row_sum(?1,?2))", &p->put_record, err);
	if (rc == CM_OK)
		rc = db_prepare(db, "SELECT seq, body, sum=" RECORD_SUM " FROM record ORDER BY seq",
			&p->all_records, err);
	if (rc == CM_OK)
		rc = db_prepare(db, "SELECT seq, body, sum=" RECORD_SUM " FROM record WHERE seq=?",
			&p->get_record, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"INSERT INTO pin(record, state, epsilon, taken, sum) "
			"VALUES(?1,?2,?3,?4,row_sum(?1,?2,?3,?4))",
			&p->put_pin, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"SELECT record, state, epsilon, taken, sum=" PIN_SUM " FROM pin ORDER BY record",
			&p->all_pins, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"INSERT INTO standing(name, sequence, descriptor, sum) "
			"VALUES(?1,?2,?3,row_sum(?1,?2,?3))"
			" ON CONFLICT(name) DO UPDATE SET sequence=excluded.sequence, "
			"descriptor=excluded.descriptor, sum=excluded.sum WHERE standing.sequence<=excluded.sequence",
			&p->put_standing, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"SELECT sequence, descriptor, sum=" STANDING_SUM " FROM standing WHERE name=?",
			&p->get_standing, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"INSERT OR REPLACE INTO head(name, devices, seq, before, descriptor, sum)"
			" VALUES(?1,?2,?3,?4,?5,row_sum(?1,?2,?3,?4,?5))",
			&p->put_head, err);
	if (rc == CM_OK)
		rc = db_prepare(db,
			"SELECT name, devices, seq, before, descriptor, sum=" HEAD_SUM " FROM head",
			&p->all_heads, err);
	return rc;
}

void sh_sqlite_ledger_fini(struct sh_sqlite_ledger *p)
{
	(void)sqlite3_finalize(p->put_record);
	(void)sqlite3_finalize(p->get_record);
	(void)sqlite3_finalize(p->all_records);
	(void)sqlite3_finalize(p->put_pin);
	(void)sqlite3_finalize(p->all_pins);
	(void)sqlite3_finalize(p->put_standing);
	(void)sqlite3_finalize(p->get_standing);
	(void)sqlite3_finalize(p->put_head);
	(void)sqlite3_finalize(p->all_heads);
	*p = (struct sh_sqlite_ledger){ .db = NULL };
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
	enum cm_rc rc = db_step(p->get_record, err);
	if (rc == CM_OK)
		rc = take_record(p->get_record, fn, user, err);
	else if (rc == CM_EMORE)
		rc = cm_fail(err, CM_ENOINPUT, "no such record");
	(void)sqlite3_reset(p->get_record);
	return rc;
}

enum cm_rc sh_sqlite_record_each(struct sh_sqlite_ledger *p, sh_record_fn *fn, void *user, struct cm_err *err)
{
	sqlite3_int64 expect = 1;
	enum cm_rc rc;

	while ((rc = db_step(p->all_records, err)) == CM_OK) {
		if (sqlite3_column_int64(p->all_records, 0) != expect++)
			rc = cm_fail(err, CM_EDATA, "state.db: a witnessed ledger record is missing");
		else
			rc = take_record(p->all_records, fn, user, err);
		if (rc != CM_OK)
			break;
	}
	(void)sqlite3_reset(p->all_records);
	return rc == CM_EMORE ? CM_OK : rc;
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
	enum cm_rc rc;

	while ((rc = db_step(p->all_pins, err)) == CM_OK) {
		rc = pin_read(p->all_pins, &pin, err);
		if (rc == CM_OK)
			rc = fn(user, &pin, err);
		if (rc != CM_OK)
			break;
	}
	(void)sqlite3_reset(p->all_pins);
	return rc == CM_EMORE ? CM_OK : rc;
}

/* ---- After a loss ---- */

/* Row 1: the record up to which plans are closed.  Row 2: whether more clients must state the ledger's
 * length. */
static enum cm_rc insert_loss(sqlite3 *db, int id, uint64_t value, struct cm_err *err)
{
	sqlite3_stmt *s;
	enum cm_rc rc = db_prepare(
		db, "INSERT INTO closed(id, record, sum) VALUES(?1, ?2, row_sum(?1, ?2))", &s, err);

	if (rc != CM_OK)
		return rc;
	(void)sqlite3_bind_int(s, 1, id);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)value);
	rc = db_done(s, err);
	(void)sqlite3_finalize(s);
	return rc;
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
	sqlite3_stmt *s;
	enum cm_rc rc = db_prepare(p->db, "SELECT id, record, sum=row_sum(id, record) FROM closed", &s, err);

	*loss = (struct sh_loss){ .closed_to = 0 };
	if (rc != CM_OK)
		return rc;
	while ((rc = db_step(s, err)) == CM_OK) {
		int64_t id = sqlite3_column_int64(s, 0), record = sqlite3_column_int64(s, 1);
		if (sqlite3_column_int(s, 2) != 1 || record < 1 || id < 1 || id > 2) {
			rc = cm_fail(err, CM_EDATA, "state.db: what a loss has closed is damaged");
			break;
		}
		if (id == 1)
			loss->closed_to = (uint64_t)record;
		else
			loss->waits = true;
	}
	(void)sqlite3_finalize(s);
	return rc == CM_EMORE ? CM_OK : rc;
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
	enum cm_rc rc;

	while ((rc = db_step(p->all_heads, err)) == CM_OK) {
		rc = head_read(p->all_heads, &head, err);
		if (rc == CM_OK)
			rc = fn(user, &head, err);
		if (rc != CM_OK)
			break;
	}
	(void)sqlite3_reset(p->all_heads);
	return rc == CM_EMORE ? CM_OK : rc;
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
	enum cm_rc rc = db_step(p->get_standing, err);
	struct cr_span hash = rc == CM_OK ? db_blob(p->get_standing, 1) : (struct cr_span){ NULL, 0 };
	if (rc == CM_OK && (sqlite3_column_int(p->get_standing, 2) != 1 ||
				   (hash.len != PR_HASH_LEN && hash.len != PR_HASH_LEN + PR_MAC_LEN)))
		rc = cm_fail(err, CM_EDATA, "state.db: a certificate's standing is damaged");
	if (rc == CM_OK) {
		out->sequence = (uint64_t)sqlite3_column_int64(p->get_standing, 0);
		memcpy(out->name, name, PR_HASH_LEN);
		memcpy(out->descriptor_hash, hash.data, PR_HASH_LEN);
		memcpy(out->mac, (const uint8_t *)hash.data + PR_HASH_LEN, hash.len - PR_HASH_LEN);
	}
	(void)sqlite3_reset(p->get_standing);
	(void)sqlite3_clear_bindings(p->get_standing);
	return rc == CM_EMORE ? CM_OK : rc;
}
