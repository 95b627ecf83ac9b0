/* cl_fate.c - what became of the newest round that this client has seen. */
#include "cl_fate.h"

#include <string.h>

#include "cl_db.h"
#include "cm_text.h"
#include "rd_descriptor.h"

/* The round seen last, with its descriptor. */
static enum cm_rc read_seen(
	struct cl_db *db, struct cl_newest *out, struct rd_descriptor *d, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT l.sequence, d.bytes FROM ledger l LEFT JOIN descriptor d ON d.hash = l.descriptor_hash"
		" WHERE l.kind = 'seen' ORDER BY l.sequence DESC LIMIT 1",
		&st, err);

	if (db_row(st, &rc, err)) {
		out->sequence = (uint64_t)sqlite3_column_int64(st, 0);
		out->fate = CL_FATE_OPEN;
		if (rd_descriptor_decode(
			    sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1), d, err) != CM_OK)
			rc = cm_fail(err, CM_EDATA, "client.db: a descriptor is damaged");
	}
	sqlite3_finalize(st);
	return rc;
}

/* How it ended here.  A round that was refused may be taken part in after all, once its policy is another. */
static enum cm_rc read_end(struct cl_db *db, const struct rd_descriptor *d, struct cl_newest *out,
	bool *charged, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT kind, note FROM ledger WHERE descriptor_hash = ? AND kind <> 'seen' ORDER BY entry",
		&st, err, DB_BYTES(d->hash, PR_HASH_LEN));

	while (db_row(st, &rc, err)) {
		const char *kind = (const char *)sqlite3_column_text(st, 0);
		const char *note = (const char *)sqlite3_column_text(st, 1);

		*charged = *charged || strcmp(kind, "charged") == 0;
		out->fate = strcmp(kind, "over") == 0      ? CL_FATE_OVER
			    : strcmp(kind, "refused") == 0 ? CL_FATE_REFUSED
							   : CL_FATE_OPEN;
		cm_text_copy(out->note, sizeof out->note, note ? note : "");
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_fate(struct cl_db *db, int64_t now_ms, struct cl_newest *out, struct cm_err *err)
{
	struct rd_descriptor d = { 0 };
	bool charged = false;

	*out = (struct cl_newest){ .fate = CL_FATE_NONE };
	enum cm_rc rc = read_seen(db, out, &d, err);
	if (rc != CM_OK || out->fate == CL_FATE_NONE)
		return rc;
	rc = read_end(db, &d, out, &charged, err);
	if (rc == CM_OK && out->fate == CL_FATE_OPEN && !charged && now_ms > d.deadline_ms)
		out->fate = CL_FATE_MISSED;
	out->target = d.target;
	cm_text_copy(out->query, sizeof out->query, d.query.name);
	rd_descriptor_fini(&d);
	return rc;
}
