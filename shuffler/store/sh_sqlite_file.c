/* sh_sqlite_file.c - opens the shuffler's SQLite files. */
#include "sh_sqlite_file.h"

#include "cm_file.h"

static const char settings[] = "PRAGMA page_size=16384;"
			       "PRAGMA locking_mode=EXCLUSIVE;"
			       "PRAGMA journal_mode=WAL;"
			       "PRAGMA synchronous=FULL;"
			       "PRAGMA secure_delete=ON;"
			       "PRAGMA trusted_schema=OFF;"
			       "PRAGMA cell_size_check=ON;"
			       "PRAGMA temp_store=MEMORY;";

enum cm_rc sh_sqlite_file(const char *path, const char *check, const char *schema, bool create, sqlite3 **out,
	struct cm_err *err)
{
	const struct db_conf conf = { .create = create, .busy_ms = 2000 };

	enum cm_rc rc = db_open(path, &conf, out, err);
	if (rc == CM_OK)
		rc = db_set(*out, settings, err);
	if (rc == CM_OK && check)
		rc = db_check(*out, check, err);
	if (rc == CM_OK && create)
		rc = db_run(*out, schema, err);
	if (rc == CM_OK)
		rc = db_settle(*out, err);
	if (rc == CM_OK && create)
		rc = cm_file_sync_parent(path, err);
	if (rc != CM_OK) {
		(void)sqlite3_close(*out);
		*out = NULL;
	}
	return rc;
}

enum cm_rc sh_sqlite_file_readonly(const char *path, const char *check, sqlite3 **out, struct cm_err *err)
{
	const struct db_conf conf = { .readonly = true, .busy_ms = 200 };

	enum cm_rc rc = db_open(path, &conf, out, err);
	if (rc == CM_OK)
		rc = db_check(*out, check, err);
	if (rc == CM_EIO && *out && (sqlite3_errcode(*out) & 0xff) == SQLITE_BUSY)
		rc = cm_fail(err, CM_ELATER, "%s: in use by a running shuffler", path);
	if (rc != CM_OK) {
		(void)sqlite3_close(*out);
		*out = NULL;
	}
	return rc;
}
