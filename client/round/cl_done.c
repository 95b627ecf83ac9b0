/* cl_done.c - which rounds are over for this client. */
#include "cl_done.h"

#include "cm_clock.h"

uint64_t cl_done_with(const struct cl_done *d)
{
	bool again = d->late > 0 && d->late == d->after && cm_clock_wall_ms() < d->late_until;

	return again ? d->after - 1 : d->after;
}

void cl_done_refused(struct cl_done *d, const struct cl_judgement *j)
{
	d->after = j->d.sequence > d->after ? j->d.sequence : d->after;
	d->late = j->late ? j->d.sequence : 0;
	d->late_until = j->d.deadline_ms;
}
