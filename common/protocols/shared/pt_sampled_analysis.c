/* pt_sampled_analysis.c - computes the loss as a mixture of the questions' cells: a victim answers one
 * question, and others may answer another. */
#include "pt_sampled_analysis.h"

#include <math.h>

#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"

_Static_assert(2 * PT_SLOTS_MAX + 1 <= ACCT_MAX_CELLS, "two cells for each slot and one for the rest");

enum cm_rc pt_sampled_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, pt_slots_of *slots, struct pt_randomizer *out, struct cm_err *err)
{
	if (r->dummies != 0 || r->dummy_chance != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0", row->device->name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", row->device->name);
	return pt_slots_derive(row, q, r, slots, out, err);
}

/* If every question has two symbols and the same chances, a report is a bit; with several questions it bears
 * a public label, the question.  Then all questions' cells are the same two, so add them up. */
static void take_for_bits(uint32_t questions, struct acct_round *made)
{
	for (size_t j = 2; j < made->cells; j++)
		if (made->cell[j].u < made->cell[j % 2].u || made->cell[j].u > made->cell[j % 2].u)
			return;
	for (size_t j = 2; j < made->cells; j++)
		made->cell[j % 2].omega = nextafter(made->cell[j % 2].omega + made->cell[j].omega, 0);
	made->cells = 2;
	made->messages = questions > 1 ? ACCT_LABELLED_BITS : ACCT_BITS;
}

enum cm_rc pt_sampled_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double share = 1.0 / p->slots.kinds, rest = 0, sum = 0;
	struct acct_round made = { .count = 1 };

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[i]);
		struct acct_round alone;
		enum cm_rc rc = pt_mixbins_cells(&one, participants, &alone, err);

		if (rc != CM_OK)
			return rc;
		made.others = alone.others;
		/* A product and 1/s are each off by half an ulp, so round down. */
		for (size_t j = 0; j < alone.cells; j++) {
			struct acct_cell c = alone.cell[j];

			c.omega = nextafter(nextafter(c.omega * share, 0), 0);
			if (j < 2)
				made.cell[made.cells++] = c;
			else
				rest = nextafter(rest + c.omega, 0);
			sum += c.omega;
		}
	}
	if (sum > 1)
		return cm_fail(err, CM_EINTERNAL, "%s: a blanket above 1", p->row->name);
	if (rest > 0)
		made.cell[made.cells++] = (struct acct_cell){ .omega = rest, .u = 1, .v = 1 };
	else
		take_for_bits(p->slots.kinds, &made);
	*out = made;
	return CM_OK;
}

struct es_support pt_sampled_support(const struct pt_slot *s, const uint64_t *counts, uint64_t reports)
{
	struct es_support made = pt_slot_support(s, reports, 1);

	made.sampled = true;
	for (uint32_t y = 0; y < s->each.bins; y++)
		made.asked += counts[y];
	return made;
}

struct es_support pt_sampled_before(
	const struct pt_randomizer *p, const struct pt_slot *s, uint64_t participants)
{
	struct es_support made = pt_slot_support(s, participants, 1);

	made.sampled = true;
	made.asked = participants > p->slots.kinds ? participants / p->slots.kinds : 1;
	return made;
}

/* Set an item as if `count` of the `asked` honest messages of the slot stated its word. */
static enum cm_rc honest_word(const struct pt_slot *s, uint64_t count, uint64_t asked, uint64_t honest,
	size_t joint, struct es_honest *out, struct cm_err *err)
{
	struct es_support law = pt_slot_support(s, honest, 1);

	law.sampled = true;
	law.asked = asked < honest ? asked : honest;
	return es_support_honest(&law, &count, &count, 1, honest, joint, out, err);
}

enum cm_rc pt_sampled_honest(const struct pt_randomizer *p, const struct pt_slot *s, const uint64_t *counts,
	size_t n, const struct pt_crowd *crowd, size_t joint, struct es_honest *out, struct cm_err *err)
{
	uint64_t came = pt_lied_came(counts, s->each.bins), honest = crowd->devices - crowd->liars;
	enum cm_rc rc = CM_OK;

	(void)p;
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		uint64_t own = counts[i] < crowd->liars ? counts[i] : crowd->liars, other = came - counts[i];
		struct es_honest high = { 0 };

		other = other < crowd->liars ? other : crowd->liars;
		rc = honest_word(s, counts[i] - own, came - own, honest, joint, &out[i], err);
		if (rc == CM_OK)
			rc = honest_word(s, counts[i], came - other, honest, joint, &high, err);
		out[i].most = high.most;
		out[i].upper = high.upper;
		out[i].joint_upper = high.joint_upper;
	}
	return rc;
}
