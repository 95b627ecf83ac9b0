/* cl_schema.c - creates and recognises the tables of the client's database. */
#include "cl_schema.h"

#include <stdio.h>

#include "cl_standing.h"

#define APPLICATION 0x746f6d63 /* "tomc" in ASCII */

/* Triggers that refuse to change or delete rows, for tables that are kept for the population's life. */
#define APPEND_ONLY(table)                                        \
	"CREATE TRIGGER " table "_update BEFORE UPDATE ON " table \
	" BEGIN SELECT RAISE(ABORT, 'append-only'); END;"         \
	"CREATE TRIGGER " table "_delete BEFORE DELETE ON " table \
	" BEGIN SELECT RAISE(ABORT, 'append-only'); END;"

/* `seal` is a checksum of the fields that say to which try of which entry a charge belongs. */
#define LEDGER                                                                                     \
	"CREATE TABLE ledger(entry INTEGER PRIMARY KEY,"                                           \
	" kind TEXT NOT NULL CHECK(kind IN ('seen', 'refused', 'charged', 'over')),"               \
	" time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL, descriptor_hash BLOB NOT NULL,"     \
	" round_id BLOB NOT NULL, query TEXT NOT NULL, ledger_seq INTEGER NOT NULL,"               \
	" ledger_head BLOB NOT NULL, plan_hash BLOB NOT NULL, plan_entry INTEGER NOT NULL,"        \
	" attempt INTEGER NOT NULL, loss TEXT, epsilon_round REAL, epsilon_total REAL, note TEXT," \
	" seal BLOB) STRICT;"                                                                      \
	"CREATE UNIQUE INDEX one_descriptor ON ledger(sequence) WHERE kind = 'seen';"              \
	"CREATE UNIQUE INDEX one_charge ON ledger(sequence) WHERE kind = 'charged';" APPEND_ONLY("ledger")

/* Signed documents.  At most two descriptors per sequence number are kept: two prove that the analyzer signed
 * both. */
#define EVIDENCE                                                                                    \
	"CREATE TABLE descriptor(hash BLOB PRIMARY KEY, sequence INTEGER NOT NULL,"                 \
	" bytes BLOB NOT NULL, signature BLOB NOT NULL) STRICT;"                                    \
	"CREATE INDEX of_sequence ON descriptor(sequence);"                                         \
	"CREATE TABLE manifest(round_id BLOB PRIMARY KEY, bytes BLOB NOT NULL,"                     \
	" signature BLOB NOT NULL, hash BLOB NOT NULL, time_ms INTEGER NOT NULL) STRICT;"           \
	"CREATE TABLE plan(hash BLOB PRIMARY KEY, number INTEGER NOT NULL, previous BLOB NOT NULL," \
	" bytes BLOB NOT NULL, signature BLOB NOT NULL, fault TEXT, time_ms INTEGER NOT NULL) "     \
	"STRICT;" APPEND_ONLY("descriptor") APPEND_ONLY("manifest") APPEND_ONLY("plan")

/* `seal` is a checksum of the other columns of the row.  A loss without accepted_plans is a report that the
 * shuffler knows and this ledger lacks; accepted_plans is the number up to which an operator closed all
 * plans. */
#define PINS                                                                                      \
	"CREATE TABLE pin(plan_hash BLOB PRIMARY KEY, number INTEGER NOT NULL,"                   \
	" entries INTEGER NOT NULL, taken BLOB NOT NULL, epsilon REAL NOT NULL,"                  \
	" slice_epsilon REAL NOT NULL, slice_delta REAL NOT NULL, honest_fraction REAL NOT NULL," \
	" colluders INTEGER NOT NULL, trusted INTEGER NOT NULL, adaptive INTEGER NOT NULL,"       \
	" time_ms INTEGER NOT NULL, seal BLOB NOT NULL) STRICT;"                                  \
	"CREATE TABLE loss(entry INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,"                  \
	" sequence INTEGER NOT NULL, descriptor_hash BLOB NOT NULL, accepted_plans INTEGER)"      \
	" STRICT;" APPEND_ONLY("pin") APPEND_ONLY("loss")

/* The openings of watched messages, and the results of requesting proofs by round.  While a round is open its
 * descriptor is stored, and it may have rows in `watched`. */
#define PROOFS                                                                                            \
	"CREATE TABLE watched(sequence INTEGER NOT NULL, place INTEGER NOT NULL, opening BLOB NOT NULL,"  \
	" PRIMARY KEY(sequence, place)) STRICT;"                                                          \
	"CREATE TABLE proof(sequence INTEGER PRIMARY KEY, round_id BLOB NOT NULL, descriptor BLOB,"       \
	" until_ms INTEGER NOT NULL, manifest BLOB, signature BLOB, included INTEGER NOT NULL DEFAULT 0," \
	" missing INTEGER NOT NULL DEFAULT 0, unanswered INTEGER NOT NULL DEFAULT 0,"                     \
	" is_void INTEGER NOT NULL DEFAULT 0) STRICT;"

/* The sealed reports of the active round, in the order of sending.  Each row holds several devices,
 * numbered from `first`: for each device one byte of outcome (enum cl_outcome), 32 of pseudonym and 32 of
 * salt. */
#define REPORTS                                                                   \
	"CREATE TABLE reports(first INTEGER PRIMARY KEY, outcomes BLOB NOT NULL," \
	" pseudonyms BLOB NOT NULL, salts BLOB NOT NULL, sealed BLOB NOT NULL) STRICT;"

static const char tables[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE meta(one INTEGER PRIMARY KEY CHECK(one = 1), population TEXT NOT NULL) STRICT;" LEDGER
		EVIDENCE PINS
	"CREATE TABLE active(one INTEGER PRIMARY KEY CHECK(one = 1), sequence INTEGER NOT NULL,"
	" descriptor BLOB NOT NULL, signature BLOB NOT NULL, whole INTEGER NOT NULL) STRICT;" REPORTS PROOFS;

enum cm_rc cl_schema_create(
	struct cl_db *db, const char *population, uint64_t closed, int64_t now_ms, struct cm_err *err)
{
	char stamp[96];
	enum cm_rc rc = db_run(db->sql, tables, err);

	if (rc == CM_OK)
		rc = db_change(db->sql, "INSERT INTO meta VALUES(1, ?)", err, DB_TEXT(population));
	if (rc == CM_OK && closed > 0)
		rc = cl_loss_accept(db, closed, now_ms, err);
	(void)snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;",
		APPLICATION, CL_SCHEMA);
	return rc == CM_OK ? db_run(db->sql, stamp, err) : rc;
}

/* In version 3 the table `submission` had a row for each device: slot, pseudonym, salt, sealed, outcome. */
static const char from_3[] =
	"BEGIN IMMEDIATE;" REPORTS
	"INSERT INTO reports SELECT slot, CASE outcome WHEN 1 THEN x'01' WHEN 2 THEN x'02' WHEN 3 THEN x'03'"
	" WHEN 4 THEN x'04' ELSE x'00' END, pseudonym, salt, sealed FROM submission;"
	"DROP TABLE submission; PRAGMA user_version=4; COMMIT;";

static enum cm_rc read_version(struct cl_db *db, int64_t *application, int64_t *version, struct cm_err *err)
{
	enum cm_rc rc = db_int(db->sql, "PRAGMA application_id", application, err);

	*version = 0;
	return rc == CM_OK ? db_int(db->sql, "PRAGMA user_version", version, err) : rc;
}

enum cm_rc cl_schema_upgrade(struct cl_db *db, struct cm_err *err)
{
	int64_t application = 0, version = 0;
	enum cm_rc rc = read_version(db, &application, &version, err);

	if (rc != CM_OK || application != APPLICATION || version != 3)
		return rc;
	rc = db_run(db->sql, from_3, err);
	if (rc != CM_OK)
		db_rollback(db->sql);
	return rc;
}

enum cm_rc cl_schema_check(struct cl_db *db, const char *path, struct cm_err *err)
{
	int64_t application = 0, version = 0;
	enum cm_rc rc = read_version(db, &application, &version, err);

	if (rc == CM_OK && application == APPLICATION && version == 3)
		rc = cm_fail(err, CM_ELATER,
			"%s: of an earlier version, which `tombola-client run` brings up to date", path);
	else if (rc == CM_OK && application == APPLICATION && (version == 1 || version == 2))
		rc = cm_fail(err, CM_EDATA,
			"%s: of an earlier version, which knew no plans: give the population a new name and "
			"each party a new state_dir; this one keeps its record",
			path);
	else if (rc == CM_OK && (application != APPLICATION || version != CL_SCHEMA))
		rc = cm_fail(err, CM_EDATA, "%s: no client database of this version", path);
	return rc;
}
