/* pt_slots_analysis.c - computes a loss and totals for each kind of slot, and finds where each slot's
 * counts begin. */
#include "pt_slots_analysis.h"

#include "pr_limits.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"

enum cm_rc pt_slots_request(
	const struct pt_protocol *row, const struct pt_request *r, struct pt_slot *slot, struct cm_err *err)
{
	struct pt_randomizer p;
	enum cm_rc rc = pt_slots_size(row->device, slot, CM_ECONFIG, err);

	if (rc == CM_OK && r->shuffler_dummies != 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: the shuffler adds no dummies to a round of slots",
			row->device->name);
	if (rc == CM_OK)
		rc = pt_mixbins_request(row, slot->each.bins, r, &p, err);
	if (rc != CM_OK)
		return rc;
	slot->each = p.mixbins;
	return CM_OK;
}

enum cm_rc pt_slots_limit(const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_slots_limits(p, CM_ECONFIG, err);
}

enum cm_rc pt_slots_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, pt_slots_of *slots, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device };
	enum cm_rc rc = CM_OK;

	slots(q, &made);
	for (uint32_t i = 0; rc == CM_OK && i < made.slots.kinds; i++)
		rc = pt_slots_request(row, r, &made.slots.slot[i], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum acct_messages labelled(const struct acct_round *r)
{
	return r->messages == ACCT_BITS && r->levels == 0 ? ACCT_LABELLED_BITS : ACCT_ANY_MESSAGES;
}

enum cm_rc pt_slots_loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	out->parts = p->slots.kinds;
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[i]);
		enum cm_rc rc = pt_mixbins_cells(&one, participants, &out->part[i], err);

		if (rc != CM_OK)
			return rc;
		/* A message shows its group, or the tag by which the shuffler evens, besides the bit:
		 * doc/imitation.md. */
		if (p->shuffler.tags > 0 || p->slots.slot[i].groups > 1)
			out->part[i].messages = labelled(&out->part[i]);
		out->part[i].count = p->slots.slot[i].count;
	}
	return CM_OK;
}

static uint32_t symbols(const struct pt_slot *s)
{
	return s->groups * s->each.bins;
}

uint32_t pt_slots_symbols(const struct pt_randomizer *p)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		sum += p->slots.slot[i].count * symbols(&p->slots.slot[i]);
	return sum;
}

/* The index of slot i's first symbol. */
static uint32_t first_symbol(const struct pt_randomizer *p, uint32_t i)
{
	uint32_t at = 0;

	for (uint32_t kind = 0; kind < p->slots.kinds; kind++) {
		const struct pt_slot *s = &p->slots.slot[kind];
		uint32_t here = i < s->count ? i : s->count;

		at += here * symbols(s);
		i -= here;
		if (i == 0 && here < s->count)
			break;
	}
	return at;
}

enum cm_rc pt_slots_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	struct pt_cell cell;
	enum cm_rc rc = pt_slots_read(p, record, &cell, err);

	if (rc == CM_OK)
		counts[first_symbol(p, cell.slot) + cell.group * pt_slots_at(p, cell.slot)->each.bins +
			cell.word]++;
	return rc;
}

enum cm_rc pt_slots_totals(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct cm_err *err)
{
	uint32_t all = pt_slots_symbols(p);
	uint64_t left;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	left = reports * p->row->messages(p);
	for (uint32_t i = 0; i < all; i++) {
		if (counts[i] > left)
			return cm_fail(
				err, CM_EDATA, "%s: more messages than can have been sent", p->row->name);
		left -= counts[i];
	}
	return CM_OK;
}

enum cm_rc pt_slots_estimate(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, pt_slots_fill *fill, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = fill(q, p, counts, &e, err);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

struct es_support pt_slot_support(const struct pt_slot *s, uint64_t reports, uint32_t words)
{
	double keep = pt_mixbins_keep(&s->each), other = pt_mixbins_other(&s->each), more = words - 1;

	return (struct es_support){ .keep = keep + more * other,
		.flip = (s->each.bins - 1 - more) * other,
		.other = words * other,
		.dummies = (double)reports * s->each.dummies,
		.blanket = (double)words / s->each.bins };
}

struct es_support pt_slots_support(const struct pt_slot *s, const uint64_t *counts, uint64_t reports)
{
	(void)counts;
	return pt_slot_support(s, reports, 1);
}

struct es_support pt_slots_before(
	const struct pt_randomizer *p, const struct pt_slot *s, uint64_t participants)
{
	(void)p;
	return pt_slot_support(s, participants, 1);
}

uint64_t pt_slots_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < pt_slots_total(p); i++) {
		const struct pt_slot *s = pt_slots_at(p, i);
		uint64_t seen =
			pt_lied_seen(p, s, pt_lied_came(counts + first_symbol(p, i), symbols(s)), devices);

		most = seen > most ? seen : most;
	}
	return most;
}

enum cm_rc pt_slots_honest(const struct pt_randomizer *p, const struct pt_slot *s, const uint64_t *counts,
	size_t n, const struct pt_crowd *crowd, size_t joint, struct es_honest *out, struct cm_err *err)
{
	struct pt_lied lied = pt_lied_slot(p, s, counts, crowd);

	return pt_lied_supports(&lied, pt_slot_support(s, lied.honest, 1), counts, n, joint, out, err);
}
