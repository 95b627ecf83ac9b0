/* sh_intake_conf.h - an intake's configuration file. */
#pragma once

#include "cf_conf.h"

struct sh_intake_conf {
	char *listen, *head, *database, *http;
	char *cert, *key, *services_ca, *clients_ca, *services_crl, *clients_crl;
	struct cf_strings other_databases;
	bool http_anywhere;
	int64_t standbys, max_connections, of_one, frames_per_second, max_waiting_mib, commit_messages,
		commit_wait_ms, idle_ms;
	struct cf_file *file;
};

extern const struct cf_row sh_intake_conf_rows[];

/* As sh_conf_load and sh_conf_free. */
CM_CHECK enum cm_rc sh_intake_conf_load(
	const char *path, struct sh_intake_conf *out, FILE *faults, struct cm_err *err);
void sh_intake_conf_free(struct sh_intake_conf *conf);
