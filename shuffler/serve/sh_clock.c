/* sh_clock.c - the time for the core: while a round is open, setting the wall clock does not change it. */
#include "sh_clock.h"

#include "cm_clock.h"
#include "cm_log.h"

#define LOOK_MS 1000 /* how often the clock is read while an end waits */

/* Does the end of this round wait?  See sh_clock.h. */
static bool is_late_start(struct sh_clock *c, const struct sh_round *r)
{
	int64_t over_ms = r && !c->late.decided ? cm_clock_wall_ms() - r->d.deadline_ms : -1;
	bool begun, waits;

	waits = sh_overdue_waits(
		&c->late, over_ms, over_ms >= 0 && sh_route_enough(r), cm_clock_mono_ms(), &begun);
	if (begun)
		cm_log(CM_LOG_WARN,
			"the open round was over before this start, by our clock: its end waits, in case the "
			"clock is wrong",
			CM_I("round", r->d.sequence), CM_I("seconds", over_ms / 1000),
			CM_I("wait_seconds", SH_OVERDUE_WAIT_MS / 1000));
	return waits;
}

int64_t sh_clock_now(struct sh_clock *c, const struct sh_core *core)
{
	const struct sh_round *r = sh_core_collecting(core);

	if (is_late_start(c, r))
		return r->d.deadline_ms - LOOK_MS;
	if (!r || !c->held)
		cm_steady_begin(&c->steady, r ? r->d.opens_ms - RD_CLOCK_SLACK_MS : 0);
	c->held = r;
	if (r)
		cm_steady_watch(&c->steady);
	return cm_steady_ms(&c->steady);
}
