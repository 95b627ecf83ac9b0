/* an_schedule.c - computes when recurring rounds open and which were missed. */
#include "an_schedule.h"

#include "cm_clock.h"

int64_t an_round_opens_ms(const struct an_round_state *r)
{
	if (r->plan->every_ms > 0 && r->plan->start_ms == 0 && !r->of)
		return INT64_MAX;
	return pl_opens_ms(r->plan, r->of ? r->of->pinned_ms : 0);
}

bool an_round_waits(const struct an_round_state *r)
{
	return an_round_may_be_tried(r) && r->plan->payload_max > 0;
}

bool an_round_missed(const struct an_round_state *r, int64_t now_ms)
{
	int64_t opens = an_round_opens_ms(r);

	return an_round_may_be_tried(r) && opens != INT64_MIN && opens != INT64_MAX &&
	       now_ms - opens >= r->plan->every_ms;
}

bool an_round_due(const struct an_round_state *r, int64_t now_ms)
{
	return an_round_may_be_tried(r) && !an_round_waits(r) && an_round_opens_ms(r) <= now_ms &&
	       !an_round_missed(r, now_ms);
}

const struct an_round_state *an_schedule_next(const struct an_state *s, int64_t now_ms)
{
	const struct an_round_state *next = NULL;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (an_round_may_be_tried(r) && an_round_opens_ms(r) > now_ms &&
			(!next || an_round_opens_ms(r) < an_round_opens_ms(next)))
			next = r;
	}
	return next;
}

size_t an_schedule_later(const struct an_state *s, int64_t now_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += an_round_may_be_tried(&s->round[i]) && an_round_opens_ms(&s->round[i]) > now_ms;
	return n;
}

size_t an_schedule_waiting(const struct an_state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += an_round_waits(&s->round[i]);
	return n;
}

size_t an_schedule_missed(const struct an_state *s, int64_t now_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += an_round_missed(&s->round[i], now_ms);
	return n;
}

int64_t an_schedule_missed_ms(const struct an_state *s, int64_t now_ms)
{
	int64_t last = 0;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (an_round_missed(r, now_ms) && an_round_opens_ms(r) + r->plan->every_ms > last)
			last = an_round_opens_ms(r) + r->plan->every_ms;
	}
	return last;
}

/* Print the line of the query that recurs from round `first` on. */
static void print_recurring(const struct an_round_state *first, int64_t now_ms, FILE *out)
{
	const struct an_round_state *next = NULL;
	unsigned n = first->plan->recurrences, fit = 0, answered = 0, missed = 0;
	char every[32], at[32];

	for (const struct an_round_state *r = first; r < first + n; r++) {
		fit += r->stage != AN_REFUSED;
		answered += r->stage == AN_SETTLED && !an_round_lost(r);
		missed += an_round_missed(r, now_ms);
		if (!next && an_round_may_be_tried(r) && an_round_opens_ms(r) > now_ms)
			next = r;
	}
	cm_clock_duration_text(first->plan->every_ms, every);
	(void)fprintf(out, "%s recurs every %s: %u of %u fit, %u answered, %u missed",
		first->plan->query.name, every, fit, n, answered, missed);
	if (next && an_round_opens_ms(next) != INT64_MAX) {
		cm_clock_text(an_round_opens_ms(next), at);
		(void)fprintf(out, "; %s opens at %s", next->plan->label, at);
	} else if (next) {
		(void)fprintf(out, "; %s opens when the plan is pinned", next->plan->label);
	}
	(void)fputc('\n', out);
}

void an_schedule_print(const struct an_state *s, int64_t now_ms, FILE *out)
{
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->plan->round[i].recurrence == 1 && s->plan->round[i].every_ms > 0)
			print_recurring(&s->round[i], now_ms, out);
}
