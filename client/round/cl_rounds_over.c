/* cl_rounds_over.c - remembers which rounds are over for this client. */
#include "cl_rounds_over.h"

#include "cm_clock.h"

uint64_t cl_rounds_over_by_clock(const struct cl_rounds_over *over)
{
	return over->by_clock.sequence == over->after ? over->by_clock.sequence : 0;
}

uint64_t cl_rounds_over_after(const struct cl_rounds_over *over)
{
	struct cm_err unused;
	bool again = cl_rounds_over_by_clock(over) > 0 &&
		     rd_in_time(over->by_clock.opens_ms, over->by_clock.deadline_ms, cm_clock_wall_ms(),
			     &unused) == CM_OK;

	return again ? over->after - 1 : over->after;
}

void cl_rounds_over_refuse(struct cl_rounds_over *over, const struct cl_judgement *j)
{
	over->after = j->d.sequence > over->after ? j->d.sequence : over->after;
	over->by_clock.sequence = j->clock ? j->d.sequence : 0;
	over->by_clock.opens_ms = j->d.opens_ms;
	over->by_clock.deadline_ms = j->d.deadline_ms;
}
