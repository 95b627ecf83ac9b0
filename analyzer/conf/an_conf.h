/* an_conf.h - reads the analyzer's configuration file. */
#pragma once

#include "cf_conf.h"
#include "cr_files.h"

struct an_conf {
	char *shuffler, *state_dir, *plan, *signing_key, *shuffler_key;
	char *tls_cert, *tls_key, *tls_ca, *tls_crl;
	char *http; /* address of the HTTP server; empty if there is none */
	bool http_anywhere;
	char *sign;            /* "asked" or "at-start" */
	double epsilon, delta; /* budget of the population; 0 means the slice of the first plan */
	int64_t threads, opening_mib;
	struct {
		struct cf_strings command; /* its n is 0 if there is no command */
		int64_t timeout_ms;
	} on_settled;
	int64_t reconnect_min_ms, reconnect_max_ms, answer_ms, give_up_ms, poll_ms;
};

extern const struct cf_row an_conf_rows[];
/* The files that expire (certificates and revocation lists); their paths are borrowed. */
struct cr_files an_conf_files(const struct an_conf *conf);
/* Whether `run` signs a plan by itself.  CM_ECONFIG: the key has neither of its two values. */
bool an_conf_signs_at_start(const struct an_conf *conf);
CM_CHECK enum cm_rc an_conf_sign_check(const struct an_conf *conf, struct cm_err *err);
