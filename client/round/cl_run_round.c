/* cl_run_round.c - a round from its descriptor to its summary: judged and read on the thread pool, then
 * uploaded. */
#include <inttypes.h>
#include <string.h>

#include "cl_run_private.h"
#include "cm_clock.h"

double cl_run_spent(const struct cl_run *run)
{
	struct rd_slices slices;
	struct cm_err unused;

	return cl_pin_slices(run->db, &slices, &unused) == CM_OK ? slices.epsilon : 0;
}

static void summarize(struct cl_run *run, const struct cl_counts *counts, const struct cm_err *refused)
{
	const struct rd_descriptor *d = &run->prepared.j.d;
	const struct cl_judge_store store = cl_judge_db(run->db);
	struct cm_err unused;
	struct cl_summary s = { .sequence = d->sequence, .rows = run->prepared.rows };

	(void)snprintf(s.query, sizeof s.query, "%s", d->query.name);
	(void)snprintf(s.protocol, sizeof s.protocol, "%s", d->randomizer.row->name);
	s.resumed = run->prepared.j.resumed;
	s.entry = d->entry;
	s.attempt = d->attempt;
	if (cl_plan_view_read(&store, d->plan_hash, &s.plan, &unused) != CM_OK)
		s.plan = (struct cl_plan_view){ .number = 0 };
	s.messages = d->messages_per_client;
	s.sealed_len = rd_sealed_len(d);
	s.epsilon0 = cl_policy_epsilon0(&run->setup->policy, d);
	if (cl_policy_rests_on_shuffler(&run->setup->policy, d) && pt_needs_shuffler(&d->randomizer))
		s.shuffler_dummies = pt_shuffler_most(&d->randomizer);
	if (counts != NULL)
		s.counts = *counts;
	if (refused != NULL) {
		s.refused = refused->code;
		(void)snprintf(s.reason, sizeof s.reason, "%s", refused->msg);
		s.epsilon_round = run->prepared.j.charge.epsilon_round;
		s.epsilon_total = run->prepared.j.charge.epsilon_total;
	} else if (cl_ledger_charge_of(run->db, s.sequence, &s.epsilon_round, &s.epsilon_total, &unused) !=
		   CM_OK) {
		s.epsilon_round = s.epsilon_total = 0;
	}
	run->spent = cl_run_spent(run);
	cl_metrics_round(run->metrics, &s);
	cl_metrics_ledger(run->metrics, run->db);
	if (run->conf.on_round != NULL)
		run->conf.on_round(run->conf.user, &s);
}

static void forget_round(struct cl_run *run)
{
	cl_prepared_fini(&run->prepared);
	run->descriptor.len = 0;
	cl_active_fini(&run->active);
	run->active.sequence = 0;
}

static void on_round_over(void *user, const struct cl_counts *counts, const struct cm_err *why)
{
	struct cl_run *run = user;

	run->round = NULL;
	if (run->phase == CL_ENDING) {
		cl_run_finish(run, NULL);
		return;
	}
	cl_links_want(run->links, 1);
	if (why->code != CM_OK) {
		cl_metrics_interrupted(run->metrics);
		cl_prepared_fini(&run->prepared);
		cl_active_fini(&run->active);
		if (cl_store_active(run->db, &run->active, &run->down) != CM_OK)
			run->active.sequence = 0;
		cl_run_fault(run, "round interrupted, what is stored is kept", why);
		return;
	}
	run->after = run->prepared.j.d.sequence;
	summarize(run, counts, NULL);
	forget_round(run);
	if (run->conf.rounds > 0 && ++run->rounds >= run->conf.rounds) {
		cl_run_finish(run, NULL);
		return;
	}
	cl_run_proof_begin(run);
	cl_run_begin_waiting(run);
	cl_run_begin_asking(run, 0);
}

static void on_stored(void *user, double seconds)
{
	cl_metrics_stored(((struct cl_run *)user)->metrics, seconds);
}

static void start_round(struct cl_run *run)
{
	const struct cl_round_conf conf = {
		.loop = &run->loop,
		.links = run->links,
		.db = run->db,
		.setup = run->setup,
		.prepared = &run->prepared,
		.prepare_from = run->prepare_from,
		.descriptor = run->descriptor.data,
		.descriptor_len = run->descriptor.len,
		.signature = run->signature,
		.progress = run->conf.progress,
		.bad_receipts = run->conf.stop_on_fault ? 1 : 3,
		.on_stored = on_stored,
		.on_over = on_round_over,
		.user = run,
	};
	struct cm_err err;

	if (cl_round_new(&conf, &run->round, &err) != CM_OK) {
		cl_run_finish(run, &err);
		return;
	}
	run->phase = CL_UPLOADING;
}

/* The active round's stored submissions, and no others. */
void cl_run_start_stored(struct cl_run *run)
{
	struct cm_err err;

	cl_prepared_fini(&run->prepared);
	run->prepared = (struct cl_prepared){ 0 };
	run->descriptor.len = 0;
	if (cm_buf_put(&run->descriptor, run->active.descriptor.data, run->active.descriptor.len) != CM_OK) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		cl_run_finish(run, &err);
		return;
	}
	memcpy(run->signature, run->active.signature, PR_SIGNATURE_LEN);
	if (rd_descriptor_decode(run->descriptor.data, run->descriptor.len, &run->prepared.j.d, &err) !=
		CM_OK) {
		(void)cm_context(&err, "client.db: the active round");
		cl_run_finish(run, &err);
		return;
	}
	run->prepared.j.verified = run->prepared.j.resumed = true;
	start_round(run);
}

static void refused(struct cl_run *run, const struct cm_err *why)
{
	bool final = why->code == CM_EPERM || why->code == CM_EBUDGET;

	if (!run->prepared.j.verified) {
		cl_metrics_unjudged(run->metrics);
		cl_prepared_fini(&run->prepared);
		cl_run_fault(run, "round refused", why);
		return;
	}
	run->after = run->prepared.j.d.sequence > run->after ? run->prepared.j.d.sequence : run->after;
	run->by_clock.sequence = run->prepared.j.clock ? run->prepared.j.d.sequence : 0;
	run->by_clock.opens_ms = run->prepared.j.d.opens_ms;
	run->by_clock.deadline_ms = run->prepared.j.d.deadline_ms;
	if (final)
		summarize(run, NULL, why);
	else
		cl_metrics_passed_over(run->metrics);
	cl_prepared_fini(&run->prepared);
	if ((run->conf.stop_on_fault && why->code != CM_ELATER) || why->code == CM_EIO ||
		why->code == CM_EINTERNAL) {
		cl_run_finish(run, why);
		return;
	}
	if (!final)
		cl_run_say(run, CM_LOG_WARN, "round passed over", why);
	cl_run_begin_asking(run, final ? CL_ASK_AGAIN_MS : 0);
}

static void prepare_work(uv_work_t *w)
{
	struct cl_run *run = w->data;
	const struct cl_prepare_job job = {
		.db = run->db,
		.setup = run->setup,
		/* By MQTT they are drawn once the round is judged. */
		.input = run->mqtt == NULL ? &run->input : NULL,
		.secret = &run->secret,
		.descriptor = run->descriptor.data,
		.descriptor_len = run->descriptor.len,
		.signature = run->signature,
		.signature_len = run->signature_len,
		.now_ms = cm_clock_wall_ms(),
		.absent = run->plans.absent[0] != '\0' ? run->plans.absent : NULL,
		.stop = &run->plans.stop,
	};

	run->prepare_err.code = cl_prepare(&job, &run->prepared, &run->prepare_err);
}

void cl_run_gone(struct cl_run *run)
{
	struct cm_err why;

	run->confirming = false;
	(void)cm_fail(&why, CM_ELATER, "closed before its readings were drawn; nothing was charged");
	refused(run, &why);
}

void cl_run_forget_judged(struct cl_run *run)
{
	if (run->confirming)
		cl_prepared_fini(&run->prepared);
	run->confirming = false;
}

void cl_run_prepared(struct cl_run *run)
{
	struct cm_err *err = &run->prepare_err;
	size_t n = 0;

	if (err->code != CM_OK && run->active.sequence > 0) {
		cl_run_say(run, CM_LOG_WARN, "only what is stored is sent for the round under way", err);
		cl_run_start_stored(run);
		return;
	}
	if (err->code != CM_OK) {
		refused(run, err);
		return;
	}
	if (run->prepared.batch != NULL)
		(void)cl_batch_entries(run->prepared.batch, &n);
	if (n == 0 && !run->prepared.j.resumed) {
		(void)cm_fail(err, CM_EDATA, "%s: no row names a device", run->input.path);
		refused(run, err);
		return;
	}
	start_round(run);
}

static void on_prepared(uv_work_t *w, int status)
{
	struct cl_run *run = w->data;

	(void)status;
	if (run->phase == CL_ENDING) {
		cl_run_finish(run, NULL);
		return;
	}
	run->phase = CL_ASKING;
	if (run->prepare_err.code == CM_EMORE) {
		run->plans.need = run->prepared.j.need;
		cl_prepared_fini(&run->prepared);
		cl_run_begin_asking(run, 0);
		return;
	}
	if (run->mqtt != NULL && run->prepare_err.code == CM_OK &&
		!(run->prepared.j.resumed && run->active.whole))
		cl_run_mqtt_gather(run);
	else
		cl_run_prepared(run);
}

static void start_judging(struct cl_run *run)
{
	struct cm_err err;

	run->phase = CL_PREPARING;
	run->prepare_from = cm_clock_wall_ms();
	if (run->mqtt == NULL) {
		run->input = *run->conf.input;
		run->input.devices = run->devices;
	}
	run->work.data = run;
	if (uv_queue_work(&run->loop, &run->work, prepare_work, on_prepared) != 0) {
		run->phase = CL_ASKING;
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool takes no work");
		cl_run_finish(run, &err);
	}
}

void cl_run_judge_again(struct cl_run *run)
{
	if (run->conf.fetch_only)
		cl_run_finish(run, NULL);
	else
		start_judging(run);
}

/* A descriptor while another round is under way: only worth a look for the same sequence number. */
static void look_at_other(struct cl_run *run)
{
	struct rd_descriptor d;
	struct cm_err err, unused;

	if (run->signature_len != PR_SIGNATURE_LEN ||
		rd_descriptor_verify(run->descriptor.data, run->descriptor.len, run->signature,
			run->setup->analyzer, &d, &err) != CM_OK)
		return;
	if (d.sequence == run->active.sequence &&
		cl_ledger_see(run->db, &d, cm_clock_wall_ms(), &err) == CM_EPERM) {
		cl_run_say(run, CM_LOG_ERROR, "round refused", &err);
		if (cl_ledger_refuse(run->db, &d, cm_clock_wall_ms(), err.msg, &unused) != CM_OK)
			cl_run_say(run, CM_LOG_ERROR, "ledger", &unused);
	}
	rd_descriptor_fini(&d);
}

/* Of a round that is only looked at: its plan, too.  A round that cannot be read is judged without. */
static void fetch_plan(struct cl_run *run)
{
	struct rd_descriptor d;
	struct cm_err unused;

	if (rd_descriptor_decode(run->descriptor.data, run->descriptor.len, &d, &unused) != CM_OK) {
		cl_run_finish(run, NULL);
		return;
	}
	run->plans.need.kind = CL_NEED_PLAN;
	memcpy(run->plans.need.plan_hash, d.plan_hash, PR_HASH_LEN);
	rd_descriptor_fini(&d);
	cl_run_begin_asking(run, 0);
}

void cl_run_take_round(struct cl_run *run, const Tombola__V1__Round *round)
{
	struct cm_err err;

	if (run->confirming && round->descriptor.len == run->descriptor.len &&
		memcmp(round->descriptor.data, run->descriptor.data, run->descriptor.len) == 0) {
		run->confirming = false;
		cl_run_mqtt_draw(run);
		return;
	}
	cl_run_forget_judged(run);
	run->descriptor.len = 0;
	if (round->descriptor.len == 0 || round->signature.len != PR_SIGNATURE_LEN ||
		cm_buf_put(&run->descriptor, round->descriptor.data, round->descriptor.len) != CM_OK) {
		(void)cm_fail(&err, CM_EPROTO, "a round without descriptor or signature");
		cl_run_fault(run, "round refused", &err);
		return;
	}
	memcpy(run->signature, round->signature.data, PR_SIGNATURE_LEN);
	run->signature_len = round->signature.len;
	cl_plans_begin(&run->plans);
	if (run->conf.fetch_only) {
		fetch_plan(run);
		return;
	}
	cl_run_adopt_devices(run);
	if (run->active.sequence > 0 && (run->active.descriptor.len != run->descriptor.len ||
						memcmp(run->active.descriptor.data, run->descriptor.data,
							run->descriptor.len) != 0)) {
		look_at_other(run);
		cl_run_start_stored(run);
		return;
	}
	start_judging(run);
}
