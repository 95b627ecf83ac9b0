/* sh_pg_rights.c - the rights of intakes: checks what their role has, and grants what it needs. */
#include "sh_pg_rights.h"

#include <stdio.h>
#include <string.h>

#include "sh_pg_private.h"

#define SQL_MAX  1024u
#define ROLE_MAX 256u /* a name has at most 63 bytes, unless the server was built otherwise */

/* $1 is the intakes' role.  This selects it and its members, as each intake may be one; but neither this
 * shuffler, which ends their sessions, nor another's role that owns a database of its own. */
#define INTAKES                                                                                            \
	"(SELECT r.oid, r.rolname FROM pg_roles r JOIN pg_roles g ON g.rolname = convert_from($1, 'UTF8')" \
	" WHERE pg_has_role(r.oid, g.oid, 'USAGE') AND NOT r.rolsuper AND r.rolname <> current_user"       \
	" AND NOT EXISTS (SELECT FROM pg_database WHERE datdba = r.oid AND datname <> current_database()))"

/* ---- What a role may do beyond what an intake needs: a row each ---- */

/* $1 is the name of the role.  Rights of roles that it is a member of count, even if it would have to SET
 * ROLE first.  Roles for monitoring show only sessions and settings; with them an intake sees the standbys
 * that are demanded. */
static const char excess[] =
	"WITH me AS (SELECT * FROM pg_roles WHERE rolname = convert_from($1, 'UTF8')),"
	" m AS (SELECT p.oid, p.rolname FROM me, pg_roles p WHERE NOT me.rolsuper"
	"  AND pg_has_role(me.oid, p.oid, 'MEMBER')),"
	" schema AS (SELECT * FROM pg_namespace WHERE nspname = 'tombola'),"
	" owner AS (SELECT m.* FROM m, schema WHERE m.oid = schema.nspowner),"
	" found AS ("
	"SELECT 1 AS rank, 'is a superuser' AS what FROM me WHERE rolsuper"
	" UNION ALL SELECT 2, 'may create roles (CREATEROLE)' FROM me WHERE rolcreaterole AND NOT rolsuper"
	" UNION ALL SELECT 3, 'may read the server''s log (REPLICATION)' FROM me WHERE rolreplication AND NOT rolsuper"
	" UNION ALL SELECT 4, 'is or may become ' || quote_ident(rolname) || ', which owns schema tombola' FROM owner"
	" UNION ALL SELECT 5, 'is or may become ' || quote_ident(m.rolname) || ', which owns this database'"
	"  FROM m, pg_database d WHERE d.datname = current_database() AND d.datdba = m.oid"
	" UNION ALL SELECT 6, 'is a member of ' || m.rolname FROM m, me WHERE m.oid <> me.oid"
	"  AND starts_with(m.rolname::text, 'pg_') AND m.rolname NOT IN ('pg_monitor', 'pg_read_all_settings',"
	"  'pg_read_all_stats', 'pg_stat_scan_tables', 'pg_database_owner')"
	" UNION ALL SELECT DISTINCT 7, 'may CREATE in schema tombola' FROM m, schema"
	"  WHERE NOT EXISTS (SELECT FROM owner) AND has_schema_privilege(m.oid, schema.oid, 'CREATE')"
	" UNION ALL SELECT 8, 'may ' || string_agg(DISTINCT may, ', ') || ' on tombola.' || quote_ident(c.relname)"
	"  FROM m, schema, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES',"
	"   'TRIGGER']) may"
	"  WHERE NOT EXISTS (SELECT FROM owner) AND c.relnamespace = schema.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
	"  AND CASE WHEN may IN ('DELETE', 'TRUNCATE', 'TRIGGER') THEN has_table_privilege(m.oid, c.oid, may)"
	"   ELSE has_any_column_privilege(m.oid, c.oid, may) END"
	"  AND NOT (may = 'SELECT' AND (c.relname IN ('meta', 'data', 'place') OR starts_with(c.relname::text, 'tags_')))"
	"  AND NOT (may = 'INSERT' AND (starts_with(c.relname::text, 'tags_') OR starts_with(c.relname::text, 'block_')))"
	"  GROUP BY c.relname"
	" UNION ALL SELECT 9, 'gets rights on each new table (ALTER DEFAULT PRIVILEGES)' FROM me WHERE EXISTS (SELECT"
	"  FROM pg_default_acl a, aclexplode(a.defaclacl) x WHERE a.defaclobjtype = 'r' AND a.defaclrole <> me.oid"
	"  AND (a.defaclrole IN (SELECT nspowner FROM schema) OR a.defaclrole = (SELECT usesysid FROM pg_user"
	"   WHERE usename = current_user)) AND (a.defaclnamespace = 0 OR a.defaclnamespace IN (SELECT oid FROM schema))"
	"  AND (x.grantee = 0 OR x.grantee IN (SELECT oid FROM m WHERE oid <> a.defaclrole))))"
	" SELECT what FROM found ORDER BY rank, what";

struct found {
	char first[200];
	size_t n;
};

static enum cm_rc take_found(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct found *f = user;
	struct cr_span what = sh_pg_row_bytes(row, 0);

	(void)err;
	if (f->n++ == 0)
		(void)snprintf(f->first, sizeof f->first, "%.*s", (int)what.len, (const char *)what.data);
	return CM_OK;
}

/* code: the result for a role that has more rights. */
static enum cm_rc judge(struct sh_pg *pg, const char *role, enum cm_rc code, struct cm_err *err)
{
	const struct sh_pg_value name = sh_pg_bytes(role, strlen(role));
	struct found f = { .n = 0 };
	char more[40] = "";

	enum cm_rc rc = sh_pg_query(pg, excess, &name, 1, take_found, &f, NULL, err);
	if (rc != CM_OK || f.n == 0)
		return rc;
	if (f.n > 1)
		(void)snprintf(more, sizeof more, " (and %zu more)", f.n - 1);
	(void)cm_fail(err, code, "database: the intakes' role %.63s %s%s: more than an intake may", role,
		f.first, more);
	return sh_pg_named(pg, err);
}

struct saying {
	const struct sh_pg *pg;
	const char *role;
	void (*say)(void *user, const struct cm_err *why);
	void *user;
};

static enum cm_rc say_found(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct saying *s = user;
	struct cr_span what = sh_pg_row_bytes(row, 0);
	struct cm_err why = { 0 };

	(void)err;
	(void)cm_fail(&why, CM_EPERM, "database: the intakes' role %.63s %.*s: more than an intake may",
		s->role, (int)what.len, (const char *)what.data);
	(void)sh_pg_named(s->pg, &why);
	s->say(s->user, &why);
	return CM_OK;
}

enum cm_rc sh_pg_rights_each(
	struct sh_pg *pg, void (*say)(void *user, const struct cm_err *why), void *user, struct cm_err *err)
{
	struct saying s = { pg, PQuser(pg->conn), say, user };
	const struct sh_pg_value name = sh_pg_bytes(s.role, strlen(s.role));

	return sh_pg_query(pg, excess, &name, 1, say_found, &s, NULL, err);
}

enum cm_rc sh_pg_rights_of_mine(struct sh_pg *pg, struct cm_err *err)
{
	return judge(pg, PQuser(pg->conn), CM_EPERM, err);
}

static enum cm_rc cannot_end(const struct sh_pg *pg, const char *role, struct cm_err *err)
{
	(void)cm_fail(err, CM_ECONFIG,
		"intake_role: this shuffler could not end a session of an intake that stands still: "
		"GRANT \"%s\" TO \"%s\"",
		role, PQuser(pg->conn));
	return sh_pg_named(pg, err);
}

struct member {
	char name[ROLE_MAX];
	bool is_there, can_end;
};

static enum cm_rc take_member(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct member *m = user;
	struct cr_span name = sh_pg_row_bytes(row, 0);

	(void)err;
	m->is_there = true;
	m->can_end = sh_pg_row_int(row, 1) != 0;
	(void)snprintf(m->name, sizeof m->name, "%.*s", (int)name.len, (const char *)name.data);
	return CM_OK;
}

/* Judge each login role in the intakes' role, in the order of their names. */
static enum cm_rc judge_members(struct sh_pg *pg, struct cm_err *err)
{
	static const char next[] =
		"SELECT rolname::text, pg_has_role(current_user, oid, 'USAGE')::int4::int8 FROM " INTAKES
		" x WHERE rolname <> convert_from($1, 'UTF8')"
		" AND rolname::text COLLATE \"C\" > convert_from($2, 'UTF8') COLLATE \"C\""
		" ORDER BY rolname::text COLLATE \"C\" LIMIT 1";
	struct member m = { .name = "", .is_there = true, .can_end = true };
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && m.is_there) {
		const struct sh_pg_value values[] = { sh_pg_bytes(pg->intake_role, strlen(pg->intake_role)),
			{ .bytes = m.name, .len = strlen(m.name) } };
		m.is_there = false;
		rc = sh_pg_query(pg, next, values, 2, take_member, &m, NULL, err);
		if (rc == CM_OK && m.is_there)
			rc = judge(pg, m.name, CM_ECONFIG, err);
		if (rc == CM_OK && !m.can_end)
			rc = cannot_end(pg, m.name, err);
	}
	return rc;
}

enum cm_rc sh_pg_rights_of_intakes(struct sh_pg *pg, struct cm_err *err)
{
	static const char ask[] =
		"SELECT coalesce((SELECT CASE WHEN pg_has_role(current_user, oid, 'USAGE') THEN 2 ELSE 1 END"
		" FROM pg_roles WHERE rolname = convert_from($1, 'UTF8')), 0)";
	const struct sh_pg_value name = sh_pg_bytes(pg->intake_role, strlen(pg->intake_role));
	int64_t found = 0;

	enum cm_rc rc = sh_pg_number(pg, ask, &name, 1, &found, err);
	if (rc == CM_OK && found > 0)
		rc = judge(pg, pg->intake_role, CM_ECONFIG, err);
	if (rc != CM_OK)
		return rc;
	if (found == 0) {
		(void)cm_fail(err, CM_ECONFIG, "intake_role: the server has no role %s: CREATE ROLE it",
			pg->intake_role);
		return sh_pg_named(pg, err);
	}
	return found == 2 ? judge_members(pg, err) : cannot_end(pg, pg->intake_role, err);
}

/* ---- What the head grants ---- */

static enum cm_rc run_for(
	struct sh_pg *pg, const char *sql, const char *name, const char *role, struct cm_err *err)
{
	char text[SQL_MAX];
	size_t at = 0;

	for (; *sql && at + 1 < sizeof text; sql++) {
		const char *put = *sql == '$' ? name : *sql == '@' ? role : NULL;
		int n = put ? snprintf(text + at, sizeof text - at, "%s", put)
			    : snprintf(text + at, sizeof text - at, "%c", *sql);
		at += n > 0 ? (size_t)n : 0;
	}
	return at + 1 < sizeof text ? sh_pg_run(pg, text, err)
				    : cm_fail(err, CM_EINTERNAL, "database: a statement is too long");
}

/* Run sql, in which '$' stands for the name of a round's tables and '@' for the role. */
static enum cm_rc run(struct sh_pg *pg, const char *sql, const char *name, struct cm_err *err)
{
	char *role = PQescapeIdentifier(pg->conn, pg->intake_role, strlen(pg->intake_role));

	if (!role)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = run_for(pg, sql, name, role, err);
	PQfreemem(role);
	return rc;
}

struct names {
	char list[SQL_MAX / 2]; /* quoted names, separated by commas */
	bool cut;
};

static enum cm_rc take_names(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct names *names = user;
	struct cr_span list = sh_pg_row_bytes(row, 0);

	(void)err;
	names->cut = list.len >= sizeof names->list;
	(void)snprintf(names->list, sizeof names->list, "%.*s", (int)list.len, (const char *)list.data);
	return CM_OK;
}

enum cm_rc sh_pg_rights_take_back(struct sh_pg *pg, struct cm_err *err)
{
	/* Only an intakes' role is ever granted this one column. */
	static const char former[] =
		"SELECT coalesce(string_agg(DISTINCT quote_ident(r.rolname), ', '), '')"
		" FROM pg_attribute a, aclexplode(a.attacl) x, pg_roles r"
		" WHERE a.attrelid = to_regclass('tombola.meta') AND a.attname = 'version' AND r.oid = x.grantee"
		" AND r.rolname <> convert_from($1, 'UTF8')";
	static const char end[] =
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
		" WHERE datname = current_database() AND pg_has_role(usesysid, 'USAGE')"
		" AND usename <> current_user AND EXISTS (SELECT FROM pg_roles g WHERE pg_has_role(usesysid, g.oid, 'USAGE')"
		"  AND quote_ident(g.rolname) = ANY (string_to_array(convert_from($1, 'UTF8'), ', ')))";
	const char *role = pg->intake_role ? pg->intake_role : "";
	const struct sh_pg_value name = { .bytes = role, .len = strlen(role) };
	struct names names = { .list = "" };
	int64_t n = 0;

	enum cm_rc rc = sh_pg_query(pg, former, &name, 1, take_names, &names, NULL, err);
	if (rc != CM_OK || !*names.list)
		return rc;
	if (names.cut)
		return cm_fail(
			err, CM_ECONFIG, "database: too many roles have rights of intakes: REVOKE them");
	rc = run_for(pg,
		"REVOKE ALL ON ALL TABLES IN SCHEMA tombola FROM @;"
		"REVOKE ALL ON SCHEMA tombola FROM @",
		"", names.list, err);
	const struct sh_pg_value list = sh_pg_bytes(names.list, strlen(names.list));
	return rc == CM_OK ? sh_pg_number(pg, end, &list, 1, &n, err) : rc;
}

enum cm_rc sh_pg_rights_grant(struct sh_pg *pg, struct cm_err *err)
{
	return run(pg,
		"GRANT USAGE ON SCHEMA tombola TO @;"
		"GRANT SELECT (version) ON tombola.meta TO @;"
		"GRANT SELECT ON tombola.data, tombola.place TO @",
		"", err);
}

enum cm_rc sh_pg_rights_round(struct sh_pg *pg, const char *name, bool close, struct cm_err *err)
{
	if (!pg->intake_role)
		return CM_OK;
	return run(pg,
		close ? "REVOKE ALL ON tombola.block_$, tombola.tags_$ FROM @"
		      : "GRANT INSERT ON tombola.block_$, tombola.tags_$ TO @; GRANT SELECT ON tombola.tags_$ TO @",
		name, err);
}

/* End the sessions of intakes that have or want a lock on a table of the round.  A prepared statement gets
 * one, whatever the rights are, and keeps it as long as its transaction lasts. */
static enum cm_rc end_sessions(struct sh_pg *pg, const char *name, struct cm_err *err)
{
	static const char end[] =
		"SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
		" JOIN pg_class c ON c.oid = l.relation WHERE l.locktype = 'relation' AND l.database = a.datid"
		" AND a.usesysid IN (SELECT oid FROM " INTAKES
		" x) AND pg_has_role(a.usesysid, 'USAGE') AND c.relnamespace = 'tombola'::regnamespace"
		" AND (starts_with(c.relname::text, 'block_' || convert_from($2, 'UTF8'))"
		"  OR starts_with(c.relname::text, 'tags_' || convert_from($2, 'UTF8')))";
	const struct sh_pg_value values[] = { sh_pg_bytes(pg->intake_role, strlen(pg->intake_role)),
		sh_pg_bytes(name, strlen(name)) };
	int64_t n = 0;

	return sh_pg_number(pg, end, values, 2, &n, err);
}

bool sh_pg_rights_make_way(struct sh_pg *pg, const char *name)
{
	struct cm_err beside = { 0 };

	return pg->intake_role && sh_pg_failed_with(pg, "55P03") && /* SQLSTATE lock_not_available */
	       end_sessions(pg, name, &beside) == CM_OK;
}

/* This waits for rows that are being added, but for no reader. */
static enum cm_rc lock_tables(struct sh_pg *pg, const char *name, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_begin(pg, err);

	if (rc == CM_OK)
		rc = run(pg, "LOCK TABLE tombola.block_$, tombola.tags_$ IN SHARE MODE", name, err);
	return sh_pg_end(pg, rc, err);
}

enum cm_rc sh_pg_rights_ended(struct sh_pg *pg, const char *name, struct cm_err *err)
{
	if (!pg->intake_role)
		return CM_OK;
	enum cm_rc rc = lock_tables(pg, name, err);
	return rc != CM_OK && sh_pg_rights_make_way(pg, name) ? lock_tables(pg, name, err) : rc;
}
