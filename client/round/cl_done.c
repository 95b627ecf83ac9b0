/* cl_done.c - remembers which rounds are over for this client. */
#include "cl_done.h"

#include "cm_clock.h"

uint64_t cl_done_passed_over(const struct cl_done *d)
{
	return d->by_clock.sequence == d->after ? d->by_clock.sequence : 0;
}

uint64_t cl_done_with(const struct cl_done *d)
{
	struct cm_err unused;
	bool again = cl_done_passed_over(d) > 0 && rd_in_time(d->by_clock.opens_ms, d->by_clock.deadline_ms,
							   cm_clock_wall_ms(), &unused) == CM_OK;

	return again ? d->after - 1 : d->after;
}

void cl_done_refused(struct cl_done *d, const struct cl_judgement *j)
{
	d->after = j->d.sequence > d->after ? j->d.sequence : d->after;
	d->by_clock.sequence = j->clock ? j->d.sequence : 0;
	d->by_clock.opens_ms = j->d.opens_ms;
	d->by_clock.deadline_ms = j->d.deadline_ms;
}
