/* sh_conf.c - the table of the shuffler's configuration keys. */
#include "sh_conf.h"

#include <stddef.h>
#include <string.h>

#include "cf_http.h"

#define ROLE_MAX 63u /* the longest name that PostgreSQL allows */
#define FIELD(f) offsetof(struct sh_conf, f)

const struct cf_row sh_conf_rows[] = {
	CF_DEFAULT(
		"listen", CF_STRING, FIELD(listen), "127.0.0.1:7443", "address for clients and the analyzer"),
	CF_REQUIRED("state_dir", CF_PATH, FIELD(state_dir),
		"state.db, rounds/, leaves/ and keys/; leave the last two out of backups"),
	CF_DEFAULT("store", CF_STRING, FIELD(store), "sqlite",
		"\"sqlite\": files of state_dir; \"postgresql\": state.db and rounds/ are in `database` "
		"(package tombola-shuffler-postgresql)"),
	CF_OPTIONAL("database", CF_STRING, FIELD(database),
		"of store \"postgresql\": libpq's string or URI, \"host=db.example.org dbname=tombola\"; "
		"without a password"),
	CF_OPTIONAL("data_databases", CF_STRINGS(1, 63), FIELD(data_databases),
		"further databases, strings as in `database`, that hold reports beside it: each intake's "
		"go to one of all of them"),
	CF_DEFAULT("synchronous_standbys", CF_INT(0, 100), FIELD(standbys), "0",
		"the server of each database must have so many, or the shuffler does not start"),
	CF_DEFAULT("intakes", CF_BOOL, FIELD(intakes), "false",
		"true: reports are taken by intakes (tombola-shuffler intake), not here; needs store "
		"\"postgresql\""),
	CF_OPTIONAL("intake_role", CF_STRING, FIELD(intake_role),
		"with `intakes`: their role in the database, to which this shuffler grants what they need"),
	CF_REQUIRED("policy", CF_PATH, FIELD(policy), "the policy file"),
	CF_REQUIRED("signing_key", CF_PATH, FIELD(signing_key), "Ed25519 key for manifests and receipts"),
	CF_REQUIRED("analyzer_key", CF_PATH, FIELD(analyzer_key), "the analyzer's public signing key"),
	CF_HTTP_ROWS(FIELD(http), FIELD(http_anywhere), "127.0.0.1:9465",
		"/healthz, /readyz, /status and /metrics"),
	CF_DEFAULT("proof_window", CF_DURATION(0, 604800e3), FIELD(proof_window_ms), "1h",
		"clients may ask so long after a seal whether a message is in; 0s: never"),
	CF_REQUIRED("tls", CF_GROUP(sh_tls_rows), FIELD(tls), "mutual TLS"),
	CF_OPTIONAL("limits", CF_GROUP(sh_limit_rows), FIELD(limits), "what peers may use"),
	CF_END,
};

/* Check keys that depend on each other.  Reports the first broken rule. */
static enum cm_rc check_store(const struct sh_conf *c, FILE *faults, struct cm_err *err)
{
	static const char only_postgresql[] = "only for store = \"postgresql\"";
	const bool sqlite = strcmp(c->store, "sqlite") == 0, postgresql = strcmp(c->store, "postgresql") == 0;
	const size_t role = c->intake_role ? strlen(c->intake_role) : 0;
	const struct {
		bool broken;
		const char *key, *why;
	} rules[] = {
		{ !sqlite && !postgresql, "store", "must be \"sqlite\" or \"postgresql\"" },
		{ postgresql && !c->database, "store", "\"postgresql\" needs the key database" },
		{ sqlite && c->intakes, "intakes", only_postgresql },
		{ c->intakes && !c->intake_role, "intakes",
			"true needs the key intake_role: a role of the database that is theirs alone" },
		{ c->intake_role && !c->intakes, "intake_role", "only for intakes = true" },
		{ c->intake_role && (role == 0 || role > ROLE_MAX), "intake_role",
			"must have 1 to 63 bytes" },
		{ sqlite && c->database, "database", only_postgresql },
		{ sqlite && c->standbys > 0, "synchronous_standbys", only_postgresql },
		{ sqlite && c->data_databases.n > 0, "data_databases", only_postgresql },
	};
	struct cm_err why;

	err->code = CM_OK;
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (rules[i].broken) {
			(void)cm_fail(&why, CM_ECONFIG, "%s: %s", rules[i].key, rules[i].why);
			cf_fault_at(c->file, rules[i].key, &why, faults, err);
			break;
		}
	return err->code;
}

enum cm_rc sh_conf_load(const char *path, struct sh_conf *out, FILE *faults, struct cm_err *err)
{
	*out = (struct sh_conf){ 0 };
	enum cm_rc rc = cf_load(path, sh_conf_rows, out, &out->file, faults, err);
	return rc == CM_OK ? check_store(out, faults, err) : rc;
}

void sh_conf_free(struct sh_conf *conf)
{
	cf_file_free(conf->file);
	cf_free(sh_conf_rows, conf);
	*conf = (struct sh_conf){ 0 };
}
