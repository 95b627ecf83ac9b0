/* an_state_plan.c - takes signed plans into the state: which is the plan file's, and what it says of each
 * round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_budget.h"
#include "an_state_private.h"
#include "cm_buf.h"

uint64_t an_state_next_plan(const struct an_state *s, uint8_t previous[PR_HASH_LEN])
{
	memset(previous, 0, PR_HASH_LEN);
	if (s->plans > 0)
		memcpy(previous, s->pinned[s->plans - 1]->signed_plan.hash, PR_HASH_LEN);
	return s->plans + 1;
}

/* ---- rounds of other plans ---- */

static struct an_other *new_other(struct an_state *s)
{
	struct an_other **grown = cm_grow(s->other, s->others, &s->others_room, sizeof(struct an_other *));
	struct an_other *o = calloc(1, sizeof *o);

	s->other = grown ? grown : s->other;
	if (!grown || !o) {
		free(o);
		return NULL;
	}
	o->state.plan = &o->planned;
	cm_buf_init(&o->state.descriptor_bytes, PR_DESCRIPTOR_MAX);
	s->other[s->others++] = o;
	return o;
}

enum cm_rc an_state_add_other(struct an_state *s, const struct an_plan *p, const struct rd_descriptor *d,
	uint32_t number, struct an_round_state **out, struct cm_err *err)
{
	struct an_other *o = new_other(s);

	if (!o)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	o->planned = (struct pl_round){ .number = number,
		.query = d->query,
		.protocol = pt_protocol_of(d->randomizer.row),
		.randomizer = d->randomizer,
		.computing = d->computing,
		.payload_max = d->payload_max,
		.epsilon0 = d->privacy.epsilon0,
		.min_reports = d->min_reports,
		.target = d->target };
	pl_label(d->query.name, 0, 0, o->planned.label);
	o->state.of = p;
	*out = &o->state;
	return CM_OK;
}

/* Rounds of one query are recurrences, in the order of their numbers; those that did not fit are the last. */
static void name_entry(const struct rd_plan *p, const struct rd_entry *e, struct pl_round *out)
{
	uint32_t before = 0, all = 0;

	for (size_t i = 0; i < p->entries; i++)
		if (strcmp(p->entry[i].query.name, e->query.name) == 0) {
			before += p->entry[i].number < e->number;
			all++;
		}
	for (size_t i = 0; i < p->refusals; i++)
		all += strcmp(p->refused[i].query, e->query.name) == 0;
	if (all > 1) {
		out->recurrence = before + 1;
		out->recurrences = all;
	}
	pl_label(e->query.name, out->recurrence, all, out->label);
}

static enum cm_rc add_entries(struct an_state *s, const struct an_plan *p, struct cm_err *err)
{
	for (size_t i = 0; i < p->signed_plan.entries; i++) {
		const struct rd_entry *e = &p->signed_plan.entry[i];
		struct an_other *o = new_other(s);

		if (!o)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		o->planned = (struct pl_round){ .number = e->number,
			.query = e->query,
			.protocol = pt_protocol_of(e->randomizer.row),
			.randomizer = e->randomizer,
			.computing = e->computing,
			.payload_max = e->payload_max,
			.epsilon0 = e->epsilon0,
			.min_reports = e->min_reports,
			.target = e->target };
		name_entry(&p->signed_plan, e, &o->planned);
		o->state.of = p;
		o->state.entry = e;
		o->state.epsilon_round = e->epsilon_round;
		o->state.epsilon_total = e->epsilon_total;
	}
	return CM_OK;
}

/* ---- the plan file's ---- */

static bool same_entry(const struct pl_round *r, const struct rd_entry *e)
{
	struct qy_query planned = r->query, signed_query = e->query;

	if (r->after != 0)
		planned.categories = signed_query.categories = 0;
	return qy_query_equal(&planned, &signed_query) &&
	       pt_randomizer_equal(&r->randomizer, &e->randomizer) &&
	       qy_computing_equal(&r->computing, &e->computing) && r->payload_max == e->payload_max &&
	       r->min_reports == e->min_reports && r->target == e->target;
}

static enum cm_rc not_the_same(uint32_t number, struct cm_err *err)
{
	return cm_fail(err, CM_ECONFIG,
		"round %u of the plan file is not what was signed for the same file: another version of "
		"this program made that plan, and finishes it",
		number);
}

static enum cm_rc join_entries(struct an_state *s, const struct an_plan *p, struct cm_err *err)
{
	const struct rd_plan *sp = &p->signed_plan;

	if (sp->entries + sp->refusals != s->plan->rounds)
		return not_the_same((uint32_t)s->plan->rounds, err);
	for (size_t i = 0; i < sp->entries; i++) {
		const struct rd_entry *e = &sp->entry[i];
		struct an_round_state *r;

		if (e->number > s->plan->rounds || !same_entry(&s->plan->round[e->number - 1], e))
			return not_the_same(e->number, err);
		r = &s->round[e->number - 1];
		r->entry = e;
		r->epsilon_round = e->epsilon_round;
		r->epsilon_total = e->epsilon_total;
	}
	for (size_t i = 0; i < sp->refusals; i++) {
		const struct rd_refused *f = &sp->refused[i];
		struct an_round_state *r;

		if (f->number > s->plan->rounds || s->round[f->number - 1].entry ||
			strcmp(f->query, s->plan->round[f->number - 1].query.name) != 0)
			return not_the_same(f->number, err);
		r = &s->round[f->number - 1];
		r->stage = AN_REFUSED;
		r->epsilon_round = f->epsilon_round;
		r->epsilon_total = f->epsilon_total;
	}
	return CM_OK;
}

/* What a table says of a round that did not fit: what was left for it beside the entries before it. */
static void say_refused(struct an_state *s, const struct an_plan *p)
{
	for (size_t i = 0; i < s->plan->rounds; i++) {
		struct an_round_state *r = &s->round[i];
		struct rd_verdict v = { .epsilon_round = r->epsilon_round, .limit = p->signed_plan.epsilon };

		if (r->entry)
			continue;
		double before = an_state_spent_before(s, r);
		v.left = v.limit > before ? v.limit - before : 0;
		an_budget_words(&v, r->reason, sizeof r->reason);
	}
}

/* An adaptive plan may grow, so its name is what makes it the plan file's. */
static enum cm_rc is_current(const struct an_state *s, const struct rd_plan *p, bool *out, struct cm_err *err)
{
	const struct pl_plan *f = s->plan;

	*out = memcmp(p->file_hash, f->digest, PR_HASH_LEN) == 0;
	if (!rd_plan_is_adaptive(p) || rd_mode_filter(f->mode) == 0)
		return CM_OK;
	*out = strcmp(p->name, f->name) == 0;
	if (*out && (strcmp(p->mode, f->mode) != 0 || p->epsilon != f->epsilon || p->delta != f->delta ||
			    p->honest_fraction != f->honest_fraction || p->colluders != f->colluders))
		return cm_fail(err, CM_ECONFIG,
			"plan %s has a slice of epsilon %g at delta %g in mode %s, and the file says "
			"otherwise: a slice, its "
			"filter and who is honest are never changed; another plan needs another name",
			p->name, p->epsilon, p->delta, p->mode);
	return CM_OK;
}

/* ---- */

static enum cm_rc check_chain(const struct an_state *s, const struct rd_plan *p, struct cm_err *err)
{
	uint8_t previous[PR_HASH_LEN];

	if (strcmp(p->population, s->plan->population) != 0 || strcmp(p->unit, s->plan->unit) != 0)
		return cm_fail(err, CM_EDATA, "a plan of another population");
	if (p->number != an_state_next_plan(s, previous) || memcmp(p->previous, previous, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EDATA, "plan %llu does not follow the plan before it",
			(unsigned long long)p->number);
	return CM_OK;
}

static enum cm_rc adopt(struct an_state *s, struct an_plan *p, struct cm_err *err)
{
	struct an_plan **grown = cm_grow(s->pinned, s->plans, &s->plans_room, sizeof(struct an_plan *));
	enum cm_rc rc = CM_OK;

	s->pinned = grown ? grown : s->pinned;
	if (!grown)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rd_plan_is_adaptive(&p->signed_plan)) {
		p->account = rd_account_new_mode(
			p->signed_plan.epsilon, p->signed_plan.delta, p->signed_plan.mode);
		if (!p->account)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	s->pinned[s->plans++] = p;
	rd_slices_add(&s->slices, &p->signed_plan);
	if (!p->current)
		return add_entries(s, p, err);
	s->current = p;
	for (size_t i = 0; i < s->plan->rounds; i++)
		s->round[i].of = p;
	if (!p->account)
		rc = join_entries(s, p, err);
	if (rc == CM_OK && !p->account)
		say_refused(s, p);
	return rc;
}

enum cm_rc an_state_pin(struct an_state *s, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	struct an_plan *p = calloc(1, sizeof *p);
	enum cm_rc rc = p ? rd_plan_decode(bytes, len, &p->signed_plan, err)
			  : cm_fail(err, CM_EINTERNAL, "out of memory");
	size_t before = s->plans;

	if (rc == CM_EPROTO)
		rc = err->code = CM_EDATA;
	if (rc == CM_OK)
		rc = check_chain(s, &p->signed_plan, err);
	if (rc == CM_OK && !rd_slices_fit(&s->slices, &p->signed_plan, s->epsilon, s->delta))
		rc = cm_fail(err, CM_EDATA, "plan %llu takes more than the population's budget has left",
			(unsigned long long)p->signed_plan.number);
	if (rc == CM_OK)
		rc = is_current(s, &p->signed_plan, &p->current, err);
	if (rc == CM_OK && p->current && s->current)
		rc = cm_fail(err, CM_EDATA, "a plan file was pinned twice");
	if (rc == CM_OK)
		rc = adopt(s, p, err);
	if (s->plans == before && p) {
		rd_plan_fini(&p->signed_plan);
		rd_account_free(p->account);
		free(p);
	}
	return rc;
}
