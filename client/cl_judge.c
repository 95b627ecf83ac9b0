/* cl_judge.c - whether this client takes part in a round. */
#include "cl_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cl_store.h"
#include "cm_fault.h"

double cl_shown_bound(double v)
{
	return ceil(v * 1e4) / 1e4;
}

static enum cm_rc judge_budget(
	struct cl_db *db, const struct cl_policy *policy, struct cl_judgement *j, struct cm_err *err)
{
	struct rd_account *account = NULL;
	enum cm_rc rc = cl_policy_loss(policy, &j->d, &j->charge.loss, err);

	if (rc == CM_OK)
		rc = cl_ledger_kept(db, policy->max_epsilon, policy->delta, &account, err);
	if (rc == CM_OK)
		rc = rd_account_judge(account, &j->charge.loss, &j->verdict, err);
	if (rc != CM_OK)
		return rc;
	j->charge.epsilon_round = j->verdict.epsilon_round;
	j->charge.epsilon_total = j->verdict.total;
	if (CM_CHECKED("client.budget") && !j->verdict.fits && j->verdict.adaptive)
		return cm_fail(err, CM_EBUDGET,
			"budget: the round needs %.4g %% of the filter's budget and %.4g %% is spent",
			100 * j->verdict.share, 100 * j->verdict.share_spent);
	if (CM_CHECKED("client.budget") && !j->verdict.fits)
		return cm_fail(err, CM_EBUDGET,
			"budget: the round needs epsilon %.4f and %.4f is left; total would be %.4f of %.4f "
			"at delta %.3g",
			cl_shown_bound(j->verdict.epsilon_round), j->verdict.left,
			cl_shown_bound(j->verdict.total), j->verdict.limit, j->verdict.delta);
	return CM_OK;
}

static enum cm_rc judge_verified(struct cl_db *db, const struct cl_policy *policy, int64_t now_ms,
	struct cl_judgement *j, struct cm_err *err)
{
	uint64_t recent = 0;
	int64_t active = 0;
	bool charged = false;
	enum cm_rc rc;

	if (strcmp(j->d.population, policy->population) != 0)
		return cm_fail(err, CM_EPERM, "policy: the round is for population '%.60s', not '%.60s'",
			j->d.population, policy->population);
	rc = cl_ledger_see(db, &j->d, now_ms, err);
	if (rc == CM_OK)
		rc = cl_db_int(db, "SELECT sequence FROM active", &active, err);
	if (rc != CM_OK)
		return rc;
	if ((uint64_t)active == j->d.sequence) {
		j->resumed = true;
		return CM_OK;
	}
	rc = cl_ledger_charged(db, j->d.sequence, &charged, err);
	if (rc != CM_OK)
		return rc;
	/* Its bytes are erased: taking part again would randomize the same values a second time. */
	if (charged)
		return cm_fail(err, CM_EPERM, "round %" PRIu64 " is over for this client", j->d.sequence);
	j->late = now_ms >= j->d.deadline_ms;
	if (j->late)
		return cm_fail(err, CM_ELATER,
			"the deadline of round %" PRIu64 " has passed by %" PRId64 " s (check the clocks)",
			j->d.sequence, (now_ms - j->d.deadline_ms) / 1000);
	rc = cl_ledger_recent(db, now_ms - policy->window_ms, &recent, err);
	if (rc == CM_OK)
		rc = cl_policy_check(policy, &j->d, recent, err);
	if (rc == CM_OK)
		rc = judge_budget(db, policy, j, err);
	return rc;
}

enum cm_rc cl_judge(struct cl_db *db, const struct cl_policy *policy, const struct cm_verifier *analyzer,
	const uint8_t *bytes, size_t len, const uint8_t *signature, size_t signature_len, int64_t now_ms,
	struct cl_judgement *out, struct cm_err *err)
{
	struct cm_err recording;
	enum cm_rc rc;

	*out = (struct cl_judgement){ 0 };
	if (signature_len != CM_SIGN_LEN)
		return cm_fail(err, CM_EPERM, "descriptor: no signature");
	if (CM_CHECKED("client.signature"))
		rc = rd_descriptor_verify(bytes, len, signature, analyzer, &out->d, err);
	else
		rc = rd_descriptor_decode(bytes, len, &out->d, err);
	if (rc != CM_OK)
		return rc;
	out->verified = true;
	rc = judge_verified(db, policy, now_ms, out, err);
	/* A refusal that cannot be recorded is still a refusal. */
	if ((rc == CM_EPERM || rc == CM_EBUDGET) &&
		cl_ledger_refuse(db, &out->d, now_ms, err->msg, &recording) != CM_OK)
		(void)0;
	return rc;
}

void cl_judge_words(const struct cl_judgement *j, const struct cl_policy *policy, char *out, size_t size)
{
	double epsilon0 = cl_policy_epsilon0(policy, &j->d);
	uint64_t added = pt_needs_shuffler(j->d.protocol, &j->d.params) ? pt_shuffler_most(&j->d.params) : 0;
	const char *most = j->d.params.shuffler_dummies > 0 ? "" : "up to ";
	char local[96], rests[100] = "";

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
	if (j->verdict.adaptive)
		(void)snprintf(out, size,
			"%s; mixed with at least %" PRIu64 " honest participants the analyzer learns at most "
			"epsilon %.4f in this round and %.4f "
			"over all rounds, of whose budget %.2f %% is used then, at delta %.3g%s",
			local, cl_policy_honest(policy, &j->d), cl_shown_bound(j->charge.epsilon_round),
			policy->max_epsilon, ceil(1e4 * j->verdict.share_total) / 1e2, policy->delta, rests);
	else
		(void)snprintf(out, size,
			"%s; mixed with at least %" PRIu64
			" honest participants the analyzer learns at most epsilon %.4f in this "
			"round, %.4f of %.4f over all rounds, at delta %.3g%s",
			local, cl_policy_honest(policy, &j->d), cl_shown_bound(j->charge.epsilon_round),
			cl_shown_bound(j->charge.epsilon_total), policy->max_epsilon, policy->delta, rests);
}
