/* pl_plan.c - answers questions about a plan that has been read: what its rounds cost, when they open, and
 * who may take part. */
#include "pl_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"

/* The part of the plan's delta that the ends of noise may take, for all rounds together.  It costs a few
 * dummies more in each bin, and hardly changes the rounds' epsilon. */
#define NOISE_SHARE 64

void pl_plan_fini(struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (!pl_repeats(p, i))
			qy_query_fini(&p->round[i].query);
	free(p->round);
	memset(p, 0, sizeof *p);
}

double pl_noise_delta(const struct pl_plan *p)
{
	return p->delta / (NOISE_SHARE * (double)p->rounds);
}

struct rd_batch pl_round_batch(const struct pl_plan *p, const struct pl_round *r)
{
	return (struct rd_batch){ .least = r->min_reports,
		.honest = rd_honest(r->min_reports, p->honest_fraction, p->colluders),
		.most = r->target };
}

enum cm_rc pl_round_loss(
	const struct pl_plan *p, const struct pl_round *r, struct pt_loss *out, struct cm_err *err)
{
	const struct rd_batch b = pl_round_batch(p, r);

	assert(r->protocol != NULL); /* otherwise the plan has a fault, and nobody may use it */
	return rd_loss_of(&r->randomizer, &b, out, err);
}

void pl_round_describe(const struct pl_plan *p, const struct pl_round *r, struct rd_descriptor *out)
{
	*out = (struct rd_descriptor){ .sequence = r->number,
		.query = r->query,
		.randomizer = r->randomizer,
		.computing = r->computing,
		.payload_max = r->payload_max,
		.messages_per_client = r->randomizer.row->messages(&r->randomizer),
		.record_len = r->randomizer.row->record_len(&r->randomizer),
		.min_reports = r->min_reports,
		.target = r->target,
		.honest_fraction = p->honest_fraction,
		.colluders = p->colluders };
	memcpy(out->population, p->population, sizeof out->population);
	memcpy(out->mode, p->mode, sizeof out->mode);
	memcpy(out->unit, p->unit, sizeof out->unit);
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

void pl_plan_print_trust(const struct pl_plan *p, FILE *out)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (!pl_repeats(p, i) && pt_needs_shuffler(&p->round[i].randomizer))
			(void)fprintf(out,
				"round %u (%s): its guarantee rests on the shuffler adding %s%llu messages "
				"of its own\n",
				p->round[i].number, p->round[i].query.name,
				p->round[i].randomizer.shuffler.dummies > 0 ? "" : "up to ",
				(unsigned long long)pt_shuffler_most(&p->round[i].randomizer));
}

static bool is_alone(const struct pl_plan *p, const struct pl_round *r)
{
	return pl_round_batch(p, r).honest <= 1;
}

const struct pl_round *pl_plan_alone(const struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (is_alone(p, &p->round[i]))
			return &p->round[i];
	return NULL;
}

void pl_plan_print_alone(const struct pl_plan *p, const char *file, FILE *out)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (!pl_repeats(p, i) && is_alone(p, &p->round[i]))
			(void)fprintf(out,
				"%s:%d: round %u (%s): honest_fraction = %g and colluders = %llu leave "
				"nobody of min_reports = %llu to hide among, so it costs its epsilon0: lower "
				"colluders, or raise min_reports\n",
				file, p->round[i].line, p->round[i].number, p->round[i].label,
				p->honest_fraction, (unsigned long long)p->colluders,
				(unsigned long long)p->round[i].min_reports);
}

size_t pl_plan_print_over(const struct pl_plan *p, const char *file, int64_t now_ms, FILE *out)
{
	size_t all = 0;

	for (size_t i = 0; i < p->rounds;) {
		const struct pl_round *first = &p->round[i];
		size_t over = 0, of = 0;
		char start[32];

		do {
			const struct pl_round *r = &p->round[i];
			int64_t opens = pl_opens_ms(r, now_ms);

			over += r->start_ms != 0 && r->every_ms > 0 && opens + r->every_ms <= now_ms;
			of++;
		} while (++i < p->rounds && pl_repeats(p, i));
		all += over;
		cm_clock_text(first->start_ms, start);
		if (over > 0)
			(void)fprintf(out,
				"%s:%d: round %u (%s): start = %s is past: %zu of %zu rounds are over and "
				"never open: move start, or lower count\n",
				file, first->line, first->number, first->query.name, start, over, of);
	}
	return all;
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
