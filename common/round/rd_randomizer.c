/* rd_randomizer.c - the exact randomizer of a descriptor, from the wire and to it. */
#include "rd_randomizer.h"

#include "rd_tags.h"
#include "rd_text.h"
#include "rd_wire.h"

_Static_assert(PT_SLOTS_MAX == PR_SLOTS_MAX, "as many slots on the wire as in a round");

/* What a batch of its own and the only batch of a round have in common. */
static enum cm_rc check_bins(const struct rd_descriptor *d, uint32_t bins, uint32_t dummies, uint64_t chance,
	bool always, uint64_t keep, const char *where, struct cm_err *err)
{
	if (bins < 2 || bins > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s.bins: %lu, not in 2..%u", where, (unsigned long)bins,
			PR_CATEGORIES_MAX);
	if (dummies >= PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "%s.dummies: %lu, at most %u", where, (unsigned long)dummies,
			PR_MESSAGES_MAX - 1);
	if (chance != 0 && !d->protocol->rare_dummy)
		return cm_fail(err, CM_EPROTO, "%s.dummy_chance: '%s' has whole dummies only", where,
			d->protocol->name);
	if (chance != 0 && dummies + 1 >= PR_MESSAGES_MAX)
		return cm_fail(
			err, CM_EPROTO, "%s.dummy_chance: above %u dummies", where, PR_MESSAGES_MAX - 1);
	if (always && keep != 0)
		return cm_fail(err, CM_EPROTO, "%s.keep: given though keep_always", where);
	return CM_OK;
}

static enum cm_rc read_slot(
	const struct rd_descriptor *d, const Tombola__V1__Slot *m, struct pt_slot *out, struct cm_err *err)
{
	/* Each slot takes a message of every client. */
	if (m->count < 1 || m->count > PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "randomizer.slots.count: %lu, not in 1..%u",
			(unsigned long)m->count, PR_MESSAGES_MAX);
	if (m->groups < 1 || m->groups > PR_DIMENSION_MAX)
		return cm_fail(err, CM_EPROTO, "randomizer.slots.groups: %lu, not in 1..%u",
			(unsigned long)m->groups, PR_DIMENSION_MAX);
	*out = (struct pt_slot){ .count = m->count,
		.groups = m->groups,
		.bins = m->bins,
		.dummies = m->dummies,
		.keep_always = m->keep_always != 0,
		.keep = m->keep,
		.dummy_chance = m->dummy_chance };
	return check_bins(d, out->bins, out->dummies, out->dummy_chance, out->keep_always, out->keep,
		"randomizer.slots", err);
}

static enum cm_rc read_slots(const Tombola__V1__Randomizer *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (d->protocol->loss == NULL)
		return cm_fail(err, CM_EPROTO, "randomizer.slots: '%s' has one batch", d->protocol->name);
	if (m->bins != 0 || m->dummies != 0 || m->dummy_chance != 0 || m->keep_always != 0 || m->keep != 0)
		return cm_fail(err, CM_EPROTO,
			"randomizer.bins: bins, dummies and keep of a round with slots belong to them");
	for (size_t i = 0; rc == CM_OK && i < m->n_slots; i++)
		rc = read_slot(d, m->slots[i], &d->params.slot[i], err);
	d->params.slots = (uint32_t)m->n_slots;
	return rc;
}

static enum cm_rc read_row(const Tombola__V1__Randomizer *m, struct rd_descriptor *d, struct cm_err *err)
{
	struct pt_params *p = &d->params;
	enum cm_rc rc =
		rd_copy_name(m->protocol, "randomizer.protocol", p->protocol, sizeof p->protocol, err);

	if (rc != CM_OK)
		return rc;
	d->protocol = pt_find(p->protocol);
	if (d->protocol == NULL)
		return cm_fail(err, CM_EPROTO, "randomizer.protocol: '%s' is unknown", p->protocol);
	if ((d->protocol->kinds & (unsigned)d->query.kind) == 0)
		return cm_fail(err, CM_EPROTO, "randomizer.protocol: '%s' does not answer this kind of query",
			p->protocol);
	return CM_OK;
}

enum cm_rc rd_randomizer_read(const Tombola__V1__Randomizer *m, struct rd_descriptor *d, struct cm_err *err)
{
	struct pt_params *p = &d->params;
	enum cm_rc rc;

	if (m == NULL)
		return cm_fail(err, CM_EPROTO, "randomizer: missing");
	rc = read_row(m, d, err);
	if (rc == CM_OK)
		rc = m->n_slots > 0 ? read_slots(m, d, err)
				    : check_bins(d, m->bins, m->dummies, m->dummy_chance, m->keep_always != 0,
					      m->keep, "randomizer", err);
	if (rc != CM_OK)
		return rc;
	if (m->size > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_EPROTO, "randomizer.size: %lu, at most %u", (unsigned long)m->size,
			PR_CATEGORIES_MAX);
	if (m->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(
			err, CM_EPROTO, "randomizer.shuffler_dummies: above %u", PT_SHUFFLER_DUMMIES_MAX);
	if (m->shuffler_dummies > 0 && d->protocol->dummy == NULL)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler_dummies: '%s' has none", p->protocol);
	if ((m->noise_decay > 0 || m->noise_mean > 0) && !d->protocol->noise)
		return cm_fail(err, CM_EPROTO, "randomizer.noise_mean: '%s' has none", p->protocol);
	p->bins = m->bins;
	p->size = m->size;
	p->other = m->other;
	p->dummies = m->dummies;
	p->dummy_chance = m->dummy_chance;
	p->shuffler_dummies = m->shuffler_dummies;
	p->noise_decay = m->noise_decay;
	p->noise_mean = m->noise_mean;
	p->keep_always = m->keep_always != 0;
	p->keep = m->keep;
	rc = rd_tags_read(m, d->protocol, p, err);
	if (rc != CM_OK)
		return rc;
	rc = d->protocol->check(&d->query, p, err);
	return rc == CM_OK ? rc : cm_context(err, "randomizer");
}

void rd_randomizer_wire(const struct pt_params *p, struct rd_randomizer_wire *out)
{
	tombola__v1__randomizer__init(&out->m);
	out->m.protocol = rd_wire_text(p->protocol);
	out->m.bins = p->bins;
	out->m.dummies = p->dummies;
	out->m.dummy_chance = p->dummy_chance;
	out->m.keep_always = p->keep_always;
	out->m.keep = p->keep_always ? 0 : p->keep;
	out->m.size = p->size;
	out->m.other = p->other;
	out->m.shuffler_dummies = p->shuffler_dummies;
	out->m.noise_decay = p->noise_decay;
	out->m.noise_mean = p->noise_mean;
	for (uint32_t i = 0; i < p->slots; i++) {
		const struct pt_slot *s = &p->slot[i];

		tombola__v1__slot__init(&out->slot[i]);
		out->slot[i].count = s->count;
		out->slot[i].groups = s->groups;
		out->slot[i].bins = s->bins;
		out->slot[i].dummies = s->dummies;
		out->slot[i].dummy_chance = s->dummy_chance;
		out->slot[i].keep_always = s->keep_always;
		out->slot[i].keep = s->keep_always ? 0 : s->keep;
		out->slots[i] = &out->slot[i];
	}
	out->m.n_slots = p->slots;
	out->m.slots = out->slots;
	rd_tags_fill(p, &out->m);
}
