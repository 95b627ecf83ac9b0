/* cl_world.c - a client's surroundings for tests. */
#include "cl_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "queries.h"

static struct cm_err err;

void cl_world_make(struct cl_world *w)
{
	static char population[] = "test";

	memset(w, 0, sizeof *w);
	(void)snprintf(w->dir, sizeof w->dir, "/tmp/tombola-client-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(cl_db_open(w->dir, population, &w->db, &err), CM_OK);
	round_keys_make(&w->analyzer);
	round_keys_make(&w->shuffler);
	assert_int_equal(cr_rng_system(&w->rng, &err), CM_OK);
	assert_int_equal(cr_hpke_keygen(&w->rng, &w->hpke, w->hpke_public, &err), CM_OK);
	w->policy = (struct cl_policy){ .shared.population = population,
		.shared.max_tries = 3,
		.shared.max_plan_entries = 256,
		.shared.max_payload = 1 << 20,
		.shared.accept_adaptive = true,
		.shared.max_epsilon0 = INFINITY,
		.shared.max_epsilon = 100,
		.shared.delta = 1e-6,
		.shared.min_batch = 1,
		.shared.honest_fraction = 1,
		.window_ms = 86400000 };
}

void cl_world_restart(struct cl_world *w)
{
	cl_db_close(w->db);
	assert_int_equal(cl_db_open(w->dir, "test", &w->db, &err), CM_OK);
}

void cl_world_free(struct cl_world *w)
{
	char command[128];

	cl_db_close(w->db);
	for (size_t i = 0; i < CL_WORLD_PLANS; i++)
		cm_buf_fini(&w->plan[i].bytes);
	round_keys_free(&w->analyzer);
	round_keys_free(&w->shuffler);
	(void)snprintf(command, sizeof command, "rm -rf %s", w->dir);
	assert_int_equal(system(command), 0);
}

void cl_offer_make(struct cl_world *w, const char *protocol, double epsilon0, struct cl_offer *o)
{
	const struct pt_protocol *row;
	static char red[] = "red", green[] = "green", blue[] = "blue", *colours[] = { red, green, blue };
	struct pt_request request = { .epsilon0 = epsilon0, .min_reports = 1000 };
	struct rd_descriptor *d = &o->d;

	memset(o, 0, sizeof *o);
	cm_buf_init(&o->bytes, PR_DESCRIPTOR_MAX);
	row = pt_find(protocol);
	assert_non_null(row);
	(void)snprintf(d->population, sizeof d->population, "test");
	w->rng.fill(w->rng.ctx, d->round_id, sizeof d->round_id);
	d->sequence = 1;
	d->query = query_of_row(row);
	if (d->query.kind == QY_HISTOGRAM) {
		d->query.category = colours;
		d->query.categories = 3;
	}
	/* Rows of bins need dummies, and some of them may do without. */
	if (strstr(protocol, "bins"))
		request.dummies = 3;
	if (pt_derive(row, &d->query, &request, &d->randomizer, &err) != CM_OK)
		assert_int_equal(query_derive(row, &d->query, epsilon0, &d->randomizer, &err), CM_OK);
	d->messages_per_client = d->randomizer.row->messages(&d->randomizer);
	d->record_len = d->randomizer.row->record_len(&d->randomizer);
	d->min_reports = 1000;
	d->target = 2000;
	d->honest_fraction = 1;
	d->opens_ms = CL_WORLD_NOW - 1000;
	d->deadline_ms = CL_WORLD_NOW + 60000;
	d->suite = CR_HPKE_AES128GCM;
	memcpy(d->hpke_key, w->hpke_public, sizeof d->hpke_key);
	d->privacy = (struct rd_privacy){ d->randomizer.row->epsilon0(&d->randomizer), 0.1, 0.1, 100, 1e-6 };
	(void)snprintf(d->unit, sizeof d->unit, "device");
	(void)snprintf(d->mode, sizeof d->mode, "plan");
	d->ledger_seq = 1;
	memset(d->ledger_head, 1, sizeof d->ledger_head);
	cl_offer_mode(w, "plan", o);
	cl_offer_sign(w, o);
	/* The query was borrowed: from here on it is the descriptor's own. */
	assert_int_equal(rd_descriptor_decode(o->bytes.data, o->bytes.len, d, &err), CM_OK);
}

void cl_offer_after(struct cl_offer *o, const struct cl_offer *before)
{
	o->d.sequence = before->d.sequence + 1;
	o->d.ledger_seq = before->d.ledger_seq + 3;
	memcpy(o->d.previous, before->d.hash, sizeof o->d.previous);
}

void cl_offer_follow(struct cl_offer *o, const struct cl_offer *before)
{
	cl_offer_after(o, before);
	memcpy(o->d.plan_hash, before->d.plan_hash, sizeof o->d.plan_hash);
	o->d.entry = before->d.entry > 0 ? before->d.entry + 1 : 0;
}

static void entries_like(const struct rd_descriptor *d, struct rd_entry entry[CL_WORLD_ENTRIES])
{
	for (uint32_t i = 0; i < CL_WORLD_ENTRIES; i++)
		entry[i] = (struct rd_entry){ .number = i + 1,
			.query = d->query,
			.randomizer = d->randomizer,
			.min_reports = d->min_reports,
			.target = d->target,
			.epsilon0 = d->privacy.epsilon0,
			.epsilon_round = 0.1,
			.epsilon_total = 0.1 * (i + 1) };
}

void cl_offer_plan(struct cl_world *w, const struct rd_plan *p, struct cl_offer *o)
{
	static struct rd_entry entry[CL_WORLD_ENTRIES];
	struct cl_world_plan *made = &w->plan[w->plans++ % CL_WORLD_PLANS];
	struct rd_plan plan = *p;
	struct rd_descriptor *d = &o->d;
	bool adaptive;

	(void)snprintf(plan.population, sizeof plan.population, "test");
	(void)snprintf(plan.unit, sizeof plan.unit, "device");
	if (plan.mode[0] == '\0')
		(void)snprintf(plan.mode, sizeof plan.mode, "plan");
	if (plan.name[0] == '\0')
		(void)snprintf(plan.name, sizeof plan.name, "plan");
	adaptive = rd_plan_is_adaptive(&plan);
	plan.number = plan.number > 0 ? plan.number : 1;
	plan.epsilon = plan.epsilon > 0 ? plan.epsilon : 100;
	plan.delta = plan.delta > 0 ? plan.delta : 1e-6;
	plan.tries = plan.tries > 0 ? plan.tries : 3;
	plan.honest_fraction = d->honest_fraction;
	plan.colluders = d->colluders;
	memset(plan.file_hash, 7, sizeof plan.file_hash);
	if (!plan.entry && !adaptive) {
		entries_like(d, entry);
		plan.entry = entry;
		plan.entries = CL_WORLD_ENTRIES;
	}
	cm_buf_fini(&made->bytes);
	cm_buf_init(&made->bytes, PR_PLAN_MAX);
	assert_int_equal(rd_plan_encode(&plan, &made->bytes, &err), CM_OK);
	cr_sha256(made->bytes.data, made->bytes.len, made->hash);
	assert_int_equal(cr_sign(w->analyzer.signer, RD_PURPOSE_PLAN, made->bytes.data, made->bytes.len,
				 made->signature, &err),
		CM_OK);
	memcpy(d->mode, plan.mode, sizeof d->mode);
	memcpy(d->plan_hash, made->hash, sizeof d->plan_hash);
	d->entry = d->attempt = adaptive ? 0 : 1;
	memset(d->void_manifest, 0, sizeof d->void_manifest);
}

void cl_offer_mode(struct cl_world *w, const char *mode, struct cl_offer *o)
{
	struct rd_plan p = { .entry = NULL };

	(void)snprintf(p.mode, sizeof p.mode, "%s", mode);
	cl_offer_plan(w, &p, o);
}

void cl_offer_sign(struct cl_world *w, struct cl_offer *o)
{
	o->bytes.len = 0;
	assert_int_equal(rd_descriptor_encode(&o->d, &o->bytes, &err), CM_OK);
	cr_sha256(o->bytes.data, o->bytes.len, o->d.hash);
	assert_int_equal(cr_sign(w->analyzer.signer, RD_PURPOSE_DESCRIPTOR, o->bytes.data, o->bytes.len,
				 o->signature, &err),
		CM_OK);
}

void cl_offer_free(struct cl_offer *o)
{
	rd_descriptor_fini(&o->d);
	cm_buf_fini(&o->bytes);
}

bool cl_world_learn(struct cl_world *w, const uint8_t hash[PR_HASH_LEN])
{
	for (size_t i = 0; i < CL_WORLD_PLANS; i++) {
		struct cl_offered_plan offered = { .bytes = w->plan[i].bytes.data,
			.len = w->plan[i].bytes.len,
			.signature = w->plan[i].signature };

		memcpy(offered.hash, hash, sizeof offered.hash);
		if (w->plan[i].bytes.len == 0 || memcmp(w->plan[i].hash, hash, PR_HASH_LEN) != 0)
			continue;
		assert_int_equal(
			cl_plan_learn(w->db, &offered, "test", w->analyzer.verifier, CL_WORLD_NOW, &err),
			CM_OK);
		return true;
	}
	return false;
}

enum cm_rc cl_world_judge(
	struct cl_world *w, const struct cl_offer *o, struct cl_judgement *j, struct cm_err *e)
{
	struct cl_judge_job job = { .db = w->db,
		.policy = &w->policy,
		.analyzer = w->analyzer.verifier,
		.descriptor = o->bytes.data,
		.descriptor_len = o->bytes.len,
		.signature = o->signature,
		.signature_len = sizeof o->signature,
		.now_ms = CL_WORLD_NOW };
	enum cm_rc rc = cl_judge(&job, j, e);

	while (rc == CM_EMORE && j->need.kind == CD_NEED_PLAN && !job.absent) {
		if (!cl_world_learn(w, j->need.plan_hash))
			job.absent = "not found";
		rd_descriptor_fini(&j->d);
		rc = cl_judge(&job, j, e);
	}
	return rc;
}

uint8_t *cl_world_file(const struct cl_world *w, const char *name, size_t *n)
{
	char path[128];
	struct cm_buf b;

	(void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
	cm_buf_init(&b, 1u << 28);
	*n = 0;
	if (cm_file_read(path, 1u << 28, &b, &err) != CM_OK)
		return NULL;
	*n = b.len;
	return b.data;
}

void cl_world_mutant(const char *name)
{
	static char outside[256];
	static bool known;

	/* A check that the caller of the test program removed stays removed, so that the test shows it. */
	if (!known && getenv("TOMBOLA_MUTANT"))
		(void)snprintf(outside, sizeof outside, "%s", getenv("TOMBOLA_MUTANT"));
	known = true;
	assert_int_equal(setenv("TOMBOLA_MUTANT", *name != '\0' ? name : outside, 1), 0);
}

enum cm_rc cl_world_pin(struct cl_db *db, const struct cl_policy *policy, const struct rd_plan *plan,
	const atomic_bool *stop, int64_t now_ms, struct cl_pin *out, struct cm_err *e)
{
	struct rd_slices pinned;
	enum cm_rc rc = cl_pin_slices(db, &pinned, e);

	if (rc == CM_OK)
		rc = cl_pin_choose(policy, plan, &pinned, stop, out, e);
	return rc == CM_OK ? cl_pin_put(db, out, now_ms, e) : rc;
}
