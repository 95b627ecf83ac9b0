/* an_daemon_metrics.c - the running analyzer as its metrics want it. */
#include "an_daemon_private.h"

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

int an_metrics_answer(void *user, const char *path, struct cm_http_reply *out)
{
	const struct an_daemon *d = user;
	const struct an_metrics_now now = { .phase = phase(d),
		.round = d->current,
		.shuffler_seen_ms = d->seen_ms,
		.connected = d->ready,
		.ready = !d->stopping && (d->idle || d->ready) };

	(void)path;
	return an_metrics_reply(d->metrics, &now, out);
}
