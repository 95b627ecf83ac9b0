/* an_state_ask.c (an_state.h) - answers questions about a state. */
#include <stdlib.h>
#include <string.h>

#include "an_state.h"

const char *an_stage_name(enum an_stage s)
{
	static const char *const name[] = {
		[AN_PLANNED] = "planned",
		[AN_RESERVED] = "reserved",
		[AN_CHARGED] = "charged",
		[AN_SETTLED] = "settled",
		[AN_REFUSED] = "refused",
		[AN_VOID] = "void",
		[AN_WAITING] = "waiting",
	};

	return name[s];
}

size_t an_state_rounds(const struct an_state *s)
{
	return s->plan->rounds + s->others;
}

struct an_round_state *an_state_at(const struct an_state *s, size_t i)
{
	return i < s->plan->rounds ? &s->round[i] : &s->other[i - s->plan->rounds]->state;
}

struct an_round_state *an_state_find(const struct an_state *s, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	for (size_t i = 0; i < an_state_rounds(s); i++) {
		struct an_round_state *r = an_state_at(s, i);

		if (r->descriptor_bytes.len > 0 &&
			memcmp(r->descriptor.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return r;
	}
	return NULL;
}

/* The round that is asked for: a query, and the number of its recurrence; 0 means the newest. */
struct asked {
	const char *query;
	size_t len;
	unsigned long recurrence;
};

static bool is_asked(const struct an_round_state *r, const struct asked *a)
{
	const char *name = r->plan->query.name;

	return strncmp(name, a->query, a->len) == 0 && name[a->len] == '\0' &&
	       (a->recurrence == 0 || r->plan->recurrence == a->recurrence);
}

static bool is_newer(const struct an_round_state *r, const struct an_round_state *than)
{
	return !than ||
	       (r->stage == AN_SETTLED && (than->stage != AN_SETTLED || r->charge_seq > than->charge_seq));
}

struct an_round_state *an_state_query(const struct an_state *s, const char *query)
{
	const char *hash = strchr(query, '#');
	struct asked a = { query, hash ? (size_t)(hash - query) : strlen(query), 0 };
	struct an_round_state *found = NULL;
	char *end;

	if (hash) {
		a.recurrence = strtoul(hash + 1, &end, 10);
		if (hash[1] < '1' || hash[1] > '9' || *end != '\0')
			return NULL;
	}
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (is_asked(&s->round[i], &a) && is_newer(&s->round[i], found))
			found = &s->round[i];
	/* A round of a plan file that is not pinned yet belongs to no plan. */
	for (size_t i = s->others; (!found || (found->of && !found->of->current)) && i-- > 0;) {
		struct an_round_state *r = &s->other[i]->state;

		if (is_asked(r, &a) && (!found || (r->of == found->of && is_newer(r, found))))
			found = r;
	}
	return found;
}

bool an_state_adaptive(const struct an_state *s)
{
	return rd_mode_filter(s->plan->mode) != 0;
}

bool an_round_counts(const struct an_round_state *r)
{
	return r->stage == AN_RESERVED || r->stage == AN_CHARGED || r->stage == AN_SETTLED;
}

bool an_round_ended(const struct an_round_state *r)
{
	return r->stage == AN_SETTLED || r->stage == AN_VOID || r->stage == AN_REFUSED;
}

uint64_t an_round_reports(const struct an_round_state *r)
{
	return (uint64_t)r->tries + (r->stage == AN_RESERVED) + r->lost;
}

bool an_round_lost(const struct an_round_state *r)
{
	return r->stage == AN_SETTLED && r->reason[0] != '\0';
}

bool an_round_left_out(const struct an_round_state *r)
{
	return r->stage == AN_REFUSED &&
	       strncmp(r->reason, AN_NOTHING_TO_EXTEND, sizeof AN_NOTHING_TO_EXTEND - 1) == 0;
}

double an_state_spent_before(const struct an_state *s, const struct an_round_state *r)
{
	double spent = 0;

	for (size_t i = 0; i < s->plan->rounds && &s->round[i] != r; i++)
		if (s->round[i].entry)
			spent = s->round[i].epsilon_total;
	return spent;
}

bool an_round_blocked(const struct an_round_state *r)
{
	return r->stage == AN_REFUSED && !an_round_left_out(r);
}

bool an_round_blocked_again(const struct an_state *s, const struct an_round_state *r)
{
	size_t i = r->plan->number - 1;

	return an_round_blocked(r) && pl_repeats(s->plan, i) && an_round_blocked(&s->round[i - 1]);
}

bool an_round_may_be_tried(const struct an_round_state *r)
{
	return r->stage == AN_PLANNED || r->stage == AN_WAITING;
}

bool an_round_not_taken(const struct an_round_state *r)
{
	return strncmp(r->reason, AN_NOT_TAKEN, sizeof AN_NOT_TAKEN - 1) == 0;
}

bool an_round_refused_by_clock(const struct an_round_state *r)
{
	return strncmp(r->reason, AN_REFUSED_CLOCK, sizeof AN_REFUSED_CLOCK - 1) == 0;
}

bool an_round_holds(const struct an_round_state *r)
{
	return r->entry || an_round_counts(r) || (r->stage == AN_VOID && !an_round_not_taken(r));
}

enum cm_rc an_round_loss(
	const struct an_state *s, const struct an_round_state *r, struct pt_loss *out, struct cm_err *err)
{
	return r->descriptor_bytes.len > 0 ? rd_loss(&r->descriptor, out, err)
					   : pl_round_loss(s->plan, r->plan, out, err);
}

size_t an_state_count(const struct an_state *s, enum an_stage stage)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += s->round[i].stage == stage;
	return n;
}

size_t an_state_blocked(const struct an_state *s, const struct an_round_state **last)
{
	const struct an_round_state *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		if (!an_round_blocked(&s->round[i]))
			continue;
		found = &s->round[i];
		n++;
	}
	if (last)
		*last = found;
	return n;
}
