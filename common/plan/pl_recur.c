/* pl_recur.c - rounds that recur or repeat: one round in the plan file stands for several in the plan.
 *
 * Each recurrence is a round of its own, so that the signed plan has an entry for it and every party pins,
 * tries and answers it like any other.  Only the analyzer decides when it opens: an entry fixes the
 * parameters that decide the privacy loss, and order and time of entries are free (doc/accounting.md,
 * "Plans"). */
#include <stdio.h>
#include <string.h>

#include "cm_clock.h"
#include "pl_read.h"

size_t pl_raw_count(const struct pl_raw_round *raw)
{
	int64_t n = raw->every_ms > 0 ? raw->count : raw->repeat;

	return n > 1 ? (size_t)n : 1;
}

void pl_label(const char *query, uint32_t recurrence, uint32_t recurrences, char out[PL_LABEL_LEN])
{
	if (recurrences > 1)
		(void)snprintf(out, PL_LABEL_LEN, "%.64s#%u", query, recurrence);
	else
		(void)snprintf(out, PL_LABEL_LEN, "%.64s", query);
}

bool pl_repeats(const struct pl_plan *p, size_t i)
{
	return i > 0 && p->round[i].item == p->round[i - 1].item;
}

int64_t pl_opens_ms(const struct pl_round *r, int64_t pinned_ms)
{
	if (r->every_ms == 0)
		return INT64_MIN;
	return (r->start_ms != 0 ? r->start_ms : pinned_ms) + (int64_t)(r->recurrence - 1) * r->every_ms;
}

static void take_start(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	if (raw->start && !cm_clock_instant(raw->start, &r->start_ms))
		pl_fault(c, pl_round_line(c, r, "start"),
			"'start' must be an instant in UTC from 2000 to 2199, as \"2026-12-01T06:00:00Z\"");
}

void pl_recur_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	static const char *const alone[] = { "count", "start" };

	pl_label(r->query.name, 1, (uint32_t)pl_raw_count(raw), r->label);
	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		if (raw->every_ms == 0 && pl_round_says(c, r, alone[i]))
			pl_fault(c, pl_round_line(c, r, alone[i]), "'%s' is of a round with 'every'",
				alone[i]);
	if (raw->repeat > 0 && raw->after)
		pl_fault(c, pl_round_line(c, r, "repeat"),
			"a round with 'after' cannot repeat: it has one question");
	if (raw->repeat > 0 && raw->every_ms == 0) {
		r->recurrence = 1;
		r->recurrences = (uint32_t)raw->repeat;
	}
	if (raw->every_ms == 0)
		return;
	if (raw->repeat > 0)
		pl_fault(c, pl_round_line(c, r, "repeat"),
			"'repeat' and 'every' exclude each other: one has no times, the other has 'count'");
	if (raw->count == 0)
		pl_fault(c, pl_round_line(c, r, "every"), "'every' needs 'count': how often, 1 to %u",
			PL_ROUNDS_MAX);
	if (raw->every_ms < raw->window_ms)
		pl_fault(c, pl_round_line(c, r, "every"),
			"'every' is below 'window': a round would still be open when the next is to open");
	if (raw->after)
		pl_fault(c, pl_round_line(c, r, "every"),
			"a round with 'after' cannot recur: it has one question");
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

static void print_recurring(const struct pl_round *first, size_t fit, FILE *out)
{
	char every[32], start[32];

	cm_clock_duration_text(first->every_ms, every);
	cm_clock_text(first->start_ms, start);
	if (first->every_ms == 0)
		(void)fprintf(out, "%s, one after the other", first->query.name);
	else
		(void)fprintf(out, "%s every %s from %s", first->query.name, every,
			first->start_ms != 0 ? start : "when the plan is pinned");
	(void)fprintf(out, ": %zu of %u fit", fit, first->recurrences);
	if (fit < first->recurrences)
		(void)fprintf(out, ", the last %zu are refused", first->recurrences - fit);
	(void)fputc('\n', out);
}

void pl_plan_print_recurring(const struct pl_plan *p, const bool *fits, FILE *out)
{
	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		size_t fit = 0;

		for (uint32_t k = 0; r->recurrence == 1 && k < r->recurrences; k++)
			fit += fits[i + k];
		if (r->recurrence == 1)
			print_recurring(r, fit, out);
	}
}
