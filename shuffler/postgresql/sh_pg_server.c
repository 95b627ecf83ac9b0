/* sh_pg_server.c - opens a session: what it sets, and its locks; declared in sh_pg.h. */
#define _GNU_SOURCE /* declares POLLRDHUP */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_clock.h"
#include "pr_limits.h"
#include "sh_pg_private.h"

#define LEAST_VERSION 130000
#define AGAIN_MS      10000 /* time to find the reason of a refusal; the same as connect_timeout */

/* Names are written with their schema, and no setting of the role or the database may change what
 * statements mean.  If this host is gone, the server ends the session, and with it its locks. */
static const char settings[] = "SET client_min_messages = warning;"
			       "SET search_path = '';"
			       "SET synchronous_commit = on;"
			       "SET statement_timeout = " SH_PG_STATEMENT_MS ";"
			       "SET lock_timeout = 5000;"
			       "SET idle_in_transaction_session_timeout = 0;"
			       "SET default_transaction_isolation = 'read committed';"
			       "SET default_transaction_deferrable = off;"
			       "SET tcp_keepalives_idle = 10;"
			       "SET tcp_keepalives_interval = 5;"
			       "SET tcp_keepalives_count = 3;"
			       "SET tcp_user_timeout = 30000;"
			       "SET jit = off;";
static const char settings_14[] = "SET idle_session_timeout = 0;"
				  "SET client_connection_check_interval = 5000;";
/* This setting would end a long reading, and the making of an index, whatever statement_timeout says. */
static const char settings_17[] = "SET transaction_timeout = 0;";

static void on_notice(void *user, const PGresult *result)
{
	struct sh_pg *pg = user;
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	if (!severity || strcmp(severity, "WARNING") != 0)
		return;
	pg->warned = true;
	(void)snprintf(pg->warning, sizeof pg->warning, "%s", text ? text : "");
}

/* ---- Connecting ---- */

/* Faults of a connection that an operator must mend; after any other fault we try again.  `final` has words
 * of libpq, which are English here whatever language the server has.  `final_state` has the beginnings of
 * the server's SQLSTATE: the login failed, the database does not exist, or a right is missing. */
static const char *const final[] = { "no password supplied", "certificate", "does not support SSL" };
static const char *const final_state[] = { "28", "3D000", "42501" };

/* Does this error have one of these SQLSTATEs?  A verbose error begins with "SEVERITY:  SQLSTATE: ", the
 * severity in the server's language. */
static bool has_final_state(const char *text)
{
	for (const char *at = strstr(text, ":  "); at; at = strstr(at + 1, ":  ")) {
		const char *state = at + 3;
		if (strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 || state[5] != ':')
			continue;
		for (size_t i = 0; i < sizeof final_state / sizeof final_state[0]; i++)
			if (strncmp(state, final_state[i], strlen(final_state[i])) == 0)
				return true;
	}
	return false;
}

/* Wait until libpq can go on with a connection; false: not in time. */
static bool wait_connecting(PGconn *conn, PostgresPollingStatusType at, int64_t until_ms)
{
	struct pollfd fd = { .fd = PQsocket(conn), .events = at == PGRES_POLLING_WRITING ? POLLOUT : POLLIN };
	int64_t left = until_ms - cm_clock_mono_ms();

	return fd.fd >= 0 && left > 0 && poll(&fd, 1, (int)left) != 0;
}

/* libpq gives the SQLSTATE of a refused connection only in a verbose text, and PQconnectdbParams cannot ask
 * for one, so connect once more.  Any other result of that means that the reason may pass. */
static bool refused_for_good(const struct sh_pg_params *params)
{
	int64_t until = cm_clock_mono_ms() + AGAIN_MS;
	PGconn *conn = PQconnectStartParams(params->key, params->value, 1);
	PostgresPollingStatusType at = PGRES_POLLING_WRITING;

	if (!conn)
		return false;
	(void)PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
	while (PQstatus(conn) != CONNECTION_BAD && at != PGRES_POLLING_OK && at != PGRES_POLLING_FAILED &&
		wait_connecting(conn, at, until))
		at = PQconnectPoll(conn);
	bool good = at == PGRES_POLLING_FAILED && has_final_state(PQerrorMessage(conn));
	PQfinish(conn);
	return good;
}

static enum cm_rc refused(const PGconn *conn, const struct sh_pg_params *params, struct cm_err *err)
{
	const char *text = PQerrorMessage(conn);
	/* Among several hosts, one that is a standby or cannot be reached may be the one to wait for. */
	bool waits = strstr(text, "read-only") != NULL, good = false;

	for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
		good |= strstr(text, final[i]) != NULL;
	good = !waits && (good || refused_for_good(params));
	/* With several hosts there is a line for each: the first says as much as the last, and fits. */
	return cm_fail(err, good ? CM_EPERM : CM_EUNAVAIL, "database: %.*s", (int)strcspn(text, "\n"), text);
}

bool sh_pg_is_remote(const struct sh_pg *pg)
{
	const char *address = PQhostaddr(pg->conn);

	return address && *address && !sh_pg_host_is_local(address);
}

static enum cm_rc set_up(struct sh_pg *pg, const struct sh_pg_conf *conf, struct cm_err *err)
{
	if (PQserverVersion(pg->conn) < LEAST_VERSION) {
		(void)cm_fail(err, CM_ECONFIG, "database: the server is older than PostgreSQL 13");
		return sh_pg_named(pg, err);
	}
	enum cm_rc rc = sh_pg_run(pg, settings, err);
	if (rc == CM_OK && PQserverVersion(pg->conn) >= 140000)
		rc = sh_pg_run(pg, settings_14, err);
	if (rc == CM_OK && PQserverVersion(pg->conn) >= 170000)
		rc = sh_pg_run(pg, settings_17, err);
	if (rc == CM_OK)
		rc = sh_pg_check_server(pg, err);
	if (rc == CM_OK && conf->readonly)
		rc = sh_pg_run(pg, "SET default_transaction_read_only = on", err);
	return rc;
}

enum cm_rc sh_pg_open(const struct sh_pg_conf *conf, struct sh_pg **out, struct cm_err *err)
{
	struct sh_pg *pg = calloc(1, sizeof *pg);
	struct sh_pg_params params;

	*out = NULL;
	if (!pg)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	pg->name = conf->name;
	enum cm_rc rc = sh_pg_params(conf->database, &params, err);
	if (rc == CM_OK && !(pg->conn = PQconnectdbParams(params.key, params.value, 1)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && PQstatus(pg->conn) != CONNECTION_OK)
		rc = refused(pg->conn, &params, err);
	if (rc == CM_OK && PQsetnonblocking(pg->conn, 1) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "database: the connection cannot be made non-blocking");
	if (rc != CM_OK)
		rc = sh_pg_named(pg, err);
	if (rc == CM_OK) {
		pg->readonly = conf->readonly;
		pg->standbys = conf->standbys;
		pg->intake_role = conf->intake_role;
		(void)PQsetNoticeReceiver(pg->conn, on_notice, pg);
		rc = set_up(pg, conf, err);
		/* A connection that is lost while it is set up counts as one that was not made. */
		if (rc == CM_EIO)
			rc = err->code = CM_EUNAVAIL;
	}
	if (rc != CM_OK) {
		sh_pg_close(pg);
		return rc;
	}
	pg->socket = PQsocket(pg->conn);
	*out = pg;
	return CM_OK;
}

bool sh_pg_is_up(const struct sh_pg *pg)
{
	struct pollfd fd = { .fd = pg->socket, .events = POLLRDHUP };

	return poll(&fd, 1, 0) <= 0;
}

void sh_pg_close(struct sh_pg *pg)
{
	if (!pg)
		return;
	PQfinish(pg->conn);
	free(pg);
}

/* ---- Locks ---- */

enum cm_rc sh_pg_hold(struct sh_pg *pg, const char *role, const uint8_t *round_id, uint32_t partition,
	bool shared, struct cm_err *err)
{
	static const char use[] = "tombola lock";
	uint8_t hash[CR_HASH_LEN], part[4];

	cm_put_le32(part, partition);
	cr_sha256_spans((const struct cr_span[]){ { use, sizeof use }, { role, strlen(role) + 1 },
				{ part, sizeof part }, { round_id, round_id ? PR_ROUND_ID_LEN : 0 } },
		4, hash);
	const struct sh_pg_value key = sh_pg_int((int64_t)cm_get_le64(hash));
	enum cm_rc rc = sh_pg_query(pg,
		shared ? "SELECT pg_advisory_lock_shared($1)::text" : "SELECT pg_advisory_lock($1)::text",
		&key, 1, NULL, NULL, NULL, err);
	if (rc != CM_OK && sh_pg_failed_with(pg, "55P03")) { /* SQLSTATE lock_not_available */
		(void)cm_fail(err, CM_ELATER, "another shuffler has this database (%s)", role);
		return sh_pg_named(pg, err);
	}
	return rc;
}

enum cm_rc sh_pg_settle(struct sh_pg *pg, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_run(pg, "UPDATE tombola.meta SET settled = settled + 1", err);

	return rc == CM_OK ? sh_pg_keeps(pg, err) : rc;
}
