/* sh_intake_check.c - the verb `check-config intake`: checks what an intake's configuration names, and what
 * its start would find. */
#include "sh_intake_check.h"

#include "cm_clock.h"
#include "cr_pki.h"
#include "nt_addr.h"
#include "nt_http.h"
#include "sh_postgresql.h"
#include "sh_stores.h"

static struct nt_tls_conf conf_of(const struct sh_intake_conf *c, bool server)
{
	return (struct nt_tls_conf){ .server = server,
		.cert_file = c->tls.cert,
		.key_file = c->tls.key,
		.trust = { { server ? CR_ROLE_CLIENT : CR_ROLE_SHUFFLER,
			server ? c->tls.clients_ca : c->tls.services_ca,
			server ? c->tls.clients_crl : c->tls.services_crl } } };
}

enum cm_rc sh_intake_tls(
	const struct sh_intake_conf *c, struct nt_tls_ctx **tls, struct nt_tls_ctx **up, struct cm_err *err)
{
	const struct nt_tls_conf down = conf_of(c, true), dial = conf_of(c, false);

	enum cm_rc rc = nt_tls_ctx_new(&down, tls, err);
	if (rc != CM_OK)
		return rc;
	rc = nt_tls_ctx_new(&dial, up, err);
	if (rc != CM_OK) {
		nt_tls_ctx_free(*tls);
		*tls = NULL;
	}
	return rc;
}

static void check_address(const struct cf_file *file, const char *key, const char *text, struct cm_err *first)
{
	struct nt_addr address;
	struct cm_err why;

	if (text && nt_addr_split(text, &address, &why) != CM_OK)
		cf_fault_at(file, key, &why, stderr, first);
}

static void say(void *user, const struct cm_err *why)
{
	cf_finding(why, stderr, user);
}

static void say_file(void *user, enum cr_file which, const struct cm_err *why)
{
	cf_finding_of(user, cr_file_keys[which], why);
}

/* The head, and every client, would refuse a certificate of another role. */
static void check_certificate(const struct sh_intake_conf *c, struct cm_err *first)
{
	const struct cr_files files = sh_tls_files(&c->tls);
	struct nt_tls_conf tls = conf_of(c, true);
	struct cf_findings found = { c->file, stderr, first };

	tls.trust[1] = conf_of(c, false).trust[0];
	nt_tls_faults(&tls, cf_finding_of, &found);
	cr_files_check(&files, CR_ROLE_INTAKE, cm_clock_wall_ms() / 1000, say_file, &found);
}

struct sh_pg_conf sh_intake_databases(const struct sh_intake_conf *c)
{
	return (struct sh_pg_conf){ .database = c->database,
		.further = c->other_databases.item,
		.n_further = c->other_databases.n,
		.standbys = (uint32_t)c->standbys };
}

enum cm_rc sh_intake_check_databases(const struct sh_intake_conf *c, struct cm_err *first)
{
	struct sh_pg_params params;
	struct cm_err why;

	if (sh_pg_params(c->database, &params, &why) != CM_OK) {
		cf_fault_at(c->file, "database", &why, stderr, first);
		return why.code;
	}
	for (size_t i = 0; i < c->other_databases.n; i++)
		if (sh_pg_params(c->other_databases.item[i], &params, &why) != CM_OK) {
			(void)cm_context(&why, "other_databases, number %zu", i + 1);
			cf_fault_at(c->file, "other_databases", &why, stderr, first);
			return why.code;
		}
	return CM_OK;
}

static void check_database(const struct sh_intake_conf *c, struct cm_err *first)
{
	const struct sh_pg_conf pg = sh_intake_databases(c);
	struct cm_err why;

	if (!c->database || sh_intake_check_databases(c, first) != CM_OK)
		return;
	enum cm_rc rc = sh_postgresql_check_join(&pg, say, first, &why);
	if (rc == CM_ELATER)
		(void)fprintf(stderr, "%s: the role's rights are not looked at\n", why.msg);
	else if (rc != CM_OK)
		cf_fault_at(c->file, "database", &why, stderr, first);
}

enum cm_rc sh_intake_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct sh_intake_conf conf = { 0 };
	struct cm_err why;

	(void)exit_code;
	err->code = CM_OK;
	enum cm_rc rc = sh_intake_conf_load(cli->config, &conf, stderr, &why);
	if (rc != CM_OK)
		cf_finding(&why, stderr, err);
	check_address(conf.file, "listen", conf.listen, err);
	check_address(conf.file, "head", conf.head, err);
	if (conf.http && *conf.http && nt_http_check_address(conf.http, conf.http_anywhere, &why) != CM_OK)
		cf_fault_at(conf.file, "http", &why, stderr, err);
	check_certificate(&conf, err);
	check_database(&conf, err);
	/* A missing configuration keeps the result CM_ENOINPUT. */
	if (rc != CM_ENOINPUT)
		rc = cf_blamed(err);
	if (rc == CM_OK)
		(void)printf("%s is valid\n", cli->config);
	sh_intake_conf_free(&conf);
	return rc;
}
