/* an_daemon_sleep.c - waits for rounds that open at an instant, and logs those that were missed. */
#include "an_daemon_private.h"
#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_log.h"

/* Timers use the monotonic clock and instants the wall clock, which may be corrected meanwhile.  Checking at
 * this interval notices a correction. */
#define LOOK_MS 2000

static void on_timer_closed(uv_handle_t *h)
{
	struct an_daemon *d = h->data;

	d->timers--;
}

enum cm_rc an_sleep_init(struct an_daemon *d, struct cm_err *err)
{
	int rc = uv_timer_init(&d->loop, &d->sleep.timer);

	if (rc != 0)
		return cm_fail(err, CM_EINTERNAL, "timer: %s", uv_strerror(rc));
	d->sleep.timer.data = d;
	d->timers++;
	return CM_OK;
}

void an_sleep_close(struct an_daemon *d)
{
	uv_handle_t *h = (uv_handle_t *)&d->sleep.timer;

	if (h->data != NULL && !uv_is_closing(h))
		uv_close(h, on_timer_closed);
}

static void on_look(uv_timer_t *t)
{
	an_plan_next(t->data);
}

bool an_sleep_begin(struct an_daemon *d)
{
	int64_t now = cm_clock_wall_ms(), wait;
	const struct an_round_state *next = an_schedule_next(&d->files.state, now);
	char at[32];

	if (next == NULL || d->run->once || d->run->only != 0)
		return false;
	cm_clock_text(an_round_opens_ms(next), at);
	if (d->sleep.next != next)
		cm_log(CM_LOG_INFO, "waiting until a round opens", CM_I("round", next->plan->number),
			CM_S("query", next->plan->label), CM_S("opens", at));
	d->sleep.next = next;
	d->idle = true;
	an_link_drop(d, &(struct cm_err){ .code = CM_OK });
	wait = an_round_opens_ms(next) - now;
	(void)uv_timer_start(&d->sleep.timer, on_look, (uint64_t)(wait < LOOK_MS ? wait : LOOK_MS), 0);
	return true;
}

void an_sleep_end(struct an_daemon *d)
{
	if (d->sleep.next == NULL)
		return;
	d->sleep.next = NULL;
	d->idle = false;
	d->away_since_ms = cm_clock_mono_ms();
	(void)uv_timer_stop(&d->sleep.timer);
}

/* Log one line per recurring query, however many of its recurrences were missed. */
void an_sleep_say_missed(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	int64_t now = cm_clock_wall_ms();

	for (size_t i = 0; d->run->only == 0 && i < s->plan->rounds;) {
		const struct an_round_state *first = NULL, *last = NULL;
		size_t n = 0;

		do {
			bool missed = an_round_missed(&s->round[i], now);

			if (missed && !d->sleep.missed[i]) {
				first = first != NULL ? first : &s->round[i];
				last = &s->round[i];
				n++;
			}
			d->sleep.missed[i] = missed;
		} while (++i < s->plan->rounds && pl_repeats(s->plan, i));
		if (first != NULL)
			cm_log(CM_LOG_WARN,
				"missed: not answered before the next was to open, `round run` runs it late",
				CM_I("missed", n), CM_S("first", first->plan->label),
				CM_S("last", last->plan->label));
	}
}

void an_sleep_say_later(const struct an_daemon *d)
{
	int64_t now = cm_clock_wall_ms();
	const struct an_round_state *next = an_schedule_next(&d->files.state, now);
	char at[32];

	if (next == NULL || d->run->only != 0)
		return;
	cm_clock_text(an_round_opens_ms(next), at);
	cm_log(CM_LOG_INFO, "not due yet", CM_I("rounds", an_schedule_later(&d->files.state, now)),
		CM_S("next", next->plan->label), CM_S("opens", at));
}
