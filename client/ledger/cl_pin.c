/* cl_pin.c - decides which entries of a plan this client takes. */
#include "cl_pin.h"

#include <inttypes.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_round.h"

struct choice {
	const struct cl_policy *policy;
	size_t wanted;
	struct cm_err why;        /* why the policy refused the first entry that it refused */
	struct rd_faults *faults; /* NULL: nobody asks */
};

static enum cm_rc entry_loss(
	void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	struct choice *c = user;
	enum cm_rc rc = cl_policy_entry(c->policy, d, c->faults, err);

	if (rc != CM_OK && c->why.code == CM_OK)
		c->why = *err;
	if (rc != CM_OK)
		return rc;
	c->wanted++;
	return cl_policy_loss(c->policy, d, out, err);
}

static enum cm_rc check_limits(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, struct cm_err *err)
{
	if (plan->entries > (size_t)policy->shared.max_plan_entries)
		return cm_fail_key(err, CM_EPERM, "max_plan_entries",
			"policy: plan '%s' (%" PRIu64 ") has %zu entries, max_plan_entries is %" PRId64,
			plan->name, plan->number, plan->entries, policy->shared.max_plan_entries);
	if (CM_CHECKED("client.budget") &&
		!rd_slices_fit(pinned, plan, policy->shared.max_epsilon, policy->shared.delta))
		return cm_fail_key(err, CM_EBUDGET, "max_epsilon",
			"budget: plan '%s' (%" PRIu64
			") takes a slice of epsilon %.4g at delta %.3g, and %.4g at "
			"%.3g of %.4g at %.3g is pinned (max_epsilon, delta)",
			plan->name, plan->number, cm_digits_up(plan->epsilon, 4),
			cm_digits_up(plan->delta, 3), cm_digits_up(pinned->epsilon, 4),
			cm_digits_up(pinned->delta, 3), policy->shared.max_epsilon, policy->shared.delta);
	return CM_OK;
}

/* Refuse a plan of which no entry would be answered: it is not worth its slice. */
static enum cm_rc check_choice(
	const struct rd_plan *plan, const struct rd_pin *pin, const struct choice *c, struct cm_err *err)
{
	if (rd_plan_is_adaptive(plan) || rd_pin_count(pin) > 0)
		return CM_OK;
	if (c->wanted > 0)
		return cm_fail_key(err, CM_EBUDGET, "max_epsilon",
			"budget: no entry of plan '%s' (%" PRIu64
			") fits its slice of epsilon %.4g at delta %.3g by this client's own count",
			plan->name, plan->number, cm_digits_up(plan->epsilon, 4),
			cm_digits_up(plan->delta, 3));
	*err = c->why;
	return c->why.code != CM_OK
		       ? cm_context(err, "plan '%s' (%" PRIu64 "), no entry wanted", plan->name, plan->number)
		       : cm_fail(err, CM_EPERM, "plan '%s' (%" PRIu64 ") has no entries", plan->name,
				 plan->number);
}

struct cl_pin cl_pin_closed(const struct rd_plan *plan)
{
	struct cl_pin pin = { .number = plan->number,
		.epsilon = plan->epsilon,
		.delta = plan->delta,
		.adaptive = rd_plan_is_adaptive(plan),
		.pin = { .entries = plan->entries } };

	memcpy(pin.plan_hash, plan->hash, PR_HASH_LEN);
	return pin;
}

static enum cm_rc any_loss(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	enum cm_rc rc = cl_policy_loss(((const struct choice *)user)->policy, d, out, err);

	return rc == CM_OK || rc == CM_EINTERNAL ? rc : (err->code = CM_EPERM);
}

/* Say which entries the slice does not hold.  Where the policy refuses some, as if it took them: whoever
 * corrects one key wants to know of the others. */
static enum cm_rc explain_slice(const struct choice *c, const struct rd_plan *plan, const struct cl_pin *pin,
	const atomic_bool *stop, struct cm_err *err)
{
	struct choice all = { .policy = c->policy };
	struct rd_pin would = pin->pin;
	struct rd_descriptor d;
	enum cm_rc rc = CM_OK;

	if (c->why.code != CM_OK)
		rc = rd_plan_pin(plan, any_loss, &all, stop, &would, err);
	for (size_t i = 0; rc == CM_OK && i < plan->entries; i++) {
		rd_plan_descriptor(plan, i, &d);
		if (!rd_pin_has(&would, i))
			rd_faults_add_slice(c->faults, plan->entry[i].number, "client", plan,
				pin->honest_fraction, (uint64_t)pin->colluders,
				!pin->trusted && pt_needs_shuffler(&d.randomizer));
	}
	return rc;
}

/* Say which entries the policy refuses, of a plan that it refuses as a whole. */
static void explain_entries(
	const struct cl_policy *policy, const struct rd_plan *plan, struct rd_faults *faults)
{
	struct rd_descriptor d;
	struct cm_err unused;

	for (size_t i = 0; i < plan->entries; i++) {
		rd_plan_descriptor(plan, i, &d);
		(void)(cl_policy_entry(policy, &d, faults, &unused) == CM_OK);
	}
}

enum cm_rc cl_pin_choose(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, const atomic_bool *stop, struct cl_pin *out, struct cm_err *err)
{
	return cl_pin_explain(policy, plan, pinned, stop, out, NULL, err);
}

enum cm_rc cl_pin_explain(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, const atomic_bool *stop, struct cl_pin *out, struct rd_faults *faults,
	struct cm_err *err)
{
	struct choice c = { .policy = policy, .faults = faults };
	enum cm_rc rc = check_limits(policy, plan, pinned, err);

	*out = cl_pin_closed(plan);
	out->honest_fraction = policy->shared.honest_fraction < plan->honest_fraction
				       ? policy->shared.honest_fraction
				       : plan->honest_fraction;
	out->colluders = policy->shared.colluders > (int64_t)plan->colluders ? policy->shared.colluders
									     : (int64_t)plan->colluders;
	out->trusted = policy->accept_shuffler_dummies;
	if (rc == CM_OK && out->adaptive && CM_CHECKED("policy.adaptive") && !policy->shared.accept_adaptive)
		rc = cm_fail_key(err, CM_EPERM, "accept_adaptive",
			"policy: plan '%s' (%" PRIu64 ") is of mode %s, and accept_adaptive is false",
			plan->name, plan->number, plan->mode);
	if (rc != CM_OK && faults) {
		rd_faults_add(faults, 0, err->msg);
		explain_entries(policy, plan, faults);
	}
	if (rc == CM_OK)
		rc = rd_plan_pin(plan, entry_loss, &c, stop, &out->pin, err);
	if (rc == CM_OK && !out->adaptive && faults)
		rc = explain_slice(&c, plan, out, stop, err);
	return rc == CM_OK ? check_choice(plan, &out->pin, &c, err) : rc;
}

enum cm_rc cl_pin_check(const struct cl_policy *policy, const struct cl_pin *pin,
	const struct rd_slices *pinned, struct cm_err *err)
{
	const struct rd_plan none = { .epsilon = 0 };

	if (CM_CHECKED("client.plan.trust") && (policy->shared.honest_fraction < pin->honest_fraction ||
						       policy->shared.colluders > pin->colluders ||
						       (pin->trusted && !policy->accept_shuffler_dummies)))
		return cm_fail_key(err, CM_EPERM, "honest_fraction",
			"policy: honest_fraction, colluders or accept_shuffler_dummies trust others less "
			"than when plan %" PRIu64 " was pinned: what it took may not fit its slice",
			pin->number);
	if (CM_CHECKED("client.budget") &&
		!rd_slices_fit(pinned, &none, policy->shared.max_epsilon, policy->shared.delta))
		return cm_fail_key(err, CM_EBUDGET, "max_epsilon",
			"budget: plans of epsilon %.4g at delta %.3g are pinned, the policy allows %.4g at "
			"%.3g",
			cm_digits_up(pinned->epsilon, 4), cm_digits_up(pinned->delta, 3),
			policy->shared.max_epsilon, policy->shared.delta);
	return CM_OK;
}
