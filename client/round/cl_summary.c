/* cl_summary.c - fills in the result of one round for this client. */
#include "cl_summary.h"

#include <stdio.h>

void cl_summary_make(const struct cl_context *c, const struct cl_prepared *prepared,
	const struct cl_counts *counts, const struct cm_err *refused, struct cl_summary *out)
{
	const struct cl_judgement *j = &prepared->j;
	const struct rd_descriptor *d = &j->d;
	const struct cl_policy *policy = &c->setup->policy;
	struct cm_err unused;
	struct cl_summary s = { .sequence = d->sequence, .rows = prepared->rows };

	(void)snprintf(s.query, sizeof s.query, "%s", d->query.name);
	(void)snprintf(s.protocol, sizeof s.protocol, "%s", d->randomizer.row->name);
	s.resumed = j->resumed;
	s.entry = d->entry;
	s.attempt = d->attempt;
	if (cl_plan_view_read(c->db, d->plan_hash, &s.plan, &unused) != CM_OK)
		s.plan = (struct cl_plan_view){ .number = 0 };
	s.target = d->target;
	s.messages = d->messages_per_client;
	s.sealed_len = rd_sealed_len(d);
	s.epsilon0 = cl_policy_epsilon0(policy, d);
	if (cl_policy_rests_on_shuffler(policy, d) && pt_needs_shuffler(&d->randomizer))
		s.shuffler_dummies = pt_shuffler_most(&d->randomizer);
	if (counts)
		s.counts = *counts;
	if (refused) {
		s.refused = refused->code;
		s.key = refused->key;
		(void)snprintf(s.reason, sizeof s.reason, "%s", refused->msg);
		s.epsilon_round = j->charge.epsilon_round;
		s.epsilon_total = j->charge.epsilon_total;
	} else if (cl_ledger_charge_of(c->db, s.sequence, &s.epsilon_round, &s.epsilon_total, &unused) !=
		   CM_OK) {
		s.epsilon_round = s.epsilon_total = 0;
	}
	*out = s;
}
