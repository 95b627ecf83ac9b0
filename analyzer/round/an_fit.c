/* an_fit.c - compares a plan with the shuffler's policy. */
#include "an_fit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"
#include "rd_mode.h"

struct fit {
	const Tombola__V1__Policy *says;
	an_fit_fn *say;
	void *user;
	size_t faults;
};

static void CM_PRINTF(3, 4) fault(struct fit *f, const struct pl_round *r, const char *fmt, ...)
{
	char text[AN_FIT_TEXT];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	f->faults++;
	f->say(f->user, r, text);
}

static bool is_allowed(const Tombola__V1__Policy *says, const char *protocol)
{
	for (size_t i = 0; i < says->n_protocols; i++)
		if (strcmp(says->protocols[i], protocol) == 0)
			return true;
	return says->n_protocols == 0;
}

static void judge_round(struct fit *f, const struct pl_round *r)
{
	const Tombola__V1__Policy *says = f->says;
	uint64_t added = pt_shuffler_most(&r->randomizer);

	if (r->min_reports < says->min_batch)
		fault(f, r, "min_reports is %llu, and the shuffler's policy has min_batch = %llu",
			(unsigned long long)r->min_reports, (unsigned long long)says->min_batch);
	if (!(r->epsilon0 <= says->max_epsilon0))
		fault(f, r, "epsilon0 is %.4g, and the shuffler's policy has max_epsilon0 = %.4g",
			r->epsilon0, says->max_epsilon0);
	if (!is_allowed(says, r->randomizer.row->name))
		fault(f, r, "protocol \"%s\" is not among the protocols of the shuffler's policy",
			r->randomizer.row->name);
	if (r->target > says->max_target && r->target == PR_ROUND_REPORTS_MAX)
		fault(f, r,
			"target is absent, which takes any number, and the shuffler's policy has max_target "
			"= %llu",
			(unsigned long long)says->max_target);
	else if (r->target > says->max_target)
		fault(f, r, "target is %llu, and the shuffler's policy has max_target = %llu",
			(unsigned long long)r->target, (unsigned long long)says->max_target);
	if (added > says->max_shuffler_dummies)
		fault(f, r,
			"the shuffler is to add up to %llu messages, and its policy has max_shuffler_dummies "
			"= %llu",
			(unsigned long long)added, (unsigned long long)says->max_shuffler_dummies);
	if (r->payload_max > says->max_payload)
		fault(f, r, "payload_max is %llu, and the shuffler's policy has max_payload = %llu",
			(unsigned long long)r->payload_max, (unsigned long long)says->max_payload);
	if ((uint64_t)r->window_ms > says->max_window_ms)
		fault(f, r, "window is %lld s, and the shuffler's policy has max_window = %llu s",
			(long long)(r->window_ms / 1000), (unsigned long long)(says->max_window_ms / 1000));
}

static void judge_slice(struct fit *f, const struct pl_plan *p)
{
	const Tombola__V1__Policy *says = f->says;
	const struct rd_slices taken = { says->epsilon_taken, says->delta_taken };
	const struct rd_plan slice = { .epsilon = p->epsilon, .delta = p->delta };

	if (!(says->max_epsilon >= 0 && says->delta >= 0) ||
		!rd_slices_fit(&taken, &slice, says->max_epsilon, says->delta))
		fault(f, NULL,
			"budget is epsilon %.4g at delta %.4g, and the shuffler's policy has max_epsilon = "
			"%.4g and delta = %.4g, of which plans took %.4g and %.4g",
			p->epsilon, p->delta, says->max_epsilon, says->delta, says->epsilon_taken,
			says->delta_taken);
}

size_t an_fit_plan(const struct pl_plan *p, const struct rd_plan *made, bool pinned,
	const Tombola__V1__Policy *says, an_fit_fn *say, void *user)
{
	struct fit f = { .says = says, .say = say, .user = user };
	bool adaptive = rd_mode_filter(p->mode) != 0;

	if (!CM_CHECKED("analyzer.fit"))
		return 0;
	if (strcmp(p->population, says->population) != 0)
		fault(&f, NULL, "population is \"%.60s\", and the shuffler's policy has another",
			p->population);
	if (adaptive && !says->accept_adaptive)
		fault(&f, NULL,
			"mode is \"adaptive\", and the shuffler's policy has accept_adaptive = false");
	if (made->entries > says->max_plan_entries)
		fault(&f, NULL,
			"the plan has %zu rounds, and the shuffler's policy has max_plan_entries = %llu",
			made->entries, (unsigned long long)says->max_plan_entries);
	if (!pinned)
		judge_slice(&f, p);
	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];

		if (r->recurrence <= 1 && (adaptive || rd_plan_entry(made, r->number)))
			judge_round(&f, r);
	}
	return f.faults;
}
