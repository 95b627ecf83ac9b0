/* cl_judge.c - decides whether this client takes part in a round. */
#include "cl_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_round.h"
#include "rd_left_out.h"

double cl_shown_bound(double v)
{
	return cm_round_up(v, 4);
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
		rc = job->store.account(job->store.ctx, plan, &account, err);
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

/* Whether this client may take part in d, which is a try of an entry that it pinned.  CM_EMORE: this needs
 * the manifest of the round *missing.  CM_EPERM: the try is not a later one, or the one before it is not
 * known to be void. */
static enum cm_rc judge_try(const struct cl_judge_job *job, const struct rd_descriptor *d,
	uint8_t missing[PR_ROUND_ID_LEN], struct cm_err *err)
{
	unsigned long entry = d->entry, attempt = d->attempt;
	uint8_t hash[PR_HASH_LEN] = { 0 };
	struct cl_try last;
	bool is_void = false;
	enum cm_rc rc = job->store.last_try(job->store.ctx, d->plan_hash, d->entry, &last, err);

	if (rc != CM_OK || last.attempt == 0)
		return rc;
	if (CM_CHECKED("client.try.later") && d->attempt <= last.attempt)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu is offered after this client took part in try %lu", attempt,
			entry, (unsigned long)last.attempt);
	rc = job->store.was_void(job->store.ctx, &last, &is_void, hash, err);
	if (rc == CM_ENOINPUT && !job->absent) {
		memcpy(missing, last.round_id, PR_ROUND_ID_LEN);
		return CM_EMORE;
	}
	if (rc != CM_OK && rc != CM_ENOINPUT)
		return rc;
	if (CM_CHECKED("client.try.void") && rc == CM_ENOINPUT)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu counts as released, because its VOID manifest cannot be had: "
			"%.120s",
			(unsigned long)last.attempt, entry, job->absent);
	if (rc == CM_ENOINPUT)
		return CM_OK;
	if (CM_CHECKED("client.try.void") && !is_void)
		return cm_fail(err, CM_EPERM, "entry %lu is answered: its try %lu was sealed", entry,
			(unsigned long)last.attempt);
	if (CM_CHECKED("client.try.named") && d->attempt == last.attempt + 1 &&
		memcmp(hash, d->void_manifest, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu names another VOID manifest than the shuffler gave for try %lu",
			attempt, entry, (unsigned long)last.attempt);
	return CM_OK;
}

/* Whether the round is an entry that this client pinned, and the next try of that entry. */
static enum cm_rc judge_entry(const struct cl_judge_job *job, const struct rd_plan *plan,
	const struct cl_pin *pin, struct cl_judgement *j, struct cm_err *err)
{
	const struct rd_entry *e = rd_plan_entry(plan, j->d.entry);
	enum cm_rc rc;

	if (CM_CHECKED("client.plan.entry") && (!e || !rd_pin_has(&pin->pin, (size_t)(e - plan->entry))))
		return cm_fail_key(err, CM_EPERM, "pin",
			"entry %lu is not among the %zu of %zu that this client pinned of plan '%s' (%" PRIu64
			")",
			(unsigned long)j->d.entry, rd_pin_count(&pin->pin), plan->entries, plan->name,
			plan->number);
	rc = judge_try(job, &j->d, j->need.round_id, err);
	if (rc == CM_EMORE)
		j->need.kind = CL_NEED_MANIFEST;
	return rc;
}

static enum cm_rc judge_pinned(const struct cl_judge_job *job, const struct rd_plan *plan,
	const struct cl_pin *pin, struct cl_judgement *j, struct cm_err *err)
{
	struct rd_slices pinned;
	enum cm_rc rc = job->store.slices(job->store.ctx, &pinned, err);

	if (rc == CM_OK)
		rc = cl_pin_check(job->policy, pin, &pinned, err);
	if (rc == CM_OK)
		rc = cl_plan_view_read(&job->store, plan->hash, &j->plan, err);
	if (rc == CM_OK && !pin->adaptive)
		rc = judge_entry(job, plan, pin, j, err);
	if (rc == CM_OK)
		rc = pin->adaptive ? judge_filter(job, plan, j, err)
				   : cl_judge_alone(job->policy, plan->delta, j, err);
	j->charge.epsilon_total = j->plan.slices.epsilon;
	return rc;
}

/* ---- Its plan ---- */

/* Find the plan with this hash; CM_EMORE and the needed document if it is not known. */
static enum cm_rc known_plan(const struct cl_judge_job *job, const uint8_t hash[PR_HASH_LEN],
	struct rd_plan *plan, struct cl_judgement *j, struct cm_err *err)
{
	enum cm_rc rc = job->store.plan(job->store.ctx, hash, plan, err);

	if (rc != CM_ENOINPUT)
		return rc;
	if (job->absent)
		return cm_fail(err, CM_EPERM, "the round's plan is not to be had: %.200s", job->absent);
	j->need.kind = CL_NEED_PLAN;
	memcpy(j->need.plan_hash, hash, PR_HASH_LEN);
	return CM_EMORE;
}

/* After an accepted loss of the ledger, the slices of the plans that were closed before this one count as
 * spent, whether they were forgotten or not. */
static enum cm_rc close_before(const struct cl_judge_job *job, const struct cl_loss *loss,
	const struct rd_plan *plan, struct cl_judgement *j, struct cm_err *err)
{
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = plan->number;
	enum cm_rc rc = CM_OK;

	memcpy(previous, plan->previous, PR_HASH_LEN);
	while (rc == CM_OK && --number > 0) {
		struct rd_plan before;
		struct cl_pin pin;

		rc = known_plan(job, previous, &before, j, err);
		if (rc == CM_OK && before.number != number)
			rc = cm_fail(err, CM_EPERM,
				"plan '%s' is numbered %" PRIu64 " where %" PRIu64 " is due", before.name,
				before.number, number);
		if (rc == CM_OK && number <= loss->closed_plans) {
			rc = job->store.pin(job->store.ctx, before.hash, &pin, err);
			if (rc == CM_ENOINPUT) {
				pin = cl_pin_closed(&before);
				rc = job->store.put_pin(job->store.ctx, &pin, job->now_ms, err);
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
	enum cm_rc rc = job->store.slices(job->store.ctx, &pinned, err);

	if (rc == CM_OK)
		rc = cl_pin_choose(job->policy, plan, &pinned, job->stop, out, err);
	return rc == CM_OK ? job->store.put_pin(job->store.ctx, out, job->now_ms, err) : rc;
}

/* Refuse a plan other than the one that the policy names, if it names one. */
static enum cm_rc check_named(
	const struct cl_policy *policy, const uint8_t plan_hash[PR_HASH_LEN], struct cm_err *err)
{
	if (CM_CHECKED("client.policy.plan") && policy->plan_only &&
		memcmp(plan_hash, policy->plan_hash, PR_HASH_LEN) != 0)
		return cm_fail_key(
			err, CM_EPERM, "plan", "policy: the round is of another plan than `plan` names");
	return CM_OK;
}

static enum cm_rc check_closed(const struct cl_loss *loss, const struct rd_plan *plan, struct cm_err *err)
{
	if (plan->number <= loss->closed_plans)
		return cm_fail_key(err, CM_EPERM, "accept-loss",
			"plan '%s' (%" PRIu64 ") is closed: a loss of this client's ledger was accepted",
			plan->name, plan->number);
	return CM_OK;
}

static enum cm_rc check_lost(const struct cl_loss *loss, struct cm_err *err)
{
	char words[256];

	if (!loss->lost)
		return CM_OK;
	cl_loss_words(loss, words, sizeof words);
	return cm_fail_key(err, CM_EBUDGET, "accept-loss", "budget: %s", words);
}

static enum cm_rc judge_plan(const struct cl_judge_job *job, const struct cl_loss *loss,
	struct cl_judgement *j, struct cm_err *err)
{
	uint64_t recent = 0;
	struct rd_plan plan;
	struct cl_pin pin;
	enum cm_rc rc;

	rc = check_named(job->policy, j->d.plan_hash, err);
	if (rc != CM_OK)
		return rc;
	rc = known_plan(job, j->d.plan_hash, &plan, j, err);
	if (rc == CM_OK && CM_CHECKED("client.plan.covers") && rd_plan_covers(&plan, &j->d, err) != CM_OK)
		rc = err->code = CM_EPERM;
	if (rc == CM_OK)
		rc = check_closed(loss, &plan, err);
	if (rc == CM_OK)
		rc = job->store.recent(job->store.ctx, job->now_ms - job->policy->window_ms, &recent, err);
	if (rc == CM_OK)
		rc = cl_policy_check(job->policy, &j->d, recent, err);
	if (rc == CM_OK && loss->accepted)
		rc = close_before(job, loss, &plan, j, err);
	if (rc == CM_OK) {
		rc = job->store.pin(job->store.ctx, plan.hash, &pin, err);
		if (rc == CM_ENOINPUT)
			rc = make_pin(job, &plan, &pin, err);
	}
	if (rc == CM_OK)
		rc = judge_pinned(job, &plan, &pin, j, err);
	rd_plan_fini(&plan);
	return rc;
}

/* ---- A draft: the same checks, and nothing is stored ---- */

enum cm_rc cl_draft_read(const struct cl_judge_store *store, const struct rd_plan *plan, struct cl_draft *out,
	struct cm_err *err)
{
	*out = (struct cl_draft){ .plan = plan };

	enum cm_rc rc = store->loss(store->ctx, &out->loss, err);
	if (rc == CM_OK)
		rc = store->slices(store->ctx, &out->pinned, err);
	if (rc == CM_OK)
		rc = store->pin(store->ctx, plan->hash, &out->pin, err);
	out->is_pinned = rc == CM_OK;
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

enum cm_rc cl_draft_judge(const struct cl_policy *policy, struct cl_draft *draft, const atomic_bool *stop,
	struct rd_faults *faults)
{
	struct cm_err err = { .code = CM_OK };
	enum cm_rc rc = check_lost(&draft->loss, &err);

	if (rc == CM_OK)
		rc = check_named(policy, draft->plan->hash, &err);
	if (rc == CM_OK)
		rc = check_closed(&draft->loss, draft->plan, &err);
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
	const struct cl_judge_job *job, struct cl_judgement *j, bool *answered, struct cm_err *err)
{
	struct cl_loss loss = { .lost = false };
	uint64_t active = 0;
	bool charged = false;
	enum cm_rc rc;

	if (strcmp(j->d.population, job->policy->shared.population) != 0)
		return cm_fail(err, CM_EPERM, "policy: the round is for population '%.60s', not '%.60s'",
			j->d.population, job->policy->shared.population);
	rc = job->store.see(job->store.ctx, &j->d, job->now_ms, err);
	if (rc == CM_OK)
		rc = job->store.loss(job->store.ctx, &loss, err);
	if (rc == CM_OK)
		rc = check_lost(&loss, err);
	if (rc == CM_OK)
		rc = job->store.active(job->store.ctx, &active, err);
	if (rc != CM_OK)
		return rc;
	if (active == j->d.sequence) {
		j->resumed = true;
		return CM_OK;
	}
	rc = job->store.charged(job->store.ctx, j->d.sequence, &charged, err);
	if (rc != CM_OK)
		return rc;
	/* The sealed bytes are erased; taking part again would randomize the same values a second time. */
	*answered = charged;
	if (charged)
		return cm_fail(err, CM_EPERM, "round %" PRIu64 " is over for this client", j->d.sequence);
	j->clock = rd_in_time(j->d.opens_ms, j->d.deadline_ms, job->now_ms, err) != CM_OK;
	if (j->clock)
		return cm_context(err, "round %" PRIu64, j->d.sequence);
	return judge_plan(job, &loss, j, err);
}

enum cm_rc cl_judge(const struct cl_judge_job *job, struct cl_judgement *out, struct cm_err *err)
{
	struct cm_err recording;
	bool answered = false;
	enum cm_rc rc;

	*out = (struct cl_judgement){ 0 };
	if (job->signature_len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPERM, "descriptor: no signature");
	if (CM_CHECKED("client.signature"))
		rc = rd_descriptor_verify(
			job->descriptor, job->descriptor_len, job->signature, job->analyzer, &out->d, err);
	else
		rc = rd_descriptor_decode(job->descriptor, job->descriptor_len, &out->d, err);
	if (rc != CM_OK)
		return rc;
	out->verified = true;
	rc = job->store.keep(
		job->store.ctx, &out->d, job->descriptor, job->descriptor_len, job->signature, err);
	if (rc == CM_OK)
		rc = judge_verified(job, out, &answered, err);
	if (!answered && (rc == CM_EPERM || rc == CM_EBUDGET))
		out->declined = rd_left_out_of(err->key);
	else if (out->clock)
		out->declined = rd_left_out_of("clock");
	/* A refusal that cannot be recorded is still a refusal. */
	if ((rc == CM_EPERM || rc == CM_EBUDGET) &&
		job->store.refuse(job->store.ctx, &out->d, job->now_ms, err->msg, &recording) != CM_OK)
		(void)0;
	return rc;
}

enum cm_rc cl_plan_view_read(const struct cl_judge_store *store, const uint8_t plan_hash[PR_HASH_LEN],
	struct cl_plan_view *out, struct cm_err *err)
{
	struct rd_plan plan;
	struct cl_pin pin;
	enum cm_rc rc = store->slices(store->ctx, &out->slices, err);

	if (rc == CM_OK)
		rc = store->pin(store->ctx, plan_hash, &pin, err);
	if (rc != CM_OK)
		return rc;
	rc = store->plan(store->ctx, plan_hash, &plan, err);
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
