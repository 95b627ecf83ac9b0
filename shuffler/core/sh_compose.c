/* sh_compose.c - composes privacy loss on a worker thread: a plan's pin, or the judgement of a round of an
 * adaptive plan. */
#include "sh_compose.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

static struct sh_compose *compose_new(
	const struct sh_policy *policy, struct sh_plan *plan, struct cm_err *err)
{
	struct sh_compose *w = calloc(1, sizeof *w);

	if (!w) {
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
		return NULL;
	}
	w->plan = plan;
	w->policy = *policy;
	cm_buf_init(&w->candidate, PR_DESCRIPTOR_MAX);
	return w;
}

void sh_compose_free(struct sh_compose *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->lacks; i++)
		cm_buf_fini(&w->missing[i]);
	free(w->missing);
	cm_buf_fini(&w->candidate);
	rd_plan_fini(&w->whole);
	free(w);
}

enum cm_rc sh_compose_pin(const struct sh_policy *policy, struct sh_plan *plan, struct cr_span bytes,
	struct sh_compose **out, struct cm_err *err)
{
	struct sh_compose *w = compose_new(policy, plan, err);

	if (!w)
		return CM_EINTERNAL;
	enum cm_rc rc = rd_plan_decode(bytes.data, bytes.len, &w->whole, err);
	if (rc != CM_OK) {
		sh_compose_free(w);
		return rc;
	}
	*out = w;
	return CM_OK;
}

enum cm_rc sh_compose_draft(
	const struct sh_policy *policy, struct cr_span bytes, struct sh_compose **out, struct cm_err *err)
{
	struct sh_compose *w = NULL;

	enum cm_rc rc = sh_compose_pin(policy, NULL, bytes, &w, err);
	if (rc != CM_OK)
		return rc;
	w->drafts = true;
	w->draft = sh_plan_of(&w->whole);
	w->plan = &w->draft;
	w->decided = SH_PIN_WAITS;
	*out = w;
	return CM_OK;
}

enum cm_rc sh_compose_judge(const struct sh_policy *policy, struct sh_plan *plan, struct cr_span descriptor,
	struct sh_compose **out, struct cm_err *err)
{
	struct sh_compose *w = compose_new(policy, plan, err);

	if (!w)
		return CM_EINTERNAL;
	w->judges = true;
	w->missing = calloc(plan->rounds + 1, sizeof *w->missing);
	if (!w->missing || cm_buf_put(&w->candidate, descriptor.data, descriptor.len) != CM_OK) {
		sh_compose_free(w);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	*out = w;
	return CM_OK;
}

enum cm_rc sh_compose_missing(struct sh_compose *w, struct cr_span descriptor, struct cm_err *err)
{
	struct cm_buf *b = &w->missing[w->lacks++];

	cm_buf_init(b, PR_DESCRIPTOR_MAX);
	return cm_buf_put(b, descriptor.data, descriptor.len) == CM_OK
		       ? CM_OK
		       : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* ---- A pin ---- */

/* Compute the loss with this shuffler's assumption about honest devices, where the descriptor assumes more of
 * them. */
static enum cm_rc own_loss(
	const struct sh_policy *p, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	if (!CM_CHECKED("shuffler.honest"))
		return rd_loss(d, out, err);
	return rd_loss_for(
		d, rd_honest_as(d, p->shared.honest_fraction, (uint64_t)p->shared.colluders), true, out, err);
}

/* Skip an entry whose loss cannot be computed. */
static enum cm_rc any_loss(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	enum cm_rc rc = own_loss(&((const struct sh_compose *)user)->policy, d, out, err);

	return rc == CM_OK || rc == CM_EINTERNAL ? rc : (err->code = CM_EPERM);
}

/* Skip an entry that the policy refuses, too. */
static enum cm_rc entry_loss(
	void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	struct sh_compose *w = user;
	struct sh_refusal no;

	if (sh_policy_judge_entry(&w->policy, d, w->drafts ? &w->faults : NULL, &no) != CM_OK)
		return cm_fail(err, CM_EPERM, "%.150s", no.text);
	return any_loss(w, d, out, err);
}

/* Say which entries the slice does not hold.  Where the policy refuses some, as if it took them: whoever
 * corrects one key wants to know of the others. */
static enum cm_rc explain_slice(struct sh_compose *w, const atomic_bool *stop, struct cm_err *err)
{
	const struct sh_belief belief = sh_plans_belief(&w->policy, &w->whole);
	struct rd_pin would = w->pin;
	enum cm_rc rc = CM_OK;

	if (w->faults.n > 0)
		rc = rd_plan_pin(&w->whole, any_loss, w, stop, &would, err);
	for (size_t i = 0; rc == CM_OK && i < w->whole.entries; i++)
		if (!rd_pin_has(&would, i))
			rd_faults_add_slice(&w->faults, w->whole.entry[i].number, "shuffler", &w->whole,
				belief.honest_fraction, belief.colluders, false);
	return rc;
}

/* ---- A judgement ---- */

static enum cm_rc read_loss(const struct sh_policy *p, const struct cm_buf *bytes,
	uint8_t round_id[PR_ROUND_ID_LEN], struct pt_loss *loss, struct cm_err *err)
{
	struct rd_descriptor d;
	enum cm_rc rc = rd_descriptor_decode(bytes->data, bytes->len, &d, err);

	if (rc != CM_OK)
		return rc;
	memcpy(round_id, d.round_id, PR_ROUND_ID_LEN);
	rc = own_loss(p, &d, loss, err);
	rd_descriptor_fini(&d);
	return rc;
}

static enum cm_rc judge(struct sh_compose *w, const atomic_bool *stop, struct cm_err *err)
{
	uint8_t id[PR_ROUND_ID_LEN];
	struct sh_plan *plan = w->plan;
	struct pt_loss loss;
	enum cm_rc rc = CM_OK;

	if (!plan->account)
		plan->account = rd_account_new_mode(plan->epsilon, plan->delta, plan->mode);
	if (!plan->account)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < w->lacks; i++) {
		if (stop && atomic_load(stop))
			return cm_fail(err, CM_ELATER, "stopping");
		rc = read_loss(&w->policy, &w->missing[i], id, &loss, err);
		if (rc == CM_OK)
			rc = rd_account_add(plan->account, id, &loss, err);
	}
	if (rc == CM_OK && w->candidate.len == 0)
		return rd_account_share(plan->account, &w->verdict.share_spent, err);
	if (rc == CM_OK)
		rc = read_loss(&w->policy, &w->candidate, id, &loss, err);
	if (rc == CM_OK)
		rc = rd_account_judge(plan->account, &loss, &w->verdict, err);
	return rc;
}

void sh_compose_run(struct sh_compose *w, const atomic_bool *stop)
{
	if (w->judges)
		w->rc = judge(w, stop, &w->err);
	else if (w->decided == SH_PIN_WAITS)
		w->rc = rd_plan_pin(&w->whole, entry_loss, w, stop, &w->pin, &w->err);
	if (w->drafts && w->rc == CM_OK)
		w->rc = explain_slice(w, stop, &w->err);
}
