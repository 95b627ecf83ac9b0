/* sh_pg_servers.c - the list of servers: checks which servers exist, and whether they belong to the
 * state. */
#include "sh_pg_servers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cm_log.h"
#include "sh_pg_rights.h"
#include "sh_pg_schema.h"

#define AGAIN_S     2 /* seconds between two attempts to reach a server at start */
#define NAMED_SINCE 3 /* first version of the schema that has the table place */

enum cm_rc sh_pg_servers_wait(const struct sh_pg_conf *conf, struct sh_pg **out, struct cm_err *err)
{
	const struct timespec pause = { .tv_sec = AGAIN_S };
	int64_t tries = 0;
	enum cm_rc rc;

	while ((rc = sh_pg_open(conf, out, err)) == CM_EUNAVAIL) {
		if (tries++ == 0)
			cm_log(CM_LOG_WARN, "waiting for the database", CM_S("reason", err->msg));
		(void)nanosleep(&pause, NULL);
	}
	if (rc == CM_OK && tries > 0)
		cm_log(CM_LOG_INFO, "the database answers", CM_I("failed_attempts", tries));
	return rc;
}

void sh_pg_servers_fini(struct sh_pg_servers *s)
{
	for (size_t i = 1; i < s->n; i++)
		sh_pg_close(s->at[i].pg);
	s->n = 0;
}

/* ---- What a database says of itself ---- */

static enum cm_rc take_place(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct sh_pg_server *x = user;
	int64_t number = sh_pg_row_int(row, 0);
	struct cr_span id = sh_pg_row_bytes(row, 1);

	if (number < 0 || number > UINT32_MAX || id.len != sizeof x->id)
		return cm_fail(err, CM_EDATA, "database: tombola.place is damaged");
	x->number = (uint32_t)number;
	memcpy(x->id, id.data, id.len);
	return CM_OK;
}

/* *version 0: it has no tables. */
static enum cm_rc ask_place(struct sh_pg *pg, struct sh_pg_server *x, int64_t *version, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_schema_version(pg, version, err);

	x->number = 0;
	return rc == CM_OK && *version >= NAMED_SINCE
		       ? sh_pg_query(pg, "SELECT number, id FROM tombola.place WHERE here = 1", NULL, 0,
				 take_place, x, NULL, err)
		       : rc;
}

enum cm_rc sh_pg_servers_is_state(struct sh_pg *state, struct cm_err *err)
{
	struct sh_pg_server x;
	int64_t version;

	enum cm_rc rc = ask_place(state, &x, &version, err);
	return rc == CM_OK && x.number > 0
		       ? cm_fail(err, CM_ECONFIG,
				 "database: has messages of a shuffler whose state is in another database: that "
				 "one belongs here, this one in data_databases")
		       : rc;
}

/* ---- At the head ---- */

static struct sh_pg_server *next_of(
	struct sh_pg_servers *s, const struct sh_pg_conf *conf, const char *string)
{
	struct sh_pg_server *x = &s->at[s->n];

	*x = (struct sh_pg_server){ .conf = *conf };
	x->conf.database = x->conf.name = string;
	x->conf.n_further = 0;
	return x;
}

/* Check a database that has tables already and is not in the list yet: is it one of ours? */
static enum cm_rc check_known(
	const struct sh_pg_servers *s, const struct sh_pg_server *x, struct sh_pg *state, struct cm_err *err)
{
	const struct sh_pg_value place[] = { sh_pg_int(x->number), sh_pg_bytes(x->id, sizeof x->id) };
	int64_t n = 0;

	if (x->number == 0)
		return cm_fail(err, CM_ECONFIG,
			"data_databases: \"%.100s\" has the state of a shuffler: `database` is not named here",
			x->conf.name);
	for (size_t i = 1; i < s->n; i++)
		if (memcmp(s->at[i].id, x->id, sizeof x->id) == 0)
			return cm_fail(err, CM_ECONFIG,
				"data_databases: \"%.100s\" and \"%.100s\" are the same database",
				s->at[i].conf.name, x->conf.name);
	enum cm_rc rc = sh_pg_number(state,
		"SELECT count(*) FROM tombola.place WHERE here = 0 AND number = $1 AND id = $2", place, 2, &n,
		err);
	return rc == CM_OK && n == 0
		       ? cm_fail(err, CM_ECONFIG,
				 "data_databases: \"%.100s\" belongs to another shuffler, or to a state that was "
				 "lost (then DROP SCHEMA tombola CASCADE there)",
				 x->conf.name)
		       : rc;
}

/* Give a new database a number and an id.  They are stored in the state before they are stored in that
 * database. */
static enum cm_rc number_new(struct sh_pg_server *x, struct sh_pg *state, struct cm_err *err)
{
	int64_t version = 0;
	enum cm_rc rc = ask_place(x->pg, x, &version, err);

	if (rc == CM_OK && version > 0)
		return cm_fail(err, CM_ELATER, "data_databases: another shuffler makes tables in \"%.100s\"",
			x->conf.name);
	if (rc == CM_OK)
		rc = sh_pg_query(state,
			"INSERT INTO tombola.place(here, number, id)"
			" SELECT 0, max(number) + 1, uuid_send(gen_random_uuid()) FROM tombola.place"
			" RETURNING number, id",
			NULL, 0, take_place, x, NULL, err);
	if (rc == CM_OK)
		cm_log(CM_LOG_INFO, "data database is new", CM_I("partition", x->number),
			CM_S("database", x->conf.name));
	return rc;
}

static enum cm_rc make_tables(struct sh_pg_server *x, int64_t version, struct cm_err *err)
{
	const struct sh_pg_value place[] = { sh_pg_int(x->number), sh_pg_bytes(x->id, sizeof x->id) };

	enum cm_rc rc = sh_pg_rights_take_back(x->pg, err);
	if (rc == CM_OK)
		rc = sh_pg_begin(x->pg, err);
	if (rc != CM_OK)
		return rc;
	rc = sh_pg_schema_migrate(x->pg, version, err);
	if (rc == CM_OK && version == 0)
		rc = sh_pg_query(x->pg, "UPDATE tombola.place SET number = $1, id = $2 WHERE here = 1", place,
			2, NULL, NULL, NULL, err);
	if (rc == CM_OK && x->conf.intake_role)
		rc = sh_pg_rights_grant(x->pg, err);
	return sh_pg_end(x->pg, rc, err);
}

static enum cm_rc begin_one(
	struct sh_pg_servers *s, struct sh_pg_server *x, struct sh_pg *state, struct cm_err *err)
{
	int64_t version = 0;

	enum cm_rc rc = x->conf.intake_role ? sh_pg_rights_of_intakes(x->pg, err) : CM_OK;
	if (rc == CM_OK)
		rc = ask_place(x->pg, x, &version, err);
	if (rc == CM_OK && version > 0)
		rc = check_known(s, x, state, err);
	if (rc == CM_OK)
		rc = sh_pg_hold(x->pg, "state", NULL, 0, x->conf.readonly, err);
	if (rc != CM_OK)
		return rc;
	if (x->conf.readonly)
		return sh_pg_schema_check(version, false, err);
	if (version == 0)
		rc = number_new(x, state, err);
	if (rc == CM_OK)
		rc = make_tables(x, version, err);
	return rc == CM_OK ? sh_pg_settle(x->pg, err) : rc;
}

static bool has_number(const struct sh_pg_servers *s, uint32_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].number == number)
			return true;
	return false;
}

static enum cm_rc say_left_out(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct cr_span name = sh_pg_row_bytes(row, 1);
	char text[200];

	(void)err;
	(void)snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.data);
	if (!has_number(user, (uint32_t)sh_pg_row_int(row, 0)))
		cm_log(CM_LOG_WARN, "data database is not in the list any more",
			CM_I("partition", sh_pg_row_int(row, 0)), CM_S("database", text));
	return CM_OK;
}

/* Note the list in the state, for the intakes and for the next start. */
static enum cm_rc note(struct sh_pg_servers *s, struct sh_pg *state, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_query(state,
		"SELECT number, name FROM tombola.place WHERE here = 0 AND used = 1 ORDER BY 1", NULL, 0,
		say_left_out, s, NULL, err);
	if (rc == CM_OK)
		rc = sh_pg_begin(state, err);
	if (rc != CM_OK)
		return rc;
	rc = sh_pg_run(state, "UPDATE tombola.place SET used = 0 WHERE here = 0 AND used = 1", err);
	for (size_t i = 1; rc == CM_OK && i < s->n; i++) {
		const char *name = s->at[i].conf.name;
		const struct sh_pg_value place[] = { sh_pg_int(s->at[i].number),
			sh_pg_bytes(name, strlen(name)) };
		rc = sh_pg_query(state,
			"UPDATE tombola.place SET used = 1, name = $2 WHERE here = 0 AND number = $1", place,
			2, NULL, NULL, NULL, err);
	}
	return sh_pg_end(state, rc, err);
}

static void begin_list(struct sh_pg_servers *s, const struct sh_pg_conf *conf, struct sh_pg *state)
{
	*s = (struct sh_pg_servers){ .n = 1 };
	s->at[0] = (struct sh_pg_server){ .conf = *conf, .pg = state };
}

enum cm_rc sh_pg_servers_begin(
	struct sh_pg_servers *s, const struct sh_pg_conf *conf, struct sh_pg *state, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	begin_list(s, conf, state);
	for (size_t i = 0; rc == CM_OK && i < conf->n_further; i++) {
		struct sh_pg_server *x = next_of(s, conf, conf->further[i]);
		rc = sh_pg_servers_wait(&x->conf, &x->pg, err);
		if (rc == CM_OK)
			rc = begin_one(s, x, state, err);
		s->n++;
	}
	return rc == CM_OK ? note(s, state, err) : rc;
}

enum cm_rc sh_pg_servers_look(
	struct sh_pg_servers *s, const struct sh_pg_conf *conf, struct sh_pg *state, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	begin_list(s, conf, state);
	for (size_t i = 0; rc == CM_OK && i < conf->n_further; i++) {
		struct sh_pg_server *x = next_of(s, conf, conf->further[i]);
		int64_t version = 0;
		rc = sh_pg_open(&x->conf, &x->pg, err);
		if (rc == CM_EUNAVAIL)
			rc = err->code = CM_ELATER;
		if (rc == CM_OK)
			rc = sh_pg_schema_version(x->pg, &version, err);
		/* The next start makes its tables. */
		if (rc == CM_OK && version == 0) {
			rc = x->conf.intake_role ? sh_pg_rights_of_intakes(x->pg, err) : CM_OK;
			sh_pg_close(x->pg);
			continue;
		}
		if (rc == CM_OK)
			rc = begin_one(s, x, state, err);
		s->n++;
	}
	return rc;
}

/* ---- At an intake ---- */

/* Nothing is granted before the head's first start with this role. */
static enum cm_rc check_schema(struct sh_pg *pg, struct cm_err *err)
{
	int64_t version = 0;

	enum cm_rc rc = sh_pg_schema_version(pg, &version, err);
	if (rc == CM_EPERM)
		return cm_fail(err, CM_EPERM,
			"database: this role has no rights: start the head with `intake_role` set to it");
	if (rc == CM_OK && version == 0)
		rc = cm_fail(err, CM_ELATER, "database: the head has made no tables yet: start it first");
	return rc == CM_OK ? sh_pg_schema_check(version, true, err) : rc;
}

static enum cm_rc open_joined(struct sh_pg_server *x, const struct sh_pg_looking *looking, struct cm_err *err)
{
	int64_t version;

	enum cm_rc rc =
		looking ? sh_pg_open(&x->conf, &x->pg, err) : sh_pg_servers_wait(&x->conf, &x->pg, err);
	if (rc == CM_EUNAVAIL)
		rc = err->code = CM_ELATER;
	/* The rights that an intake may have depend on the version. */
	if (rc == CM_OK)
		rc = check_schema(x->pg, err);
	if (rc == CM_OK)
		rc = looking ? sh_pg_rights_each(x->pg, looking->say, looking->user, err)
			     : sh_pg_rights_of_mine(x->pg, err);
	return rc == CM_OK ? ask_place(x->pg, x, &version, err) : rc;
}

/* Add it to the list, unless it is in it under another name. */
static enum cm_rc add_joined(struct sh_pg_servers *s, const struct sh_pg_server *x, struct cm_err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		bool same = memcmp(s->at[i].id, x->id, sizeof x->id) == 0;
		if (!same && s->at[i].number == x->number)
			return cm_fail(err, CM_ECONFIG,
				"other_databases: \"%.100s\" and \"%.100s\" belong to two heads",
				s->at[i].conf.database, x->conf.database);
		if (same) {
			sh_pg_close(x->pg);
			return CM_OK;
		}
	}
	s->n++;
	return CM_OK;
}

struct used {
	const struct sh_pg_servers *s;
	bool own;
};

static enum cm_rc take_used(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct used *u = user;
	struct cr_span name = sh_pg_row_bytes(row, 2);
	struct sh_pg_server used = { .number = 0 };

	enum cm_rc rc = take_place(&used, row, err);
	if (rc != CM_OK)
		return rc;
	u->own |= used.number == u->s->own;
	for (size_t i = 1; i < u->s->n; i++)
		if (memcmp(u->s->at[i].id, used.id, sizeof used.id) == 0)
			return CM_OK;
	return cm_fail(err, CM_ECONFIG,
		"other_databases: the head's data are also in \"%.*s\", which is not in the list",
		(int)(name.len < 150 ? name.len : 150), (const char *)name.data);
}

/* Check the state's server first, and then whether the list is the head's. */
static enum cm_rc check_joined(struct sh_pg_servers *s, struct cm_err *err)
{
	struct used used = { s, s->own == 0 };
	size_t first = 0;

	while (first < s->n && s->at[first].number != 0)
		first++;
	if (first == s->n)
		return cm_fail(err, CM_ECONFIG,
			"other_databases: the head's own database, which has its state, is not in the list");
	struct sh_pg_server swap = s->at[0];
	s->at[0] = s->at[first];
	s->at[first] = swap;
	enum cm_rc rc = sh_pg_query(s->at[0].pg,
		"SELECT number, id, name FROM tombola.place WHERE here = 0 AND used = 1 ORDER BY 1", NULL, 0,
		take_used, &used, NULL, err);
	return rc == CM_OK && !used.own
		       ? cm_fail(err, CM_ECONFIG, "database: is not in the head's data_databases")
		       : rc;
}

enum cm_rc sh_pg_servers_join(struct sh_pg_servers *s, const struct sh_pg_conf *conf,
	const struct sh_pg_looking *looking, struct sh_pg **state, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*s = (struct sh_pg_servers){ .n = 0 };
	for (size_t i = 0; rc == CM_OK && i <= conf->n_further; i++) {
		struct sh_pg_server *x = next_of(s, conf, i == 0 ? conf->database : conf->further[i - 1]);
		if (conf->n_further == 0)
			x->conf.name = NULL;
		rc = open_joined(x, looking, err);
		if (rc == CM_OK && i == 0)
			s->own = x->number;
		if (rc == CM_OK)
			rc = add_joined(s, x, err);
		if (rc != CM_OK)
			sh_pg_close(x->pg);
	}
	if (rc == CM_OK)
		rc = check_joined(s, err);
	/* From here on only the state's session is needed. */
	for (size_t i = 0; i < s->n; i++) {
		if (rc == CM_OK && i == 0)
			*state = s->at[i].pg;
		else
			sh_pg_close(s->at[i].pg);
		s->at[i].pg = NULL;
	}
	return rc;
}
