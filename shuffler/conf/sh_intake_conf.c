/* sh_intake_conf.c - the table of an intake's configuration keys. */
#include "sh_intake_conf.h"

#include <stddef.h>

#define FIELD(f) offsetof(struct sh_intake_conf, f)

static const struct cf_row tls_rows[] = {
	{ .key = "cert",
		.type = CF_PATH,
		.offset = FIELD(cert),
		.required = true,
		.help = "certificate with role intake" },
	{ .key = "key", .type = CF_PATH, .offset = FIELD(key), .required = true, .help = "its private key" },
	{ .key = "services_ca",
		.type = CF_PATH,
		.offset = FIELD(services_ca),
		.required = true,
		.help = "CA that vouches for the head" },
	{ .key = "clients_ca",
		.type = CF_PATH,
		.offset = FIELD(clients_ca),
		.required = true,
		.help = "CA that enrols clients; not the analyzer's" },
	{ .key = "services_crl",
		.type = CF_PATH,
		.offset = FIELD(services_crl),
		.help = "revocation list of services_ca; read again on SIGHUP" },
	{ .key = "clients_crl",
		.type = CF_PATH,
		.offset = FIELD(clients_crl),
		.help = "revocation list of clients_ca; read again on SIGHUP" },
	{ .key = NULL },
};

static const struct cf_row limit_rows[] = {
	{ .key = "connections",
		.type = CF_INT,
		.offset = FIELD(max_connections),
		.min = 1,
		.max = 100000,
		.fallback = "1024",
		.help = "of all clients; when all are taken, the certificate that has most of them gives one "
			"up" },
	{ .key = "connections_per_certificate",
		.type = CF_INT,
		.offset = FIELD(of_one),
		.min = 1,
		.max = 100000,
		.fallback = "16",
		.help = "further ones of the same certificate are refused; a client has at most 8" },
	{ .key = "frames_per_second",
		.type = CF_INT,
		.offset = FIELD(frames_per_second),
		.min = 1,
		.max = 1000000,
		.fallback = "500",
		.help = "of one certificate, over all its connections; beyond it they are paused; a request "
			"without effect counts 25, a part of a payload 1 for each 16 KiB" },
	{ .key = "waiting_mib",
		.type = CF_INT,
		.offset = FIELD(max_waiting_mib),
		.min = 2,
		.max = 1024,
		.fallback = "32",
		.help = "submissions in memory that are not yet durable; beyond it peers wait" },
	{ .key = "commit_messages",
		.type = CF_INT,
		.offset = FIELD(commit_messages),
		.min = 1,
		.max = 1000000,
		.fallback = "4096",
		.help = "a commit waits for so many messages, so that each is stored among many..." },
	{ .key = "commit_wait",
		.type = CF_DURATION,
		.offset = FIELD(commit_wait_ms),
		.min = 0,
		.max = 10000,
		.fallback = "100ms",
		.help = "...or so long" },
	{ .key = "idle",
		.type = CF_DURATION,
		.offset = FIELD(idle_ms),
		.min = 1000,
		.max = 86400e3,
		.fallback = "120s",
		.help = "a silent peer is disconnected, and one whose frame takes five times as long" },
	{ .key = NULL },
};

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
	{ .key = "http",
		.type = CF_STRING,
		.offset = FIELD(http),
		.fallback = "127.0.0.1:9468",
		.help = "loopback host:port of /healthz, /readyz, /status and /metrics; \"\" for none" },
	{ .key = "http_anywhere",
		.type = CF_BOOL,
		.offset = FIELD(http_anywhere),
		.fallback = "false",
		.help = "true: `http` may be an address that other hosts reach; requests are not "
			"authenticated" },
	{ .key = "tls", .type = CF_GROUP, .required = true, .sub = tls_rows, .help = "mutual TLS" },
	{ .key = "limits", .type = CF_GROUP, .sub = limit_rows, .help = "what clients may use" },
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
