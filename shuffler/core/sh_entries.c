/* sh_entries.c - records the tries of a plan's entries, and the rounds of an adaptive plan. */
#include "sh_entries.h"

#include <string.h>

#include "cm_fault.h"

static struct sh_try *find_try(const struct sh_plan *plan, uint32_t entry)
{
	for (size_t i = 0; i < plan->tries; i++)
		if (plan->tried[i].entry == entry)
			return &plan->tried[i];
	return NULL;
}

enum cm_rc sh_entry_judge(const struct sh_policy *policy, const struct sh_plan *plan,
	const struct rd_descriptor *d, bool lost, struct sh_refusal *no)
{
	const struct sh_try *t = find_try(plan, d->entry);
	const Tombola__V1__ErrorCode conflict = TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT;
	uint32_t next = t ? t->attempt + 1 : 1;

	if (CM_CHECKED("shuffler.plan.max_tries") && d->attempt > (uint64_t)policy->max_tries)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: try %lu of entry %lu, max_tries is %lld", (unsigned long)d->attempt,
			(unsigned long)d->entry, (long long)policy->max_tries);
	/* The lost state knew how the tries before ended.  This one spends the entry whatever they were. */
	if (lost && (!t || t->attempt < d->attempt))
		return CM_OK;
	if (CM_CHECKED("shuffler.plan.once") && t && !t->is_void)
		return sh_refuse(no, conflict, 0,
			t->open ? "entry %lu is tried by another round" : "entry %lu is answered",
			(unsigned long)d->entry);
	if (CM_CHECKED("shuffler.plan.try") && d->attempt != next)
		return sh_refuse(no, conflict, 0, "try %lu of entry %lu, where %lu is next",
			(unsigned long)d->attempt, (unsigned long)d->entry, (unsigned long)next);
	if (CM_CHECKED("shuffler.plan.try") && t &&
		memcmp(d->void_manifest, t->manifest_hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, conflict, 0,
			"try %lu of entry %lu does not name the VOID manifest of the try before",
			(unsigned long)d->attempt, (unsigned long)d->entry);
	return CM_OK;
}

static enum cm_rc count_round(struct sh_plan *plan, const struct rd_descriptor *d, struct cm_err *err)
{
	void *room = cm_grow(plan->counted, plan->rounds, &plan->rounds_cap, sizeof *plan->counted);

	if (!room)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	plan->counted = room;
	plan->counted[plan->rounds] = (struct sh_counted){ .in_account = false };
	memcpy(plan->counted[plan->rounds++].round_id, d->round_id, PR_ROUND_ID_LEN);
	return CM_OK;
}

enum cm_rc sh_entry_began(struct sh_plan *plan, const struct rd_descriptor *d, struct cm_err *err)
{
	if (sh_plan_is_adaptive(plan))
		return count_round(plan, d, err);
	struct sh_try *t = find_try(plan, d->entry);
	if (!t) {
		void *room = cm_grow(plan->tried, plan->tries, &plan->tries_cap, sizeof *plan->tried);
		if (!room)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		plan->tried = room;
		t = &plan->tried[plan->tries++];
	}
	*t = (struct sh_try){ .entry = d->entry, .attempt = d->attempt, .open = true };
	return CM_OK;
}

void sh_entry_ended(struct sh_plan *plan, const struct rd_descriptor *d, const struct cr_span *void_manifest)
{
	struct sh_try *t = find_try(plan, d->entry);
	if (!t || t->attempt != d->attempt)
		return;
	t->open = false;
	t->is_void = void_manifest;
	if (void_manifest)
		cr_sha256(void_manifest->data, void_manifest->len, t->manifest_hash);
}
