/* sh_play_plan.c - the plans and descriptors that the made-up analyzer of sh_play.h shows. */
#include "sh_play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sh_blanket.h"

void sh_play_plan_make(
	struct sh_play *p, const struct sh_wish *wish, const struct rd_descriptor *d, struct rd_record *r)
{
	struct rd_plan plan = { .number = p->plans + 1,
		.epsilon = wish->slice > 0 ? wish->slice : 20,
		.delta = wish->delta > 0 ? wish->delta : 1e-6,
		.honest_fraction = d->honest_fraction,
		.colluders = d->colluders,
		.tries = wish->plan_tries ? wish->plan_tries : 10,
		.file_hash = { 7 } };

	strcpy(plan.population, wish->population ? wish->population : SH_PLAY_POPULATION);
	strcpy(plan.name, "play");
	strcpy(plan.mode, wish->mode ? wish->mode : "plan");
	strcpy(plan.unit, "device");
	memcpy(plan.previous, p->plan_hash, PR_HASH_LEN);
	if (strcmp(plan.mode, "plan") == 0)
		plan.entries = wish->entries ? wish->entries : 1;
	plan.entry = calloc(plan.entries + 1, sizeof *plan.entry);
	assert_non_null(plan.entry);
	for (size_t i = 0; i < plan.entries; i++)
		plan.entry[i] = (struct rd_entry){ .number = (uint32_t)i + 1,
			.query = d->query,
			.randomizer = d->randomizer,
			.computing = d->computing,
			.payload_max = d->payload_max,
			.min_reports = d->min_reports,
			.target = d->target,
			.epsilon0 = d->privacy.epsilon0,
			.epsilon_round = 1,
			.epsilon_total = (double)i + 1 };
	p->plan.len = 0;
	if (rd_plan_encode(&plan, &p->plan, &p->err) != CM_OK)
		fail_msg("plan: %s", p->err.msg);
	free(plan.entry);
	assert_int_equal(cr_sign(p->analyzer.signer, RD_PURPOSE_PLAN, p->plan.data, p->plan.len,
				 p->plan_signature, &p->err),
		CM_OK);
	*r = (struct rd_record){ .kind = RD_PLAN, .plan = p->plan };
	memcpy(r->signature, p->plan_signature, CR_SIGN_LEN);
}

void sh_play_plan(struct sh_play *p, const struct sh_wish *wish, const struct rd_descriptor *d)
{
	struct rd_record r;

	sh_play_plan_make(p, wish, d, &r);
	if (sh_play_record(p, &r) != CM_OK)
		fail_msg("plan: %s", p->no.text);
	cr_sha256(p->plan.data, p->plan.len, p->plan_hash);
	p->plans++;
	sh_play_compose(p);
}

void sh_play_compose(struct sh_play *p)
{
	struct sh_compose *w;

	for (;;) {
		if (sh_core_compose(p->core, &w, &p->err) != CM_OK)
			fail_msg("compose: %s", p->err.msg);
		if (!w)
			return;
		sh_compose_run(w, NULL);
		if (sh_core_composed(p->core, w, &p->err) != CM_OK)
			fail_msg("composed: %s", p->err.msg);
		sh_compose_free(w);
	}
}

static void give_payload(struct rd_descriptor *d, struct cr_span payload)
{
	if (payload.len == 0)
		return;
	d->computing = (struct qy_computing){ .map = "statistics", .field = { "x" }, .fields = 1 };
	d->payload_max = 1 << 20;
	d->payload_size = payload.len;
	cr_sha256(payload.data, payload.len, d->payload_hash);
}

/* A round of its own plan, which is shown first, or of the last plan. */
static void name_entry(struct sh_play *p, const struct sh_wish *wish, struct rd_descriptor *out)
{
	struct rd_descriptor d = *out;

	if (wish->entry == 0 && p->core)
		sh_play_plan(p, wish, &d);
	if (strcmp(d.mode, "plan") == 0) {
		d.entry = wish->entry ? wish->entry : 1;
		d.attempt = wish->attempt ? wish->attempt : 1;
	}
	if (wish->void_manifest)
		memcpy(d.void_manifest, wish->void_manifest, PR_HASH_LEN);
	memcpy(d.plan_hash, p->plan_hash, PR_HASH_LEN);
	d.ledger_seq = p->chain.seq;
	memcpy(d.ledger_head, p->chain.head, PR_HASH_LEN);
	*out = d;
}

/* The row that is wished for, or one that has what is. */
static const struct pt_protocol *row_of(const struct sh_wish *wish)
{
	if (wish->row)
		return pt_find(wish->row->name);
	if (wish->noise_epsilon > 0)
		return pt_find("bins");
	return pt_find(wish->dummies || wish->shuffler_dummies ? "mixbins" : "grr");
}

/* The randomizer, and what of the descriptor follows from it. */
static void randomize(struct sh_play *p, const struct sh_wish *wish, struct rd_descriptor *d)
{
	const struct pt_protocol *row = row_of(wish);
	const struct pt_request request = { .epsilon0 = wish->noise_epsilon > 0 ? (double)INFINITY
							: wish->epsilon0 > 0    ? wish->epsilon0
										: 1,
		.dummies = wish->dummies,
		.min_reports = d->min_reports,
		.shuffler_dummies = wish->shuffler_dummies,
		.noise_epsilon = wish->noise_epsilon,
		.noise_delta = 1e-8 };

	assert_non_null(row);
	if (pt_derive(row, &d->query, &request, &d->randomizer, &p->err) != CM_OK)
		fail_msg("derive: %s", p->err.msg);
	d->randomizer.shuffler.tags = wish->tags;
	d->randomizer.shuffler.tag_messages = wish->tag_messages;
	memcpy(d->randomizer.shuffler.tag_least, wish->tag_least, sizeof d->randomizer.shuffler.tag_least);
	d->messages_per_client = d->randomizer.row->messages(&d->randomizer);
	d->record_len = d->randomizer.row->record_len(&d->randomizer);
	d->privacy.epsilon0 = d->randomizer.row->epsilon0(&d->randomizer);
}

void sh_play_describe(struct sh_play *p, const struct sh_wish *wish)
{
	static char *categories[] = { "a", "b", "c", "d" };
	struct rd_descriptor d = {
		.sequence = wish->sequence ? wish->sequence : p->sequence + 1,
		.query = { .kind = QY_HISTOGRAM,
			.name = "q",
			.field = "f",
			.category = categories,
			.categories = wish->categories ? wish->categories : 4,
			.none = wish->none },
		.min_reports = wish->min_reports ? wish->min_reports : 1000,
		.target = wish->target ? wish->target : 2000,
		.honest_fraction = 1,
		.opens_ms = p->now_ms,
		.deadline_ms = p->now_ms + (wish->window_ms ? wish->window_ms : 60000),
		.suite = CR_HPKE_AES128GCM,
		.hpke_key = { 9 },
		.privacy = { .epsilon_round = 1, .epsilon_total = 1, .epsilon_limit = 10, .delta = 1e-6 },
		.unit = "device",
	};

	strcpy(d.population, wish->population ? wish->population : SH_PLAY_POPULATION);
	if (wish->hpke_key)
		memcpy(d.hpke_key, wish->hpke_key, sizeof d.hpke_key);
	p->rng.fill(p->rng.ctx, d.round_id, sizeof d.round_id);
	if (d.sequence > 1)
		memcpy(d.previous, p->previous, PR_HASH_LEN);
	strcpy(d.mode, wish->mode ? wish->mode : "plan");
	randomize(p, wish, &d);
	give_payload(&d, wish->payload);
	name_entry(p, wish, &d);
	p->descriptor.len = 0;
	if (rd_descriptor_encode(&d, &p->descriptor, &p->err) != CM_OK)
		fail_msg("descriptor: %s", p->err.msg);
	rd_descriptor_fini(&p->d);
	if (rd_descriptor_decode(p->descriptor.data, p->descriptor.len, &p->d, &p->err) != CM_OK)
		fail_msg("descriptor: %s", p->err.msg);
	assert_int_equal(cr_sign(p->analyzer.signer, RD_PURPOSE_DESCRIPTOR, p->descriptor.data,
				 p->descriptor.len, p->signature, &p->err),
		CM_OK);
}
