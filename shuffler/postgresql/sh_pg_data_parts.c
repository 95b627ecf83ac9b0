/* sh_pg_data_parts.c - what a partition of a round says of the others, which are on other servers. */
#include <inttypes.h>
#include <stdio.h>

#include "cm_fault.h"
#include "sh_pg_data_private.h"
#include "sh_pg_private.h"

struct parts {
	sh_pg_part_fn *fn;
	void *user;
};

static enum cm_rc take_part(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct parts *p = user;
	int64_t partition = sh_pg_row_int(row, 0);

	return partition > 0 && partition <= UINT32_MAX
		       ? p->fn(p->user, (uint32_t)partition, sh_pg_row_bytes(row, 1), err)
		       : cm_fail(err, CM_EDATA, "database: the number of a partition is damaged");
}

enum cm_rc sh_pg_data_parts(struct sh_pg_data *d, sh_pg_part_fn *fn, void *user, struct cm_err *err)
{
	const struct sh_pg_value id = sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN);
	struct parts parts = { fn, user };

	return sh_pg_query(d->pg,
		"SELECT d.partition, p.name FROM tombola.data d"
		" LEFT JOIN tombola.place p ON p.here = 0 AND p.number = d.partition"
		" WHERE d.round=$1 AND d.partition <> 0 ORDER BY d.partition",
		&id, 1, take_part, &parts, NULL, err);
}

enum cm_rc sh_pg_data_part_add(struct sh_pg_data *d, uint32_t partition, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN), sh_pg_int(partition) };

	return sh_pg_query(d->pg, "INSERT INTO tombola.data(round, partition) VALUES($1,$2)", row, 2, NULL,
		NULL, NULL, err);
}

struct at {
	int64_t epoch, closed;
};

static enum cm_rc take_at(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	(void)err;
	*(struct at *)user = (struct at){ sh_pg_row_int(row, 0), sh_pg_row_int(row, 1) };
	return CM_OK;
}

static enum cm_rc ask_at(struct sh_pg_data *d, struct at *at, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN),
		sh_pg_int(d->partition) };

	/* Without a row: the round was erased meanwhile, which counts as closed. */
	*at = (struct at){ .closed = 1 };
	return sh_pg_query(d->pg, "SELECT epoch, closed FROM tombola.data WHERE round=$1 AND partition=$2",
		row, 2, take_at, at, NULL, err);
}

enum cm_rc sh_pg_data_is_closed(struct sh_pg_data *d, bool *out, struct cm_err *err)
{
	struct at at;
	enum cm_rc rc = ask_at(d, &at, err);

	*out = at.closed != 0;
	return rc;
}

enum cm_rc sh_pg_data_is_now(struct sh_pg_data *d, struct cm_err *err)
{
	struct at at;
	enum cm_rc rc = ask_at(d, &at, err);

	bool now = at.closed == 0 && at.epoch == d->epoch;

	if (rc != CM_OK || !(CM_CHECKED("shuffler.epoch") && !now))
		return rc;
	if (at.closed == 0 && at.epoch < d->epoch) {
		(void)cm_fail(err, CM_EIO,
			"database: not the server that the head writes to: epoch %" PRId64
			" of round %s has not begun here",
			d->epoch, d->name);
		return sh_pg_named(d->pg, err);
	}
	return cm_fail(err, CM_ELATER, "the epoch of round %s is over", d->name);
}

void sh_pg_data_of_several(struct sh_pg_data *d)
{
	d->of_several = true;
}

struct alone {
	uint32_t first, n;
	bool *alone;
};

static enum cm_rc take_alone(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct alone *a = user;
	int64_t bucket = SH_PG_ALONE(sh_pg_row_int(row, 0)) - a->first;

	if (bucket < 0 || bucket >= a->n)
		return cm_fail(err, CM_EDATA, "database: the number of a bucket is damaged");
	a->alone[bucket] = true;
	return CM_OK;
}

enum cm_rc sh_pg_data_alone(struct sh_pg_data *d, uint32_t first, uint32_t n, bool *alone, struct cm_err *err)
{
	const struct sh_pg_value range[] = { sh_pg_int(SH_PG_ALONE((int64_t)first + n - 1)),
		sh_pg_int(SH_PG_ALONE(first)) };
	struct alone a = { first, n, alone };
	char sql[SH_PG_SQL_MAX];

	(void)snprintf(sql, sizeof sql, "SELECT bucket FROM tombola.block_%s WHERE bucket BETWEEN $1 AND $2",
		d->name);
	return sh_pg_query(d->pg, sql, range, 2, take_alone, &a, NULL, err);
}
