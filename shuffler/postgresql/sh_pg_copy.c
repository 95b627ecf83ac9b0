/* sh_pg_copy.c - COPY ... FROM STDIN in PostgreSQL's binary format ("COPY", Binary Format). */
#include "sh_pg_private.h"

#include <string.h>

#include "cm_buf.h"

static enum cm_rc put(struct sh_pg *pg, const void *bytes, size_t len, struct cm_err *err)
{
	int taken;

	while ((taken = PQputCopyData(pg->conn, bytes, (int)len)) == 0) {
		enum cm_rc rc = sh_pg_flush(pg, err);
		if (rc != CM_OK)
			return rc;
	}
	return taken == 1 ? CM_OK : sh_pg_fail(pg, NULL, err);
}

enum cm_rc sh_pg_copy_begin(struct sh_pg *pg, const char *sql, struct cm_err *err)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and the NUL that ends the literal */
	PGresult *result = NULL;
	enum cm_rc rc = sh_pg_usable(pg, err);

	if (rc != CM_OK)
		return rc;
	pg->warned = false;
	rc = PQsendQuery(pg->conn, sql) == 1 ? sh_pg_flush(pg, err) : sh_pg_fail(pg, NULL, err);
	if (rc == CM_OK)
		rc = sh_pg_next(pg, SH_PG_WAIT_MS, &result, err);
	bool open = rc == CM_OK && PQresultStatus(result) == PGRES_COPY_IN;
	if (rc == CM_OK && !open)
		rc = sh_pg_fail(pg, result, err);
	PQclear(result);
	if (!open)
		return sh_pg_drain(pg, SH_PG_WAIT_MS, rc, err);
	return put(pg, head, sizeof head, err);
}

enum cm_rc sh_pg_copy_row(
	struct sh_pg *pg, const struct sh_pg_value *value, size_t values, struct cm_err *err)
{
	uint8_t head[2 + SH_PG_VALUES_MAX * 12], *at = head;
	enum cm_rc rc = CM_OK;

	*at++ = 0;
	*at++ = (uint8_t)values;
	for (size_t i = 0; rc == CM_OK && i < values; i++) {
		const struct sh_pg_value *v = &value[i];
		cm_put_be32(at, v->is_number ? 8 : v->len > 0 ? (uint32_t)v->len : UINT32_MAX);
		at += 4;
		if (v->is_number) {
			memcpy(at, v->number, sizeof v->number);
			at += sizeof v->number;
			continue;
		}
		rc = put(pg, head, (size_t)(at - head), err);
		at = head;
		if (rc == CM_OK && v->len > 0)
			rc = put(pg, v->bytes, v->len, err);
	}
	return rc == CM_OK && at > head ? put(pg, head, (size_t)(at - head), err) : rc;
}

enum cm_rc sh_pg_copy_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err)
{
	static const uint8_t tail[2] = { 0xff, 0xff };
	int done;

	if (pg->dead)
		return rc == CM_OK ? sh_pg_usable(pg, err) : rc;
	if (rc == CM_OK)
		rc = put(pg, tail, sizeof tail, err);
	while ((done = PQputCopyEnd(pg->conn, rc == CM_OK ? NULL : "given up")) == 0) {
		struct cm_err beside;
		enum cm_rc flushed = sh_pg_flush(pg, rc == CM_OK ? err : &beside);
		if (flushed != CM_OK)
			return rc == CM_OK ? flushed : rc;
	}
	if (done < 0)
		return rc == CM_OK ? sh_pg_fail(pg, NULL, err) : rc;
	if (rc == CM_OK)
		rc = sh_pg_flush(pg, err);
	return sh_pg_drain(pg, SH_PG_WAIT_MS, rc, err);
}
