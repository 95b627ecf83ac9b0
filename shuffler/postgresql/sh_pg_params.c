/* sh_pg_params.c - judges the connection string of the configuration, and adds what Tombola demands. */
#include "sh_pg_params.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "cm_owned.h"

/* Settings of every connection: a server, or a network, that is gone is noticed, and a server that became a
 * standby is not written to.  GSS encryption would replace TLS. */
static const struct {
	const char *key, *value;
} demanded[] = {
	{ "target_session_attrs", "read-write" },
	{ "gssencmode", "disable" },
	{ "connect_timeout", "10" },
	{ "keepalives", "1" },
	{ "keepalives_idle", "10" },
	{ "keepalives_interval", "5" },
	{ "keepalives_count", "3" },
	{ "tcp_user_timeout", "30000" },
	{ "client_encoding", "UTF8" },
	{ "fallback_application_name", "tombola-shuffler" },
};

static const char *said(const PQconninfoOption *option, const char *key)
{
	for (; option->keyword; option++)
		if (strcmp(option->keyword, key) == 0)
			return option->val && *option->val ? option->val : NULL;
	return NULL;
}

static bool is_local(const char *host, size_t len)
{
	static const char *const loopback[] = { "localhost", "::1" };

	if (len > 0 && (*host == '/' || *host == '@'))
		return true;
	for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++)
		if (len == strlen(loopback[i]) && strncmp(host, loopback[i], len) == 0)
			return true;
	if (len < 5 || strncmp(host, "127.", 4) != 0)
		return false;
	/* Is this an address?  "127.example.org" is a name. */
	return strspn(host, "0123456789.") >= len;
}

bool sh_pg_host_is_local(const char *host)
{
	return is_local(host, strlen(host));
}

/* Are all hosts of the list local?  Commas separate them. */
static bool all_local(const char *hosts)
{
	for (const char *at = hosts;; at++) {
		size_t len = strcspn(at, ",");

		if (!is_local(at, len))
			return false;
		at += len;
		if (*at == '\0')
			return true;
	}
}

/* A service file or the environment may add hostaddr, to which libpq connects whatever `host` says. */
static bool elsewhere(const PQconninfoOption *option)
{
	return said(option, "service") || getenv("PGSERVICE") || getenv("PGHOSTADDR");
}

static enum cm_rc judge(const PQconninfoOption *option, bool *verify, struct cm_err *err)
{
	const char *mode = said(option, "sslmode"), *hosts = said(option, "hostaddr");

	if (said(option, "password") || said(option, "sslpassword"))
		return cm_fail(err, CM_ECONFIG,
			"database: a password does not belong here: use passfile=FILE, a service file, or a client "
			"certificate");
	if (!hosts && !elsewhere(option))
		hosts = said(option, "host");
	bool local = hosts && all_local(hosts);
	if (mode && strcmp(mode, "verify-full") != 0 && !local)
		return cm_fail(err, CM_ECONFIG,
			"database: sslmode=%s: must be verify-full for a host that is neither a Unix socket nor a "
			"loopback address",
			mode);
	*verify = !mode && !local;
	return CM_OK;
}

static enum cm_rc judge_file(const char *path, struct cm_err *err)
{
	/* libpq reports a missing file that it needs, and "system" is not a file. */
	enum cm_rc rc = path && *path == '/' ? cm_owned_path(path, err) : CM_OK;

	if (rc == CM_OK || rc == CM_ENOINPUT)
		return CM_OK;
	return cm_context(err, "database");
}

/* Judge the files that decide which server is the right one, and what it is sent: those named by the
 * string, by the environment, or by libpq's defaults. */
static enum cm_rc judge_files(const PQconninfoOption *option, struct cm_err *err)
{
	static const char *const named[] = { "passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl",
		"sslcrldir" };
	static const char *const env[] = { "PGPASSFILE", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL",
		"PGSSLCRLDIR", "PGSERVICEFILE", "PGSYSCONFDIR" };
	static const char *const home[] = { ".pgpass", ".pg_service.conf", ".postgresql/root.crt",
		".postgresql/root.crl", ".postgresql/postgresql.crt", ".postgresql/postgresql.key" };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < sizeof named / sizeof named[0]; i++)
		rc = judge_file(said(option, named[i]), err);
	for (size_t i = 0; rc == CM_OK && i < sizeof env / sizeof env[0]; i++)
		rc = judge_file(getenv(env[i]), err);
	for (size_t i = 0; rc == CM_OK && getenv("HOME") && i < sizeof home / sizeof home[0]; i++) {
		char *path = cm_file_join(getenv("HOME"), home[i]);

		rc = path ? judge_file(path, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
		free(path);
	}
	return rc;
}

/* libpq quotes what it cannot read, which may be a password. */
static enum cm_rc unreadable(const char *database, const char *why, struct cm_err *err)
{
	if (strstr(database, "://") || strstr(database, "password"))
		return cm_fail(err, CM_ECONFIG,
			"database: cannot be read (and a password does not belong here: use passfile=FILE)");
	return cm_fail(err, CM_ECONFIG, "database: %.*s", (int)strcspn(why, "\n"), why);
}

enum cm_rc sh_pg_params(const char *database, struct sh_pg_params *out, struct cm_err *err)
{
	char *why = NULL;
	bool verify = false;
	size_t n = 0;

	*out = (struct sh_pg_params){ 0 };
	PQconninfoOption *option = PQconninfoParse(database, &why);
	enum cm_rc rc = CM_OK;
	if (!option)
		rc = unreadable(database, why ? why : "out of memory", err);
	if (rc == CM_OK)
		rc = judge(option, &verify, err);
	if (rc == CM_OK)
		rc = judge_files(option, err);
	PQfreemem(why);
	if (rc == CM_OK) {
		out->key[n] = "dbname";
		out->value[n++] = database;
		if (verify) {
			out->key[n] = "sslmode";
			out->value[n++] = "verify-full";
		}
		for (size_t i = 0; i < sizeof demanded / sizeof demanded[0]; i++) {
			out->key[n] = demanded[i].key;
			out->value[n++] = demanded[i].value;
		}
	}
	PQconninfoFree(option);
	return rc;
}
