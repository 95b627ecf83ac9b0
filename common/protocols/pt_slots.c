/* pt_slots.c - MIXBINS in several batches of one round. */
#include "pt_slots.h"

#include <stdio.h>
#include <string.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"

_Static_assert(PT_SLOTS_MAX == PT_PARTS_MAX, "a kind of slot is a part of the loss");
_Static_assert(PR_MESSAGES_MAX <= UINT16_MAX, "a slot's number has 16 bits in a record");

/* A slot without its groups, as a round of MIXBINS: they do not enter its privacy. */
static struct pt_params alone(const char *name, const struct pt_slot *s)
{
	struct pt_params p = { .bins = s->bins,
		.dummies = s->dummies,
		.dummy_chance = s->dummy_chance,
		.keep_always = s->keep_always,
		.keep = s->keep };

	(void)snprintf(p.protocol, sizeof p.protocol, "%s", name);
	return p;
}

/* Of all slots; above PR_MESSAGES_MAX if there are too many. */
static uint64_t messages_of(const struct pt_params *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->slots; i++)
		sum += (uint64_t)p->slot[i].count *
		       (UINT64_C(1) + p->slot[i].dummies + (p->slot[i].dummy_chance > 0));
	return sum;
}

static enum cm_rc size_check(const char *name, const struct pt_slot *s, enum cm_rc code, struct cm_err *err)
{
	if (s->count < 1 || s->count > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: %u slots of a kind, must be 1 to %u", name, (unsigned)s->count,
			PR_MESSAGES_MAX);
	if (s->groups < 1 || s->groups > PR_TALLIES_MAX)
		return cm_fail(err, code, "%s: %u groups in a slot, must be 1 to %u", name,
			(unsigned)s->groups, PR_TALLIES_MAX);
	return CM_OK;
}

enum cm_rc pt_slots_request(
	const char *name, const struct pt_request *r, struct pt_slot *slot, struct cm_err *err)
{
	struct pt_params p;
	enum cm_rc rc = size_check(name, slot, CM_ECONFIG, err);

	if (rc == CM_OK && r->shuffler_dummies != 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: the shuffler adds no dummies to a round of slots", name);
	if (rc == CM_OK)
		rc = pt_mixbins_request(name, slot->bins, r, &p, err);
	if (rc != CM_OK)
		return rc;
	slot->dummies = p.dummies;
	slot->dummy_chance = p.dummy_chance;
	slot->keep_always = p.keep_always;
	slot->keep = p.keep;
	return CM_OK;
}

static enum cm_rc limit(const char *name, const struct pt_params *p, enum cm_rc code, struct cm_err *err)
{
	if (p->slots < 1 || p->slots > PT_SLOTS_MAX)
		return cm_fail(err, code, "%s: %u kinds of slots, must be 1 to %u", name, (unsigned)p->slots,
			PT_SLOTS_MAX);
	if (messages_of(p) > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: %llu messages of a device, at most %u", name,
			(unsigned long long)messages_of(p), PR_MESSAGES_MAX);
	return CM_OK;
}

enum cm_rc pt_slots_limit(const struct pt_params *p, struct cm_err *err)
{
	return limit(p->protocol, p, CM_ECONFIG, err);
}

enum cm_rc pt_slots_check(const char *name, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc;

	if (strncmp(p->protocol, name, sizeof p->protocol) != 0)
		return cm_fail(err, CM_EPROTO, "%s: parameters of another protocol", name);
	if (p->bins != 0 || p->dummies != 0 || p->dummy_chance != 0 || p->keep_always || p->keep != 0 ||
		p->size != 0 || p->other != 0 || p->shuffler_dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: parameters beside its slots' own", name);
	rc = limit(name, p, CM_EPROTO, err);
	for (uint32_t i = 0; rc == CM_OK && i < p->slots; i++) {
		struct pt_params one = alone(name, &p->slot[i]);

		rc = size_check(name, &p->slot[i], CM_EPROTO, err);

		if (rc == CM_OK)
			rc = pt_mixbins_check(name, &one, err);
	}
	return rc;
}

uint32_t pt_slots_total(const struct pt_params *p)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < p->slots; i++)
		sum += p->slot[i].count;
	return sum;
}

const struct pt_slot *pt_slots_at(const struct pt_params *p, uint32_t i)
{
	const struct pt_slot *s = p->slot;

	while (i >= s->count)
		i -= s++->count;
	return s;
}

uint32_t pt_slots_messages(const struct pt_params *p)
{
	return (uint32_t)messages_of(p);
}

uint32_t pt_slots_record_len(const struct pt_params *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

/* a b and a + b, rounded up: what rounding took is known exactly (fma; Knuth's sum). */
static long double product_up(long double a, long double b)
{
	long double p = a * b;

	return fmal(a, b, -p) > 0 ? nextafterl(p, INFINITY) : p;
}

static long double sum_up(long double a, long double b)
{
	long double s = a + b, part = s - a;

	return (a - (s - part)) + (b - part) > 0 ? nextafterl(s, INFINITY) : s;
}

double pt_slots_epsilon0(const struct pt_params *p)
{
	long double sum = 0;

	for (uint32_t i = 0; i < p->slots; i++) {
		struct pt_params one = alone(p->protocol, &p->slot[i]);

		if (p->slot[i].keep_always)
			return INFINITY;
		sum = sum_up(sum, product_up(p->slot[i].count, pt_mixbins_epsilon0(&one)));
	}
	return pt_round_up(sum);
}

enum cm_rc pt_slots_loss(
	const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	out->parts = p->slots;
	for (uint32_t i = 0; i < p->slots; i++) {
		struct pt_params one = alone(p->protocol, &p->slot[i]);
		enum cm_rc rc = pt_mixbins_cells(&one, participants, &out->part[i], err);

		if (rc != CM_OK)
			return rc;
		out->part[i].count = p->slot[i].count;
	}
	return CM_OK;
}

/* The group, too, passes through masks: word() sees to it. */
void pt_slots_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	pt_word *word, const struct cm_rng *rng, uint8_t *records)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->slots; i++) {
		const struct pt_slot *s = &p->slot[i];
		struct pt_params one = alone(p->protocol, s);
		uint32_t messages = pt_mixbins_messages(&one);

		for (uint32_t c = 0; c < s->count; c++, at++) {
			uint64_t group = cm_rng_below(rng, s->groups);
			uint64_t own = word(q, p, value, at, (uint32_t)group, rng);

			pt_mixbins_hide(&one, group * s->bins + pt_mixbins_draw(&one, own, rng),
				(uint64_t)s->groups * s->bins, (uint16_t)at, rng, records);
			records += (size_t)messages * PT_RECORD_LEN;
		}
	}
}

enum cm_rc pt_slots_read(
	const struct pt_params *p, const uint8_t *record, struct pt_cell *out, struct cm_err *err)
{
	uint32_t slot = 0;
	uint64_t symbol = 0;
	const struct pt_slot *s;
	enum cm_rc rc = pt_record_slot(record, pt_slots_total(p), &slot, err);

	if (rc != CM_OK)
		return rc;
	s = pt_slots_at(p, slot);
	if (s->dummy_chance > 0 && pt_record_is_null(record)) {
		*out = (struct pt_cell){ .slot = slot, .null = true };
		return CM_OK;
	}
	rc = pt_record_value(record, (uint64_t)s->groups * s->bins, &symbol, err);
	if (rc == CM_OK)
		*out = (struct pt_cell){ .slot = slot,
			.group = (uint32_t)(symbol / s->bins),
			.word = (uint32_t)(symbol % s->bins) };
	return rc;
}

double pt_slot_keep(const struct pt_slot *s)
{
	struct pt_params one = alone("", s);

	return pt_mixbins_keep(&one);
}

double pt_slot_other(const struct pt_slot *s)
{
	struct pt_params one = alone("", s);

	return pt_mixbins_other(&one);
}

double pt_slot_epsilon0(const struct pt_slot *s)
{
	struct pt_params one = alone("", s);

	return pt_mixbins_epsilon0(&one);
}
