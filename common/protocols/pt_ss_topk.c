/* pt_ss_topk.c - SS-Topk: the k coordinates that are furthest from the middle, evened by the shuffler.
 *
 * Which coordinates a device sends depends on its values, and the shuffler sees them: what protects them from
 * it is no differential privacy (doc/protocols.md, "FLAME").  A client takes part only if its policy says so.
 */
#include <math.h>
#include <stdio.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_flame.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

static const char name[] = "ss-topk";

/* size: coordinates sent for their value.  The slot's dummies are the client's own, of coordinates drawn
 * uniformly; its groups are the coordinates. */
static enum cm_rc shape_check(
	const struct pt_query *q, uint32_t sent, uint32_t dummies, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", name);
	if (q->dimension > PT_TAGS_MAX)
		return cm_fail(err, code, "%s: %u coordinates, at most %u", name, (unsigned)q->dimension,
			PT_TAGS_MAX);
	if (sent < 1 || sent >= q->dimension || sent > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: size %u, must be 1 to %u coordinates", name, (unsigned)sent,
			(unsigned)q->dimension - 1);
	if (dummies > PR_MESSAGES_MAX - sent)
		return cm_fail(err, code, "%s: more than %u messages of a device", name, PR_MESSAGES_MAX);
	return CM_OK;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = 1, .tags = q->dimension, .size = r->size != 0 ? r->size : 1 };
	enum cm_rc rc = shape_check(q, made.size, r->dummies, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	made.slot[0] = (struct pt_slot){ .count = 1, .groups = q->dimension, .bins = pt_flame_levels(r) };
	/* Nobody is dropped even where all send the same coordinate. */
	made.tag_messages = r->padded != 0 ? r->padded : r->min_batch > 0 ? r->min_batch : 1;
	rc = pt_slots_request(name, r, &made.slot[0], err);
	if (rc == CM_OK)
		rc = pt_flame_padded(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		rc = pt_slots_count_check(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slot[0];
	struct pt_params slots = *p;
	enum cm_rc rc;

	slots.size = 0;
	rc = pt_slots_check(name, &slots, err);
	if (rc == CM_OK)
		rc = shape_check(q, p->size, s->dummies, CM_EPROTO, err);
	if (rc == CM_OK && (p->slots != 1 || s->count != 1 || s->groups != q->dimension || s->keep_always ||
				   p->tags != q->dimension))
		rc = cm_fail(err, CM_EPROTO,
			"%s: one slot of all coordinates, a tag for each and a keep probability are wanted",
			name);
	if (rc == CM_OK)
		rc = pt_flame_padded(p, CM_EPROTO, err);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

static uint32_t messages(const struct pt_params *p)
{
	return p->size + p->slot[0].dummies;
}

static struct pt_params one_message(const struct pt_params *p)
{
	struct pt_params one = { .bins = p->slot[0].bins, .keep = p->slot[0].keep };

	(void)snprintf(one.protocol, sizeof one.protocol, "%s", p->protocol);
	return one;
}

/* Shuffler and analyzer together read the choice of coordinates, which nothing hides. */
static double epsilon0(const struct pt_params *p)
{
	(void)p;
	return INFINITY;
}

/* Up to 2k coordinates change; about each the victim's message is one of tag_messages, of which every other
 * hides it as another participant's would at least.  If the shuffler does not fill up, the analyzer sees how
 * many sent a coordinate, and that is a function of their values. */
static enum cm_rc loss(
	const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	struct pt_params one = one_message(p);
	enum cm_rc rc;

	(void)participants;
	out->parts = 1;
	if (p->tag_messages == 0) {
		one.keep_always = true;
		one.keep = 0;
		return pt_mixbins_cells(&one, 1, &out->part[0], err);
	}
	rc = pt_mixbins_cells(&one, p->tag_messages, &out->part[0], err);
	out->part[0].count = UINT64_C(2) * p->size;
	return rc;
}

/* The k largest distances from the middle, equal ones in the order of the coordinates: k times all
 * coordinates are looked at, and what was taken is below the last key. */
static uint32_t next_coordinate(const struct pt_query *q, const struct pt_value *value, uint64_t *last)
{
	uint64_t best = 0;

	for (uint32_t c = 0; c < q->dimension; c++) {
		uint64_t x = value->at[c], middle = UINT64_C(1) << 30;
		uint64_t above = pt_below_mask(middle, x);
		uint64_t key = pt_choose(above, x - middle, middle - x) << 20 | (PT_TAGS_MAX + 1 - c);
		uint64_t better = pt_below_mask(key, *last) & pt_below_mask(best, key);

		best = pt_choose(better, key, best);
	}
	*last = best;
	return (uint32_t)(PT_TAGS_MAX + 1 - (best & 0xfffff));
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	struct pt_params one = one_message(p);
	uint64_t last = UINT64_C(1) << 62, m = messages(p);

	for (uint32_t i = 0; i < p->size; i++) {
		uint32_t c = next_coordinate(q, value, &last);
		uint64_t level = pt_flame_level(pt_vector_pick(q, value, c), p->slot[0].bins - 1, rng);

		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			(uint64_t)c * p->slot[0].bins + pt_mixbins_draw(&one, level, rng));
	}
	for (uint32_t i = p->size; i < m; i++)
		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			cm_rng_below(rng, (uint64_t)p->slot[0].groups * p->slot[0].bins));
	pt_record_permute(records, (size_t)m, rng);
}

static void route(
	const struct pt_params *p, const struct pt_value *value, const uint8_t *records, uint16_t *tags)
{
	uint32_t m = messages(p);

	(void)value;
	for (uint32_t i = 0; i < m; i++)
		tags[i] = (uint16_t)pt_flame_group(&p->slot[0], records + (size_t)i * PT_RECORD_LEN);
}

static void dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	pt_record_put(record, (uint64_t)tag * p->slot[0].bins + cm_rng_below(rng, p->slot[0].bins));
}

/* What nobody sent counts as the middle. */
static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	const struct pt_kept all = { .mean = (double)reports };

	return pt_flame_estimate(q, p, counts, &all, reports, out, err);
}

/* Of a coordinate that all send or, if that is worse, none. */
static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	const struct pt_kept all = { .mean = (double)participants };
	double filled = fmax((double)p->tag_messages, (double)participants);

	return fmax(pt_flame_expected(q, p, &all, filled), pt_flame_unsent(q, p, all.mean, filled));
}

const struct pt_protocol pt_row_ss_topk = {
	.name = name,
	.summary = "FLAME's SS-Topk: the coordinates furthest from the middle; the shuffler sees which",
	.derive = derive,
	.check = check,
	.messages = messages,
	.record_len = pt_slots_record_len,
	.epsilon0 = epsilon0,
	.loss = loss,
	.encode = encode,
	.route = route,
	.routes_by_value = true,
	.dummy = dummy,
	.kinds = PT_VECTOR,
	.tallies = pt_slots_symbols,
	.tally = pt_slots_tally,
	.estimate = estimate,
	.expected_error = expected_error,
	.statement = pt_ss_topk_statement,
};
