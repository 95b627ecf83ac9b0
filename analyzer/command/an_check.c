/* an_check.c - checks the analyzer's state, and the files that its configuration names. */
#include "an_check.h"

#include <stdlib.h>

#include "an_budget.h"
#include "an_ledger_files.h"
#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_file.h"
#include "cm_owned.h"
#include "cr_sign.h"
#include "nt_addr.h"
#include "nt_http.h"
#include "nt_tls.h"

/* Warn when the last round was long ago although rounds are still to come. */
static void check_age(struct nt_health *h, const struct an_state *s)
{
	int64_t last_ms = 0, now_ms = cm_clock_wall_ms();
	bool more = an_state_count(s, AN_RESERVED) > 0;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (r->charged_ms > last_ms)
			last_ms = r->charged_ms;
		/* A missed round does not run by itself. */
		more = more || (r->stage == AN_PLANNED && !an_round_missed(r, now_ms));
	}
	if (last_ms > 0 && more)
		nt_health_round(h, last_ms, now_ms);
}

/* Warn while the plan file's plan waits for its signature. */
static void check_signed(struct nt_health *h, const struct an_conf *conf, const struct an_ledger_files *b)
{
	struct cm_err err = { 0 };

	if (b->state.current || an_conf_signs_at_start(conf))
		return;
	if (an_ledger_files_slice(b, &err) != CM_OK)
		nt_health_say(h, NT_HEALTH_WARNING, "%s", err.msg);
	else
		nt_health_say(h, NT_HEALTH_WARNING, "plan %s is not signed (plan sign)", b->plan.name);
}

static void check_books(struct nt_health *h, const struct an_conf *conf)
{
	struct an_ledger_files b;
	struct cm_err err = { 0 };
	struct rd_figure figure;
	struct rd_slices all;
	enum cm_rc rc = an_ledger_files_open(conf, false, &b, &err);

	if (rc == CM_OK) {
		all = an_ledger_files_budget(&b);
		rc = an_budget_figure(&b.state, &all, &figure, &err);
	}
	if (rc != CM_OK) {
		nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
	} else {
		nt_health_slices(h, figure.ratio, rd_figure_pinned(&figure));
		nt_health_ledger(h, an_ledger_chain(b.ledger)->seq);
		check_age(h, &b.state);
		check_signed(h, conf, &b);
	}
	an_ledger_files_close(&b);
}

void an_check(const struct an_conf *conf, struct nt_health *h)
{
	const struct cr_files files = an_conf_files(conf);

	check_books(h, conf);
	nt_health_certificate(h, conf->tls_cert, cm_clock_wall_ms());
	nt_health_trust(h, &files, cm_clock_wall_ms());
	nt_health_daemon(h, conf->http);
}

static void say_file(void *user, enum cr_file which, const struct cm_err *why)
{
	cf_finding_of(user, cr_file_keys[which], why);
}

/* Check that the pinned key is not our own. */
static void check_pin(struct cf_findings *f, const struct cr_signer *own, const struct cr_verifier *pin)
{
	struct cm_err why;

	if (!own || !pin || !cr_signer_is(own, pin))
		return;
	(void)cm_fail(&why, CM_ECONFIG,
		"this is the analyzer's own key, not the shuffler's: bring shuffler-sign.pub");
	cf_finding_of(f, "shuffler_key", &why);
}

void an_conf_check(const struct cf_file *file, const struct an_conf *conf, FILE *faults, struct cm_err *err)
{
	const struct nt_tls_conf tls = { .cert_file = conf->tls_cert,
		.key_file = conf->tls_key,
		.trust = { { CR_ROLE_SHUFFLER, conf->tls_ca, conf->tls_crl } } };
	const struct cr_files files = an_conf_files(conf);
	struct cf_findings found = { file, faults, err };
	struct cr_verifier *shuffler = NULL;
	struct cr_signer *signer = NULL;
	struct nt_addr address;
	struct cm_err why;

	if (conf->shuffler && nt_addr_split(conf->shuffler, &address, &why) != CM_OK)
		cf_finding_of(&found, "shuffler", &why);
	if (conf->http && *conf->http != '\0' &&
		nt_http_check_address(conf->http, conf->http_anywhere, &why) != CM_OK)
		cf_finding_of(&found, "http", &why);
	if (conf->sign && an_conf_sign_check(conf, &why) != CM_OK)
		cf_finding_of(&found, "sign", &why);
	if (conf->signing_key && cr_signer_load(conf->signing_key, &signer, &why) != CM_OK)
		cf_finding_of(&found, "signing_key", &why);
	if (conf->shuffler_key && cr_verifier_load(conf->shuffler_key, &shuffler, &why) != CM_OK)
		cf_finding_of(&found, "shuffler_key", &why);
	if (conf->shuffler_key && cr_pin_check(conf->shuffler_key, CR_ROLE_SHUFFLER, &why) != CM_OK)
		cf_finding_of(&found, "shuffler_key", &why);
	nt_tls_faults(&tls, cf_finding_of, &found);
	check_pin(&found, signer, shuffler);
	cr_files_check(&files, CR_ROLE_ANALYZER, cm_clock_wall_ms() / 1000, say_file, &found);
	if (conf->reconnect_min_ms > conf->reconnect_max_ms) {
		(void)cm_fail(&why, CM_ECONFIG, "reconnect_min is above reconnect_max");
		cf_fault_at(file, "reconnect_min", &why, faults, err);
	}
	if (conf->on_settled.command.n > 0 && *conf->on_settled.command.item[0] != '/') {
		(void)cm_fail(&why, CM_ECONFIG, "a program is named by its absolute path");
		cf_fault_at(file, "on_settled.command", &why, faults, err);
	} else if (conf->on_settled.command.n > 0) {
		/* The program is run by another user, who may read files that we may not. */
		enum cm_rc rc = cm_owned_path(conf->on_settled.command.item[0], &why);

		if (rc == CM_EPERM || rc == CM_ENOINPUT)
			cf_fault_at(file, "on_settled.command", &why, faults, err);
	}
	cr_verifier_free(shuffler);
	cr_signer_free(signer);
}

/* Open ledger and plan as a start does. */
static enum cm_rc check_ledger(const struct an_conf *conf, size_t *torn, struct cm_err *err)
{
	struct an_ledger_files files;
	enum cm_rc rc = an_ledger_files_open(conf, false, &files, err);

	/* A pinned plan has its slice already. */
	if (rc == CM_OK && !files.state.current)
		rc = an_ledger_files_slice(&files, err);
	*torn = files.torn;
	an_ledger_files_close(&files);
	return rc;
}

/* Check the ledger alone. */
static enum cm_rc check_chain(const struct an_conf *conf, size_t *torn, struct cm_err *err)
{
	char *path = cm_file_join(conf->state_dir, "ledger");
	struct an_ledger *ledger = NULL;
	enum cm_rc rc = path ? an_ledger_open(path, false, &ledger, torn, err)
			     : cm_fail(err, CM_EINTERNAL, "out of memory");

	an_ledger_free(ledger);
	free(path);
	return rc;
}

void an_state_check(const struct an_conf *conf, const struct cf_file *file, bool planned, FILE *faults,
	struct cm_err *err)
{
	struct cm_err why;
	size_t torn = 0;
	enum cm_rc rc;

	if (!conf->state_dir)
		return;
	if (cm_owned_state(conf->state_dir, &why) != CM_OK)
		cf_finding(&why, faults, err);
	rc = planned ? check_ledger(conf, &torn, &why) : check_chain(conf, &torn, &why);
	if (rc == CM_EBUDGET) /* of a plan beside those before it */
		cf_fault_at(file, "budget", &why, faults, err);
	else if (rc != CM_OK)
		cf_finding(&why, faults, err);
	else if (torn > 0)
		(void)fprintf(faults,
			"%s/ledger: the last record is cut short, by a crash: the next run drops its %zu "
			"bytes\n",
			conf->state_dir, torn);
}
