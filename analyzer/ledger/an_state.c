/* an_state.c - computes the state of each round from the ledger's records and the plans in them. */
#include "an_state.h"

#include <stdlib.h>
#include <string.h>

#include "an_budget.h"
#include "cm_buf.h"

enum cm_rc an_state_init(struct an_state *s, const struct pl_plan *plan, struct cm_err *err)
{
	memset(s, 0, sizeof *s);
	s->plan = plan;
	s->round = calloc(plan->rounds, sizeof *s->round);
	if (!s->round)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < plan->rounds; i++) {
		s->round[i].plan = &plan->round[i];
		cm_buf_init(&s->round[i].descriptor_bytes, PR_DESCRIPTOR_MAX);
	}
	return CM_OK;
}

static void round_fini(struct an_round_state *r)
{
	rd_descriptor_fini(&r->descriptor);
	cm_buf_fini(&r->descriptor_bytes);
}

void an_state_fini(struct an_state *s)
{
	for (size_t i = 0; s->round && i < s->plan->rounds; i++)
		round_fini(&s->round[i]);
	for (size_t i = 0; i < s->others; i++) {
		round_fini(&s->other[i]->state);
		free(s->other[i]);
	}
	for (size_t i = 0; i < s->plans; i++) {
		rd_plan_fini(&s->pinned[i]->signed_plan);
		rd_account_free(s->pinned[i]->account);
		free(s->pinned[i]);
	}
	free(s->round);
	free(s->other);
	free(s->pinned);
	memset(s, 0, sizeof *s);
}

/* ---- signed plans: which is the plan file's, and what it says of each round ---- */

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

/* Add a round of another plan than the file's, known by its descriptor alone; *out borrows its lists. */
static enum cm_rc add_other(struct an_state *s, const struct an_plan *p, const struct rd_descriptor *d,
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

/* Rounds of one query are recurrences, in the order of their numbers; those that did not fit come last. */
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

/* Note for the tables why a round did not fit: what the entries before it left for it. */
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

/* *out: whether this plan of the ledger is the plan of the plan file.  An adaptive plan may get more
 * rounds, so only its name is compared. */
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

/* ---- a plan is pinned ---- */

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

/* ---- records ---- */

static enum cm_rc take_open(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	if (s->opened || r->seq != 1)
		return cm_fail(err, CM_EDATA, "record %llu: a second opening", (unsigned long long)r->seq);
	if (strcmp(r->population, s->plan->population) != 0)
		return cm_fail(err, CM_ECONFIG,
			"the ledger is population '%s''s, the plan file is for '%s': another population "
			"needs its own state_dir",
			r->population, s->plan->population);
	if (strcmp(r->unit, s->plan->unit) != 0)
		return cm_fail(err, CM_ECONFIG, "the ledger was opened for another privacy unit");
	s->epsilon = r->epsilon_limit;
	s->delta = r->delta;
	s->opened = true;
	return CM_OK;
}

/* ---- rounds are decided ---- */

static enum cm_rc changed(const struct rd_record *r, const char *query, struct cm_err *err)
{
	return cm_fail(err, CM_ECONFIG,
		"round %u (%s) was decided already and is not in the plan as it was: change or add rounds "
		"that are still to come, and leave the others in their places",
		r->plan_round, query);
}

static struct an_plan *plan_of(const struct an_state *s, const struct rd_record *r)
{
	for (size_t i = 0; i < s->plans; i++)
		if (memcmp(s->pinned[i]->signed_plan.hash, r->plan_hash, PR_HASH_LEN) == 0)
			return s->pinned[i];
	return NULL;
}

/* Find a round of another plan than the plan file's. */
static struct an_round_state *other_round(const struct an_state *s, const struct an_plan *p, uint32_t number)
{
	for (size_t i = 0; i < s->others; i++)
		if (s->other[i]->state.of == p && s->other[i]->planned.number == number)
			return &s->other[i]->state;
	return NULL;
}

/* Find the plan and the round that a RESERVE or REFUSE names, which must not be decided yet.  *out is NULL
 * for a round of an adaptive plan that is not the plan file's, since nothing is known about it without its
 * descriptor. */
static enum cm_rc undecided(const struct an_state *s, const struct rd_record *r, struct an_plan **plan,
	struct an_round_state **out, struct cm_err *err)
{
	struct an_plan *p = *plan = plan_of(s, r);

	*out = NULL;
	if (!p)
		return cm_fail(err, CM_EDATA, "record %llu: of a plan that is not pinned",
			(unsigned long long)r->seq);
	bool adaptive = p->account;
	if (p->current && adaptive && r->plan_round > s->plan->rounds)
		return changed(r, r->kind == RD_REFUSE ? r->query : "reserved", err);
	if (p->current && r->plan_round <= s->plan->rounds)
		*out = &s->round[r->plan_round - 1];
	else
		*out = other_round(s, p, r->plan_round);
	if (!*out && !adaptive)
		return cm_fail(err, CM_EDATA, "record %llu: round %u is not in the plan",
			(unsigned long long)r->seq, r->plan_round);
	if (*out && !an_round_may_be_tried(*out))
		return cm_fail(err, CM_EDATA, "record %llu: round %u is %s already",
			(unsigned long long)r->seq, r->plan_round, an_stage_name((*out)->stage));
	return CM_OK;
}

/* Whether this descriptor describes the round.  Candidates that follow from an earlier answer are not
 * compared, since the plan does not hold them. */
static bool same_round(const struct pl_round *p, const struct rd_descriptor *d)
{
	struct qy_query planned = p->query, described = d->query;

	if (p->after != 0)
		planned.categories = described.categories = 0;
	return qy_query_equal(&planned, &described) && pt_randomizer_equal(&p->randomizer, &d->randomizer) &&
	       qy_computing_equal(&p->computing, &d->computing) && p->payload_max == d->payload_max &&
	       p->min_reports == d->min_reports && p->target == d->target;
}

/* In mode plan, check that a descriptor belongs to this entry and is its next try. */
static enum cm_rc check_try(const struct an_plan *p, const struct an_round_state *round,
	const struct rd_record *r, const struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = rd_plan_covers(&p->signed_plan, d, err);

	if (rc != CM_OK) {
		err->code = CM_EDATA;
		return cm_context(err, "record %llu", (unsigned long long)r->seq);
	}
	if (d->entry != r->plan_round || d->attempt != round->tries + 1 ||
		memcmp(d->void_manifest, round->void_manifest, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EDATA, "record %llu: not the next try of round %u",
			(unsigned long long)r->seq, r->plan_round);
	return CM_OK;
}

static enum cm_rc check_reserved(const struct an_state *s, const struct an_plan *p,
	const struct an_round_state *round, const struct rd_record *r, const struct rd_descriptor *d,
	struct cm_err *err)
{
	if (memcmp(d->round_id, r->round_id, PR_ROUND_ID_LEN) != 0 || d->sequence != s->sequence + 1)
		return cm_fail(err, CM_EDATA, "record %llu: its descriptor is another round's",
			(unsigned long long)r->seq);
	if (strcmp(d->mode, p->signed_plan.mode) != 0)
		return cm_fail(err, CM_EDATA, "record %llu: a descriptor of mode %s",
			(unsigned long long)r->seq, d->mode);
	if (!p->account)
		return check_try(p, round, r, d, err);
	return p->current && !same_round(round->plan, d) ? changed(r, d->query.name, err) : CM_OK;
}

static enum cm_rc hold(struct an_plan *p, const struct rd_descriptor *d, struct cm_err *err)
{
	struct pt_loss loss;
	enum cm_rc rc = p->account ? rd_loss(d, &loss, err) : CM_OK;

	return rc == CM_OK && p->account ? rd_account_add(p->account, d->round_id, &loss, err) : rc;
}

/* Begin a new try of the round. */
static enum cm_rc begin_try(struct an_round_state *round, const struct rd_record *r,
	const struct rd_descriptor *d, struct cm_err *err)
{
	round->descriptor_bytes.len = 0;
	if (cm_buf_put(&round->descriptor_bytes, r->descriptor.data, r->descriptor.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rd_descriptor_fini(&round->descriptor);
	round->descriptor = *d;
	round->stage = AN_RESERVED;
	round->decided_seq = r->seq;
	round->ended_ms = 0;
	round->epsilon_round = r->epsilon_round;
	round->epsilon_total = r->epsilon_total;
	round->participants = 0;
	round->reason[0] = '\0';
	return CM_OK;
}

static enum cm_rc take_reserve(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	struct an_plan *p;
	struct an_round_state *round;
	struct rd_descriptor d;
	enum cm_rc rc = undecided(s, r, &p, &round, err);

	if (rc != CM_OK)
		return rc;
	if (an_state_find(s, r->round_id))
		return cm_fail(err, CM_EDATA, "record %llu: a round id twice", (unsigned long long)r->seq);
	rc = rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &d, err);
	if (rc != CM_OK) {
		if (rc != CM_EINTERNAL)
			err->code = CM_EDATA;
		return cm_context(err, "record %llu", (unsigned long long)r->seq);
	}
	rc = check_reserved(s, p, round, r, &d, err);
	if (rc == CM_OK && !round)
		rc = add_other(s, p, &d, r->plan_round, &round, err);
	if (rc == CM_OK && (rc = hold(p, &d, err)) != CM_OK)
		(void)cm_context(err, "record %llu", (unsigned long long)r->seq);
	if (rc == CM_OK)
		rc = begin_try(round, r, &d, err);
	if (rc != CM_OK) {
		rd_descriptor_fini(&d);
		return rc;
	}
	s->sequence = d.sequence;
	memcpy(s->previous, d.hash, PR_HASH_LEN);
	return CM_OK;
}

static enum cm_rc take_refuse(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	struct an_plan *p;
	struct an_round_state *round;
	enum cm_rc rc = undecided(s, r, &p, &round, err);

	if (rc != CM_OK || !round)
		return rc;
	if (strcmp(r->query, round->plan->query.name) != 0)
		return p->account
			       ? changed(r, r->query, err)
			       : cm_fail(err, CM_EDATA, "record %llu: round %u is %s",
					 (unsigned long long)r->seq, r->plan_round, round->plan->query.name);
	round->stage = AN_REFUSED;
	round->decided_seq = r->seq;
	round->epsilon_round = r->epsilon_round;
	round->epsilon_total = r->epsilon_total;
	memcpy(round->reason, r->reason, sizeof round->reason);
	return CM_OK;
}

/* ---- rounds move on ---- */

/* A try that ended with a VOID manifest leaves the entry waiting for the next try.  So does a descriptor
 * that the shuffler refused to announce.  A try without a manifest may have been released, so no other try
 * follows.  In an adaptive plan a round returns its charge only if it was refused (doc/accounting.md,
 * 8). */
static void end_void(struct an_round_state *round, const struct rd_record *r)
{
	static const uint8_t none[PR_HASH_LEN];
	bool manifest = memcmp(r->manifest_hash, none, PR_HASH_LEN) != 0;

	memcpy(round->reason, r->reason, sizeof round->reason);
	round->stage = AN_VOID;
	if (manifest) {
		round->tries++;
		memcpy(round->void_manifest, r->manifest_hash, PR_HASH_LEN);
	} else {
		round->lost = !an_round_not_taken(round);
	}
	if (round->of->account) {
		if (an_round_not_taken(round))
			(void)rd_account_remove(round->of->account, r->round_id);
		return;
	}
	if (manifest ? round->tries < round->of->signed_plan.tries : an_round_not_taken(round))
		round->stage = AN_WAITING;
}

/* Move a round from the one stage that allows it to the next, for CHARGE, SETTLE and VOID. */
static enum cm_rc take_move(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err)
{
	struct an_round_state *round = an_state_find(s, r->round_id);
	enum an_stage from = r->kind == RD_SETTLE ? AN_CHARGED : AN_RESERVED;

	if (!round || round->stage != from)
		return cm_fail(err, CM_EDATA, "record %llu: %s of a round that is %s",
			(unsigned long long)r->seq, rd_record_kind_name(r->kind),
			round ? an_stage_name(round->stage) : "unknown");
	if (r->kind == RD_SETTLE) {
		memcpy(round->result_hash, r->result_hash, PR_HASH_LEN);
		memcpy(round->reason, r->reason, sizeof round->reason);
		round->stage = AN_SETTLED;
		round->ended_ms = r->time_ms;
		return CM_OK;
	}
	memcpy(round->manifest_hash, r->manifest_hash, PR_HASH_LEN);
	round->participants = r->participants;
	if (r->kind == RD_VOID) {
		round->ended_ms = r->time_ms;
		end_void(round, r);
		return CM_OK;
	}
	round->tries++;
	round->charge_seq = r->seq;
	memcpy(round->charge_head, head, PR_HASH_LEN);
	round->charged_ms = r->time_ms;
	round->stage = AN_CHARGED;
	return CM_OK;
}

enum cm_rc an_state_take(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err)
{
	enum cm_rc rc;

	if (r->kind == RD_OPEN)
		return take_open(s, r, err);
	if (!s->opened)
		return cm_fail(err, CM_EDATA, "record %llu: before the ledger was opened",
			(unsigned long long)r->seq);
	switch (r->kind) {
	case RD_PLAN:
		rc = an_state_pin(s, r->plan.data, r->plan.len, err);
		if (rc == CM_OK)
			s->pinned[s->plans - 1]->pinned_ms = r->time_ms;
		return rc == CM_OK || rc == CM_ECONFIG
			       ? rc
			       : cm_context(err, "record %llu", (unsigned long long)r->seq);
	case RD_RESERVE:
		return take_reserve(s, r, err);
	case RD_REFUSE:
		return take_refuse(s, r, err);
	case RD_CHARGE:
	case RD_SETTLE:
	case RD_VOID:
		return take_move(s, r, head, err);
	case RD_OPEN:
		break;
	}
	return cm_fail(err, CM_EDATA, "record %llu: unknown kind", (unsigned long long)r->seq);
}
