/* an_daemon_round.c - executes the actions of the current round's dialogue. */
#include "an_announced.h"
#include "an_daemon_private.h"
#include "an_kept.h"
#include "an_keys.h"
#include "an_result.h"
#include "cm_clock.h"
#include "cm_log.h"

static void pump(struct an_daemon *d);

static void on_pause_closed(uv_handle_t *h)
{
	struct an_daemon *d = h->data;

	d->timers--;
}

enum cm_rc an_work_init(struct an_daemon *d, struct cm_err *err)
{
	int rc = uv_timer_init(&d->loop, &d->pause);

	if (rc != 0)
		return cm_fail(err, CM_EINTERNAL, "timer: %s", uv_strerror(rc));
	d->pause.data = d;
	d->timers++;
	d->work.data = d;
	return CM_OK;
}

static void forget_round(struct an_daemon *d)
{
	an_round_free(d->dialogue);
	an_open_free(d->open);
	d->dialogue = NULL;
	d->open = NULL;
	d->current = NULL;
}

void an_work_close(struct an_daemon *d)
{
	if (d->pause.data != NULL && !uv_is_closing((uv_handle_t *)&d->pause))
		uv_close((uv_handle_t *)&d->pause, on_pause_closed);
	atomic_store(&d->making.stop, true);
	if (!d->working)
		forget_round(d);
}

static enum cm_rc keep_manifest(void *user, const struct rd_signed *manifest, struct cm_err *err)
{
	struct an_daemon *d = user;

	return an_kept_manifest(
		d->conf->state_dir, d->current->descriptor.round_id, manifest, d->shuffler, err);
}

void an_work_begin(struct an_daemon *d, struct an_round_state *r)
{
	struct an_round_conf conf = { .ledger = d->files.ledger,
		.round = r,
		.signer = d->signer,
		.shuffler = d->shuffler,
		.population = d->files.plan.population,
		.wait_ms = (uint32_t)d->conf->poll_ms,
		.keep = keep_manifest,
		.user = d,
		.wall_ms = cm_clock_wall_ms,
		.peer_error = lk_error };
	struct cm_err err = { 0 };

	if (an_announced_was(d->conf->state_dir, r->descriptor.round_id, &conf.announced, &err) != CM_OK ||
		an_round_new(&conf, &d->dialogue, &err) != CM_OK) {
		an_stop(d, err.code, &err);
		return;
	}
	d->current = r;
	d->announced_durable = conf.announced;
	cm_log(CM_LOG_INFO, "round", CM_I("round", r->plan->number), CM_S("query", r->plan->label),
		CM_S("stage", an_stage_name(r->stage)));
	if (!d->ready)
		an_link_want(d);
	else
		an_work_connected(d);
}

/* Handle a fault of the dialogue: retry faults that a later try may overcome, end the run for others. */
static void fail(struct an_daemon *d, const struct cm_err *err)
{
	if (err->code == CM_EUNAVAIL || err->code == CM_ELATER)
		an_link_drop(d, err);
	else
		an_stop(d, err->code, err);
}

void an_work_connected(struct an_daemon *d)
{
	struct cm_err err = { 0 };

	an_fit_connected(d);
	if (d->dialogue == NULL)
		return;
	(void)uv_timer_stop(&d->pause);
	if (an_round_connected(d->dialogue, &err) != CM_OK)
		fail(d, &err);
	else
		pump(d);
}

/* Check the shuffler's memory: if it sealed a round, it must have witnessed the reservation. */
static void check_memory(struct an_daemon *d, uint64_t seen)
{
	const struct an_state *s = &d->files.state;
	uint64_t sealed = 0;

	for (size_t i = 0; i < an_state_rounds(s); i++)
		if (an_state_at(s, i)->charge_seq != 0 && an_state_at(s, i)->decided_seq > sealed)
			sealed = an_state_at(s, i)->decided_seq;
	if (seen < sealed)
		cm_log(CM_LOG_WARN,
			"the shuffler knows less of the ledger than it did: its state was lost or restored",
			CM_I("seq", seen), CM_I("knew", sealed));
}

static bool known(void *user, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	return an_state_find(user, round_id) != NULL;
}

/* Keys that the ledger does not know have two possible causes.  Either a crash preceded their reservation, or
 * this ledger is an older copy and the keys open rounds of the newest one.  The shuffler's witness tells
 * which. */
static enum cm_rc sweep_keys(struct an_daemon *d, struct cm_err *err)
{
	enum an_step step = an_round_step(d->dialogue);

	if (d->keys_swept || step == AN_AT_WITNESS || step == AN_AT_EXTENDED)
		return CM_OK;
	d->keys_swept = true;
	return an_keys_sweep(d->conf->state_dir, known, &d->files.state, err);
}

/* Store durably that the round was announced, before the next request: from now on devices may report. */
static enum cm_rc note_announced(struct an_daemon *d, struct cm_err *err)
{
	if (d->announced_durable || !an_round_announced(d->dialogue))
		return CM_OK;
	d->announced_durable = true;
	return an_announced_note(d->conf->state_dir, d->current->descriptor.round_id, err);
}

void an_work_frame(struct an_daemon *d, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };

	if (d->stopping || an_fit_frame(d, frame) || d->dialogue == NULL)
		return;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_WITNESS &&
		an_round_step(d->dialogue) == AN_AT_WITNESS)
		check_memory(d, frame->witness->ledger_seq);
	if (an_round_frame(d->dialogue, frame, &err) != CM_OK || note_announced(d, &err) != CM_OK ||
		sweep_keys(d, &err) != CM_OK)
		fail(d, &err);
	else
		pump(d);
}

static void on_pause(uv_timer_t *t)
{
	struct an_daemon *d = t->data;
	struct cm_err err = { 0 };

	if (d->dialogue == NULL || !d->ready)
		return;
	if (an_round_resume(d->dialogue, &err) != CM_OK)
		fail(d, &err);
	else
		pump(d);
}

static void open_bucket(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	uint64_t began = uv_hrtime();

	d->work_rc = an_open_bucket(d->open, d->sealed, d->messages, &d->work_err);
	d->work_ns = uv_hrtime() - began;
}

static void bucket_opened(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	struct cm_err err = { 0 };

	d->working = false;
	if (d->stopping) {
		forget_round(d);
		return;
	}
	an_metrics_opened(d->metrics, (double)d->work_ns / 1e9);
	if (status != 0)
		(void)cm_fail(&err, CM_EINTERNAL, "opening was cancelled");
	else if (d->work_rc != CM_OK)
		err = d->work_err;
	if (err.code == CM_OK && an_round_opened(d->dialogue, an_open_root(d->open), &err) == CM_OK)
		pump(d);
	else
		fail(d, &err);
}

static enum cm_rc start_opening(struct an_daemon *d, const struct an_action *a, struct cm_err *err)
{
	struct cr_key secret = { 0 };
	enum cm_rc rc = CM_OK;
	unsigned threads = d->conf->threads > 0 ? (unsigned)d->conf->threads : an_open_cores();

	if (d->open == NULL) {
		rc = an_key_load(d->conf->state_dir, &d->current->descriptor, &secret, err);
		if (rc == CM_OK)
			rc = an_open_new(&d->current->descriptor, &secret, threads,
				an_round_manifest(d->dialogue)->messages, &d->rng, &d->open, err);
		cr_key_fini(&secret);
	}
	if (rc != CM_OK)
		return rc;
	d->sealed = a->sealed;
	d->messages = a->messages;
	if (uv_queue_work(&d->loop, &d->work, open_bucket, bucket_opened) != 0)
		return cm_fail(err, CM_EINTERNAL, "cannot start opening");
	d->working = true;
	return CM_OK;
}

static enum cm_rc publish(struct an_daemon *d, struct cm_err *err)
{
	const struct an_tally *t = d->open != NULL ? an_open_tally(d->open) : NULL;
	const struct rd_manifest *m = an_round_manifest(d->dialogue);
	const char *spoiled = an_round_spoiled(d->dialogue);
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf bytes;
	enum cm_rc rc;

	if ((t == NULL && spoiled == NULL) || m == NULL)
		return cm_fail(err, CM_EINTERNAL, "a result without a batch");
	if (spoiled == NULL && t->duplicates > 0)
		cm_log(CM_LOG_WARN, "duplicate encapsulations were dropped",
			CM_I("round", d->current->plan->number), CM_I("duplicates", t->duplicates));
	if (spoiled == NULL && t->bad > 0)
		cm_log(CM_LOG_WARN, "messages that do not open or decode were not counted",
			CM_I("round", d->current->plan->number), CM_I("bad", t->bad));
	cm_buf_init(&bytes, AN_RESULT_MAX);
	rc = an_result_make(&d->files.state, d->current, m->messages, t, spoiled, &bytes, err);
	if (rc == CM_OK)
		rc = an_result_write(d->conf->state_dir, d->current, &bytes, err);
	if (rc == CM_OK) {
		if (spoiled == NULL)
			an_metrics_published(d->metrics, t);
		cr_sha256(bytes.data, bytes.len, hash);
		an_round_published(d->dialogue, hash);
	}
	cm_buf_fini(&bytes);
	return rc;
}

static enum cm_rc append(struct an_daemon *d, struct rd_record *r, struct cm_err *err)
{
	uint64_t began = uv_hrtime();
	enum cm_rc rc = CM_OK;

	if (r->kind == RD_CHARGE)
		rc = an_key_check(d->conf->state_dir, &d->current->descriptor, d->current->plan->number, err);
	if (rc == CM_OK)
		rc = an_ledger_files_append(&d->files, r, cm_clock_wall_ms(), err);

	if (rc != CM_OK)
		return rc;
	an_metrics_appended(d->metrics, (double)(uv_hrtime() - began) / 1e9);
	an_metrics_read_ledger(d->metrics);
	if (r->kind == RD_CHARGE || r->kind == RD_VOID)
		cm_log(CM_LOG_INFO, "ledger", CM_S("record", rd_record_kind_name(r->kind)),
			CM_I("seq", r->seq), CM_I("round", d->current->plan->number),
			CM_I("participants", r->participants));
	else
		cm_log(CM_LOG_INFO, "ledger", CM_S("record", rd_record_kind_name(r->kind)),
			CM_I("seq", r->seq), CM_I("round", d->current->plan->number));
	if (r->kind == RD_VOID)
		cm_log(CM_LOG_WARN, "round is void", CM_I("round", d->current->plan->number),
			CM_S("reason", r->reason));
	return an_round_appended(d->dialogue, err);
}

/* A shuffler that alters batches would cost one round after the other.  So the round is settled and the run
 * ends, and a person decides whether to continue. */
static void round_done(struct an_daemon *d)
{
	const char *spoiled = an_round_spoiled(d->dialogue);
	struct cm_err err = { 0 };

	if (spoiled != NULL)
		(void)cm_fail(&err, CM_EPROTO, "%s", spoiled);
	cm_log(CM_LOG_INFO, "round done", CM_I("round", d->current->plan->number),
		CM_S("query", d->current->plan->label), CM_S("stage", an_stage_name(d->current->stage)),
		CM_I("reports", d->current->participants));
	an_plan_ended(d, d->current);
	forget_round(d);
	if (err.code == CM_OK) {
		an_plan_next(d);
		return;
	}
	an_plan_show(d);
	an_stop(d, err.code, &err);
}

static enum cm_rc act(struct an_daemon *d, struct an_action *a, struct cm_err *err)
{
	enum cm_rc rc;

	switch (a->act) {
	case AN_ACT_SEND:
		an_link_send(d, a->frame);
		return CM_OK;
	case AN_ACT_PAUSE:
		if (a->waits != NULL)
			cm_log(CM_LOG_WARN,
				an_round_step(d->dialogue) == AN_AT_ANNOUNCED
					? "the shuffler refuses the round by its clock, it waits"
					: "the shuffler accepts no ledger yet",
				CM_S("reason", a->waits));
		(void)uv_timer_start(&d->pause, on_pause, a->pause_ms, 0);
		return CM_OK;
	case AN_ACT_APPEND:
		return append(d, a->record, err);
	case AN_ACT_OPEN:
		return start_opening(d, a, err);
	case AN_ACT_PUBLISH:
		return publish(d, err);
	case AN_ACT_ERASE:
		rc = an_key_erase(d->conf->state_dir, d->current->descriptor.round_id, err);
		an_round_erased(d->dialogue);
		return rc;
	case AN_ACT_WAIT:
	case AN_ACT_DONE:
		break;
	}
	return CM_OK;
}

/* Execute the dialogue's actions until it waits. */
static void pump(struct an_daemon *d)
{
	struct an_action a = { .act = AN_ACT_WAIT };
	struct cm_err err = { 0 };

	do {
		if (d->stopping || d->dialogue == NULL)
			return;
		an_round_next(d->dialogue, &a);
		if (act(d, &a, &err) != CM_OK) {
			fail(d, &err);
			return;
		}
	} while (a.act != AN_ACT_WAIT && a.act != AN_ACT_DONE);
	if (a.act == AN_ACT_DONE)
		round_done(d);
}
