/* an_daemon_metrics.c - collects the state of the running analyzer for its metrics. */
#include "an_daemon_private.h"
#include "an_schedule.h"
#include "cm_clock.h"

static enum an_phase phase(const struct an_daemon *d)
{
	enum an_step step;

	if (d->idle)
		return AN_PHASE_IDLE;
	if (d->dialogue == NULL)
		return AN_PHASE_JUDGING;
	if (!d->ready)
		return AN_PHASE_AWAY;
	step = an_round_step(d->dialogue);
	if (step == AN_AT_MANIFEST)
		return AN_PHASE_WAITING;
	return d->working || step == AN_AT_SEGMENT ? AN_PHASE_OPENING : AN_PHASE_TALKING;
}

int an_metrics_answer(void *user, const char *path, struct nt_http_reply *out)
{
	const struct an_daemon *d = user;
	const struct an_metrics_now now = { .phase = phase(d),
		.round = d->current,
		.shuffler_seen_ms = d->seen_ms,
		.missed_ms = an_schedule_missed_ms(&d->files.state, cm_clock_wall_ms()),
		.connected = d->ready,
		.ready = !d->stopping && (d->idle || d->ready) && d->fit.why[0] == '\0' };

	(void)path;
	return an_metrics_reply(d->metrics, &now, out);
}
