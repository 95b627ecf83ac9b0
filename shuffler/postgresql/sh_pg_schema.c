/* sh_pg_schema.c - makes the tables of schema `tombola`, version after version. */
#include "sh_pg_schema.h"

/* Step i leads from version i to i + 1.  A step that was released never changes.  The columns are those of
 * the store in SQLite (sh_sqlite_rows.h, sh_sqlite_ledger.h). */
static const char *const steps[] = {
	"CREATE TABLE tombola.meta(version int8 NOT NULL, settled int8 NOT NULL);"
	"INSERT INTO tombola.meta VALUES(0, 0);"
	"CREATE TABLE tombola.round(id bytea PRIMARY KEY, sequence int8 NOT NULL UNIQUE, state int8 NOT NULL,"
	" descriptor bytea NOT NULL, signature bytea NOT NULL, manifest bytea, manifest_signature bytea, charge bytea,"
	" sum bytea NOT NULL);"
	"CREATE TABLE tombola.record(seq int8 PRIMARY KEY, body bytea NOT NULL, sum bytea NOT NULL);"
	"CREATE TABLE tombola.pin(record int8 PRIMARY KEY, state int8 NOT NULL, epsilon bytea NOT NULL, taken bytea,"
	" sum bytea NOT NULL);"
	"CREATE TABLE tombola.standing(name bytea PRIMARY KEY, sequence int8 NOT NULL, descriptor bytea NOT NULL,"
	" sum bytea NOT NULL);"
	"CREATE TABLE tombola.head(name bytea PRIMARY KEY, devices int8 NOT NULL, seq int8 NOT NULL,"
	" before bytea NOT NULL, descriptor bytea NOT NULL, sum bytea NOT NULL);"
	"CREATE TABLE tombola.closed(id int8 PRIMARY KEY, record int8 NOT NULL, sum bytea NOT NULL);"
	"CREATE TABLE tombola.data(round bytea NOT NULL, partition int8 NOT NULL, epoch int8 NOT NULL DEFAULT 0,"
	" closed int8 NOT NULL DEFAULT 0, PRIMARY KEY(round, partition));"
	"CREATE TABLE tombola.payload(hash bytea NOT NULL, at int8 NOT NULL, body bytea NOT NULL,"
	" PRIMARY KEY(hash, at));"
	"ALTER TABLE tombola.payload ALTER COLUMN body SET STORAGE EXTERNAL;"
	"CREATE TABLE tombola.payload_whole(hash bytea PRIMARY KEY);",
	/* Standings that an intake puts: of certificates by their names, 32 bytes each, in a round that
	 * collects.  It has no right to the table.  Returns the number of such rounds, 1 or 0.  `sum` is
	 * sh_pg_sum of the others; the number in it is little-endian. */
	"CREATE FUNCTION tombola.standing_add(names bytea, number int8, hash bytea) RETURNS int8"
	" LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$"
	" WITH r AS (SELECT sequence, sha256(descriptor) AS descriptor, int8send(sequence) AS be FROM tombola.round"
	"  WHERE sequence = number AND state = 1 AND sha256(descriptor) = hash),"
	" put AS (INSERT INTO tombola.standing AS o SELECT DISTINCT ON (1) n.name, r.sequence, r.descriptor,"
	"  sha256(decode('042000000000000000', 'hex') || n.name || decode('010800000000000000', 'hex')"
	"   || substr(be, 8, 1) || substr(be, 7, 1) || substr(be, 6, 1) || substr(be, 5, 1) || substr(be, 4, 1)"
	"   || substr(be, 3, 1) || substr(be, 2, 1) || substr(be, 1, 1)"
	"   || decode('042000000000000000', 'hex') || r.descriptor)"
	"  FROM r, generate_series(0, length(names) / 32 - 1) i, LATERAL (SELECT substr(names, i * 32 + 1, 32) AS name) n"
	"  ORDER BY 1"
	"  ON CONFLICT(name) DO UPDATE SET sequence = excluded.sequence, descriptor = excluded.descriptor,"
	"  sum = excluded.sum WHERE o.sequence <= excluded.sequence)"
	" SELECT count(*) FROM r $$;"
	"REVOKE ALL ON FUNCTION tombola.standing_add(bytea, int8, bytea) FROM PUBLIC;",
	/* The place of this server in the list of servers (sh_pg_servers.h).  Its own row has here = 1.
	 * The server that has the state is number 0.  It also has a row for each other server, with used =
	 * 1 if that server is in the list.  Ids are random; a standby has the id of its server. */
	"CREATE TABLE tombola.place(here int8 NOT NULL, number int8 NOT NULL, id bytea NOT NULL,"
	" used int8 NOT NULL DEFAULT 0, name bytea, PRIMARY KEY(here, number));"
	"INSERT INTO tombola.place(here, number, id) VALUES(1, 0, uuid_send(gen_random_uuid()));",
	/* The head stores the standings of its intakes: their role could have written anything about any
	 * client. */
	"DROP FUNCTION tombola.standing_add(bytea, int8, bytea);",
};
#define VERSION ((int64_t)(sizeof steps / sizeof steps[0]))

enum cm_rc sh_pg_schema_version(struct sh_pg *pg, int64_t *version, struct cm_err *err)
{
	int64_t there = 0;

	*version = 0;
	enum cm_rc rc = sh_pg_number(
		pg, "SELECT (to_regclass('tombola.meta') IS NOT NULL)::int4", NULL, 0, &there, err);
	return rc == CM_OK && there
		       ? sh_pg_number(pg, "SELECT version FROM tombola.meta", NULL, 0, version, err)
		       : rc;
}

enum cm_rc sh_pg_schema_check(int64_t version, bool intake, struct cm_err *err)
{
	if (version > VERSION)
		return cm_fail(err, CM_EDATA,
			"database: made by a later version of tombola (schema %lld, this program has %lld)%s",
			(long long)version, (long long)VERSION,
			intake ? ": upgrade this intake, as its head was" : "");
	if (version != VERSION)
		return cm_fail(err, CM_ELATER,
			"database: of an earlier version of tombola (schema %lld), which the next start of %s "
			"brings to schema %lld",
			(long long)version, intake ? "the head, once it is upgraded," : "this shuffler",
			(long long)VERSION);
	return CM_OK;
}

enum cm_rc sh_pg_schema_migrate(struct sh_pg *pg, int64_t version, struct cm_err *err)
{
	int64_t there = 0;
	enum cm_rc rc = version > VERSION ? sh_pg_schema_check(version, false, err) : CM_OK;

	if (rc == CM_OK && version == 0)
		rc = sh_pg_number(
			pg, "SELECT (to_regnamespace('tombola') IS NOT NULL)::int4", NULL, 0, &there, err);
	/* Making the schema needs a right on the database that its owner may not have given. */
	if (rc == CM_OK && version == 0 && !there)
		rc = sh_pg_run(pg, "CREATE SCHEMA tombola", err);
	for (int64_t i = version; rc == CM_OK && i < VERSION; i++)
		rc = sh_pg_run(pg, steps[i], err);
	const struct sh_pg_value now = sh_pg_int(VERSION);
	return rc == CM_OK && version < VERSION ? sh_pg_query(pg, "UPDATE tombola.meta SET version = $1",
							  &now, 1, NULL, NULL, NULL, err)
						: rc;
}
