/* sh_conf.c - the table of the shuffler's configuration keys. */
#include "sh_conf.h"

#include <stddef.h>
#include <string.h>

#include "cf_http.h"

#define ROLE_MAX 63u /* PostgreSQL's longest name */
#define FIELD(f) offsetof(struct sh_conf, f)

const struct cf_row sh_conf_rows[] = {
	{ .key = "listen",
		.type = CF_STRING,
		.offset = FIELD(listen),
		.fallback = "127.0.0.1:7443",
		.help = "address for clients and the analyzer" },
	{ .key = "state_dir",
		.type = CF_PATH,
		.offset = FIELD(state_dir),
		.required = true,
		.help = "state.db, rounds/, leaves/ and keys/; leave the last two out of backups" },
	{ .key = "store",
		.type = CF_STRING,
		.offset = FIELD(store),
		.fallback = "sqlite",
		.help = "\"sqlite\": files of state_dir; \"postgresql\": state.db and rounds/ are in `database` "
			"(package tombola-shuffler-postgresql)" },
	{ .key = "database",
		.type = CF_STRING,
		.offset = FIELD(database),
		.help = "of store \"postgresql\": libpq's string or URI, \"host=db.example.org dbname=tombola\"; "
			"without a password" },
	{ .key = "data_databases",
		.type = CF_STRINGS,
		.offset = FIELD(data_databases),
		.min = 1,
		.max = 63,
		.help = "further databases, strings as in `database`, that hold reports beside it: each intake's go "
			"to one of all of them" },
	{ .key = "synchronous_standbys",
		.type = CF_INT,
		.offset = FIELD(standbys),
		.min = 0,
		.max = 100,
		.fallback = "0",
		.help = "the server of each database must have so many, or the shuffler does not start" },
	{ .key = "intakes",
		.type = CF_BOOL,
		.offset = FIELD(intakes),
		.fallback = "false",
		.help = "true: reports are taken by intakes (tombola-shuffler intake), not here; needs store "
			"\"postgresql\"" },
	{ .key = "intake_role",
		.type = CF_STRING,
		.offset = FIELD(intake_role),
		.help = "with `intakes`: their role in the database, to which this shuffler grants what they need" },
	{ .key = "policy",
		.type = CF_PATH,
		.offset = FIELD(policy),
		.required = true,
		.help = "the policy file" },
	{ .key = "signing_key",
		.type = CF_PATH,
		.offset = FIELD(signing_key),
		.required = true,
		.help = "Ed25519 key for manifests and receipts" },
	{ .key = "analyzer_key",
		.type = CF_PATH,
		.offset = FIELD(analyzer_key),
		.required = true,
		.help = "the analyzer's public signing key" },
	CF_HTTP_ROWS(FIELD(http), FIELD(http_anywhere), "127.0.0.1:9465",
		"/healthz, /readyz, /status and /metrics"),
	{ .key = "proof_window",
		.type = CF_DURATION,
		.offset = FIELD(proof_window_ms),
		.min = 0,
		.max = 604800e3,
		.fallback = "1h",
		.help = "clients may ask so long after a seal whether a message is in; 0s: never" },
	{ .key = "tls",
		.type = CF_GROUP,
		.offset = FIELD(tls),
		.required = true,
		.sub = sh_tls_rows,
		.help = "mutual TLS" },
	{ .key = "limits",
		.type = CF_GROUP,
		.offset = FIELD(limits),
		.sub = sh_limit_rows,
		.help = "what peers may use" },
	{ .key = NULL },
};

/* Keys that depend on each other; the first rule that is broken is the fault. */
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
