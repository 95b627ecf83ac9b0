/* an_sleep.c - waits for rounds that open at an instant, and logs those that were missed. */
#include "an_sleep.h"

#include <stdlib.h>

#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_log.h"

/* Timers use the monotonic clock; instants use the wall clock, which may be corrected meanwhile.  A look at
 * the clock at this interval notices a correction. */
#define LOOK_MS 2000

struct an_sleep {
	const struct an_context *context;
	void (*on_look)(void *user);
	void *user;
	uv_timer_t timer;
	/* the round that is waited for; NULL if the run does not wait */
	const struct an_round_state *next;
	bool *missed; /* for each round of the plan file: whether its miss was logged; owned */
};

enum cm_rc an_sleep_new(const struct an_context *context, void (*on_look)(void *user), void *user,
	struct an_sleep **out, struct cm_err *err)
{
	struct an_sleep *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = s;
	s->context = context;
	s->on_look = on_look;
	s->user = user;
	s->missed = calloc(context->files.plan.rounds, sizeof *s->missed);
	if (!s->missed)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return an_timer_init(context, &s->timer, s, err);
}

void an_sleep_close(struct an_sleep *s)
{
	if (s)
		an_timer_close(&s->timer);
}

void an_sleep_free(struct an_sleep *s)
{
	if (s)
		free(s->missed);
	free(s);
}

const struct an_round_state *an_sleep_next(const struct an_sleep *s)
{
	return s->next;
}

static void on_look(uv_timer_t *t)
{
	struct an_sleep *s = t->data;

	s->on_look(s->user);
}

bool an_sleep_begin(struct an_sleep *s)
{
	int64_t now = cm_clock_wall_ms(), wait;
	const struct an_round_state *next = an_schedule_next(&s->context->files.state, now);
	char at[32];

	if (!next || an_context_attended(s->context))
		return false;
	cm_clock_text(an_round_opens_ms(next), at);
	if (s->next != next)
		cm_log(CM_LOG_INFO, "waiting until a round opens", CM_I("round", next->plan->number),
			CM_S("query", next->plan->label), CM_S("opens", at));
	s->next = next;
	wait = an_round_opens_ms(next) - now;
	(void)uv_timer_start(&s->timer, on_look, (uint64_t)(wait < LOOK_MS ? wait : LOOK_MS), 0);
	return true;
}

void an_sleep_end(struct an_sleep *s)
{
	if (!s->next)
		return;
	s->next = NULL;
	(void)uv_timer_stop(&s->timer);
}

/* Log one line for each recurring query, however many of its recurrences were missed. */
void an_sleep_say_missed(struct an_sleep *s)
{
	const struct an_state *state = &s->context->files.state;
	int64_t now = cm_clock_wall_ms();

	for (size_t i = 0; s->context->run->only == 0 && i < state->plan->rounds;) {
		const struct an_round_state *first = NULL, *last = NULL;
		size_t n = 0;

		do {
			bool missed = an_round_missed(&state->round[i], now);

			if (missed && !s->missed[i]) {
				first = first ? first : &state->round[i];
				last = &state->round[i];
				n++;
			}
			s->missed[i] = missed;
		} while (++i < state->plan->rounds && pl_repeats(state->plan, i));
		if (first)
			cm_log(CM_LOG_WARN,
				"missed: not answered before the next was to open, `round run` runs it late",
				CM_I("missed", n), CM_S("first", first->plan->label),
				CM_S("last", last->plan->label));
	}
}

void an_sleep_say_later(const struct an_context *c)
{
	int64_t now = cm_clock_wall_ms();
	const struct an_round_state *next = an_schedule_next(&c->files.state, now);
	char at[32];

	if (!next || c->run->only != 0)
		return;
	cm_clock_text(an_round_opens_ms(next), at);
	cm_log(CM_LOG_INFO, "not due yet", CM_I("rounds", an_schedule_later(&c->files.state, now)),
		CM_S("next", next->plan->label), CM_S("opens", at));
}
