/* sh_intake_conf.h - an intake's configuration file. */
#pragma once

#include "sh_peers_conf.h"

struct sh_intake_conf {
	char *listen, *head, *database, *http;
	struct sh_tls_conf tls;
	struct sh_limits_conf limits;
	struct cf_strings other_databases;
	bool http_anywhere;
	int64_t standbys;
	struct cf_file *file;
};

extern const struct cf_row sh_intake_conf_rows[];

/* These work like sh_conf_load and sh_conf_free. */
CM_CHECK enum cm_rc sh_intake_conf_load(
	const char *path, struct sh_intake_conf *out, FILE *faults, struct cm_err *err);
void sh_intake_conf_free(struct sh_intake_conf *conf);
