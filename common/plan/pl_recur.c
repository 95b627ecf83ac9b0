/* pl_recur.c - rounds that recur or repeat: one round in the plan file stands for several in the plan.
 *
 * Each recurrence is a round of its own, so the signed plan has an entry for it, and every party pins,
 * tries and answers it like any other.  Only the analyzer decides when it opens: an entry fixes the
 * parameters that decide the privacy loss, and the order and time of entries are free (doc/accounting.md,
 * "Plans"). */
#include "pl_recur.h"

#include "cm_clock.h"

size_t pl_raw_count(const struct pl_raw_round *raw)
{
	int64_t n = raw->every_ms > 0 ? raw->count : raw->repeat;

	return n > 1 ? (size_t)n : 1;
}

static void take_start(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	if (raw->start && !cm_clock_instant(raw->start, &r->start_ms))
		pl_refuse(c, r, "start",
			"'start' must be an instant in UTC from 2000 to 2199, as \"2026-12-01T06:00:00Z\"");
}

void pl_recur_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	static const char *const alone[] = { "count", "start" };

	pl_label(r->query.name, 1, (uint32_t)pl_raw_count(raw), r->label);
	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		if (raw->every_ms == 0 && pl_round_says(c, r, alone[i]))
			pl_refuse(c, r, alone[i], "'%s' is of a round with 'every'", alone[i]);
	if (raw->repeat > 0 && raw->after)
		pl_refuse(c, r, "repeat", "a round with 'after' cannot repeat: it has one question");
	if (raw->repeat > 0 && raw->every_ms == 0) {
		r->recurrence = 1;
		r->recurrences = (uint32_t)raw->repeat;
	}
	if (raw->every_ms == 0)
		return;
	if (raw->repeat > 0)
		pl_refuse(c, r, "repeat",
			"'repeat' and 'every' exclude each other: one has no times, the other has 'count'");
	if (raw->count == 0)
		pl_refuse(c, r, "every", "'every' needs 'count': how often, 1 to %u", PL_ROUNDS_MAX);
	if (raw->every_ms < raw->window_ms)
		pl_refuse(c, r, "every",
			"'every' is below 'window': a round would still be open when the next is to open");
	if (raw->after)
		pl_refuse(c, r, "every", "a round with 'after' cannot recur: it has one question");
	take_start(c, raw, r);
	r->recurrence = 1;
	r->recurrences = (uint32_t)raw->count;
	r->every_ms = raw->every_ms;
}

void pl_recur_repeat(struct pl_round *first)
{
	for (uint32_t k = 1; k < first->recurrences; k++) {
		first[k] = *first;
		first[k].number = first->number + k;
		first[k].recurrence = k + 1;
		pl_label(first->query.name, k + 1, first->recurrences, first[k].label);
	}
}
