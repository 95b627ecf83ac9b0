/* sh_policy.c - checks descriptors against the operator's limits. */
#include "sh_policy.h"

#include "cm_fault.h"
#include "rd_text.h"

#define FIELD(f)  offsetof(struct sh_policy, f)
#define SHARED(f) offsetof(struct sh_policy, shared.f)

const struct cf_row sh_policy_rows[] = {
	RD_POLICY_ROWS(SHARED),
	CF_DEFAULT("max_epsilon0", CF_EXTENDED(0, 700), SHARED(max_epsilon0), "8.0",
		"largest local guarantee of a round; \"inf\" allows protocols without one"),
	CF_REQUIRED("max_share", CF_DOUBLE(1e-6, 1), FIELD(max_share),
		"share of a round's target that the devices of one certificate may be, 1.0: all of it (a "
		"site with one gateway)"),
	CF_DEFAULT("max_target", CF_INT(1, PR_ROUND_REPORTS_MAX), FIELD(max_target), "2000000",
		"participants of one round at most; about 50 bytes of memory each"),
	CF_DEFAULT("max_shuffler_dummies", CF_INT(0, PT_SHUFFLER_DUMMIES_MAX), FIELD(max_shuffler_dummies),
		"1000000", "messages this shuffler adds to one round at most; some 10,000 a second; 0: none"),
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
	if (!rd_is_name(out->shared.population)) {
		(void)cm_fail(&why, CM_ECONFIG, "population is not a name (of a-z, 0-9 and ._-)");
		cf_fault_at(file, "population", &why, faults, err);
	}
	rd_policy_check(&out->shared, file, faults, err);
	out->shared.file = file;
	return err->code;
}

void sh_policy_fini(struct sh_policy *p)
{
	cf_file_free(p->shared.file);
	cf_free(sh_policy_rows, p);
	*p = (struct sh_policy){ 0 };
}

void sh_policy_places(const struct sh_policy *p, struct rd_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		cf_place(p->shared.file, sh_policy_rows, faults->fault[i].text, faults->fault[i].place,
			sizeof faults->fault[i].place);
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

static enum cm_rc check_entry(const struct sh_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	return rd_policy_entry(&p->shared, d, err);
}

static enum cm_rc check_epsilon0(const struct sh_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	return rd_policy_epsilon0(&p->shared, d->randomizer.row->epsilon0(&d->randomizer), err);
}

static enum cm_rc check_batch(const struct sh_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	return rd_policy_batch(&p->shared, d->min_reports, "", err);
}

static enum cm_rc check_target(const struct sh_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	return d->target <= (uint64_t)p->max_target
		       ? CM_OK
		       : cm_fail(err, CM_EPERM, "policy: target %llu, max_target is %lld",
				 (unsigned long long)d->target, (long long)p->max_target);
}

static enum cm_rc check_dummies(const struct sh_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	uint64_t added = pt_shuffler_most(&d->randomizer);

	if (CM_CHECKED("shuffler.policy.dummies") && added > (uint64_t)p->max_shuffler_dummies)
		return cm_fail(err, CM_EPERM,
			"policy: up to %llu messages of our own, max_shuffler_dummies is %lld",
			(unsigned long long)added, (long long)p->max_shuffler_dummies);
	return CM_OK;
}

enum cm_rc sh_policy_judge_entry(const struct sh_policy *p, const struct rd_descriptor *d,
	struct rd_faults *faults, struct sh_refusal *no)
{
	static enum cm_rc (*const checks[])(const struct sh_policy *, const struct rd_descriptor *,
		struct cm_err *) = { check_entry, check_epsilon0, check_batch, check_target, check_dummies };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < sizeof checks / sizeof checks[0] && (rc == CM_OK || faults); i++) {
		struct cm_err err;

		if (checks[i](p, d, &err) == CM_OK)
			continue;
		rd_faults_add(faults, d->entry, err.msg);
		if (rc == CM_OK)
			rc = sh_refuse(no,
				checks[i] == check_batch ? TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL
							 : TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED,
				0, "%s", err.msg);
	}
	return rc;
}

enum cm_rc sh_policy_judge(
	const struct sh_policy *p, const struct rd_descriptor *d, int64_t now_ms, struct sh_refusal *no)
{
	struct cm_err err;
	enum cm_rc rc = sh_policy_judge_entry(p, d, NULL, no);

	if (rc == CM_OK && rd_policy_round(d, &err) != CM_OK)
		rc = sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0, "%s", err.msg);
	return rc == CM_OK ? judge_window(p, d, now_ms, no) : rc;
}
