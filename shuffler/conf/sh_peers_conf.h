/* sh_peers_conf.h - the groups `tls` and `limits`, which a shuffler and its intakes share. */
#pragma once

#include "cf_conf.h"
#include "cr_files.h"

struct sh_tls_conf {
	char *cert, *key, *services_ca, *clients_ca, *services_crl, *clients_crl;
};
struct sh_limits_conf {
	int64_t max_connections, of_one, frames_per_second, max_waiting_mib, commit_messages, commit_wait_ms,
		idle_ms;
};

/* The files that have an expiry date; paths are borrowed. */
struct cr_files sh_tls_files(const struct sh_tls_conf *tls);
extern const struct cf_row sh_tls_rows[], sh_limit_rows[];
