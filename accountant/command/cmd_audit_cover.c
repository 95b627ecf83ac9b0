/* cmd_audit_cover.c - checks that a recorded account counts only messages that the round's parameters
 * require. */
#include <math.h>

#include "cmd_audit.h"

/* The number of honest participants as the ledger's parties compute it, at the minimum batch; at least 1, the
 * victim. */
static uint64_t honest(const struct cmd_record *r)
{
	double product = floor(r->honest_fraction * (double)r->min_reports);
	uint64_t n = product >= 1 ? (uint64_t)product : 1;

	return n > r->colluders && n - r->colluders > 1 ? n - r->colluders : 1;
}

/* The fewest messages in a batch that no colluder sent: one of each participant; or, of a tag, those that the
 * shuffler leaves, whoever sent none. */
static uint64_t batch(const struct cmd_record *r, uint64_t n)
{
	uint64_t evened = r->tag_messages > r->colluders ? r->tag_messages - r->colluders : 0;

	return n > evened ? n : evened;
}

/* When the participants' last dummy is sent by chance, the last level of the round must be these dummies. */
static void check_chance(
	struct cmd_audit *a, const struct cmd_record *r, const struct acct_round *p, uint64_t n)
{
	const struct acct_level *l = &p->level[p->levels - 1];
	double blanket = 0;

	for (size_t j = 0; j < p->cells; j++)
		blanket += p->cell[j].omega;
	if (l->count > n)
		WRONG(a, r, "account: %llu dummies by chance, but there are %llu participants",
			(unsigned long long)l->count, (unsigned long long)n);
	if (l->share * blanket > r->dummy_chance)
		WRONG(a, r, "account: dummies of chance %.9g, but participants send one with chance %.9g",
			l->share * blanket, r->dummy_chance);
}

/* Reports a round whose charge assumes more dummies or more honest participants than its descriptor
 * requires. */
void cmd_audit_cover(struct cmd_audit *a, const struct cmd_record *r)
{
	uint64_t n = honest(r), most_covered = batch(r, n);
	double all = 0, most = 0, added = (double)r->dummies_added;

	for (size_t i = 0; i < r->parts; i++) {
		const struct acct_round *p = &r->part[i];
		bool rare = r->dummy_chance > 0 && p->levels > 0;
		uint64_t others = p->others;

		if (rare)
			check_chance(a, r, p, n);
		for (size_t k = 0; k + rare < p->levels; k++)
			others += p->level[k].count;
		if (others >= most_covered && r->tag_messages > 0)
			WRONG(a, r, "account: n is %llu, but a tag has %llu messages that no colluder sent",
				(unsigned long long)others + 1, (unsigned long long)most_covered);
		else if (others >= most_covered)
			WRONG(a, r, "account: n is %llu, but the minimum guarantees %llu honest participants",
				(unsigned long long)others + 1, (unsigned long long)n);
		all += (double)p->count * (double)p->dummies;
		most = fmax(most, (double)p->dummies);
	}
	if (all > (double)n * (double)r->dummies_each + added)
		WRONG(a, r,
			"account: %.0f dummies, but %llu participants send %llu each and the shuffler adds "
			"%.0f",
			all, (unsigned long long)n, (unsigned long long)r->dummies_each, added);
	else if (most > (double)n * (double)r->dummies_batch + added)
		WRONG(a, r,
			"account: %.0f dummies in one batch, but %llu participants send %llu each and the "
			"shuffler adds %.0f",
			most, (unsigned long long)n, (unsigned long long)r->dummies_batch, added);
}
