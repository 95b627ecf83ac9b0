/* an_check.c - judges the analyzer's state, and what its configuration names. */
#include "an_check.h"

#include "an_books.h"
#include "an_budget.h"
#include "cm_addr.h"
#include "cm_clock.h"
#include "cm_http.h"
#include "cm_sign.h"
#include "cm_tls.h"

/* While there are rounds to come, the last one should not be long ago. */
static void check_age(struct cm_health *h, const struct an_state *s)
{
	int64_t last_ms = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].charged_ms > last_ms)
			last_ms = s->round[i].charged_ms;
	if (last_ms > 0 && an_state_count(s, AN_PLANNED) + an_state_count(s, AN_RESERVED) > 0)
		cm_health_round(h, last_ms, cm_clock_wall_ms());
}

static void check_books(struct cm_health *h, const struct an_conf *conf)
{
	struct an_books b;
	struct cm_err err = { 0 };
	double share = 0;

	if (an_books_open(conf, false, &b, &err) != CM_OK ||
		an_budget_share(&b.state, &share, &err) != CM_OK) {
		cm_health_say(h, CM_HEALTH_CRITICAL, "%s", err.msg);
	} else {
		cm_health_budget(h, share);
		cm_health_ledger(h, an_ledger_chain(b.ledger)->seq);
		check_age(h, &b.state);
	}
	an_books_close(&b);
}

void an_check(const struct an_conf *conf, struct cm_health *h)
{
	check_books(h, conf);
	cm_health_certificate(h, conf->tls_cert, cm_clock_wall_ms());
	cm_health_daemon(h, conf->http);
}

enum cm_rc an_conf_check(const char *path, const struct an_conf *conf, FILE *faults, struct cm_err *err)
{
	const struct cm_tls_conf tls = { .cert_file = conf->tls_cert,
		.key_file = conf->tls_key,
		.trust = { { CM_ROLE_SHUFFLER, conf->tls_ca, conf->tls_crl } } };
	struct cm_verifier *shuffler = NULL;
	struct cm_signer *signer = NULL;
	struct cm_tls_ctx *ctx = NULL;
	struct cm_addr address;
	struct cm_err why;

	err->code = CM_OK;
	if (cm_addr_split(conf->shuffler, &address, &why) != CM_OK)
		cm_conf_fault_at(path, "shuffler", &why, faults, err);
	if (*conf->http != '\0' && cm_http_check_address(conf->http, conf->http_anywhere, &why) != CM_OK)
		cm_conf_fault_at(path, "http", &why, faults, err);
	if (cm_signer_load(conf->signing_key, &signer, &why) != CM_OK)
		cm_conf_fault_at(path, "signing_key", &why, faults, err);
	if (cm_verifier_load(conf->shuffler_key, &shuffler, &why) != CM_OK)
		cm_conf_fault_at(path, "shuffler_key", &why, faults, err);
	if (cm_tls_ctx_new(&tls, &ctx, &why) != CM_OK)
		cm_conf_fault_at(path, "tls", &why, faults, err);
	if (conf->reconnect_min_ms > conf->reconnect_max_ms) {
		(void)cm_fail(&why, CM_ECONFIG, "reconnect_min is above reconnect_max");
		cm_conf_fault_at(path, "reconnect_min", &why, faults, err);
	}
	cm_tls_ctx_free(ctx);
	cm_verifier_free(shuffler);
	cm_signer_free(signer);
	return cm_conf_blamed(err);
}
