/* sh_conf.h - the shuffler's configuration file. */
#pragma once

#include "sh_peers_conf.h"

#define SH_PARTY "shuffler" /* the role to which the state_dir belongs */

struct sh_conf {
	char *listen, *state_dir, *policy, *http;
	struct sh_tls_conf tls;
	struct sh_limits_conf limits;
	char *signing_key, *analyzer_key;
	char *store, *database, *intake_role;
	struct cf_strings data_databases;
	int64_t standbys;
	bool http_anywhere, intakes;
	int64_t proof_window_ms;
	struct cf_file *file; /* for faults found after loading */
};

extern const struct cf_row sh_conf_rows[];

/* Load the file.  Faults are reported as by cf_load, also those of the store's keys.  Call sh_conf_free on
 * success and on failure. */
CM_CHECK enum cm_rc sh_conf_load(const char *path, struct sh_conf *out, FILE *faults, struct cm_err *err);
void sh_conf_free(struct sh_conf *conf);
