/* sh_conf.c - the shuffler's configuration file. */
#include "sh_conf.h"

#include <stddef.h>

#define FIELD(f) offsetof(struct sh_conf, f)

static const struct cm_conf_row tls_rows[] = {
	{ .key = "cert",
		.type = CM_CONF_PATH,
		.offset = FIELD(cert),
		.required = true,
		.help = "certificate with role shuffler" },
	{ .key = "key",
		.type = CM_CONF_PATH,
		.offset = FIELD(key),
		.required = true,
		.help = "its private key" },
	{ .key = "services_ca",
		.type = CM_CONF_PATH,
		.offset = FIELD(services_ca),
		.required = true,
		.help = "CA that vouches for the analyzer" },
	{ .key = "clients_ca",
		.type = CM_CONF_PATH,
		.offset = FIELD(clients_ca),
		.required = true,
		.help = "CA that enrols clients; not the analyzer's" },
	{ .key = "services_crl",
		.type = CM_CONF_PATH,
		.offset = FIELD(services_crl),
		.help = "revocation list of services_ca; read again on SIGHUP" },
	{ .key = "clients_crl",
		.type = CM_CONF_PATH,
		.offset = FIELD(clients_crl),
		.help = "revocation list of clients_ca; read again on SIGHUP" },
	{ .key = NULL },
};

static const struct cm_conf_row limit_rows[] = {
	{ .key = "connections",
		.type = CM_CONF_INT,
		.offset = FIELD(max_connections),
		.min = 1,
		.max = 100000,
		.fallback = "1024",
		.help = "further ones are refused" },
	{ .key = "waiting_mib",
		.type = CM_CONF_INT,
		.offset = FIELD(max_waiting_mib),
		.min = 2,
		.max = 1024,
		.fallback = "32",
		.help = "submissions in memory that are not yet durable; beyond it peers wait" },
	{ .key = "commit_messages",
		.type = CM_CONF_INT,
		.offset = FIELD(commit_messages),
		.min = 1,
		.max = 1000000,
		.fallback = "1000",
		.help = "a commit waits for so many messages, to be a crowd on disk too..." },
	{ .key = "commit_wait",
		.type = CM_CONF_DURATION,
		.offset = FIELD(commit_wait_ms),
		.min = 0,
		.max = 10000,
		.fallback = "100ms",
		.help = "...or so long" },
	{ .key = "idle",
		.type = CM_CONF_DURATION,
		.offset = FIELD(idle_ms),
		.min = 1000,
		.max = 86400e3,
		.fallback = "120s",
		.help = "a silent peer is disconnected" },
	{ .key = NULL },
};

const struct cm_conf_row sh_conf_rows[] = {
	{ .key = "listen",
		.type = CM_CONF_STRING,
		.offset = FIELD(listen),
		.fallback = "127.0.0.1:7443",
		.help = "address for clients and the analyzer" },
	{ .key = "state_dir",
		.type = CM_CONF_PATH,
		.offset = FIELD(state_dir),
		.required = true,
		.help = "state.db, rounds/ and keys/; leave keys/ out of backups" },
	{ .key = "policy",
		.type = CM_CONF_PATH,
		.offset = FIELD(policy),
		.required = true,
		.help = "the policy file" },
	{ .key = "signing_key",
		.type = CM_CONF_PATH,
		.offset = FIELD(signing_key),
		.required = true,
		.help = "Ed25519 key for manifests and receipts" },
	{ .key = "analyzer_key",
		.type = CM_CONF_PATH,
		.offset = FIELD(analyzer_key),
		.required = true,
		.help = "the analyzer's public signing key" },
	{ .key = "http",
		.type = CM_CONF_STRING,
		.offset = FIELD(http),
		.fallback = "127.0.0.1:9465",
		.help = "loopback host:port of /healthz, /readyz, /status and /metrics; \"\" for none" },
	{ .key = "http_anywhere",
		.type = CM_CONF_BOOL,
		.offset = FIELD(http_anywhere),
		.fallback = "false",
		.help = "true: `http` may be an address that others reach; who asks is not authenticated" },
	{ .key = "tls", .type = CM_CONF_GROUP, .required = true, .sub = tls_rows, .help = "mutual TLS" },
	{ .key = "limits", .type = CM_CONF_GROUP, .sub = limit_rows, .help = "what peers may use" },
	{ .key = NULL },
};

enum cm_rc sh_conf_load(const char *path, struct sh_conf *out, FILE *faults, struct cm_err *err)
{
	*out = (struct sh_conf){ 0 };
	return cm_conf_load(path, sh_conf_rows, out, faults, err);
}

void sh_conf_free(struct sh_conf *conf)
{
	cm_conf_free(sh_conf_rows, conf);
	*conf = (struct sh_conf){ 0 };
}
