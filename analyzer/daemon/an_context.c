/* an_context.c - opens the configuration, keys, plan and ledger of a run, and its parts' timers. */
#include "an_context.h"

#include "cm_log.h"

static enum cm_rc open_ledger_files(struct an_context *c, struct cm_err *err)
{
	enum cm_rc rc = an_ledger_files_open(c->conf, !c->run->check, &c->files, err);

	if (rc == CM_OK && c->files.torn > 0)
		cm_log(CM_LOG_WARN, "a torn last ledger record was dropped: it was never acknowledged",
			CM_I("bytes", c->files.torn));
	if (rc == CM_OK && c->run->only > c->files.plan.rounds)
		rc = cm_fail(err, CM_EUSAGE, "the plan has %zu rounds", c->files.plan.rounds);
	if (rc == CM_OK && c->run->only > 0)
		rc = an_payload_check(&c->files.state.round[c->run->only - 1], &c->run->payload, err);
	return rc;
}

enum cm_rc an_context_open(struct an_context *c, const struct an_daemon_conf *run, struct cm_err *err)
{
	enum cm_rc rc = cr_rng_system(&c->rng, err);

	c->run = run;
	c->conf = run->conf;
	if (rc == CM_OK)
		rc = cr_signer_load(c->conf->signing_key, &c->signer, err);
	if (rc == CM_OK)
		rc = cr_verifier_load(c->conf->shuffler_key, &c->shuffler, err);
	if (rc == CM_OK)
		rc = open_ledger_files(c, err);
	if (rc == CM_OK) {
		c->metrics = an_metrics_new(c->conf, &c->files);
		rc = c->metrics ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	return rc;
}

void an_context_close(struct an_context *c)
{
	cr_signer_free(c->signer);
	cr_verifier_free(c->shuffler);
	an_metrics_free(c->metrics);
	an_ledger_files_close(&c->files);
}

bool an_context_attended(const struct an_context *c)
{
	return c->run->once || c->run->only != 0;
}

enum cm_rc an_timer_init(const struct an_context *c, uv_timer_t *t, void *user, struct cm_err *err)
{
	int rc = uv_timer_init((uv_loop_t *)&c->loop, t);

	if (rc != 0)
		return cm_fail(err, CM_EINTERNAL, "timer: %s", uv_strerror(rc));
	t->data = user;
	return CM_OK;
}

void an_timer_close(uv_timer_t *t)
{
	if (t->data && !uv_is_closing((uv_handle_t *)t))
		uv_close((uv_handle_t *)t, NULL);
}
