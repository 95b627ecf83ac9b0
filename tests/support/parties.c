/* parties.c - a client and a shuffler by their cores, whose states can be taken back. */
#include "parties.h"

#include <string.h>

#include "cl_encode.h"
#include "cl_tries.h"
#include "sh_compose.h"

static struct cm_err err;

void parties_make(struct parties *p)
{
	static char population[] = "test";

	memset(p, 0, sizeof *p);
	cl_world_make(&p->world);
	/* Nothing here is read after a crash, so nothing is synced. */
	assert_int_equal(db_run(p->world.db->sql, "PRAGMA synchronous = OFF", &err), CM_OK);
	p->policy = (struct sh_policy){ .shared.population = population,
		.shared.max_epsilon0 = 8,
		.shared.min_batch = 1,
		.shared.max_epsilon = 100,
		.shared.delta = 0.9,
		.shared.max_plan_entries = 256,
		.shared.max_payload = 1 << 20,
		.shared.max_tries = 3,
		.max_target = 10000,
		.shared.honest_fraction = 1,
		.max_share = 1 };
	cm_buf_init(&p->offer.bytes, PR_DESCRIPTOR_MAX);
}

void parties_free(struct parties *p)
{
	rd_plan_fini(&p->plan);
	cm_buf_fini(&p->offer.bytes);
	cl_world_free(&p->world);
}

/* ---- The plan ---- */

static struct rd_record plan_record(const struct parties *p)
{
	const struct cl_world *w = &p->world;
	const struct cl_world_plan *made = &w->plan[(w->plans - 1) % CL_WORLD_PLANS];
	struct rd_record r = { .kind = RD_PLAN, .seq = 2, .plan = made->bytes };

	memcpy(r.signature, made->signature, CR_SIGN_LEN);
	return r;
}

static struct sh_plans *ledger_of(const struct parties *p)
{
	const struct rd_record r = plan_record(p);
	struct sh_plans *plans;

	assert_int_equal(sh_plans_new(&p->policy, 0, &plans, &err), CM_OK);
	assert_int_equal(sh_plans_add(plans, &r, &err), CM_OK);
	return plans;
}

static void pin_at_shuffler(struct parties *p, struct cr_span bytes)
{
	struct sh_plans *plans = ledger_of(p);
	struct sh_compose *w;

	assert_int_equal(sh_compose_pin(&p->policy, sh_plans_at(plans, 0), bytes, &w, &err), CM_OK);
	w->decided = sh_plans_decide(plans, w->plan);
	assert_int_equal(w->decided, SH_PIN_WAITS);
	sh_compose_run(w, NULL);
	assert_int_equal(w->rc, CM_OK);
	p->pin = w->pin;
	sh_compose_free(w);
	sh_plans_free(plans);
}

void parties_plan(struct parties *p, const struct rd_plan *plan, struct cl_offer *like)
{
	struct cl_pin pin;

	cl_offer_plan(&p->world, plan, like);
	const struct rd_record r = plan_record(p);
	assert_int_equal(rd_plan_decode(r.plan.data, r.plan.len, &p->plan, &err), CM_OK);
	pin_at_shuffler(p, (struct cr_span){ r.plan.data, r.plan.len });
	assert_true(cl_world_learn(&p->world, p->plan.hash));
	if (cl_world_pin(p->world.db, &p->world.policy, &p->plan, NULL, CL_WORLD_NOW, &pin, &err) != CM_OK)
		fail_msg("the client's pin: %s", err.msg);
}

/* ---- The client's state ---- */

static void copy(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");

	assert_non_null(b);
	assert_int_equal(sqlite3_backup_step(b, -1), SQLITE_DONE);
	assert_int_equal(sqlite3_backup_finish(b), SQLITE_OK);
}

sqlite3 *parties_keep(struct parties *p)
{
	sqlite3 *kept = NULL;

	assert_int_equal(sqlite3_open(":memory:", &kept), SQLITE_OK);
	copy(p->world.db->sql, kept);
	return kept;
}

void parties_put_back(struct parties *p, sqlite3 *kept)
{
	copy(kept, p->world.db->sql);
}

/* ---- Tries ---- */

void parties_announce(struct parties *p, size_t at, const struct rd_descriptor *d, const uint8_t *named)
{
	struct party_try *t = &p->path[at];

	assert_true(at < PARTIES_TRIES);
	*t = (struct party_try){ .d = *d };
	t->d.sequence = at + 1;
	t->d.ledger_seq = 3 * at + 1;
	p->world.rng.fill(p->world.rng.ctx, t->d.round_id, sizeof t->d.round_id);
	memset(t->d.void_manifest, 0, PR_HASH_LEN);
	if (at > 0)
		memcpy(t->d.previous, p->path[at - 1].d.hash, PR_HASH_LEN);
	if (named)
		memcpy(t->d.void_manifest, named, PR_HASH_LEN);
	p->offer.d = t->d;
	cl_offer_sign(&p->world, &p->offer);
	t->d = p->offer.d;
}

bool parties_shuffler(struct parties *p, size_t at)
{
	const struct cr_span taken = { p->pin.taken, (p->pin.entries + 7) / 8 };
	struct sh_plans *plans = ledger_of(p);
	struct sh_plan *plan = sh_plans_at(plans, 0);
	struct sh_refusal no;

	assert_int_equal(sh_plans_pinned(plans, plan, SH_PIN_TAKEN, p->pin.epsilon, taken, &err), CM_OK);
	for (size_t i = 0; i < at; i++) {
		const struct party_try *t = &p->path[i];
		const struct cr_span manifest = { t->manifest, t->len };

		assert_int_equal(sh_plans_began(plans, &t->d, &err), CM_OK);
		sh_plans_ended(plans, &t->d, t->sealed ? NULL : &manifest);
	}
	enum cm_rc rc = sh_plans_judge(plans, plan, &p->plan, &p->path[at].d, false, &no);
	sh_plans_free(plans);
	return rc == CM_OK;
}

static enum cm_rc judge(struct parties *p, const char *absent, struct cl_judgement *j)
{
	const struct cl_offer *o = &p->offer;
	const struct cl_judge_job job = { .db = p->world.db,
		.policy = &p->world.policy,
		.analyzer = p->world.analyzer.verifier,
		.descriptor = o->bytes.data,
		.descriptor_len = o->bytes.len,
		.signature = o->signature,
		.signature_len = sizeof o->signature,
		.now_ms = CL_WORLD_NOW,
		.absent = absent };

	return cl_judge(&job, j, &err);
}

static void learn(struct parties *p, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	const struct party_try *t = p->path;

	while (memcmp(t->d.round_id, round_id, PR_ROUND_ID_LEN) != 0)
		assert_true(++t < p->path + PARTIES_TRIES);
	assert_int_equal(cl_manifest_learn(p->world.db, p->world.dir, p->world.shuffler.verifier, round_id,
				 t->manifest, t->len, t->signature, CL_WORLD_NOW, &err),
		CM_OK);
}

static void report(struct parties *p, const struct cl_judgement *j)
{
	struct cl_entry e = { .pseudonym = { 1 } };
	const struct cl_opening opening = { .d = &j->d,
		.descriptor = p->offer.bytes.data,
		.descriptor_len = p->offer.bytes.len,
		.signature = p->offer.signature,
		.charge = j->charge };
	const uint8_t salt[PR_HASH_LEN] = { 1 };
	uint8_t sealed[4096];
	size_t len = cd_device_len(&j->d);

	assert_true(len <= sizeof sealed);
	assert_int_equal(cl_encode(&j->d, &e, 1, &p->world.rng, sealed, &err), CM_OK);
	assert_int_equal(
		cl_reports_put(p->world.db, &opening, &e, 1, salt, sealed, len, CL_WORLD_NOW, &err), CM_OK);
	assert_int_equal(cl_reports_erase(p->world.db, &j->d, CL_WORLD_NOW, &err), CM_OK);
}

bool parties_client(struct parties *p, size_t at, bool give, bool *asked)
{
	struct cl_judgement j;

	p->offer.d = p->path[at].d;
	cl_offer_sign(&p->world, &p->offer);
	enum cm_rc rc = judge(p, NULL, &j);
	*asked = rc == CM_EMORE && j.need.kind == CD_NEED_MANIFEST;
	if (*asked) {
		if (give)
			learn(p, j.need.round_id);
		rd_descriptor_fini(&j.d);
		rc = judge(p, give ? NULL : "not found", &j);
	}
	if (rc != CM_OK && rc != CM_EPERM)
		fail_msg("the client: %s", err.msg);
	if (rc == CM_OK)
		report(p, &j);
	rd_descriptor_fini(&j.d);
	return rc == CM_OK;
}

void parties_end(struct parties *p, size_t at, bool sealed)
{
	struct party_try *t = &p->path[at];
	struct rd_bucket bucket = { .messages = 1 };
	struct rd_manifest m = { .participants = sealed,
		.messages = sealed,
		.is_void = !sealed,
		.bucket = &bucket,
		.buckets = sealed };
	struct cm_buf b;

	memcpy(m.round_id, t->d.round_id, sizeof m.round_id);
	memcpy(m.descriptor_hash, t->d.hash, sizeof m.descriptor_hash);
	cm_buf_init(&b, sizeof t->manifest);
	assert_int_equal(rd_manifest_encode(&m, &b, &err), CM_OK);
	assert_int_equal(
		cr_sign(p->world.shuffler.signer, RD_PURPOSE_MANIFEST, b.data, b.len, t->signature, &err),
		CM_OK);
	memcpy(t->manifest, b.data, b.len);
	t->len = b.len;
	t->sealed = sealed;
	cr_sha256(b.data, b.len, t->manifest_hash);
	cm_buf_fini(&b);
}
