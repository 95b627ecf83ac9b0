/* cd_judge.c - decides whether a device takes part in a round. */
#include "cd_judge.h"

#include <inttypes.h>
#include <string.h>

#include "cm_fault.h"

enum cm_rc cd_judge_signed(const uint8_t *descriptor, size_t descriptor_len, const uint8_t *signature,
	size_t signature_len, const struct cr_verifier *analyzer, struct rd_descriptor *out,
	struct cm_err *err)
{
	if (signature_len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPERM, "descriptor: no signature");
	if (CM_CHECKED("client.signature"))
		return rd_descriptor_verify(descriptor, descriptor_len, signature, analyzer, out, err);
	return rd_descriptor_decode(descriptor, descriptor_len, out, err);
}

static enum cm_rc check_lost(const struct cd_facts *f, struct cm_err *err)
{
	if (f->lost)
		return cm_fail_key(err, CM_EBUDGET, "accept-loss", "budget: %s", f->lost);
	return CM_OK;
}

/* Refuse a plan other than the only one that is answered. */
static enum cm_rc check_named(
	const struct cd_facts *f, const uint8_t plan_hash[PR_HASH_LEN], struct cm_err *err)
{
	if (CM_CHECKED("client.policy.plan") && f->only_plan &&
		memcmp(plan_hash, f->only_plan, PR_HASH_LEN) != 0)
		return cm_fail_key(
			err, CM_EPERM, "plan", "policy: the round is of another plan than `plan` names");
	return CM_OK;
}

static enum cm_rc check_closed(const struct cd_facts *f, const struct rd_plan *plan, struct cm_err *err)
{
	if (plan->number <= f->closed_plans)
		return cm_fail_key(err, CM_EPERM, "accept-loss",
			"plan '%s' (%" PRIu64 ") is closed: a loss of this client's ledger was accepted",
			plan->name, plan->number);
	return CM_OK;
}

enum cm_rc cd_judge_draft(const struct cd_facts *f, const struct rd_plan *draft, struct cm_err *err)
{
	enum cm_rc rc = check_lost(f, err);

	if (rc == CM_OK)
		rc = check_named(f, draft->hash, err);
	return rc == CM_OK ? check_closed(f, draft, err) : rc;
}

/* Whether the round is a new one.  CM_OK with out->resumed: its reports are stored. */
static enum cm_rc judge_past(
	const struct cd_facts *f, const struct rd_descriptor *d, struct cd_verdict *out, struct cm_err *err)
{
	enum cm_rc rc = check_lost(f, err);

	if (rc != CM_OK)
		return rc;
	out->resumed = f->stored == d->sequence;
	if (out->resumed)
		return CM_OK;
	/* The sealed bytes are erased; taking part again would randomize the same values a second time. */
	out->answered = f->charged;
	if (out->answered)
		return cm_fail(err, CM_EPERM, "round %" PRIu64 " is over for this client", d->sequence);
	out->clock = rd_in_time(d->opens_ms, d->deadline_ms, f->now_ms, err) != CM_OK;
	if (out->clock)
		return cm_context(err, "round %" PRIu64, d->sequence);
	return check_named(f, d->plan_hash, err);
}

enum cm_rc cd_judge_unknown(
	const uint8_t plan_hash[PR_HASH_LEN], const char *absent, struct cd_need *out, struct cm_err *err)
{
	if (absent)
		return cm_fail(err, CM_EPERM, "the round's plan is not to be had: %.200s", absent);
	out->kind = CD_NEED_PLAN;
	memcpy(out->plan_hash, plan_hash, PR_HASH_LEN);
	return CM_EMORE;
}

/* Whether the round is, to the bit, an entry of its plan, which is not closed. */
static enum cm_rc judge_plan(
	const struct cd_facts *f, const struct rd_descriptor *d, struct cd_verdict *out, struct cm_err *err)
{
	if (!f->plan)
		return cd_judge_unknown(d->plan_hash, f->absent, &out->need, err);
	if (CM_CHECKED("client.plan.covers") && rd_plan_covers(f->plan, d, err) != CM_OK)
		return err->code = CM_EPERM;
	return check_closed(f, f->plan, err);
}

static enum cm_rc judge_entry(const struct cd_facts *f, const struct rd_descriptor *d, struct cm_err *err)
{
	const struct rd_plan *plan = f->plan;
	const struct rd_entry *e = rd_plan_entry(plan, d->entry);

	if (CM_CHECKED("client.plan.entry") && (!e || !rd_pin_has(f->pin, (size_t)(e - plan->entry))))
		return cm_fail_key(err, CM_EPERM, "pin",
			"entry %lu is not among the %zu of %zu that this client pinned of plan '%s' (%" PRIu64
			")",
			(unsigned long)d->entry, rd_pin_count(f->pin), plan->entries, plan->name,
			plan->number);
	return CM_OK;
}

/* Whether this device may take part in d, which is a try of an entry that it pinned.  CM_EMORE: the manifest
 * of its last try is needed.  CM_EPERM: the try is not a later one, or the one before it is not known to be
 * void. */
static enum cm_rc judge_try(
	const struct cd_facts *f, const struct rd_descriptor *d, struct cd_verdict *out, struct cm_err *err)
{
	const struct cd_try *last = &f->tried;
	unsigned long entry = d->entry, attempt = d->attempt, before = last->attempt;

	if (before == 0)
		return CM_OK;
	if (CM_CHECKED("client.try.later") && attempt <= before)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu is offered after this client took part in try %lu", attempt,
			entry, before);
	if (last->fate == CD_FATE_UNKNOWN && !f->absent) {
		out->need.kind = CD_NEED_MANIFEST;
		memcpy(out->need.round_id, last->round_id, PR_ROUND_ID_LEN);
		return CM_EMORE;
	}
	if (CM_CHECKED("client.try.void") && last->fate == CD_FATE_UNKNOWN)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu counts as released, because its VOID manifest cannot be had: "
			"%.120s",
			before, entry, f->absent);
	if (last->fate == CD_FATE_UNKNOWN)
		return CM_OK;
	if (CM_CHECKED("client.try.void") && last->fate == CD_FATE_SEALED)
		return cm_fail(err, CM_EPERM, "entry %lu is answered: its try %lu was sealed", entry, before);
	if (CM_CHECKED("client.try.named") && attempt == before + 1 &&
		memcmp(last->manifest, d->void_manifest, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPERM,
			"try %lu of entry %lu names another VOID manifest than the shuffler gave for try %lu",
			attempt, entry, before);
	return CM_OK;
}

/* Say that a fact is wanted, unless it is known. */
static enum cm_rc want(const struct cd_facts *f, enum cd_fact fact, struct cd_verdict *out)
{
	if (f->known[fact])
		return CM_OK;
	out->want = fact;
	return CM_EMORE;
}

enum cm_rc cd_judge(
	const struct cd_facts *f, const struct rd_descriptor *d, struct cd_verdict *out, struct cm_err *err)
{
	enum cm_rc rc;

	*out = (struct cd_verdict){ .want = CD_FACTS };
	if (strcmp(d->population, f->population) != 0)
		return cm_fail(err, CM_EPERM, "policy: the round is for population '%.60s', not '%.60s'",
			d->population, f->population);
	rc = want(f, CD_FACT_SEEN, out);
	if (rc == CM_OK)
		rc = want(f, CD_FACT_PAST, out);
	if (rc == CM_OK)
		rc = judge_past(f, d, out, err);
	if (rc != CM_OK || out->resumed)
		return rc;
	rc = want(f, CD_FACT_PLAN, out);
	if (rc == CM_OK)
		rc = judge_plan(f, d, out, err);
	if (rc == CM_OK)
		rc = want(f, CD_FACT_PIN, out);
	if (rc != CM_OK || f->adaptive)
		return rc;
	rc = judge_entry(f, d, err);
	if (rc == CM_OK)
		rc = want(f, CD_FACT_TRY, out);
	return rc == CM_OK ? judge_try(f, d, out, err) : rc;
}
