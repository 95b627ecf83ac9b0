/* cl_two.c - compares a manifest with the stored manifests of its round. */
#include "cl_two.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "pr_msg.h"

static enum cm_rc convict(const char *state_dir, uint64_t sequence, const struct rd_signed *kept,
	const struct rd_signed *told, char path[CL_EVIDENCE_MAX], struct cm_err *err)
{
	char name[64];
	struct cm_buf bytes;

	(void)snprintf(name, sizeof name, "evidence-%" PRIu64 "-manifests", sequence);
	char *file = cm_file_join(state_dir, name);
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	enum cm_rc rc =
		file ? rd_evidence_two(kept, told, &bytes, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = cm_file_write(file, bytes.data, bytes.len, 0600, err);
	if (rc == CM_OK) {
		(void)snprintf(path, CL_EVIDENCE_MAX, "%s", file);
		rc = cm_fail(err, CM_EPROTO,
			"the shuffler signed two manifests for one round; both are kept: %.160s", path);
	}
	cm_buf_fini(&bytes);
	free(file);
	return rc;
}

enum cm_rc cl_two_manifests(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const uint8_t round_id[PR_ROUND_ID_LEN], const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT bytes, signature FROM manifest WHERE round_id = ?1 UNION ALL"
		" SELECT manifest, signature FROM proof WHERE round_id = ?1 AND manifest IS NOT NULL",
		&st, err);

	path[0] = '\0';
	if (rc == CM_OK && sqlite3_bind_blob(st, 1, round_id, PR_ROUND_ID_LEN, SQLITE_STATIC) != SQLITE_OK)
		rc = db_fail(db->sql, err);
	while (db_row(st, &rc, err)) {
		struct rd_signed kept = { .bytes = sqlite3_column_blob(st, 0),
			.len = (size_t)sqlite3_column_bytes(st, 0) };

		if (sqlite3_column_bytes(st, 1) != CR_SIGN_LEN) {
			rc = cm_fail(err, CM_EDATA, "client.db: a manifest is damaged");
			break;
		}
		memcpy(kept.signature, sqlite3_column_blob(st, 1), CR_SIGN_LEN);
		if (CM_CHECKED("client.manifest.twice") &&
			(kept.len != told->len || memcmp(kept.bytes, told->bytes, kept.len) != 0))
			rc = convict(state_dir, sequence, &kept, told, path, err);
	}
	sqlite3_finalize(st);
	return rc;
}
