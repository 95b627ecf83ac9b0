/* an_work.c - executes the actions of the current round's dialogue. */
#include "an_work.h"

#include <stdlib.h>

#include "an_announced.h"
#include "an_kept.h"
#include "an_keys.h"
#include "an_open.h"
#include "an_result.h"
#include "an_scratch.h"
#include "cm_clock.h"
#include "cm_crew.h"
#include "cm_log.h"

struct an_work {
	struct an_work_conf conf;
	struct an_context *context;
	struct an_link *link;
	bool closed;
	struct an_round *dialogue; /* NULL if no round is under way */
	struct an_round_state *round;
	struct cm_buf payload;  /* the round's payload, until the round is announced */
	bool announced_durable; /* the file `announced` durably names this round */
	bool keys_swept; /* keys that the ledger does not know were destroyed; done once the shuffler has
			  * confirmed this ledger */
	uv_timer_t pause;

	/* For opening a bucket on a worker thread. */
	struct an_open *open; /* NULL until a bucket was opened */
	struct an_scratch *scratch;
	uv_work_t job;
	bool opening;
	const uint8_t *sealed, *bucket_root;
	size_t messages;
	bool right;       /* the messages have the root `bucket_root` */
	uint64_t open_ns; /* how long opening took */
	enum cm_rc open_rc;
	struct cm_err open_err;
};

static void pump(struct an_work *w);

enum cm_rc an_work_new(const struct an_work_conf *conf, struct an_work **out, struct cm_err *err)
{
	struct an_work *w = calloc(1, sizeof *w);

	if (!w)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = w;
	w->conf = *conf;
	w->context = conf->context;
	w->link = conf->link;
	w->job.data = w;
	return an_timer_init(w->context, &w->pause, w, err);
}

static void forget_round(struct an_work *w)
{
	an_round_free(w->dialogue);
	an_open_free(w->open);
	an_scratch_free(w->scratch);
	cm_buf_fini(&w->payload);
	w->dialogue = NULL;
	w->open = NULL;
	w->scratch = NULL;
	w->round = NULL;
}

void an_work_close(struct an_work *w)
{
	if (!w)
		return;
	w->closed = true;
	an_scratch_stop(w->scratch);
	an_timer_close(&w->pause);
	if (!w->opening)
		forget_round(w);
}

void an_work_free(struct an_work *w)
{
	free(w);
}

const struct an_round_state *an_work_round(const struct an_work *w)
{
	return w->dialogue ? w->round : NULL;
}

enum an_step an_work_step(const struct an_work *w)
{
	return an_round_step(w->dialogue);
}

bool an_work_opens(const struct an_work *w)
{
	return w->opening || an_round_step(w->dialogue) == AN_AT_SEGMENT;
}

static enum cm_rc keep_manifest(void *user, const struct rd_signed *manifest, struct cm_err *err)
{
	struct an_work *w = user;

	return an_kept_manifest(w->context->conf->state_dir, w->round->descriptor.round_id, manifest,
		w->context->shuffler, err);
}

/* A lost payload is not a fault of ours yet: the shuffler may have it. */
static enum cm_rc load_payload(
	struct an_work *w, const struct an_round_state *r, struct cr_span *out, struct cm_err *err)
{
	enum cm_rc rc;

	cm_buf_init(&w->payload, PR_PAYLOAD_MAX);
	if (r->stage != AN_RESERVED || r->descriptor.payload_size == 0)
		return CM_OK;
	rc = an_payload_load(w->context->conf->state_dir, &r->descriptor, &w->payload, err);
	*out = (struct cr_span){ w->payload.data, w->payload.len };
	if (rc != CM_ENOINPUT && rc != CM_EDATA)
		return rc;
	cm_log(CM_LOG_WARN, "the payload of the round is lost here", CM_I("round", r->plan->number),
		CM_S("reason", err->msg));
	return CM_OK;
}

void an_work_begin(struct an_work *w, struct an_round_state *r)
{
	struct an_round_conf conf = { .ledger = w->context->files.ledger,
		.round = r,
		.signer = w->context->signer,
		.shuffler = w->context->shuffler,
		.population = w->context->files.plan.population,
		.wait_ms = (uint32_t)w->context->conf->poll_ms,
		.keep = keep_manifest,
		.user = w,
		.wall_ms = cm_clock_wall_ms,
		.peer_error = pr_error };
	struct cm_err err = { 0 };

	if (an_announced_was(w->context->conf->state_dir, r->descriptor.round_id, &conf.announced, &err) !=
			CM_OK ||
		load_payload(w, r, &conf.payload, &err) != CM_OK ||
		an_round_new(&conf, &w->dialogue, &err) != CM_OK) {
		w->conf.on_fault(w->conf.user, &err);
		return;
	}
	w->round = r;
	w->announced_durable = conf.announced;
	cm_log(CM_LOG_INFO, "round", CM_I("round", r->plan->number), CM_S("query", r->plan->label),
		CM_S("stage", an_stage_name(r->stage)), CM_I("try", r->descriptor.attempt));
	if (!an_link_ready(w->link))
		an_link_want(w->link);
	else
		an_work_connected(w);
}

/* Handle a fault of the dialogue: retry if a later try may succeed, otherwise end the run. */
static void fail(struct an_work *w, const struct cm_err *err)
{
	if (err->code == CM_EUNAVAIL || err->code == CM_ELATER)
		an_link_drop(w->link, err);
	else
		w->conf.on_fault(w->conf.user, err);
}

void an_work_connected(struct an_work *w)
{
	struct cm_err err = { 0 };

	if (!w->dialogue)
		return;
	(void)uv_timer_stop(&w->pause);
	if (an_round_connected(w->dialogue, &err) != CM_OK)
		fail(w, &err);
	else
		pump(w);
}

/* Check what the shuffler remembers: if it sealed a round, it must have witnessed the reservation. */
static void check_memory(struct an_work *w, uint64_t seen)
{
	const struct an_state *s = &w->context->files.state;
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
	return an_state_find(user, round_id);
}

/* Keys that the ledger does not know have two possible causes.  Either a crash preceded their reservation, or
 * this ledger is an older copy and the keys open rounds of the newest one.  The shuffler's witness tells
 * which. */
static enum cm_rc sweep_keys(struct an_work *w, struct cm_err *err)
{
	enum an_step step = an_round_step(w->dialogue);

	if (w->keys_swept || step == AN_AT_WITNESS || step == AN_AT_EXTENDED)
		return CM_OK;
	w->keys_swept = true;
	enum cm_rc rc = an_keys_sweep(w->context->conf->state_dir, known, &w->context->files.state, err);
	return rc == CM_OK ? an_payloads_sweep(w->context->conf->state_dir, &w->context->files.state, err)
			   : rc;
}

/* Record durably that the round was announced, before the next request: from now on devices may report. */
static enum cm_rc note_announced(struct an_work *w, struct cm_err *err)
{
	if (w->announced_durable || !an_round_announced(w->dialogue))
		return CM_OK;
	w->announced_durable = true;
	return an_announced_note(w->context->conf->state_dir, w->round->descriptor.round_id, err);
}

void an_work_frame(struct an_work *w, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };

	if (w->closed || !w->dialogue)
		return;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_WITNESS &&
		an_round_step(w->dialogue) == AN_AT_WITNESS)
		check_memory(w, frame->witness->ledger_seq);
	if (an_round_frame(w->dialogue, frame, &err) != CM_OK || note_announced(w, &err) != CM_OK ||
		sweep_keys(w, &err) != CM_OK)
		fail(w, &err);
	else
		pump(w);
}

static void on_pause(uv_timer_t *t)
{
	struct an_work *w = t->data;
	struct cm_err err = { 0 };

	if (!w->dialogue || !an_link_ready(w->link))
		return;
	if (an_round_resume(w->dialogue, &err) != CM_OK)
		fail(w, &err);
	else
		pump(w);
}

static void open_bucket(uv_work_t *job)
{
	struct an_work *w = job->data;
	uint64_t began = uv_hrtime();

	w->open_rc = an_open_bucket(w->open, w->sealed, w->messages, w->bucket_root, &w->right, &w->open_err);
	w->open_ns = uv_hrtime() - began;
}

static void bucket_opened(uv_work_t *job, int status)
{
	struct an_work *w = job->data;
	struct cm_err err = { 0 };

	w->opening = false;
	if (w->closed) {
		forget_round(w);
		return;
	}
	an_metrics_opened(w->context->metrics, (double)w->open_ns / 1e9);
	if (status != 0)
		(void)cm_fail(&err, CM_EINTERNAL, "opening was cancelled");
	else if (w->open_rc != CM_OK)
		err = w->open_err;
	if (err.code == CM_OK && an_round_opened(w->dialogue, w->right, an_open_root(w->open), &err) == CM_OK)
		pump(w);
	else
		fail(w, &err);
}

static enum cm_rc make_opener(struct an_work *w, struct cm_err *err)
{
	const struct an_conf *conf = w->context->conf;
	struct cr_key secret = { 0 };
	struct an_open_conf open = { .d = &w->round->descriptor,
		.secret = &secret,
		.threads = conf->threads > 0 ? (unsigned)conf->threads : cm_crew_cores(),
		.messages = an_round_manifest(w->dialogue)->messages,
		.bytes = (size_t)conf->opening_mib << 20 };
	enum cm_rc rc = an_key_load(conf->state_dir, &w->round->descriptor, &secret, err);

	if (rc == CM_OK && !w->scratch)
		rc = an_scratch_new(conf->state_dir, &w->scratch, err);
	if (rc == CM_OK) {
		open.spill = an_scratch_spills(w->scratch);
		rc = an_open_new(&open, &w->open, err);
	}
	cr_key_fini(&secret);
	return rc;
}

static enum cm_rc start_opening(struct an_work *w, const struct an_action *a, struct cm_err *err)
{
	if (!w->open && make_opener(w, err) != CM_OK)
		return err->code;
	w->sealed = a->sealed;
	w->messages = a->messages;
	w->bucket_root = a->root;
	if (uv_queue_work(&w->context->loop, &w->job, open_bucket, bucket_opened) != 0)
		return cm_fail(err, CM_EINTERNAL, "cannot start opening");
	w->opening = true;
	return CM_OK;
}

static enum cm_rc publish(struct an_work *w, struct cm_err *err)
{
	const struct an_tally *t = w->open ? an_open_tally(w->open) : NULL;
	const struct rd_manifest *m = an_round_manifest(w->dialogue);
	const char *spoiled = an_round_spoiled(w->dialogue);
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf bytes;
	enum cm_rc rc;

	if ((!t && !spoiled) || !m)
		return cm_fail(err, CM_EINTERNAL, "a result without a batch");
	if (!spoiled && t->duplicates > 0)
		cm_log(CM_LOG_WARN, "duplicate encapsulations were dropped",
			CM_I("round", w->round->plan->number), CM_I("duplicates", t->duplicates));
	if (!spoiled && t->bad > 0)
		cm_log(CM_LOG_WARN, "messages that do not open or decode were not counted",
			CM_I("round", w->round->plan->number), CM_I("bad", t->bad));
	cm_buf_init(&bytes, AN_RESULT_MAX);
	rc = an_result_make(&w->context->files.state, w->round, m, t, spoiled, &bytes, err);
	if (rc == CM_OK)
		rc = an_result_write(w->context->conf->state_dir, w->round, &bytes, err);
	if (rc == CM_OK) {
		if (!spoiled)
			an_metrics_published(w->context->metrics, t);
		cr_sha256(bytes.data, bytes.len, hash);
		an_round_published(w->dialogue, hash);
	}
	cm_buf_fini(&bytes);
	return rc;
}

static void say_left_out(const struct an_work *w)
{
	const struct rd_manifest *m = an_round_manifest(w->dialogue);
	char text[200] = "";

	if (m)
		rd_left_out_text(&m->left_out, text, sizeof text);
	if (text[0] != '\0')
		cm_log(CM_LOG_WARN, "devices were not taken", CM_I("round", w->round->plan->number),
			CM_S("query", w->round->plan->label), CM_I("participants", m->participants),
			CM_S("reason", text));
}

static enum cm_rc append(struct an_work *w, struct rd_record *r, struct cm_err *err)
{
	uint64_t began = uv_hrtime();
	enum cm_rc rc = CM_OK;

	if (r->kind == RD_CHARGE)
		rc = an_key_check(
			w->context->conf->state_dir, &w->round->descriptor, w->round->plan->number, err);
	if (rc == CM_OK)
		rc = an_ledger_files_append(&w->context->files, r, cm_clock_wall_ms(), err);

	if (rc != CM_OK)
		return rc;
	an_metrics_appended(w->context->metrics, (double)(uv_hrtime() - began) / 1e9);
	an_metrics_read_ledger(w->context->metrics);
	if (r->kind == RD_CHARGE || r->kind == RD_VOID)
		cm_log(CM_LOG_INFO, "ledger", CM_S("record", rd_record_kind_name(r->kind)),
			CM_I("seq", r->seq), CM_I("round", w->round->plan->number),
			CM_I("participants", r->participants));
	else
		cm_log(CM_LOG_INFO, "ledger", CM_S("record", rd_record_kind_name(r->kind)),
			CM_I("seq", r->seq), CM_I("round", w->round->plan->number));
	if (r->kind == RD_CHARGE)
		say_left_out(w);
	if (r->kind == RD_VOID)
		cm_log(CM_LOG_WARN, "round is void", CM_I("round", w->round->plan->number),
			CM_S("reason", r->reason), CM_I("try", w->round->descriptor.attempt));
	return an_round_appended(w->dialogue, err);
}

static void round_done(struct an_work *w)
{
	const struct an_round_state *r = w->round;
	const char *spoiled = an_round_spoiled(w->dialogue);
	struct cm_err err = { 0 };

	if (spoiled)
		(void)cm_fail(&err, CM_EPROTO, "%s", spoiled);
	cm_log(CM_LOG_INFO, "round done", CM_I("round", r->plan->number), CM_S("query", r->plan->label),
		CM_S("stage", an_stage_name(r->stage)), CM_I("reports", r->participants),
		CM_I("try", r->descriptor.attempt));
	forget_round(w);
	w->conf.on_done(w->conf.user, r, &err);
}

static enum cm_rc act(struct an_work *w, struct an_action *a, struct cm_err *err)
{
	enum cm_rc rc;

	switch (a->act) {
	case AN_ACT_SEND:
		an_link_send(w->link, a->frame);
		return CM_OK;
	case AN_ACT_PAUSE:
		if (a->waits)
			cm_log(CM_LOG_WARN,
				an_round_step(w->dialogue) == AN_AT_ANNOUNCED
					? "the shuffler refuses the round by its clock, it waits"
					: "the shuffler accepts no ledger yet",
				CM_S("reason", a->waits));
		(void)uv_timer_start(&w->pause, on_pause, a->pause_ms, 0);
		return CM_OK;
	case AN_ACT_APPEND:
		return append(w, a->record, err);
	case AN_ACT_OPEN:
		return start_opening(w, a, err);
	case AN_ACT_PUBLISH:
		return publish(w, err);
	case AN_ACT_ERASE:
		/* Destroy the key last: while it exists, a restart repeats all of these steps. */
		rc = an_payload_erase(
			w->context->conf->state_dir, &w->context->files.state, &w->round->descriptor, err);
		if (rc == CM_OK)
			rc = an_key_erase(w->context->conf->state_dir, w->round->descriptor.round_id, err);
		an_round_erased(w->dialogue);
		return rc;
	case AN_ACT_WAIT:
	case AN_ACT_DONE:
		break;
	}
	return CM_OK;
}

/* Execute the dialogue's actions until it waits. */
static void pump(struct an_work *w)
{
	struct an_action a = { .act = AN_ACT_WAIT };
	struct cm_err err = { 0 };

	do {
		if (w->closed || !w->dialogue)
			return;
		an_round_next(w->dialogue, &a);
		if (act(w, &a, &err) != CM_OK) {
			fail(w, &err);
			return;
		}
	} while (a.act != AN_ACT_WAIT && a.act != AN_ACT_DONE);
	if (a.act == AN_ACT_DONE)
		round_done(w);
}
