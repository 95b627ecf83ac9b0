/* sh_policy.c - checks descriptors against the operator's limits. */
#include "sh_policy.h"

#include <string.h>

#include "cm_fault.h"
#include "rd_mode.h"
#include "rd_text.h"

#define FIELD(f) offsetof(struct sh_policy, f)

const struct cf_row sh_policy_rows[] = {
	CF_REQUIRED("population", CF_STRING, FIELD(population), "the population this shuffler serves"),
	CF_REQUIRED("max_epsilon", CF_DOUBLE(1e-6, 1e3), FIELD(max_epsilon),
		"privacy budget of all plans' slices together; the shuffler's own limit"),
	CF_REQUIRED("delta", CF_DOUBLE(1e-15, 0.01), FIELD(delta), "delta of that budget"),
	CF_DEFAULT("max_plan_entries", CF_INT(1, PR_ENTRIES_MAX), FIELD(max_plan_entries), "400",
		"rounds of one plan at most: composing them takes some 0.01 to 1 s each, once"),
	CF_DEFAULT("max_tries", CF_INT(1, PR_TRIES_MAX), FIELD(max_tries), "3",
		"rounds that may try to answer one entry of a plan; all but the last end VOID"),
	CF_REQUIRED("min_batch", CF_INT(1, PR_ROUND_REPORTS_MAX), FIELD(min_batch),
		"no round with fewer min_reports (participants) is taken"),
	CF_DEFAULT("max_epsilon0", CF_EXTENDED(0, 700), FIELD(max_epsilon0), "8.0",
		"largest local guarantee of a round; \"inf\" allows protocols without one"),
	CF_REQUIRED("honest_fraction", CF_DOUBLE(1e-6, 1), FIELD(honest_fraction),
		"share of a round's participants that you believe honest, 1.0: all, whoever comes first; "
		"the smaller of this and the round's counts"),
	CF_REQUIRED("colluders", CF_INT(0, PR_ROUND_REPORTS_MAX), FIELD(colluders),
		"participants that may collude with the analyzer, 0: none; say all places of certificates "
		"that you do not vouch for; the larger counts"),
	CF_REQUIRED("max_share", CF_DOUBLE(1e-6, 1), FIELD(max_share),
		"share of a round's target that the devices of one certificate may be, 1.0: all of it (a "
		"site with one gateway)"),
	CF_OPTIONAL("protocols", CF_STRINGS(0, 64), FIELD(protocols), "allowed protocols; all when absent"),
	CF_DEFAULT("max_target", CF_INT(1, PR_ROUND_REPORTS_MAX), FIELD(max_target), "2000000",
		"participants of one round at most; about 50 bytes of memory each"),
	CF_DEFAULT("max_shuffler_dummies", CF_INT(0, PT_SHUFFLER_DUMMIES_MAX), FIELD(max_shuffler_dummies),
		"1000000", "messages this shuffler adds to one round at most; some 10,000 a second; 0: none"),
	CF_DEFAULT("max_payload", CF_INT(0, PR_PAYLOAD_MAX), FIELD(max_payload), "16777216",
		"bytes of a round's payload at most, which this shuffler stores and gives to clients; 0: "
		"none"),
	CF_DEFAULT("accept_adaptive", CF_BOOL, FIELD(accept_adaptive), "false",
		"take rounds of mode adaptive, which may follow from earlier answers; a filter keeps the "
		"budget"),
	CF_DEFAULT("max_window", CF_DURATION(1000, 366.0 * 86400e3), FIELD(max_window_ms), "7d",
		"longest time a round may stay open"),
	CF_END,
};

enum cm_rc sh_policy_load(const char *path, struct sh_policy *out, FILE *faults, struct cm_err *err)
{
	*out = (struct sh_policy){ 0 };
	struct cf_file *file;
	enum cm_rc rc = cf_load(path, sh_policy_rows, out, &file, faults, err);
	if (rc != CM_OK) {
		cf_file_free(file);
		return rc;
	}
	struct cm_err why;
	err->code = CM_OK;
	if (!rd_is_name(out->population)) {
		(void)cm_fail(&why, CM_ECONFIG, "population is not a name (of a-z, 0-9 and ._-)");
		cf_fault_at(file, "population", &why, faults, err);
	}
	for (size_t i = 0; i < out->protocols.n; i++) {
		if (pt_device_find(out->protocols.item[i]))
			continue;
		(void)cm_fail(&why, CM_ECONFIG, "no protocol is called '%.60s'", out->protocols.item[i]);
		cf_fault_at(file, "protocols", &why, faults, err);
	}
	cf_file_free(file);
	return err->code;
}

void sh_policy_fini(struct sh_policy *p)
{
	cf_free(sh_policy_rows, p);
	*p = (struct sh_policy){ 0 };
}

uint64_t sh_policy_most_of_one(double max_share, uint64_t target)
{
	uint64_t most = rd_share_of(max_share, target);

	if (!CM_CHECKED("shuffler.share"))
		return target;
	return most > 1 ? most : 1;
}

static bool allowed(const struct sh_policy *p, const char *protocol)
{
	for (size_t i = 0; i < p->protocols.n; i++)
		if (strcmp(p->protocols.item[i], protocol) == 0)
			return true;
	return p->protocols.n == 0;
}

static enum cm_rc judge_window(
	const struct sh_policy *p, const struct rd_descriptor *d, int64_t now_ms, struct sh_refusal *no)
{
	struct cm_err err;

	if (rd_in_time(d->opens_ms, d->deadline_ms, now_ms, &err) != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK, 0, "%.190s", err.msg);
	if (d->deadline_ms - now_ms > p->max_window_ms)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: the round would stay open %lld s, max_window is %lld s",
			(long long)((d->deadline_ms - now_ms) / 1000), (long long)(p->max_window_ms / 1000));
	return CM_OK;
}

static enum cm_rc judge_key(const struct rd_descriptor *d, struct sh_refusal *no)
{
	struct cm_err err;

	if (!CM_CHECKED("shuffler.policy.key") || cr_hpke_check_recipient(d->hpke_key, &err) == CM_OK)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
		"policy: hpke_key: %.100s, nothing can be sealed to it", err.msg);
}

enum cm_rc sh_policy_judge_entry(
	const struct sh_policy *p, const struct rd_descriptor *d, struct sh_refusal *no)
{
	const Tombola__V1__ErrorCode refused = TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED;
	double epsilon0 = d->randomizer.row->epsilon0(&d->randomizer);
	uint64_t added = pt_shuffler_most(&d->randomizer);

	if (strcmp(d->population, p->population) != 0)
		return sh_refuse(no, refused, 0,
			"policy: population \"%.60s\" is not served here, \"%.60s\" is", d->population,
			p->population);
	if (CM_CHECKED("shuffler.policy.adaptive") && !p->accept_adaptive && rd_mode_filter(d->mode) != 0)
		return sh_refuse(no, refused, 0,
			"policy: rounds of mode %s may follow from earlier answers, and accept_adaptive is "
			"false",
			d->mode);
	if (!allowed(p, d->randomizer.row->name))
		return sh_refuse(
			no, refused, 0, "policy: protocol \"%s\" is not allowed", d->randomizer.row->name);
	if (CM_CHECKED("shuffler.policy.epsilon0") && !(epsilon0 <= p->max_epsilon0))
		return sh_refuse(no, refused, 0, "policy: epsilon0 %.4g, max_epsilon0 is %.4g", epsilon0,
			p->max_epsilon0);
	if (CM_CHECKED("shuffler.policy.min_batch") && d->min_reports < (uint64_t)p->min_batch)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL, 0,
			"policy: the round guarantees a batch of %llu (min_reports of the plan), min_batch "
			"is %lld",
			(unsigned long long)d->min_reports, (long long)p->min_batch);
	if (d->target > (uint64_t)p->max_target)
		return sh_refuse(no, refused, 0, "policy: target %llu, max_target is %lld",
			(unsigned long long)d->target, (long long)p->max_target);
	if (CM_CHECKED("shuffler.policy.dummies") && added > (uint64_t)p->max_shuffler_dummies)
		return sh_refuse(no, refused, 0,
			"policy: up to %llu messages of our own, max_shuffler_dummies is %lld",
			(unsigned long long)added, (long long)p->max_shuffler_dummies);
	if (CM_CHECKED("shuffler.policy.payload") && d->payload_max > (uint64_t)p->max_payload)
		return sh_refuse(no, refused, 0, "policy: payloads of up to %llu bytes, max_payload is %lld",
			(unsigned long long)d->payload_max, (long long)p->max_payload);
	return CM_OK;
}

enum cm_rc sh_policy_judge(
	const struct sh_policy *p, const struct rd_descriptor *d, int64_t now_ms, struct sh_refusal *no)
{
	double epsilon0 = d->randomizer.row->epsilon0(&d->randomizer);
	enum cm_rc rc = sh_policy_judge_entry(p, d, no);

	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("shuffler.policy.statement") && !(d->privacy.epsilon0 >= epsilon0 * (1 - 1e-9)))
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: the descriptor states epsilon0 %.4g, its randomizer has %.4g",
			d->privacy.epsilon0, epsilon0);
	rc = judge_key(d, no);
	return rc == CM_OK ? judge_window(p, d, now_ms, no) : rc;
}
