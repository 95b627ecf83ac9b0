/* an_turns.c - chooses the next round of the plan. */
#include "an_turns.h"

#include <stdlib.h>

#include "an_keys.h"
#include "an_schedule.h"
#include "cm_clock.h"

enum cm_rc an_turns_init(struct an_turns *t, const struct an_context *context, struct cm_err *err)
{
	size_t rounds = context->files.plan.rounds;

	*t = (struct an_turns){ .context = context,
		.pass = 1,
		.last = calloc(rounds, sizeof *t->last),
		.barred = calloc(rounds, sizeof *t->barred) };
	return t->last && t->barred ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

void an_turns_fini(struct an_turns *t)
{
	free(t->last);
	free(t->barred);
}

/* Whether the round is in progress, or its key must still be destroyed. */
static bool unfinished(const struct an_turns *t, const struct an_round_state *r)
{
	if (r->stage == AN_RESERVED || r->stage == AN_CHARGED)
		return true;
	return (r->stage == AN_SETTLED || r->stage == AN_VOID || r->stage == AN_WAITING) &&
	       an_key_exists(t->context->conf->state_dir, r->descriptor.round_id);
}

/* Whether the round's question is known: a round that extends another's answer waits until that round is
 * answered or cannot be answered any more. */
static bool has_its_question(const struct an_state *s, const struct an_round_state *r)
{
	uint32_t after = r->plan->after;

	return after == 0 || an_round_ended(&s->round[after - 1]);
}

static bool may_be_tried(const struct an_turns *t, const struct an_round_state *r)
{
	/* A round that an operator selects runs regardless of its schedule, but a new try of it needs its
	 * payload.  To continue a try that is under way, the payload need not be given again. */
	return an_round_may_be_tried(r) && (!an_round_waits(r) || t->context->run->payload.bytes) &&
	       !t->barred[r->plan->number - 1] && has_its_question(&t->context->files.state, r) &&
	       (t->context->run->only == 0 ? an_round_due(r, cm_clock_wall_ms())
					   : t->context->run->only == r->plan->number);
}

struct an_round_state *an_turns_next(struct an_turns *t, struct an_state *s)
{
	bool again = false;

	for (size_t i = 0; i < an_state_rounds(s); i++)
		if (unfinished(t, an_state_at(s, i)))
			return an_state_at(s, i);
	if (!s->current)
		return NULL;
	for (size_t i = 0; i < s->plan->rounds; i++) {
		if (!may_be_tried(t, &s->round[i]))
			continue;
		if (t->last[i] < t->pass)
			return &s->round[i];
		again = true;
	}
	if (!again || t->context->run->only != 0)
		return NULL;
	t->pass++;
	return an_turns_next(t, s);
}

void an_turns_ended(struct an_turns *t, const struct an_round_state *r)
{
	/* Do not try the round again, unless the shuffler refused it because of its clock: clocks may agree
	 * later, a policy will not. */
	if (an_round_not_taken(r) && !an_round_refused_by_clock(r) && r->of->current)
		t->barred[r->plan->number - 1] = true;
}

bool an_turns_decided(const struct an_turns *t, const struct an_round_state *r)
{
	return !an_round_may_be_tried(r) || unfinished(t, r);
}

void an_turns_tried(struct an_turns *t, const struct an_round_state *r)
{
	t->last[r->plan->number - 1] = t->pass;
}
