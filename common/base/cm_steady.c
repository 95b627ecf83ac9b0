/* cm_steady.c - implements a clock that nobody can set. */
#include "cm_steady.h"

#include "cm_clock.h"
#include "cm_log.h"

#define STEADY_SLACK_MS 10000

void cm_steady_begin(struct cm_steady *s, int64_t least_ms)
{
	int64_t wall = cm_clock_wall_ms();

	s->ahead_ms = (wall > least_ms ? wall : least_ms) - cm_clock_boot_ms();
	s->said = false;
}

int64_t cm_steady_ms(const struct cm_steady *s)
{
	return cm_clock_boot_ms() + s->ahead_ms;
}

void cm_steady_watch(struct cm_steady *s)
{
	int64_t off = cm_clock_wall_ms() - cm_steady_ms(s);

	if (s->said || (off < STEADY_SLACK_MS && off > -STEADY_SLACK_MS))
		return;
	s->said = true;
	cm_log(CM_LOG_WARN, "the clock was set while a round is open: the round ends as if it had not been",
		CM_I("seconds", off / 1000));
}
