/* an_reserve.c - builds descriptors and the records that decide about a round. */
#include "an_reserve.h"

#include <stdio.h>
#include <string.h>

#include "an_budget.h"

void an_open_record(
	const struct pl_plan *p, double epsilon, double delta, int64_t now_ms, struct rd_record *out)
{
	*out = (struct rd_record){
		.kind = RD_OPEN, .time_ms = now_ms, .epsilon_limit = epsilon, .delta = delta
	};
	(void)snprintf(out->population, sizeof out->population, "%s", p->population);
	(void)snprintf(out->unit, sizeof out->unit, "%s", p->unit);
}

/* d borrows the query's lists, so it is for encoding only. */
static void describe(const struct an_state *s, const struct an_reservation *v, struct rd_descriptor *d)
{
	const struct pl_plan *p = s->plan;
	const struct pl_round *r = v->round->plan;

	pl_round_describe(p, r, d);
	d->sequence = s->sequence + 1;
	d->query = *v->query;
	d->payload_size = v->payload_size;
	d->opens_ms = v->now_ms;
	d->deadline_ms = v->now_ms + r->window_ms;
	d->suite = CR_HPKE_AES128GCM;
	d->privacy = (struct rd_privacy){ .epsilon0 = r->epsilon0,
		.epsilon_round = v->verdict->epsilon_round,
		.epsilon_total = v->verdict->total,
		.epsilon_limit = p->epsilon,
		.delta = p->delta };
	d->ledger_seq = v->chain->seq;
	memcpy(d->round_id, v->round_id, PR_ROUND_ID_LEN);
	memcpy(d->payload_hash, v->payload_hash, PR_HASH_LEN);
	memcpy(d->previous, s->previous, PR_HASH_LEN);
	memcpy(d->hpke_key, v->hpke_key, CR_HPKE_PUBLIC_LEN);
	memcpy(d->plan_hash, s->current->signed_plan.hash, PR_HASH_LEN);
	if (v->round->entry) {
		d->entry = v->round->entry->number;
		d->attempt = v->round->tries + 1;
		memcpy(d->void_manifest, v->round->void_manifest, PR_HASH_LEN);
	}
	memcpy(d->ledger_head, v->chain->head, PR_HASH_LEN);
}

static void decide(const struct an_reservation *v, enum rd_record_kind kind, struct rd_record *out)
{
	*out = (struct rd_record){ .kind = kind,
		.time_ms = v->now_ms,
		.epsilon_round = v->verdict->epsilon_round,
		.epsilon_total = v->verdict->total,
		.plan_round = v->round->plan->number };
	memcpy(out->round_id, v->round_id, PR_ROUND_ID_LEN);
	memcpy(out->plan_hash, v->round->of->signed_plan.hash, PR_HASH_LEN);
}

enum cm_rc an_reserve_record(
	const struct an_state *s, const struct an_reservation *v, struct rd_record *out, struct cm_err *err)
{
	struct rd_descriptor d;
	struct rd_descriptor again = { 0 };
	enum cm_rc rc;

	decide(v, RD_RESERVE, out);
	cm_buf_init(&out->descriptor, PR_DESCRIPTOR_MAX);
	describe(s, v, &d);
	rc = rd_descriptor_encode(&d, &out->descriptor, err);
	/* Do not reserve a round that the other parties would refuse. */
	if (rc == CM_OK)
		rc = rd_descriptor_decode(out->descriptor.data, out->descriptor.len, &again, err);
	rd_descriptor_fini(&again);
	if (rc != CM_OK) {
		rd_record_fini(out);
		return cm_context(err, "round %u", v->round->plan->number);
	}
	return CM_OK;
}

void an_refuse_record(const struct an_reservation *v, const char *reason, struct rd_record *out)
{
	decide(v, RD_REFUSE, out);
	(void)snprintf(out->query, sizeof out->query, "%s", v->round->plan->query.name);
	if (reason)
		(void)snprintf(out->reason, sizeof out->reason, "%s", reason);
	else
		an_budget_words(v->verdict, out->reason, sizeof out->reason);
}
