/* cl_rounds.c - takes part in one round after the other. */
#include <stdlib.h>

#include "cl_rounds_private.h"
#include "cl_standing.h"
#include "cl_summary.h"
#include "cm_fault.h"

void cl_rounds_tell_closed(struct cl_rounds *r)
{
	if (r->phase != CL_ENDING || r->prep.works || r->round || r->closed_told)
		return;
	r->closed_told = true;
	r->conf.on_closed(r->conf.user);
}

void cl_rounds_end(void *user, const struct cm_err *why)
{
	struct cl_rounds *r = user;

	r->conf.on_end(r->conf.user, why);
}

void cl_rounds_ask(struct cl_rounds *r, uint32_t later_ms)
{
	r->phase = CL_ASKING;
	cl_asker_begin(r->asker, later_ms);
}

void cl_rounds_enter(struct cl_rounds *r, enum cl_phase phase)
{
	r->phase = phase;
	cl_asker_rest(r->asker);
}

/* Report a fault that ends `send` and that `run` survives. */
static void fault(void *user, const char *msg, const struct cm_err *why)
{
	struct cl_rounds *r = user;

	if (r->context->run->stop_on_fault || why->code == CM_EIO || why->code == CM_EINTERNAL) {
		cl_rounds_end(r, why);
		return;
	}
	cl_say(r->context, CM_LOG_ERROR, msg, why);
	cl_rounds_ask(r, CL_PAUSE_MS);
}

static void summarize(struct cl_rounds *r, const struct cl_counts *counts, const struct cm_err *refused)
{
	struct cl_summary s;

	cl_summary_make(r->context, &r->prep.prepared, counts, refused, &s);
	r->conf.on_summary(r->conf.user, &s);
}

/* Keep what is stored, and try again. */
static void interrupted(struct cl_rounds *r, const struct cm_err *why)
{
	struct cm_err unused;

	cl_metrics_interrupted(r->context->metrics);
	cl_preparation_forget(&r->prep);
	cl_active_fini(&r->active);
	if (cl_store_active(r->context->db, &r->active, &unused) != CM_OK)
		r->active.sequence = 0;
	fault(r, "round interrupted, what is stored is kept", why);
}

/* Whether a loss of the ledger is undecided, which *why then describes. */
static bool is_stopped(struct cl_rounds *r, struct cm_err *why)
{
	struct cl_loss loss;
	char words[256];

	if (cl_loss_read(r->context->db, &loss, why) != CM_OK || !loss.lost)
		return false;
	cl_loss_words(&loss, words, sizeof words);
	(void)cm_fail(why, CM_EBUDGET, "%s", words);
	return true;
}

static void on_round_over(void *user, const struct cl_counts *counts, const struct cm_err *why)
{
	struct cl_rounds *r = user;
	struct cm_err stopped;

	r->round = NULL;
	if (r->phase == CL_ENDING) {
		cl_rounds_tell_closed(r);
		return;
	}
	cl_links_want(r->conf.links, 1);
	if (why->code != CM_OK) {
		interrupted(r, why);
		return;
	}
	r->done.after = r->prep.prepared.j.d.sequence;
	summarize(r, counts, NULL);
	cl_preparation_drop(&r->prep);
	cl_await_forget(&r->await);
	cl_active_fini(&r->active);
	r->active.sequence = 0;
	if (counts->by[CL_CONFLICT] > 0 && is_stopped(r, &stopped)) {
		cl_say(r->context, CM_LOG_ERROR, "another copy of this client's state answered a round",
			&stopped);
		if (r->context->run->stop_on_fault) {
			cl_rounds_end(r, &stopped);
			return;
		}
	}
	if (r->context->run->rounds > 0 && ++r->count >= r->context->run->rounds) {
		cl_rounds_end(r, &(struct cm_err){ .code = CM_OK });
		return;
	}
	r->conf.on_next(r->conf.user);
	cl_asker_wait(r->asker);
	cl_rounds_ask(r, 0);
}

void cl_rounds_refused(struct cl_rounds *r, const struct cm_err *why)
{
	const struct cl_judgement *j = &r->prep.prepared.j;
	bool final = why->code == CM_EPERM || why->code == CM_EBUDGET;

	if (!j->verified) {
		cl_metrics_unjudged(r->context->metrics);
		cl_preparation_forget(&r->prep);
		fault(r, "round refused", why);
		return;
	}
	cl_done_refused(&r->done, j);
	if (final)
		summarize(r, NULL, why);
	else
		cl_metrics_passed_over(r->context->metrics);
	cl_preparation_forget(&r->prep);
	cl_await_forget(&r->await);
	if ((r->context->run->stop_on_fault && why->code != CM_ELATER) || why->code == CM_EIO ||
		why->code == CM_EINTERNAL) {
		cl_rounds_end(r, why);
		return;
	}
	if (!final && !r->context->run->quiet)
		cm_log(CM_LOG_WARN, "round passed over", CM_S("reason", why->msg),
			CM_I("code", cm_exit_code(why->code)));
	cl_rounds_ask(r, final ? CL_ASK_AGAIN_MS : 0);
}

/* ---- the upload ---- */

static void on_stored(void *user, double seconds)
{
	cl_metrics_stored(((struct cl_rounds *)user)->context->metrics, seconds);
}

static void on_sealed(void *user, double seconds)
{
	cl_metrics_sealed(((struct cl_rounds *)user)->context->metrics, seconds);
}

void cl_rounds_start(struct cl_rounds *r)
{
	struct cm_err err = { .code = CM_OK };
	const struct cl_round_conf conf = {
		.loop = &r->context->loop,
		.links = r->conf.links,
		.db = r->context->db,
		.setup = r->context->setup,
		.secret = &r->context->secret,
		.prepared = &r->prep.prepared,
		.prepare_from =
			r->prep.prepared.computed_ms > 0 ? r->prep.prepared.computed_ms : r->prep.from,
		.descriptor = r->prep.descriptor.data,
		.descriptor_len = r->prep.descriptor.len,
		.signature = r->prep.signature,
		.progress = r->context->run->progress,
		.stopped = is_stopped(r, &err),
		.bad_receipts = r->context->run->stop_on_fault ? 1 : 3,
		.on_stored = on_stored,
		.on_sealed = on_sealed,
		.on_over = on_round_over,
		.user = r,
	};

	if ((err.code != CM_OK && !conf.stopped) || cl_round_new(&conf, &r->round, &err) != CM_OK)
		cl_rounds_end(r, &err);
	else
		cl_rounds_enter(r, CL_UPLOADING);
}

void cl_rounds_start_stored(struct cl_rounds *r)
{
	struct cm_err err;

	if (cl_preparation_resume(&r->prep, &r->active, &err) != CM_OK)
		cl_rounds_end(r, &err);
	else
		cl_rounds_start(r);
}

/* ---- the asker's answers ---- */

static void request(void *user, Tombola__V1__GetRound *get)
{
	const struct cl_rounds *r = user;

	/* Request the active round by its number, to check that it is unchanged. */
	get->after = r->active.sequence > 0 ? r->active.sequence - 1
		     : r->confirming        ? r->prep.prepared.j.d.sequence - 1
					    : cl_done_with(&r->done);
	get->passed_over = cl_done_passed_over(&r->done);
	get->wait_ms = r->active.sequence > 0 || r->confirming ? 0
		       : get->passed_over > 0                  ? CL_PAUSE_MS
							       : PR_WAIT_MAX_MS;
}

/* Discard the judged round that was to be confirmed. */
static void forget_judged(struct cl_rounds *r)
{
	if (r->confirming)
		cl_preparation_forget(&r->prep);
	r->confirming = false;
}

static bool on_none(void *user, const Tombola__V1__Error *e)
{
	struct cl_rounds *r = user;
	bool over = e->code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ||
		    e->code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED;
	bool later = over || e->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY ||
		     e->code == TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE;
	struct cm_err why;

	if (r->active.sequence > 0) {
		cl_rounds_start_stored(r);
		return true;
	}
	if (r->confirming && over) {
		r->confirming = false;
		(void)cm_fail(&why, CM_ELATER, "closed before its readings were drawn; nothing was charged");
		cl_rounds_refused(r, &why);
		return true;
	}
	if (!later)
		forget_judged(r);
	return false;
}

static void on_round(void *user, const Tombola__V1__Round *round)
{
	struct cl_rounds *r = user;
	struct cm_err err;

	if (r->confirming && cl_preparation_is(&r->prep, round->descriptor.data, round->descriptor.len)) {
		r->confirming = false;
		cl_rounds_draw(r);
		return;
	}
	forget_judged(r);
	if (!cl_preparation_is(&r->prep, round->descriptor.data, round->descriptor.len))
		cl_await_stop(&r->await);
	if (cl_preparation_offer(&r->prep, round, &err) != CM_OK) {
		fault(r, "round refused", &err);
		return;
	}
	cl_plans_begin(r->conf.plans);
	r->conf.on_begin(r->conf.user);
	if (r->active.sequence > 0 &&
		!cl_preparation_is(&r->prep, r->active.descriptor.data, r->active.descriptor.len)) {
		cl_preparation_look(&r->prep, r->active.sequence);
		cl_rounds_start_stored(r);
		return;
	}
	cl_rounds_judge(r);
}

void cl_rounds_up(struct cl_rounds *r, unsigned i)
{
	if (r->round)
		cl_round_up(r->round, i);
	cl_asker_up(r->asker, i);
}

void cl_rounds_down(struct cl_rounds *r, unsigned i, bool was_up, const struct cm_err *why)
{
	if (r->phase == CL_ENDING)
		return;
	if (r->round)
		cl_round_down(r->round, i);
	cl_asker_down(r->asker, i, was_up, why);
}

void cl_rounds_frame(struct cl_rounds *r, unsigned i, const Tombola__V1__Frame *frame)
{
	if (r->phase == CL_UPLOADING && r->round)
		cl_round_frame(r->round, i, frame);
	else if (r->phase == CL_ASKING)
		cl_asker_frame(r->asker, i, frame);
}

/* ---- start and end ---- */

enum cm_rc cl_rounds_new(const struct cl_rounds_conf *conf, struct cl_rounds **out, struct cm_err *err)
{
	struct cl_rounds *r = calloc(1, sizeof *r);
	enum cm_rc rc;

	if (!r)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = r;
	r->conf = *conf;
	r->context = conf->context;
	r->done.after = conf->after;
	cl_preparation_init(&r->prep, r->context, conf->plans);

	const struct cl_asker_conf asker = { .context = r->context,
		.links = conf->links,
		.plans = conf->plans,
		.user = r,
		.request = request,
		.on_round = on_round,
		.on_none = on_none,
		.on_answer = cl_rounds_judge,
		.on_fault = fault,
		.on_over = cl_rounds_end };
	cl_await_init(&r->await, r->context, conf->plans, cl_rounds_fetched, r);
	rc = cl_store_active(r->context->db, &r->active, err);
	if (rc != CM_OK && rc != CM_ENOINPUT)
		return rc;
	if (r->active.sequence == 0)
		cl_await_forget(&r->await);
	rc = cl_asker_new(&asker, &r->asker, err);
	if (rc == CM_OK)
		cl_asker_wait(r->asker);
	return rc;
}

void cl_rounds_close(struct cl_rounds *r)
{
	if (!r)
		return;
	r->phase = CL_ENDING;
	cl_await_close(&r->await);
	atomic_store(&r->conf.plans->stop, true);
	cl_asker_close(r->asker);
	if (r->round)
		cl_round_stop(r->round);
	cl_rounds_tell_closed(r);
}

void cl_rounds_free(struct cl_rounds *r)
{
	if (!r)
		return;
	cl_preparation_fini(&r->prep);
	cl_active_fini(&r->active);
	cl_asker_free(r->asker);
	free(r);
}

enum cl_phase cl_rounds_phase(const struct cl_rounds *r)
{
	return r->phase;
}

enum cl_phase cl_rounds_shown(const struct cl_rounds *r)
{
	bool sends = r->phase != CL_UPLOADING || !CM_CHECKED("client.shown") ||
		     (r->round && cl_round_sends(r->round));

	return sends ? r->phase : CL_PREPARING;
}

uint64_t cl_rounds_after(const struct cl_rounds *r)
{
	return r->done.after;
}

const struct rd_descriptor *cl_rounds_current(const struct cl_rounds *r)
{
	return &r->prep.prepared.j.d;
}

bool cl_rounds_awaits_manifest(const struct cl_rounds *r)
{
	return cl_asker_awaits(r->asker, CL_ASK_MANIFEST);
}
