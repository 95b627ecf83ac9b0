/* rd_policy.c - judges entries and rounds by the limits that the policies of all parties have. */
#include "rd_policy.h"

#include <inttypes.h>
#include <string.h>

#include "cm_fault.h"
#include "rd_mode.h"

bool rd_policy_lists(const struct cf_strings *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->item[i], name) == 0)
			return true;
	return list->n == 0;
}

void rd_policy_check(const struct rd_policy *p, const struct cf_file *file, FILE *faults, struct cm_err *err)
{
	for (size_t i = 0; i < p->protocols.n; i++) {
		struct cm_err why;

		if (pt_device_find(p->protocols.item[i]))
			continue;
		(void)cm_fail(&why, CM_ECONFIG, "no protocol is called '%.60s'", p->protocols.item[i]);
		cf_fault_at(file, "protocols", &why, faults, err);
	}
}

enum cm_rc rd_policy_entry(const struct rd_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	if (strcmp(d->population, p->population) != 0)
		return cm_fail(err, CM_EPERM, "policy: the round is for population '%.60s', not '%.60s'",
			d->population, p->population);
	if (CM_CHECKED("policy.adaptive") && !p->accept_adaptive && rd_mode_filter(d->mode) != 0)
		return cm_fail_key(err, CM_EPERM, "accept_adaptive",
			"policy: rounds of mode %s may follow from earlier answers, and accept_adaptive is "
			"false",
			d->mode);
	if (CM_CHECKED("policy.payload") && d->payload_max > (uint64_t)p->max_payload)
		return cm_fail_key(err, CM_EPERM, "max_payload",
			"policy: payloads of up to %" PRIu64 " bytes, max_payload is %" PRId64,
			d->payload_max, p->max_payload);
	if (!rd_policy_lists(&p->protocols, d->randomizer.row->name))
		return cm_fail_key(err, CM_EPERM, "protocols",
			"policy: protocol '%s' is not among the allowed protocols", d->randomizer.row->name);
	return CM_OK;
}

enum cm_rc rd_policy_epsilon0(const struct rd_policy *p, double epsilon0, struct cm_err *err)
{
	if (CM_CHECKED("policy.epsilon0") && !(epsilon0 <= p->max_epsilon0))
		return cm_fail_key(err, CM_EPERM, "max_epsilon0",
			"policy: epsilon0 %.4g is above max_epsilon0 %.4g: raise it, or lower the round's",
			epsilon0, p->max_epsilon0);
	return CM_OK;
}

enum cm_rc rd_policy_batch(const struct rd_policy *p, uint64_t batch, const char *whose, struct cm_err *err)
{
	if (CM_CHECKED("policy.min_batch") && batch < (uint64_t)p->min_batch)
		return cm_fail_key(err, CM_EPERM, "min_batch",
			"policy: the round guarantees a batch of %" PRIu64
			"%s (min_reports of the plan), min_batch is %" PRId64
			": lower it, or raise min_reports",
			batch, whose, p->min_batch);
	return CM_OK;
}

enum cm_rc rd_policy_round(const struct rd_descriptor *d, struct cm_err *err)
{
	double epsilon0 = d->randomizer.row->epsilon0(&d->randomizer);
	struct cm_err why;

	/* accept a difference that rounding explains */
	if (CM_CHECKED("policy.statement") && !(d->privacy.epsilon0 >= epsilon0 * (1 - 1e-9)))
		return cm_fail(err, CM_EPERM,
			"policy: the round states epsilon0 %.4g, its randomizer has %.4g",
			d->privacy.epsilon0, epsilon0);
	/* The round's key never changes, so the round is refused for good. */
	if (CM_CHECKED("policy.key") && cr_hpke_check_recipient(d->hpke_key, &why) != CM_OK)
		return cm_fail(
			err, CM_EPERM, "policy: hpke_key: %.100s, nothing can be sealed to it", why.msg);
	return CM_OK;
}
