/* cl_judge.c - decides whether this client takes part in a round. */
#include "cl_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cl_pins.h"
#include "cl_reports.h"
#include "cm_fault.h"
#include "cm_round.h"
#include "rd_left_out.h"

double cl_shown_bound(double v)
{
	return cm_round_up(v, 4);
}

/* Set what a loss of the ledger means for the rounds after it; `lost` gets the words. */
static void know_loss(const struct cl_loss *loss, struct cd_facts *f, char *lost, size_t size)
{
	f->closed_plans = loss->closed_plans;
	if (!loss->lost)
		return;
	cl_loss_words(loss, lost, size);
	f->lost = lost;
}

/* ---- The round, once its plan is known and pinned ---- */

enum cm_rc cl_judge_alone(
	const struct cl_policy *policy, double delta, struct cl_judgement *j, struct cm_err *err)
{
	struct rd_account *account = rd_account_new(policy->shared.max_epsilon, delta);
	enum cm_rc rc = account ? cl_policy_loss(policy, &j->d, &j->charge.loss, err)
				: cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = rd_account_judge(account, &j->charge.loss, &j->verdict, err);
	if (rc == CM_OK)
		j->charge.epsilon_round = j->verdict.epsilon_round;
	rd_account_free(account);
	return rc;
}

/* Ask the filter of an adaptive plan whether it has room for this round. */
static enum cm_rc judge_filter(const struct cl_judge_job *job, const struct rd_plan *plan,
	struct cl_judgement *j, struct cm_err *err)
{
	struct rd_account *account = NULL;
	enum cm_rc rc = cl_policy_loss(job->policy, &j->d, &j->charge.loss, err);

	if (rc == CM_OK)
		rc = cl_ledger_kept(job->db, plan, &account, err);
	if (rc == CM_OK)
		rc = rd_account_judge(account, &j->charge.loss, &j->verdict, err);
	if (rc != CM_OK)
		return rc;
	j->charge.epsilon_round = j->verdict.epsilon_round;
	if (CM_CHECKED("client.budget") && !j->verdict.fits)
		return cm_fail_key(err, CM_EBUDGET, "max_epsilon",
			"budget: the round needs %.4g %% of the filter's budget and %.4g %% is spent",
			100 * j->verdict.share, 100 * j->verdict.share_spent);
	return CM_OK;
}

/* ---- Its plan, and what this client takes of it ---- */

/* What a judgement has read: the pointers in `facts` point to it. */
struct known {
	struct cd_facts facts;
	struct cl_loss loss;
	char lost[256]; /* what the loss means */
	struct rd_plan plan;
	struct cl_pin pin;
};

/* After an accepted loss of the ledger, the slices of the plans that were closed before this one count as
 * spent, whether they were forgotten or not. */
static enum cm_rc close_before(
	const struct cl_judge_job *job, const struct known *k, struct cd_need *need, struct cm_err *err)
{
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = k->plan.number;
	enum cm_rc rc = CM_OK;

	memcpy(previous, k->plan.previous, PR_HASH_LEN);
	while (rc == CM_OK && --number > 0) {
		struct rd_plan before;
		struct cl_pin pin;

		rc = cl_plan_find(job->db, previous, &before, err);
		if (rc == CM_ENOINPUT)
			rc = cd_judge_unknown(previous, job->absent, need, err);
		if (rc == CM_OK && before.number != number)
			rc = cm_fail(err, CM_EPERM,
				"plan '%s' is numbered %" PRIu64 " where %" PRIu64 " is due", before.name,
				before.number, number);
		if (rc == CM_OK && number <= k->loss.closed_plans) {
			rc = cl_pin_find(job->db, before.hash, &pin, err);
			if (rc == CM_ENOINPUT) {
				pin = cl_pin_closed(&before);
				rc = cl_pin_put(job->db, &pin, job->now_ms, err);
			}
		}
		memcpy(previous, before.previous, PR_HASH_LEN);
		rd_plan_fini(&before);
	}
	return rc;
}

/* Pin the plan.  On a fault nothing is pinned, and nothing is spent. */
static enum cm_rc make_pin(
	const struct cl_judge_job *job, const struct rd_plan *plan, struct cl_pin *out, struct cm_err *err)
{
	struct rd_slices pinned;
	enum cm_rc rc = cl_pin_slices(job->db, &pinned, err);

	if (rc == CM_OK)
		rc = cl_pin_choose(job->policy, plan, &pinned, job->stop, out, err);
	return rc == CM_OK ? cl_pin_put(job->db, out, job->now_ms, err) : rc;
}

/* Judge the round by the policy, and find the plan's pin or make it. */
static enum cm_rc know_pin(
	const struct cl_judge_job *job, struct known *k, struct cl_judgement *j, struct cm_err *err)
{
	struct rd_slices pinned;
	uint64_t recent = 0;
	enum cm_rc rc = cl_ledger_recent(job->db, job->now_ms - job->policy->window_ms, &recent, err);

	if (rc == CM_OK)
		rc = cl_policy_check(job->policy, &j->d, recent, err);
	if (rc == CM_OK && k->loss.accepted)
		rc = close_before(job, k, &j->need, err);
	if (rc == CM_OK) {
		rc = cl_pin_find(job->db, k->plan.hash, &k->pin, err);
		if (rc == CM_ENOINPUT)
			rc = make_pin(job, &k->plan, &k->pin, err);
	}
	if (rc == CM_OK)
		rc = cl_pin_slices(job->db, &pinned, err);
	if (rc == CM_OK)
		rc = cl_pin_check(job->policy, &k->pin, &pinned, err);
	if (rc == CM_OK)
		rc = cl_plan_view_read(job->db, k->plan.hash, &j->plan, err);
	j->charge.epsilon_total = j->plan.slices.epsilon;
	k->facts.pin = &k->pin.pin;
	k->facts.adaptive = k->pin.adaptive;
	return rc;
}

/* ---- What is known of earlier rounds ---- */

static enum cm_rc know_past(
	const struct cl_judge_job *job, const struct rd_descriptor *d, struct known *k, struct cm_err *err)
{
	struct cd_facts *f = &k->facts;
	enum cm_rc rc = cl_loss_read(job->db, &k->loss, err);

	if (rc == CM_OK)
		rc = cl_reports_sequence(job->db, &f->stored, err);
	if (rc == CM_OK)
		rc = cl_ledger_charged(job->db, d->sequence, &f->charged, err);
	know_loss(&k->loss, f, k->lost, sizeof k->lost);
	return rc;
}

static enum cm_rc know_plan(
	const struct cl_judge_job *job, const struct rd_descriptor *d, struct known *k, struct cm_err *err)
{
	enum cm_rc rc = cl_plan_find(job->db, d->plan_hash, &k->plan, err);

	k->facts.plan = rc == CM_OK ? &k->plan : NULL;
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

static enum cm_rc know_try(
	const struct cl_judge_job *job, const struct rd_descriptor *d, struct cd_try *t, struct cm_err *err)
{
	struct cl_try last;
	bool is_void = false;
	enum cm_rc rc = cl_try_last(job->db, d->plan_hash, d->entry, &last, err);

	if (rc != CM_OK || last.attempt == 0)
		return rc;
	t->attempt = last.attempt;
	memcpy(t->round_id, last.round_id, PR_ROUND_ID_LEN);
	rc = cl_try_was_void(job->db, &last, &is_void, t->manifest, err);
	if (rc == CM_OK)
		t->fate = is_void ? CD_FATE_VOID : CD_FATE_SEALED;
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

/* Read the fact that cd_judge wants, or do what it stands for. */
static enum cm_rc know(const struct cl_judge_job *job, enum cd_fact fact, struct known *k,
	struct cl_judgement *j, struct cm_err *err)
{
	switch (fact) {
	case CD_FACT_SEEN:
		return cl_ledger_see(job->db, &j->d, job->now_ms, err);
	case CD_FACT_PAST:
		return know_past(job, &j->d, k, err);
	case CD_FACT_PLAN:
		return know_plan(job, &j->d, k, err);
	case CD_FACT_PIN:
		return know_pin(job, k, j, err);
	case CD_FACT_TRY:
		return know_try(job, &j->d, &k->facts.tried, err);
	case CD_FACTS:
		break;
	}
	return CM_OK;
}

/* ---- A draft: the same checks, and nothing is stored ---- */

enum cm_rc cl_draft_read(
	struct cl_db *db, const struct rd_plan *plan, struct cl_draft *out, struct cm_err *err)
{
	*out = (struct cl_draft){ .plan = plan };

	enum cm_rc rc = cl_loss_read(db, &out->loss, err);
	if (rc == CM_OK)
		rc = cl_pin_slices(db, &out->pinned, err);
	if (rc == CM_OK)
		rc = cl_pin_find(db, plan->hash, &out->pin, err);
	out->is_pinned = rc == CM_OK;
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

enum cm_rc cl_draft_judge(const struct cl_policy *policy, struct cl_draft *draft, const atomic_bool *stop,
	struct rd_faults *faults)
{
	struct cm_err err = { .code = CM_OK };
	struct cd_facts facts = { .only_plan = policy->plan_only ? policy->plan_hash : NULL };
	char lost[256];
	enum cm_rc rc;

	know_loss(&draft->loss, &facts, lost, sizeof lost);
	rc = cd_judge_draft(&facts, draft->plan, &err);
	if (rc == CM_OK && draft->is_pinned)
		rc = cl_pin_check(policy, &draft->pin, &draft->pinned, &err);
	else if (rc == CM_OK)
		rc = cl_pin_explain(policy, draft->plan, &draft->pinned, stop, &draft->pin, faults, &err);
	if (rc == CM_OK || rc == CM_ELATER)
		return rc;
	if (faults->n == 0)
		rd_faults_add(faults, 0, err.msg);
	draft->pin.pin = (struct rd_pin){ .entries = draft->plan->entries };
	return CM_EPERM;
}

/* ---- The descriptor ---- */

static enum cm_rc judge_verified(
	const struct cl_judge_job *job, struct cl_judgement *j, struct cd_verdict *v, struct cm_err *err)
{
	struct known k = { .facts = { .population = job->policy->shared.population,
				   .only_plan = job->policy->plan_only ? job->policy->plan_hash : NULL,
				   .now_ms = job->now_ms,
				   .absent = job->absent } };
	enum cm_rc rc;

	while ((rc = cd_judge(&k.facts, &j->d, v, err)) == CM_EMORE && v->want != CD_FACTS) {
		rc = know(job, v->want, &k, j, err);
		if (rc != CM_OK)
			break;
		k.facts.known[v->want] = true;
	}
	if (v->need.kind != CD_NEED_NOTHING)
		j->need = v->need;
	if (rc == CM_OK && !v->resumed)
		rc = k.facts.adaptive ? judge_filter(job, &k.plan, j, err)
				      : cl_judge_alone(job->policy, k.plan.delta, j, err);
	rd_plan_fini(&k.plan);
	return rc;
}

enum cm_rc cl_judge(const struct cl_judge_job *job, struct cl_judgement *out, struct cm_err *err)
{
	struct cd_verdict v = { .answered = false };
	struct cm_err recording;
	enum cm_rc rc;

	*out = (struct cl_judgement){ 0 };
	rc = cd_judge_signed(job->descriptor, job->descriptor_len, job->signature, job->signature_len,
		job->analyzer, &out->d, err);
	if (rc != CM_OK)
		return rc;
	out->verified = true;
	rc = cl_ledger_keep(job->db, &out->d, job->descriptor, job->descriptor_len, job->signature, err);
	if (rc == CM_OK)
		rc = judge_verified(job, out, &v, err);
	out->resumed = v.resumed;
	out->clock = v.clock;
	if (!v.answered && (rc == CM_EPERM || rc == CM_EBUDGET))
		out->declined = rd_left_out_of(err->key);
	else if (v.clock)
		out->declined = rd_left_out_of("clock");
	/* A refusal that cannot be recorded is still a refusal. */
	if ((rc == CM_EPERM || rc == CM_EBUDGET) &&
		cl_ledger_refuse(job->db, &out->d, job->now_ms, err->msg, &recording) != CM_OK)
		(void)0;
	return rc;
}

enum cm_rc cl_plan_view_read(
	struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], struct cl_plan_view *out, struct cm_err *err)
{
	struct rd_plan plan;
	struct cl_pin pin;
	enum cm_rc rc = cl_pin_slices(db, &out->slices, err);

	if (rc == CM_OK)
		rc = cl_pin_find(db, plan_hash, &pin, err);
	if (rc != CM_OK)
		return rc;
	rc = cl_plan_find(db, plan_hash, &plan, err);
	if (rc == CM_OK) {
		(void)snprintf(out->name, sizeof out->name, "%s", plan.name);
		out->number = pin.number;
		out->entries = pin.pin.entries;
		out->taken = rd_pin_count(&pin.pin);
		out->adaptive = pin.adaptive;
		out->epsilon = pin.epsilon;
		out->delta = pin.delta;
	}
	rd_plan_fini(&plan);
	return rc;
}

/* ---- In words ---- */

void cl_judge_words(const struct cl_judgement *j, const struct cl_policy *policy, char *out, size_t size)
{
	double epsilon0 = cl_policy_epsilon0(policy, &j->d);
	uint64_t added = pt_needs_shuffler(&j->d.randomizer) ? pt_shuffler_most(&j->d.randomizer) : 0;
	const char *most = j->d.randomizer.shuffler.dummies > 0 ? "" : "up to ";
	char local[96], rests[100] = "";
	size_t n;

	if (added > 0)
		(void)snprintf(rests, sizeof rests,
			cl_policy_rests_on_shuffler(policy, &j->d)
				? "; this rests on the shuffler adding %s%" PRIu64 " messages of its own"
				: "; the %s%" PRIu64 " messages the shuffler is to add are not counted",
			most, added);

	if (isfinite(epsilon0))
		(void)snprintf(local, sizeof local,
			"whoever reads one device's messages alone learns at most epsilon %.4g about it",
			epsilon0);
	else
		(void)snprintf(local, sizeof local, "one device's messages alone are not protected");
	n = (size_t)snprintf(out, size,
		"%s; mixed with at least %" PRIu64
		" honest participants the analyzer learns at most epsilon %.4f in this round, at delta %.3g",
		local, cl_policy_honest(policy, &j->d), cl_shown_bound(j->charge.epsilon_round),
		j->verdict.delta);
	if (n < size && j->plan.number > 0)
		n += (size_t)snprintf(out + n, size - n,
			"; epsilon %.4f of %.4f at delta %.3g is what all rounds of the pinned plans tell "
			"together",
			cl_shown_bound(j->plan.slices.epsilon), policy->shared.max_epsilon,
			j->plan.slices.delta);
	if (n < size && j->verdict.adaptive)
		n += (size_t)snprintf(out + n, size - n, "; of this plan's slice %.2f %% is used then",
			cm_percent_up(j->verdict.share_total, 2));
	if (n < size)
		(void)snprintf(out + n, size - n, "%s", rests);
}
