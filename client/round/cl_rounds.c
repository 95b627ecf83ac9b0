/* cl_rounds.c - takes part in one round after the other. */
#include "cl_rounds.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cl_asker.h"
#include "cl_drive.h"
#include "cl_payload_wait.h"
#include "cl_prepare_work.h"
#include "cl_rounds_over.h"
#include "cl_standing.h"
#include "cl_summary.h"
#include "cm_fault.h"

struct cl_rounds {
	struct cl_rounds_conf conf;
	struct cl_context *context;
	struct cl_asker *asker;
	struct cl_prepare_work prep;
	struct cl_drive *drive;              /* the round that is being uploaded; NULL if there is none */
	enum cl_phase phase;                 /* CL_ENDING after cl_rounds_close */
	bool closed_told;                    /* on_closed was called */
	struct cl_active active;             /* the stored active round; its sequence is 0 if there is none */
	bool confirming;                     /* asked whether the round judged in prep is still open */
	struct cl_payload_wait payload_wait; /* used for rounds with a payload */
	uint64_t count;                      /* rounds done in this run */
	struct cl_rounds_over over;
	/* The round that was declined last; the next requests name it.  sequence is 0 if there is none.
	 * The reason comes from cl_judge alone, which reads no reading: no peer learns whether readings can
	 * be read. */
	struct {
		uint64_t sequence;
		unsigned why;
		size_t listed;
	} declined;
};

/* Call on_closed once, when no work and no round is under way. */
static void tell_closed(struct cl_rounds *r)
{
	if (r->phase != CL_ENDING || r->prep.works || r->drive || r->closed_told)
		return;
	r->closed_told = true;
	r->conf.on_closed(r->conf.user);
}

static void end_run(void *user, const struct cm_err *why)
{
	struct cl_rounds *r = user;

	r->conf.on_end(r->conf.user, why);
}

/* Ask the shuffler for the next thing that is wanted, after a pause. */
static void ask(struct cl_rounds *r, uint32_t later_ms)
{
	r->phase = CL_ASKING;
	cl_asker_begin(r->asker, later_ms);
}

/* Enter a phase in which no round is requested. */
static void enter(struct cl_rounds *r, enum cl_phase phase)
{
	r->phase = phase;
	cl_asker_rest(r->asker);
}

/* Report a fault that ends `send` and that `run` survives. */
static void fault(void *user, const char *msg, const struct cm_err *why)
{
	struct cl_rounds *r = user;

	if (r->context->run->stop_on_fault || why->code == CM_EIO || why->code == CM_EINTERNAL) {
		end_run(r, why);
		return;
	}
	cl_say(r->context, CM_LOG_ERROR, msg, why);
	ask(r, CL_PAUSE_MS);
}

static void summarize(struct cl_rounds *r, const struct cl_counts *counts, const struct cm_err *refused)
{
	struct cl_summary s;

	cl_summary_make(r->context, &r->prep.prepared, counts, refused, &s);
	r->conf.on_summary(r->conf.user, &s);
}

/* Keep what is stored, and try the round again. */
static void interrupted(struct cl_rounds *r, const struct cm_err *why)
{
	struct cm_err unused;

	cl_metrics_interrupted(r->context->metrics);
	cl_prepare_work_forget(&r->prep);
	cl_active_fini(&r->active);
	if (cl_reports_active(r->context->db, &r->active, &unused) != CM_OK)
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

	r->drive = NULL;
	if (r->phase == CL_ENDING) {
		tell_closed(r);
		return;
	}
	cl_links_want(r->conf.links, 1);
	if (why->code != CM_OK) {
		interrupted(r, why);
		return;
	}
	r->over.after = r->prep.prepared.j.d.sequence;
	summarize(r, counts, NULL);
	cl_prepare_work_drop(&r->prep);
	cl_payload_wait_forget(&r->payload_wait);
	cl_active_fini(&r->active);
	r->active.sequence = 0;
	if (counts->by[CL_CONFLICT] > 0 && is_stopped(r, &stopped)) {
		cl_say(r->context, CM_LOG_ERROR, "another copy of this client's state answered a round",
			&stopped);
		if (r->context->run->stop_on_fault) {
			end_run(r, &stopped);
			return;
		}
	}
	if (r->context->run->rounds > 0 && ++r->count >= r->context->run->rounds) {
		end_run(r, &(struct cm_err){ .code = CM_OK });
		return;
	}
	r->conf.on_next(r->conf.user);
	cl_asker_wait(r->asker);
	ask(r, 0);
}

/* Report that this client takes no part in the round judged in prep. */
static void refuse(struct cl_rounds *r, const struct cm_err *why)
{
	const struct cl_judgement *j = &r->prep.prepared.j;
	bool final = why->code == CM_EPERM || why->code == CM_EBUDGET;

	if (!j->verified) {
		cl_metrics_unjudged(r->context->metrics);
		cl_prepare_work_forget(&r->prep);
		fault(r, "round refused", why);
		return;
	}
	cl_rounds_over_refuse(&r->over, j);
	r->declined.sequence = j->declined > 0 ? j->d.sequence : 0;
	r->declined.why = j->declined;
	r->declined.listed = cl_devices_n(r->context->devices);
	if (final)
		summarize(r, NULL, why);
	else
		cl_metrics_passed_over(r->context->metrics);
	cl_prepare_work_forget(&r->prep);
	cl_payload_wait_forget(&r->payload_wait);
	if ((r->context->run->stop_on_fault && why->code != CM_ELATER) || why->code == CM_EIO ||
		why->code == CM_EINTERNAL) {
		/* `send` asks for no further round, so this says who declined; `run` says it when it asks. */
		if (r->declined.sequence > 0)
			cl_asker_tell(r->asker);
		end_run(r, why);
		return;
	}
	if (!final && !r->context->run->quiet)
		cm_log(CM_LOG_WARN, "round passed over", CM_S("reason", why->msg),
			CM_I("code", cm_exit_code(why->code)));
	ask(r, final ? CL_ASK_AGAIN_MS : 0);
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

/* Upload the prepared round. */
static void start(struct cl_rounds *r)
{
	struct cm_err err = { .code = CM_OK };
	const struct cl_drive_conf conf = {
		.loop = &r->context->loop,
		.links = r->conf.links,
		.db = r->context->db,
		.setup = r->context->setup,
		.secret = &r->context->secret,
		.key_hash = r->conf.plans->key_hash,
		.prepared = &r->prep.prepared,
		.prepare_from =
			r->prep.prepared.computed_ms > 0 ? r->prep.prepared.computed_ms : r->prep.from,
		.descriptor = r->prep.descriptor.data,
		.descriptor_len = r->prep.descriptor.len,
		.signature = r->prep.signature,
		.progress = r->context->run->progress,
		.stopped = is_stopped(r, &err) || (err.code == CM_OK && cl_prepare_work_is_anothers(&r->prep,
										r->active.sequence, &err)),
		.bad_receipts = r->context->run->stop_on_fault ? 1 : 3,
		.on_stored = on_stored,
		.on_sealed = on_sealed,
		.on_over = on_round_over,
		.user = r,
	};

	if ((err.code != CM_OK && !conf.stopped) || cl_drive_new(&conf, &r->drive, &err) != CM_OK)
		end_run(r, &err);
	else
		enter(r, CL_UPLOADING);
}

/* Upload the stored reports of the active round, and no others. */
static void start_stored(struct cl_rounds *r)
{
	struct cm_err err;

	if (cl_prepare_work_resume(&r->prep, &r->active, &err) != CM_OK)
		end_run(r, &err);
	else
		start(r);
}

/* ---- before the upload: the judgement, the payload, the readings ---- */

/* Continue after preparation: the round is judged, and its readings are read or could not be. */
static void prepared(struct cl_rounds *r)
{
	const struct cm_err *err = &r->prep.err;

	if (err->code != CM_OK && r->active.sequence > 0) {
		cl_say(r->context, CM_LOG_WARN, "only what is stored is sent for the round under way", err);
		start_stored(r);
		return;
	}
	if (err->code != CM_OK) {
		refuse(r, err);
		return;
	}
	start(r);
}

static void on_drawn(void *user)
{
	struct cl_rounds *r = user;

	cl_gather_drawn(r->conf.gather);
	if (r->phase == CL_ENDING) {
		tell_closed(r);
		return;
	}
	r->phase = CL_ASKING;
	prepared(r);
}

/* The round judged in prep is still open: take its readings. */
static void draw(struct cl_rounds *r)
{
	struct cl_prepare_work *p = &r->prep;
	struct cm_err err;

	enter(r, CL_PREPARING);
	if (cl_gather_draw(r->conf.gather, &p->prepared.j.d, &p->input, &p->from, &err) != CM_OK ||
		cl_prepare_work_draw(p, on_drawn, r, &err) != CM_OK)
		end_run(r, &err);
}

void cl_rounds_due(struct cl_rounds *r)
{
	if (r->prep.prepared.j.resumed) {
		draw(r);
		return;
	}
	/* Other devices may have filled the round meanwhile; a closed round must not be charged. */
	r->confirming = true;
	ask(r, 0);
}

static void judge(void *user);

/* Fetch the payload of the judged round.  When the time for that is over, the round is judged again, with the
 * payload or without. */
static void fetch(struct cl_rounds *r)
{
	const struct cd_need need = r->prep.prepared.j.need;
	struct cm_err err;

	if (cl_payload_wait_begin(&r->payload_wait, &r->prep.prepared.j.d, &err) != CM_OK) {
		end_run(r, &err);
		return;
	}
	cl_prepare_work_forget(&r->prep);
	if (r->conf.plans->payload.state == CL_PAYLOAD_WANTED) {
		r->conf.plans->need = need;
		ask(r, 0);
	} else {
		judge(r);
	}
}

/* The time to fetch its payload is over. */
static void fetched(void *user)
{
	struct cl_rounds *r = user;
	struct cl_payload *p = &r->conf.plans->payload;
	bool awaited = false;
	struct cm_err why;

	/* A round that is being judged calls fetch() again when it needs its payload. */
	if (r->phase == CL_ENDING || r->prep.works || r->drive)
		return;
	(void)cm_fail(&why, CM_ELATER, "the payload did not come in time");
	/* An answer that is still on its way would be taken for the answer to another request. */
	for (int ask = CL_ASK_ROUND; ask <= CL_ASK_PAYLOAD; ask++)
		awaited = awaited || cl_asker_awaits(r->asker, (enum cl_ask)ask);
	if (awaited)
		cl_links_drop(r->conf.links, 0, 0, &why);
	cl_payload_give_up(p, why.msg);
	cl_plans_begin(r->conf.plans);
	if (p->state == CL_PAYLOAD_ABSENT) {
		(void)cm_fail(&why, CM_ELATER, "%s", p->why);
		cl_say(r->context, CM_LOG_WARN,
			"without the round's payload devices take part as without readings", &why);
	}
	judge(r);
}

static void on_prepared(void *user)
{
	struct cl_rounds *r = user;
	struct cl_judgement *j = &r->prep.prepared.j;

	if (r->phase == CL_ENDING) {
		tell_closed(r);
		return;
	}
	r->phase = CL_ASKING;
	if (r->prep.err.code == CM_EMORE && j->need.kind == CD_NEED_PAYLOAD) {
		fetch(r);
		return;
	}
	if (r->prep.err.code == CM_EMORE) {
		r->conf.plans->need = j->need;
		cl_prepare_work_forget(&r->prep);
		ask(r, 0);
		return;
	}
	if (r->conf.gather && r->prep.err.code == CM_OK && !(j->resumed && r->active.whole)) {
		enter(r, CL_PREPARING);
		cl_gather_begin(r->conf.gather, &j->d, j->resumed);
	} else {
		prepared(r);
	}
}

/* Judge the round in prep, and go on: fetch what that needs, or read the readings and upload. */
static void judge(void *user)
{
	struct cl_rounds *r = user;
	const struct cl_input *input = !r->conf.gather ? r->context->run->input : NULL;
	struct cm_err err;

	enter(r, CL_PREPARING);
	/* The payload came, or cannot be had; the moment at which that became known must not show. */
	if (cl_payload_wait_lasts(&r->payload_wait))
		return;
	if (cl_prepare_work_judge(
		    &r->prep, input, cl_payload_wait_until(&r->payload_wait), on_prepared, r, &err) != CM_OK)
		end_run(r, &err);
}

/* ---- the asker's answers ---- */

static void request(void *user, Tombola__V1__GetRound *get)
{
	const struct cl_rounds *r = user;

	/* Request the active round by its number, to check that it is unchanged. */
	get->after = r->active.sequence > 0 ? r->active.sequence - 1
		     : r->confirming        ? r->prep.prepared.j.d.sequence - 1
					    : cl_rounds_over_after(&r->over);
	get->passed_over = cl_rounds_over_by_clock(&r->over);
	get->declined = r->declined.sequence;
	get->declined_why = get->declined > 0 ? r->declined.why : 0;
	get->listed = get->declined > 0 ? r->declined.listed : 0;
	get->wait_ms = r->active.sequence > 0 || r->confirming ? 0
		       : get->passed_over > 0                  ? CL_PAUSE_MS
							       : PR_WAIT_MAX_MS;
	/* Offer rehearsals only while waiting for any round: a rehearsal must not come between the steps of
	 * one. */
	get->rehearses = get->wait_ms == PR_WAIT_MAX_MS;
}

/* Forget the judged round that was waiting for confirmation. */
static void forget_judged(struct cl_rounds *r)
{
	if (r->confirming)
		cl_prepare_work_forget(&r->prep);
	r->confirming = false;
}

static void on_rehearse(void *user, const Tombola__V1__Rehearse *question)
{
	struct cl_rounds *r = user;

	r->conf.on_rehearse(r->conf.user, question);
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
		start_stored(r);
		return true;
	}
	if (r->confirming && over) {
		r->confirming = false;
		(void)cm_fail(&why, CM_ELATER, "closed before its readings were drawn; nothing was charged");
		refuse(r, &why);
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

	if (r->confirming && cl_prepare_work_is(&r->prep, round->descriptor.data, round->descriptor.len)) {
		r->confirming = false;
		draw(r);
		return;
	}
	forget_judged(r);
	r->declined.sequence = 0;
	if (!cl_prepare_work_is(&r->prep, round->descriptor.data, round->descriptor.len))
		cl_payload_wait_stop(&r->payload_wait);
	if (cl_prepare_work_offer(&r->prep, round, &err) != CM_OK) {
		fault(r, "round refused", &err);
		return;
	}
	cl_plans_begin(r->conf.plans);
	r->conf.on_begin(r->conf.user);
	if (r->active.sequence > 0 &&
		!cl_prepare_work_is(&r->prep, r->active.descriptor.data, r->active.descriptor.len)) {
		cl_prepare_work_look(&r->prep, r->active.sequence);
		start_stored(r);
		return;
	}
	judge(r);
}

void cl_rounds_up(struct cl_rounds *r, unsigned i)
{
	if (r->drive)
		cl_drive_up(r->drive, i);
	cl_asker_up(r->asker, i);
}

void cl_rounds_down(struct cl_rounds *r, unsigned i, bool was_up, const struct cm_err *why)
{
	if (r->phase == CL_ENDING)
		return;
	if (r->drive)
		cl_drive_down(r->drive, i);
	cl_asker_down(r->asker, i, was_up, why);
}

void cl_rounds_frame(struct cl_rounds *r, unsigned i, const Tombola__V1__Frame *frame)
{
	if (r->phase == CL_UPLOADING && r->drive)
		cl_drive_frame(r->drive, i, frame);
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
	r->over.after = conf->after;
	cl_prepare_work_init(&r->prep, r->context, conf->plans);

	const struct cl_asker_conf asker = { .context = r->context,
		.links = conf->links,
		.plans = conf->plans,
		.user = r,
		.request = request,
		.on_round = on_round,
		.on_rehearse = on_rehearse,
		.on_none = on_none,
		.on_answer = judge,
		.on_fault = fault,
		.on_over = end_run };
	cl_payload_wait_init(&r->payload_wait, r->context, conf->plans, fetched, r);
	rc = cl_reports_active(r->context->db, &r->active, err);
	if (rc != CM_OK && rc != CM_ENOINPUT)
		return rc;
	if (r->active.sequence == 0)
		cl_payload_wait_forget(&r->payload_wait);
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
	cl_payload_wait_close(&r->payload_wait);
	atomic_store(&r->conf.plans->stop, true);
	cl_asker_close(r->asker);
	if (r->drive)
		cl_drive_stop(r->drive);
	tell_closed(r);
}

void cl_rounds_free(struct cl_rounds *r)
{
	if (!r)
		return;
	cl_prepare_work_fini(&r->prep);
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
		     (r->drive && cl_drive_sends(r->drive));

	return sends ? r->phase : CL_PREPARING;
}

bool cl_rounds_under_way(const struct cl_rounds *r)
{
	return r->drive || r->active.sequence > 0;
}

bool cl_rounds_judged(const struct cl_rounds *r)
{
	return cl_rounds_under_way(r) || r->phase == CL_PREPARING || r->prep.works || r->confirming;
}

void cl_rounds_reconsider(struct cl_rounds *r)
{
	uint64_t after;
	struct cm_err unused;

	if (cl_ledger_last(r->context->db, &after, &unused) == CM_OK)
		r->over = (struct cl_rounds_over){ .after = after };
	r->declined.sequence = 0;
}

uint64_t cl_rounds_after(const struct cl_rounds *r)
{
	return r->over.after;
}

const struct rd_descriptor *cl_rounds_current(const struct cl_rounds *r)
{
	return &r->prep.prepared.j.d;
}

bool cl_rounds_awaits_manifest(const struct cl_rounds *r)
{
	return cl_asker_awaits(r->asker, CL_ASK_MANIFEST);
}
