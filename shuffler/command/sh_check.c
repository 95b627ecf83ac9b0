/* sh_check.c - verifies the shuffler's configuration, the files that it names, and the state that a start
 * would find. */
#include "sh_check.h"

#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "cm_lock.h"
#include "cm_owned.h"
#include "cr_sign.h"
#include "nt_addr.h"
#include "nt_http.h"
#include "sh_core.h"
#include "sh_stores.h"

static struct nt_tls_conf tls_conf(const struct sh_conf *c)
{
	return (struct nt_tls_conf){
		.server = true,
		.cert_file = c->tls.cert,
		.key_file = c->tls.key,
		.trust = { { CR_ROLE_CLIENT, c->tls.clients_ca, c->tls.clients_crl },
			{ CR_ROLE_ANALYZER, c->tls.services_ca, c->tls.services_crl },
			{ c->intakes ? CR_ROLE_INTAKE : CR_ROLE_NONE, c->tls.services_ca,
				c->tls.services_crl } },
	};
}

enum cm_rc sh_check_tls(const struct sh_conf *c, struct nt_tls_ctx **out, struct cm_err *err)
{
	const struct nt_tls_conf conf = tls_conf(c);

	return nt_tls_ctx_new(&conf, out, err);
}

static void say(void *user, const struct cm_err *why)
{
	cf_finding(why, stderr, user);
}

static void say_file(void *user, enum cr_file which, const struct cm_err *why)
{
	cf_finding_of(user, cr_file_keys[which], why);
}

/* Check addresses, keys and certificates, as far as the file names them. */
static void check_named(const struct sh_conf *c, struct cm_err *first)
{
	const struct cr_files files = sh_tls_files(&c->tls);
	const struct nt_tls_conf tls = tls_conf(c);
	struct cf_findings found = { c->file, stderr, first };
	struct cr_signer *signer = NULL;
	struct cr_verifier *analyzer = NULL;
	struct nt_addr address;
	struct cm_err why;

	if (c->listen && nt_addr_split(c->listen, &address, &why) != CM_OK)
		cf_finding_of(&found, "listen", &why);
	if (c->http && *c->http != '\0' && nt_http_check_address(c->http, c->http_anywhere, &why) != CM_OK)
		cf_finding_of(&found, "http", &why);
	if (c->signing_key && cr_signer_load(c->signing_key, &signer, &why) != CM_OK)
		cf_finding_of(&found, "signing_key", &why);
	if (c->analyzer_key && cr_verifier_load(c->analyzer_key, &analyzer, &why) != CM_OK)
		cf_finding_of(&found, "analyzer_key", &why);
	if (signer && analyzer && cr_signer_is(signer, analyzer)) {
		(void)cm_fail(&why, CM_ECONFIG,
			"this is the shuffler's own key, not the analyzer's: bring analyzer-sign.pub");
		cf_finding_of(&found, "analyzer_key", &why);
	}
	if (c->analyzer_key && cr_pin_check(c->analyzer_key, CR_ROLE_ANALYZER, &why) != CM_OK)
		cf_finding_of(&found, "analyzer_key", &why);
	nt_tls_faults(&tls, cf_finding_of, &found);
	cr_files_check(&files, CR_ROLE_SHUFFLER, cm_clock_wall_ms() / 1000, say_file, &found);
	cr_verifier_free(analyzer);
	cr_signer_free(signer);
}

/* Check the stored rounds with their keys and messages, the pins and the witnessed ledger.  A store that
 * does not exist yet has no faults. */
static void check_store(const struct sh_conf *c, const struct sh_store_kind *kind,
	const struct sh_policy *policy, struct cm_err *first)
{
	struct sh_store store = { .close = NULL };
	char *keys = cm_file_join(c->state_dir, "keys"), *leaves = cm_file_join(c->state_dir, "leaves");
	const struct sh_core_conf conf = {
		.env = { .store = &store,
			.key_dir = keys,
			.leaves = { leaves, c->proof_window_ms },
			.max_bytes = (size_t)c->limits.max_waiting_mib << 20 },
		.policy = policy,
	};
	struct cm_err why;

	enum cm_rc rc = keys && leaves ? kind->open_readonly(c, &store, &why)
				       : cm_fail(&why, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && policy)
		rc = sh_core_check(&conf, say, first, &why);
	if (rc == CM_ELATER)
		(void)fprintf(stderr, "%s: the state is not looked at\n", why.msg);
	else if (rc != CM_OK && rc != CM_ENOINPUT)
		say(first, &why);
	if (store.close)
		store.close(store.ctx);
	free(leaves);
	free(keys);
}

/* Check both files and what the first one names.  *judged: the policy has no fault. */
static enum cm_rc check_files(const char *path, struct sh_conf *conf, const struct sh_store_kind **kind,
	struct sh_policy *policy, bool *judged, struct cm_err *first)
{
	struct cm_err why;

	enum cm_rc rc = sh_conf_load(path, conf, stderr, &why);
	if (rc == CM_OK)
		rc = sh_stores_of(conf, kind, &why);
	if (rc != CM_OK)
		cf_finding(&why, stderr, first);
	check_named(conf, first);
	/* A missing configuration keeps the result CM_ENOINPUT. */
	if (rc != CM_ENOINPUT)
		rc = cf_blamed(first);
	*judged = false;
	if (conf->policy && cf_absent_at(conf->file, "policy", conf->policy, stderr, first))
		return rc == CM_OK ? cf_blamed(first) : rc;
	*judged = conf->policy && sh_policy_load(conf->policy, policy, stderr, &why) == CM_OK;
	if (conf->policy && !*judged)
		cf_finding(&why, stderr, first);
	return rc == CM_OK ? first->code : rc;
}

enum cm_rc sh_check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const struct sh_store_kind *kind = NULL;
	struct sh_conf conf = { 0 };
	struct sh_policy policy = { 0 };
	struct cm_err why;
	bool judged;

	(void)exit_code;
	err->code = CM_OK;
	enum cm_rc rc = check_files(cli->config, &conf, &kind, &policy, &judged, err);
	if (conf.state_dir && (cm_owned_state(conf.state_dir, &why) != CM_OK ||
				      cm_lock_check(conf.state_dir, SH_PARTY, &why) != CM_OK))
		cf_finding(&why, stderr, err);
	/* Even if the file has a fault elsewhere, its state can be checked.  This program can do that if
	 * the store is SQLite's. */
	if (!kind && conf.store && strcmp(conf.store, sh_store_sqlite.name) == 0)
		kind = &sh_store_sqlite;
	if (conf.state_dir && kind)
		check_store(&conf, kind, judged ? &policy : NULL, err);
	rc = rc == CM_OK ? err->code : rc;
	if (rc == CM_OK)
		(void)printf("%s and %s are valid\n", cli->config, conf.policy);
	sh_policy_fini(&policy);
	sh_conf_free(&conf);
	return rc;
}
