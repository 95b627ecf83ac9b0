/* pt_slots_count.c - counts of every symbol of every slot. */
#include "pt_slots_count.h"

#include "pr_limits.h"

static uint32_t symbols(const struct pt_slot *s)
{
	return s->groups * s->bins;
}

uint32_t pt_slots_symbols(const struct pt_params *p)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < p->slots; i++)
		sum += p->slot[i].count * symbols(&p->slot[i]);
	return sum;
}

enum cm_rc pt_slots_count_check(const struct pt_params *p, enum cm_rc code, struct cm_err *err)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->slots; i++) {
		const struct pt_slot *s = &p->slot[i];
		uint64_t all;

		if (__builtin_mul_overflow((uint64_t)s->groups * s->bins, (uint64_t)s->count, &all) ||
			all > PR_TALLIES_MAX || (sum += all) > PR_TALLIES_MAX)
			return cm_fail(
				err, code, "%s: more than %u symbols in all", p->protocol, PR_TALLIES_MAX);
	}
	return CM_OK;
}

/* Where slot i's symbols begin. */
static uint32_t first_symbol(const struct pt_params *p, uint32_t i)
{
	uint32_t at = 0;

	for (uint32_t kind = 0; kind < p->slots; kind++) {
		const struct pt_slot *s = &p->slot[kind];
		uint32_t here = i < s->count ? i : s->count;

		at += here * symbols(s);
		i -= here;
		if (i == 0 && here < s->count)
			break;
	}
	return at;
}

enum cm_rc pt_slots_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	struct pt_cell cell;
	enum cm_rc rc = pt_slots_read(p, record, &cell, err);

	if (rc == CM_OK)
		counts[first_symbol(p, cell.slot) + cell.group * pt_slots_at(p, cell.slot)->bins +
			cell.word]++;
	return rc;
}

enum cm_rc pt_slots_totals(
	const struct pt_params *p, const uint64_t *counts, uint64_t reports, struct cm_err *err)
{
	uint32_t all = pt_slots_symbols(p);
	uint64_t left;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->protocol);
	left = reports * pt_slots_messages(p);
	for (uint32_t i = 0; i < all; i++) {
		if (counts[i] > left)
			return cm_fail(
				err, CM_EDATA, "%s: more messages than can have been sent", p->protocol);
		left -= counts[i];
	}
	return CM_OK;
}

struct pt_support pt_slot_support(const struct pt_slot *s, uint64_t reports, uint32_t words)
{
	double keep = pt_slot_keep(s), other = pt_slot_other(s), more = words - 1;

	return (struct pt_support){ .keep = keep + more * other,
		.flip = (s->bins - 1 - more) * other,
		.other = words * other,
		.dummies = (double)reports * s->dummies,
		.blanket = (double)words / s->bins };
}
