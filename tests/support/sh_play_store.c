/* sh_play_store.c - the store of a shuffler under test: SQLite, or PostgreSQL where tests/postgresql.sh runs
 * the test. */
#include "sh_play.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef TOMBOLA_POSTGRESQL
#include <libpq-fe.h>

#include "sh_postgresql.h"

static enum cm_rc open_postgresql(struct sh_play *p)
{
	const struct sh_pg_conf conf = { .database = p->database };

	return sh_postgresql_open(p->dir, &conf, &p->store, &p->err);
}

static enum cm_rc anew_postgresql(struct sh_play *p, const struct sh_loss *loss)
{
	const struct sh_pg_conf conf = { .database = p->database };

	return sh_postgresql_anew(p->dir, &conf, loss, &p->err);
}

static void ask(const char *database, const char *sql, char *first, size_t room)
{
	PGconn *conn = PQconnectdb(database);
	PGresult *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(conn));
	if (first)
		(void)snprintf(first, room, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	PQfinish(conn);
}
#else
/* Without libpq there is no such store, and no test asks for it. */
static enum cm_rc open_postgresql(struct sh_play *p)
{
	return cm_fail(&p->err, CM_EINTERNAL, "built without libpq");
}

static enum cm_rc anew_postgresql(struct sh_play *p, const struct sh_loss *loss)
{
	(void)loss;
	return open_postgresql(p);
}

static void ask(const char *database, const char *sql, char *first, size_t room)
{
	(void)first;
	(void)room;
	fail_msg("%s: %s: built without libpq", database, sql);
}
#endif

/* Each shuffler has a database of its own, by the name of its folder. */
static void database_do(const struct sh_play *p, const char *what)
{
	const char *admin = getenv("TOMBOLA_TEST_DATABASE");
	char sql[160];

	(void)snprintf(sql, sizeof sql, what, strrchr(p->dir, '/') + 1);
	ask(admin, sql, NULL, 0);
}

void sh_play_store_init(struct sh_play *p)
{
	const char *admin = getenv("TOMBOLA_TEST_DATABASE");

	if (!admin)
		return;
	database_do(p, "CREATE DATABASE \"%s\"");
	(void)snprintf(p->database, sizeof p->database, "%s dbname=%s", admin, strrchr(p->dir, '/') + 1);
}

void sh_play_store_fini(struct sh_play *p)
{
	if (p->database[0])
		database_do(p, "DROP DATABASE \"%s\" WITH (FORCE)");
}

enum cm_rc sh_play_store_open(struct sh_play *p)
{
	return p->database[0] ? open_postgresql(p) : sh_sqlite_open(p->dir, &p->store, &p->err);
}

bool sh_play_has_data(const struct sh_play *p, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	char id[2 * PR_ROUND_ID_LEN + 1], path[256], sql[256];
	struct stat st;

	cm_hex(round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(path, sizeof path, "%s/rounds/%s.db", p->dir, id);
	if (!p->database[0])
		return stat(path, &st) == 0;
	(void)snprintf(sql, sizeof sql,
		"SELECT count(*) FROM pg_class WHERE relname LIKE '%%\\_%s\\_%%' AND relkind = 'r'", id);
	ask(p->database, sql, path, sizeof path);
	return strcmp(path, "0") != 0;
}

void sh_play_sql(const struct sh_play *p, const char *sql)
{
	ask(p->database, sql, NULL, 0);
}

void sh_play_payloads(const struct sh_play *p, uint64_t *n, uint64_t *bytes)
{
	char answer[64];

	ask(p->database,
		"SELECT count(DISTINCT hash) || ' ' || coalesce(sum(length(body)), 0) FROM tombola.payload",
		answer, sizeof answer);
	*n = strtoull(answer, NULL, 10);
	*bytes = strtoull(strchr(answer, ' '), NULL, 10);
}

void sh_play_lose(struct sh_play *p, const struct sh_loss *loss)
{
	static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm" };
	char path[256];

	sh_play_stop(p);
	if (p->database[0]) {
		ask(p->database, "SET client_min_messages = warning; DROP SCHEMA tombola CASCADE", NULL, 0);
		assert_int_equal(anew_postgresql(p, loss), CM_OK);
		return;
	}
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", p->dir, names[i]);
		(void)unlink(path);
	}
	assert_int_equal(sh_sqlite_anew(p->dir, loss, &p->err), CM_OK);
}
