/* an_state.c - folds ledger records into the state of each round. */
#include "an_state.h"

#include <stdlib.h>
#include <string.h>

const char *an_stage_name(enum an_stage s)
{
	static const char *const name[] = {
		[AN_PLANNED] = "planned",
		[AN_RESERVED] = "reserved",
		[AN_CHARGED] = "charged",
		[AN_SETTLED] = "settled",
		[AN_REFUSED] = "refused",
		[AN_VOID] = "void",
	};

	return name[s];
}

enum cm_rc an_state_init(struct an_state *s, const struct pl_plan *plan, struct cm_err *err)
{
	memset(s, 0, sizeof *s);
	s->plan = plan;
	s->round = calloc(plan->rounds, sizeof *s->round);
	s->account = rd_account_new_mode(plan->epsilon, plan->delta, plan->mode);
	if (s->round == NULL || s->account == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < plan->rounds; i++) {
		s->round[i].plan = &plan->round[i];
		cm_buf_init(&s->round[i].descriptor_bytes, PR_DESCRIPTOR_MAX);
	}
	return CM_OK;
}

void an_state_fini(struct an_state *s)
{
	for (size_t i = 0; s->round != NULL && i < s->plan->rounds; i++) {
		rd_descriptor_fini(&s->round[i].descriptor);
		cm_buf_fini(&s->round[i].descriptor_bytes);
	}
	free(s->round);
	rd_account_free(s->account);
	memset(s, 0, sizeof *s);
}

static enum cm_rc other(struct cm_err *err, const char *what)
{
	return cm_fail(err, CM_ECONFIG,
		"the ledger was opened for another %s: a changed plan needs its own population and state_dir",
		what);
}

static enum cm_rc take_open(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	const struct pl_plan *p = s->plan;
	char want[17], got[17];

	if (s->opened || r->seq != 1)
		return cm_fail(err, CM_EDATA, "record %llu: a second opening", (unsigned long long)r->seq);
	if (strcmp(r->population, p->population) != 0)
		return other(err, "population");
	if (strcmp(r->mode, p->mode) != 0)
		return other(err, "mode");
	if (strcmp(r->unit, p->unit) != 0)
		return other(err, "privacy unit");
	if (r->epsilon_limit != p->epsilon || r->delta != p->delta)
		return cm_fail(err, CM_ECONFIG,
			"the ledger's budget is epsilon %g at delta %g, the plan says %g at %g: a budget is "
			"never "
			"changed",
			r->epsilon_limit, r->delta, p->epsilon, p->delta);
	/* A filter holds whatever the rounds to come are: each is checked against what was decided. */
	if (rd_mode_filter(p->mode) == 0 && memcmp(r->plan_hash, p->digest, PR_HASH_LEN) != 0) {
		cm_hex(r->plan_hash, 8, want);
		cm_hex(p->digest, 8, got);
		return cm_fail(err, CM_ECONFIG,
			"the plan file changed: the ledger was opened for digest %s.., this is %s..; rounds "
			"are "
			"fixed in advance, a new plan needs its own population and state_dir",
			want, got);
	}
	s->opened = true;
	return CM_OK;
}

static enum cm_rc changed(const struct rd_record *r, const char *query, struct cm_err *err)
{
	return cm_fail(err, CM_ECONFIG,
		"round %u (%s) was decided already and is not in the plan as it was: change or add rounds "
		"that are still to come, and leave the others in their places",
		r->plan_round, query);
}

/* The plan round a RESERVE or REFUSE names, which must still be planned. */
static enum cm_rc planned_round(
	struct an_state *s, const struct rd_record *r, struct an_round_state **out, struct cm_err *err)
{
	if (r->plan_round > s->plan->rounds && rd_mode_filter(s->plan->mode) != 0)
		return changed(r, r->kind == RD_REFUSE ? r->query : "reserved", err);
	if (r->plan_round < 1 || r->plan_round > s->plan->rounds)
		return cm_fail(err, CM_EDATA, "record %llu: round %u is not in the plan",
			(unsigned long long)r->seq, r->plan_round);
	*out = &s->round[r->plan_round - 1];
	if ((*out)->stage != AN_PLANNED)
		return cm_fail(err, CM_EDATA, "record %llu: round %u is %s already",
			(unsigned long long)r->seq, r->plan_round, an_stage_name((*out)->stage));
	return CM_OK;
}

/* Is this the round that was described?  Candidates that follow from an earlier answer are not the plan's. */
static bool same_round(const struct pl_round *p, const struct rd_descriptor *d)
{
	struct pt_query planned = p->query, described = d->query;

	if (p->after != 0)
		planned.categories = described.categories = 0;
	return pt_query_equal(&planned, &described) && pt_params_equal(&p->params, &d->params) &&
	       p->min_reports == d->min_batch && p->target == d->target_batch;
}

static enum cm_rc hold(struct an_state *s, const struct an_round_state *r, struct cm_err *err)
{
	struct pt_loss loss;
	uint8_t id[PR_ROUND_ID_LEN];
	enum cm_rc rc = an_round_loss(s, r, &loss, err);

	an_round_account_id(r, id);
	return rc == CM_OK ? rd_account_add(s->account, id, &loss, err) : rc;
}

static enum cm_rc take_reserve(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	struct an_round_state *round;
	enum cm_rc rc = planned_round(s, r, &round, err);

	if (rc != CM_OK)
		return rc;
	if (an_state_find(s, r->round_id) != NULL)
		return cm_fail(err, CM_EDATA, "record %llu: a round id twice", (unsigned long long)r->seq);
	if (cm_buf_put(&round->descriptor_bytes, r->descriptor.data, r->descriptor.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &round->descriptor, err);
	if (rc != CM_OK) {
		if (rc != CM_EINTERNAL)
			err->code = CM_EDATA;
		return cm_context(err, "record %llu", (unsigned long long)r->seq);
	}
	if (memcmp(round->descriptor.round_id, r->round_id, PR_ROUND_ID_LEN) != 0 ||
		round->descriptor.sequence != s->sequence + 1)
		return cm_fail(err, CM_EDATA, "record %llu: its descriptor is another round's",
			(unsigned long long)r->seq);
	if (strcmp(round->descriptor.mode, s->plan->mode) != 0)
		return cm_fail(err, CM_EDATA, "record %llu: a descriptor of mode %s",
			(unsigned long long)r->seq, round->descriptor.mode);
	if (!same_round(round->plan, &round->descriptor))
		return changed(r, round->descriptor.query.name, err);
	rc = hold(s, round, err);
	if (rc != CM_OK)
		return cm_context(err, "record %llu", (unsigned long long)r->seq);
	s->sequence = round->descriptor.sequence;
	memcpy(s->previous, round->descriptor.hash, PR_HASH_LEN);
	round->stage = AN_RESERVED;
	round->decided_seq = r->seq;
	round->reserved_ms = r->time_ms;
	round->epsilon_round = r->epsilon_round;
	round->epsilon_total = r->epsilon_total;
	return CM_OK;
}

static enum cm_rc take_refuse(struct an_state *s, const struct rd_record *r, struct cm_err *err)
{
	struct an_round_state *round;
	enum cm_rc rc = planned_round(s, r, &round, err);

	if (rc != CM_OK)
		return rc;
	if (strcmp(r->query, round->plan->query.name) != 0)
		return changed(r, r->query, err);
	round->stage = AN_REFUSED;
	round->decided_seq = r->seq;
	round->epsilon_round = r->epsilon_round;
	round->epsilon_total = r->epsilon_total;
	memcpy(round->reason, r->reason, sizeof round->reason);
	rc = an_round_holds(s, round) ? hold(s, round, err) : CM_OK;
	return rc == CM_OK ? rc : cm_context(err, "record %llu", (unsigned long long)r->seq);
}

/* CHARGE, SETTLE and VOID move a round on from the one stage that allows it. */
static enum cm_rc take_move(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err)
{
	struct an_round_state *round = an_state_find(s, r->round_id);
	enum an_stage from = r->kind == RD_SETTLE ? AN_CHARGED : AN_RESERVED;

	if (round == NULL || round->stage != from)
		return cm_fail(err, CM_EDATA, "record %llu: %s of a round that is %s",
			(unsigned long long)r->seq, rd_record_kind_name(r->kind),
			round != NULL ? an_stage_name(round->stage) : "unknown");
	if (r->kind == RD_SETTLE) {
		memcpy(round->result_hash, r->result_hash, PR_HASH_LEN);
		memcpy(round->reason, r->reason, sizeof round->reason);
		round->stage = AN_SETTLED;
		return CM_OK;
	}
	memcpy(round->manifest_hash, r->manifest_hash, PR_HASH_LEN);
	round->participants = r->participants;
	if (r->kind == RD_VOID) {
		memcpy(round->reason, r->reason, sizeof round->reason);
		round->stage = AN_VOID;
		(void)rd_account_remove(s->account, r->round_id);
		return CM_OK;
	}
	round->charge_seq = r->seq;
	memcpy(round->charge_head, head, PR_HASH_LEN);
	round->charged_ms = r->time_ms;
	round->stage = AN_CHARGED;
	return CM_OK;
}

enum cm_rc an_state_take(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err)
{
	if (r->kind == RD_OPEN)
		return take_open(s, r, err);
	if (!s->opened)
		return cm_fail(err, CM_EDATA, "record %llu: before the ledger was opened",
			(unsigned long long)r->seq);
	switch (r->kind) {
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

struct an_round_state *an_state_find(const struct an_state *s, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	for (size_t i = 0; i < s->plan->rounds; i++) {
		struct an_round_state *r = &s->round[i];

		if (r->descriptor_bytes.len > 0 &&
			memcmp(r->descriptor.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return r;
	}
	return NULL;
}

bool an_round_counts(const struct an_round_state *r)
{
	return r->stage == AN_RESERVED || r->stage == AN_CHARGED || r->stage == AN_SETTLED;
}

bool an_round_lost(const struct an_round_state *r)
{
	return r->stage == AN_SETTLED && r->reason[0] != '\0';
}

bool an_round_left_out(const struct an_round_state *r)
{
	return r->stage == AN_REFUSED &&
	       strncmp(r->reason, AN_NOTHING_TO_EXTEND, sizeof AN_NOTHING_TO_EXTEND - 1) == 0;
}

bool an_round_blocked(const struct an_round_state *r)
{
	return r->stage == AN_REFUSED && !an_round_left_out(r);
}

bool an_round_holds(const struct an_state *s, const struct an_round_state *r)
{
	return an_round_counts(r) || (rd_mode_filter(s->plan->mode) == 0 && an_round_left_out(r));
}

enum cm_rc an_round_loss(
	const struct an_state *s, const struct an_round_state *r, struct pt_loss *out, struct cm_err *err)
{
	return r->descriptor_bytes.len > 0 ? rd_loss(&r->descriptor, out, err)
					   : pl_round_loss(s->plan, r->plan, out, err);
}

void an_round_account_id(const struct an_round_state *r, uint8_t id[PR_ROUND_ID_LEN])
{
	memcpy(id, r->descriptor.round_id, PR_ROUND_ID_LEN);
	if (r->descriptor_bytes.len == 0)
		cm_put_le32(id, r->plan->number); /* random ones do not end in zeroes */
}

size_t an_state_count(const struct an_state *s, enum an_stage stage)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += s->round[i].stage == stage;
	return n;
}

size_t an_state_blocked(const struct an_state *s, const struct an_round_state **last)
{
	const struct an_round_state *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		if (!an_round_blocked(&s->round[i]))
			continue;
		found = &s->round[i];
		n++;
	}
	if (last != NULL)
		*last = found;
	return n;
}
