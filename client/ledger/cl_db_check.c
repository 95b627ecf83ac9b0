/* cl_db_check.c - verifies stored documents against their hashes and charges against their checksums. */
#include "cl_db_check.h"

#include <stdio.h>
#include <string.h>

#include "cl_pins.h"
#include "cl_tries.h"
#include "cr_hash.h"

static enum cm_rc check_table(struct cl_db *db, const char *table, struct cm_err *err)
{
	uint8_t hash[CR_HASH_LEN];
	sqlite3_stmt *st = NULL;
	char sql[64];
	enum cm_rc rc;

	(void)snprintf(sql, sizeof sql, "SELECT bytes, hash FROM %s", table);
	rc = db_prepare(db->sql, sql, &st, err);
	while (db_row(st, &rc, err)) {
		cr_sha256(sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0), hash);
		if (sqlite3_column_bytes(st, 1) != CR_HASH_LEN ||
			memcmp(hash, sqlite3_column_blob(st, 1), sizeof hash) != 0)
			rc = cm_fail(err, CM_EDATA, "client.db: a %s is damaged", table);
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_db_check(struct cl_db *db, struct cm_err *err)
{
	static const uint8_t no_plan[PR_HASH_LEN] = { 0 };
	struct rd_slices slices;
	struct cl_try last;
	/* Run SQLite's own check first, because a damaged page may hold an index that nothing below
	 * reads. */
	enum cm_rc rc = db_check(db->sql, "PRAGMA quick_check(1)", err);

	if (rc == CM_OK)
		rc = check_table(db, "descriptor", err);
	if (rc == CM_OK)
		rc = check_table(db, "manifest", err);
	if (rc == CM_OK)
		rc = check_table(db, "plan", err);
	if (rc == CM_OK)
		rc = cl_pin_slices(db, &slices, err); /* this reads every pin, and so checks its checksum */
	if (rc == CM_OK)
		rc = cl_try_last(db, no_plan, 0, &last, err); /* this does the same for every charge */
	return rc;
}
