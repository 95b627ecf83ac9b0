/* sh_peers_conf.c - the tables of the keys that a shuffler and its intakes share. */
#include "sh_peers_conf.h"

#include <stddef.h>

#define TLS(f)   offsetof(struct sh_tls_conf, f)
#define LIMIT(f) offsetof(struct sh_limits_conf, f)

const struct cf_row sh_tls_rows[] = {
	{ .key = "cert",
		.type = CF_PATH,
		.offset = TLS(cert),
		.required = true,
		.help = "certificate with role shuffler, of an intake with role intake" },
	{ .key = "key", .type = CF_PATH, .offset = TLS(key), .required = true, .help = "its private key" },
	{ .key = "services_ca",
		.type = CF_PATH,
		.offset = TLS(services_ca),
		.required = true,
		.help = "CA that vouches for the analyzer and the shuffler" },
	{ .key = "clients_ca",
		.type = CF_PATH,
		.offset = TLS(clients_ca),
		.required = true,
		.help = "CA that enrols clients; not the analyzer's" },
	{ .key = "services_crl",
		.type = CF_PATH,
		.offset = TLS(services_crl),
		.help = "revocation list of services_ca; read again on SIGHUP" },
	{ .key = "clients_crl",
		.type = CF_PATH,
		.offset = TLS(clients_crl),
		.help = "revocation list of clients_ca; read again on SIGHUP" },
	{ .key = NULL },
};

const struct cf_row sh_limit_rows[] = {
	{ .key = "connections",
		.type = CF_INT,
		.offset = LIMIT(max_connections),
		.min = 1,
		.max = 100000,
		.fallback = "1024",
		.help = "of all clients; when all are taken, the certificate that has most of them gives one "
			"up" },
	{ .key = "connections_per_certificate",
		.type = CF_INT,
		.offset = LIMIT(of_one),
		.min = 1,
		.max = 100000,
		.fallback = "16",
		.help = "further ones of the same certificate are refused; a client has at most 8" },
	{ .key = "frames_per_second",
		.type = CF_INT,
		.offset = LIMIT(frames_per_second),
		.min = 1,
		.max = 1000000,
		.fallback = "500",
		.help = "of one certificate, over all its connections; beyond it they are paused; a request "
			"without effect counts 25, a part of a payload 1 for each 16 KiB" },
	{ .key = "waiting_mib",
		.type = CF_INT,
		.offset = LIMIT(max_waiting_mib),
		.min = 2,
		.max = 1024,
		.fallback = "32",
		.help = "submissions in memory that are not yet durable, and beside them half as much of "
			"payloads on their way; beyond it peers wait" },
	{ .key = "commit_messages",
		.type = CF_INT,
		.offset = LIMIT(commit_messages),
		.min = 1,
		.max = 1000000,
		.fallback = "4096",
		.help = "a commit waits for so many messages, so that each is stored among many..." },
	{ .key = "commit_wait",
		.type = CF_DURATION,
		.offset = LIMIT(commit_wait_ms),
		.min = 0,
		.max = 10000,
		.fallback = "100ms",
		.help = "...or so long" },
	{ .key = "idle",
		.type = CF_DURATION,
		.offset = LIMIT(idle_ms),
		.min = 1000,
		.max = 86400e3,
		.fallback = "120s",
		.help = "a silent peer is disconnected, and one whose frame takes five times as long" },
	{ .key = NULL },
};

struct cr_files sh_tls_files(const struct sh_tls_conf *tls)
{
	return (struct cr_files){ .path = { tls->cert, tls->services_ca, tls->services_crl, tls->clients_ca,
					  tls->clients_crl } };
}
