/* an_conf.h - the analyzer's configuration file. */
#pragma once

#include "cm_conf.h"

struct an_conf {
	char *shuffler, *state_dir, *plan, *signing_key, *shuffler_key;
	char *tls_cert, *tls_key, *tls_ca, *tls_crl;
	char *http; /* "": none */
	bool http_anywhere;
	int64_t threads;
	int64_t reconnect_min_ms, reconnect_max_ms, answer_ms, give_up_ms, poll_ms;
};

extern const struct cm_conf_row an_conf_rows[];
