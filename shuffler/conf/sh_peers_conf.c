/* sh_peers_conf.c - the tables of the keys that a shuffler and its intakes share. */
#include "sh_peers_conf.h"

#include <stddef.h>

#define TLS(f)   offsetof(struct sh_tls_conf, f)
#define LIMIT(f) offsetof(struct sh_limits_conf, f)

const struct cf_row sh_tls_rows[] = {
	CF_REQUIRED(
		"cert", CF_PATH, TLS(cert), "certificate with role shuffler, of an intake with role intake"),
	CF_REQUIRED("key", CF_PATH, TLS(key), "its private key"),
	CF_REQUIRED("services_ca", CF_PATH, TLS(services_ca),
		"CA that vouches for the analyzer and the shuffler"),
	CF_REQUIRED("clients_ca", CF_PATH, TLS(clients_ca), "CA that enrols clients; not the analyzer's"),
	CF_OPTIONAL("services_crl", CF_PATH, TLS(services_crl),
		"revocation list of services_ca; taken up when it changes"),
	CF_OPTIONAL("clients_crl", CF_PATH, TLS(clients_crl),
		"revocation list of clients_ca; taken up when it changes"),
	CF_END,
};

const struct cf_row sh_limit_rows[] = {
	CF_DEFAULT("connections", CF_INT(1, 100000), LIMIT(max_connections), "1024",
		"of all clients; when all are taken, the certificate that has most of them gives one up"),
	CF_DEFAULT("connections_per_certificate", CF_INT(1, 100000), LIMIT(of_one), "16",
		"further ones of the same certificate are refused; a client has at most 8"),
	CF_DEFAULT("frames_per_second", CF_INT(1, 1000000), LIMIT(frames_per_second), "500",
		"of one certificate, over all its connections; beyond it they are paused; a request "
		"without effect counts 25, a part of a payload 1 for each 16 KiB"),
	CF_DEFAULT("waiting_mib", CF_INT(2, 1024), LIMIT(max_waiting_mib), "32",
		"submissions in memory that are not yet durable, and beside them half as much of payloads "
		"on their way; beyond it peers wait"),
	CF_DEFAULT("commit_messages", CF_INT(1, 1000000), LIMIT(commit_messages), "4096",
		"a commit waits for so many messages, so that each is stored among many..."),
	CF_DEFAULT("commit_wait", CF_DURATION(0, 10000), LIMIT(commit_wait_ms), "100ms", "...or so long"),
	CF_DEFAULT("idle", CF_DURATION(1000, 86400e3), LIMIT(idle_ms), "120s",
		"a silent peer is disconnected, and one whose frame takes five times as long"),
	CF_END,
};

struct cr_files sh_tls_files(const struct sh_tls_conf *tls)
{
	return (struct cr_files){ .path = { tls->cert, tls->services_ca, tls->services_crl, tls->clients_ca,
					  tls->clients_crl } };
}
