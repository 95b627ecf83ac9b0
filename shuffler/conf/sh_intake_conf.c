/* sh_intake_conf.c - the table of an intake's configuration keys. */
#include "sh_intake_conf.h"

#include <stddef.h>

#include "cf_http.h"

#define FIELD(f) offsetof(struct sh_intake_conf, f)

const struct cf_row sh_intake_conf_rows[] = {
	CF_DEFAULT("listen", CF_STRING, FIELD(listen), "127.0.0.1:7443", "address for clients"),
	CF_REQUIRED("head", CF_STRING, FIELD(head), "host:port of the shuffler that has `intakes = true`"),
	CF_REQUIRED("database", CF_STRING, FIELD(database),
		"the head's, or one of its data_databases, to which reports go: libpq's string or URI, "
		"without a password"),
	CF_OPTIONAL("other_databases", CF_STRINGS(1, 64), FIELD(other_databases),
		"of a head that has data_databases: those and its database; `database` may be among them"),
	CF_DEFAULT("synchronous_standbys", CF_INT(0, 100), FIELD(standbys), "0",
		"the server of each database must have so many"),
	CF_HTTP_ROWS(FIELD(http), FIELD(http_anywhere), "127.0.0.1:9468",
		"/healthz, /readyz, /status and /metrics"),
	CF_REQUIRED("tls", CF_GROUP(sh_tls_rows), FIELD(tls), "mutual TLS"),
	CF_OPTIONAL("limits", CF_GROUP(sh_limit_rows), FIELD(limits), "what clients may use"),
	CF_END,
};

enum cm_rc sh_intake_conf_load(const char *path, struct sh_intake_conf *out, FILE *faults, struct cm_err *err)
{
	*out = (struct sh_intake_conf){ 0 };
	return cf_load(path, sh_intake_conf_rows, out, &out->file, faults, err);
}

void sh_intake_conf_free(struct sh_intake_conf *conf)
{
	cf_file_free(conf->file);
	cf_free(sh_intake_conf_rows, conf);
	*conf = (struct sh_intake_conf){ 0 };
}
