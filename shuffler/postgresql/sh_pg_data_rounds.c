/* sh_pg_data_rounds.c - what concerns the tables of all rounds and partitions: names, erasure, which there
 * are. */
#include <inttypes.h>
#include <stdio.h>

#include "cm_buf.h"
#include "sh_pg_data_private.h"
#include "sh_pg_rights.h"

void sh_pg_data_name(const uint8_t *round_id, uint32_t partition, char name[SH_PG_NAME_MAX_LEN])
{
	char hex[2 * PR_ROUND_ID_LEN + 1];

	cm_hex(round_id, PR_ROUND_ID_LEN, hex);
	(void)snprintf(name, SH_PG_NAME_MAX_LEN, "%s_%" PRIu32, hex, partition);
}

struct drops {
	struct sh_pg *pg;
	const uint8_t *round_id;
};

static enum cm_rc drop_partition(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct drops *x = user;
	char name[SH_PG_NAME_MAX_LEN], sql[SH_PG_SQL_MAX];

	sh_pg_data_name(x->round_id, (uint32_t)sh_pg_row_int(row, 0), name);
	(void)snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS tombola.block_%s, tombola.tags_%s", name, name);
	return sh_pg_run_long(x->pg, sql, err);
}

/* The server unlinks the files as it commits, one after the other. */
static enum cm_rc drop(struct sh_pg *pg, const uint8_t *round_id, struct cm_err *err)
{
	const struct sh_pg_value id = sh_pg_bytes(round_id, PR_ROUND_ID_LEN);
	struct drops x = { pg, round_id };

	enum cm_rc rc = sh_pg_begin(pg, err);
	if (rc == CM_OK)
		rc = sh_pg_query(pg, "DELETE FROM tombola.data WHERE round=$1 RETURNING partition", &id, 1,
			drop_partition, &x, NULL, err);
	return sh_pg_end(pg, rc, err);
}

enum cm_rc sh_pg_data_drop(struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char hex[2 * PR_ROUND_ID_LEN + 1];
	enum cm_rc rc = drop(pg, round_id, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, hex);
	return rc != CM_OK && sh_pg_rights_make_way(pg, hex) ? drop(pg, round_id, err) : rc;
}

enum cm_rc sh_pg_data_erase(struct sh_pg_data *d, struct cm_err *err)
{
	return sh_pg_data_drop(d->pg, d->round_id, err);
}

struct places {
	sh_place_fn *fn;
	void *user;
};

static enum cm_rc take_place(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct places *p = user;
	struct cr_span id = sh_pg_row_bytes(row, 0);

	return id.len == PR_ROUND_ID_LEN
		       ? p->fn(p->user, id.data, err)
		       : cm_fail(err, CM_EDATA, "database: the id of a round's data is damaged");
}

enum cm_rc sh_pg_data_each(struct sh_pg *pg, sh_place_fn *fn, void *user, struct cm_err *err)
{
	struct places p = { fn, user };

	return sh_pg_query(
		pg, "SELECT DISTINCT round FROM tombola.data ORDER BY 1", NULL, 0, take_place, &p, NULL, err);
}
