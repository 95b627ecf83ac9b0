/* an_conf.c - lists the keys of the analyzer's configuration. */
#include "an_conf.h"

#include <stddef.h>
#include <string.h>

#include "cf_http.h"

#define AT(field) offsetof(struct an_conf, field)

static const struct cf_row tls_rows[] = {
	CF_REQUIRED("cert", CF_PATH, AT(tls_cert), "this analyzer's certificate, role analyzer"),
	CF_REQUIRED("key", CF_PATH, AT(tls_key), "its private key, mode 0600"),
	CF_REQUIRED("services_ca", CF_PATH, AT(tls_ca), "the CA that vouches for shufflers"),
	CF_OPTIONAL("services_crl", CF_PATH, AT(tls_crl), "its revocation list; taken up when it changes"),
	CF_END,
};

static const struct cf_row budget_rows[] = {
	CF_REQUIRED("epsilon", CF_DOUBLE(1e-6, 100), AT(epsilon),
		"of all plans together, for the population's life"),
	CF_REQUIRED("delta", CF_DOUBLE(1e-15, 0.01), AT(delta), "of all plans together"),
	CF_END,
};

static const struct cf_row settled_rows[] = {
	CF_REQUIRED("command", CF_STRINGS(1, 64), AT(on_settled.command),
		"absolute path of a program, and its arguments; it reads the round as JSON on standard "
		"input"),
	CF_DEFAULT("timeout", CF_DURATION(1000, 3600000), AT(on_settled.timeout_ms), "60s",
		"a program that takes longer is killed, and run again later"),
	CF_END,
};

const struct cf_row an_conf_rows[] = {
	CF_REQUIRED("shuffler", CF_STRING, AT(shuffler),
		"host:port to dial; the host is the name its certificate must carry"),
	CF_REQUIRED("state_dir", CF_PATH, AT(state_dir),
		"ledger, round keys and results; one population, one state_dir"),
	CF_REQUIRED("plan", CF_PATH, AT(plan),
		"the plan file; a changed one is another plan, with a slice of its own"),
	CF_OPTIONAL("budget", CF_GROUP(budget_rows), 0,
		"the population's, by default the first plan's slice; fixed when the ledger is opened"),
	CF_DEFAULT("sign", CF_STRING, AT(sign), "asked",
		"\"asked\": a plan waits for `tombola-analyzer plan sign`, which shows what it takes and asks; "
		"\"at-start\": what fits is signed by `run`, and its slice is spent without a question"),
	CF_REQUIRED("signing_key", CF_PATH, AT(signing_key),
		"Ed25519 private key for descriptors and charges, mode 0600"),
	CF_REQUIRED("shuffler_key", CF_PATH, AT(shuffler_key), "the shuffler's public signing key"),
	CF_REQUIRED("tls", CF_GROUP(tls_rows), 0, "mutual TLS"),
	CF_HTTP_ROWS(AT(http), AT(http_anywhere), "127.0.0.1:9464",
		"the dashboard, /healthz, /readyz, /status and /metrics"),
	CF_DEFAULT("threads", CF_INT(0, 256), AT(threads), "0", "threads that open reports; 0: one per core"),
	CF_DEFAULT("opening_mib", CF_INT(1, 65536), AT(opening_mib), "256",
		"memory in MiB that tells duplicates in a batch; what does not fit goes to state_dir until "
		"the batch is counted"),
	CF_DEFAULT("reconnect_min", CF_DURATION(10, 60000), AT(reconnect_min_ms), "250ms",
		"first wait before dialling again; doubled up to reconnect_max"),
	CF_DEFAULT("reconnect_max", CF_DURATION(10, 3600000), AT(reconnect_max_ms), "30s",
		"longest wait before dialling again"),
	CF_DEFAULT("answer_timeout", CF_DURATION(1000, 3600000), AT(answer_ms), "60s",
		"a shuffler that does not answer for so long is dialled again"),
	CF_DEFAULT("give_up", CF_DURATION(1000, 86400000), AT(give_up_ms), "5m",
		"`run --once` and `round run` end when the shuffler stays away so long"),
	CF_DEFAULT("poll", CF_DURATION(0, 30000), AT(poll_ms), "20s",
		"longest wait for a manifest in one request"),
	CF_OPTIONAL("on_settled", CF_GROUP(settled_rows), 0,
		"what `tombola-analyzer results hook` runs for each settled round; `run` does not use it"),
	CF_END,
};

struct cr_files an_conf_files(const struct an_conf *conf)
{
	return (struct cr_files){ .path = { [CR_OWN] = conf->tls_cert,
					  [CR_SERVICES_CA] = conf->tls_ca,
					  [CR_SERVICES_CRL] = conf->tls_crl } };
}

enum cm_rc an_conf_sign_check(const struct an_conf *conf, struct cm_err *err)
{
	if (strcmp(conf->sign, "asked") == 0 || an_conf_signs_at_start(conf))
		return CM_OK;
	return cm_fail(
		err, CM_ECONFIG, "'sign' must be \"asked\" or \"at-start\", not \"%.40s\"", conf->sign);
}

bool an_conf_signs_at_start(const struct an_conf *conf)
{
	return conf->sign && strcmp(conf->sign, "at-start") == 0;
}
