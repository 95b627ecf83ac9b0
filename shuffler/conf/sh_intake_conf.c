/* sh_intake_conf.c - the table of an intake's configuration keys. */
#include "sh_intake_conf.h"

#include <stddef.h>

#include "cf_http.h"

#define FIELD(f) offsetof(struct sh_intake_conf, f)

const struct cf_row sh_intake_conf_rows[] = {
	{ .key = "listen",
		.type = CF_STRING,
		.offset = FIELD(listen),
		.fallback = "127.0.0.1:7443",
		.help = "address for clients" },
	{ .key = "head",
		.type = CF_STRING,
		.offset = FIELD(head),
		.required = true,
		.help = "host:port of the shuffler that has `intakes = true`" },
	{ .key = "database",
		.type = CF_STRING,
		.offset = FIELD(database),
		.required = true,
		.help = "the head's, or one of its data_databases, to which reports go: libpq's string or URI, without "
			"a password" },
	{ .key = "other_databases",
		.type = CF_STRINGS,
		.offset = FIELD(other_databases),
		.min = 1,
		.max = 64,
		.help = "of a head that has data_databases: those and its database; `database` may be among them" },
	{ .key = "synchronous_standbys",
		.type = CF_INT,
		.offset = FIELD(standbys),
		.min = 0,
		.max = 100,
		.fallback = "0",
		.help = "the server of each database must have so many" },
	CF_HTTP_ROWS(FIELD(http), FIELD(http_anywhere), "127.0.0.1:9468",
		"/healthz, /readyz, /status and /metrics"),
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
		.help = "what clients may use" },
	{ .key = NULL },
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
