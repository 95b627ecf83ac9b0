/* sh_overdue.c - decides whether the end of a round must wait that was due before this start. */
#include "sh_overdue.h"

#include "cm_fault.h"

bool sh_overdue_waits(struct sh_overdue *l, int64_t over_ms, bool enough, int64_t mono_ms, bool *begun)
{
	*begun = false;
	if (l->decided)
		return false;
	if (over_ms < 0 || !CM_CHECKED("shuffler.late_start") || enough ||
		(l->until_ms > 0 && mono_ms >= l->until_ms)) {
		l->decided = true;
		return false;
	}
	if (l->until_ms == 0) {
		l->until_ms = mono_ms + SH_OVERDUE_WAIT_MS;
		*begun = true;
	}
	return true;
}
