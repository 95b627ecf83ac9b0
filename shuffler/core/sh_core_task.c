/* sh_core_task.c (sh_core.h) - commits and seals rounds.
 *
 * Decides what is to be done, runs the slow work, and applies the result. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sh_blanket.h"
#include "sh_core_private.h"

/* ---- When ---- */

/* The latest time at which the gathering batch is committed; now if the clock was set back meanwhile. */
static int64_t commit_at(const struct sh_core *c, const struct sh_intake *in, int64_t now_ms)
{
	return now_ms < in->gathering_since_ms ? now_ms : in->gathering_since_ms + c->conf.commit_wait_ms;
}

static bool commit_wanted(
	const struct sh_core *c, const struct sh_round *r, enum sh_pace pace, int64_t now_ms)
{
	const struct sh_intake *in = &r->intake;

	return pace != SH_PACE_GATHER || sh_round_due(r, now_ms) ||
	       sh_batch_messages(&in->gathering) >= c->conf.commit_messages ||
	       now_ms >= commit_at(c, in, now_ms);
}

/* The next task of a round whose reports intakes take. */
static enum sh_task_kind spread_next(
	const struct sh_core *c, const struct sh_round *r, enum sh_pace pace, int64_t now_ms)
{
	if (pace == SH_PACE_STOP)
		return SH_TASK_NONE;
	if (sh_round_due(r, now_ms))
		return SH_TASK_CLOSE;
	return r->spread.wanted && c->intakes > 0 ? SH_TASK_EPOCH : SH_TASK_NONE;
}

enum sh_task_kind sh_core_task_next(const struct sh_core *c, enum sh_pace pace, int64_t now_ms)
{
	const struct sh_round *r = sh_live_collecting(&c->live);

	if (!r)
		return SH_TASK_NONE;
	if (r->damage.code != CM_OK)
		return pace == SH_PACE_STOP ? SH_TASK_NONE : SH_TASK_SEAL;
	if (c->conf.env.intakes && !r->spread.closed)
		return spread_next(c, r, pace, now_ms);
	if (sh_batch_submissions(&r->intake.gathering) > 0)
		return commit_wanted(c, r, pace, now_ms) ? SH_TASK_COMMIT : SH_TASK_NONE;
	if (pace == SH_PACE_STOP || !sh_round_due(r, now_ms))
		return SH_TASK_NONE;
	if (sh_route_next(r))
		return SH_TASK_ROUTE;
	return sh_blanket_next(r) > 0 ? SH_TASK_BLANKET : SH_TASK_SEAL;
}

int64_t sh_core_wait_ms(const struct sh_core *c, int64_t now_ms)
{
	const struct sh_round *r = sh_live_collecting(&c->live);
	int64_t at = sh_proofs_until(&c->proofs);

	if (r) {
		int64_t due = now_ms < r->d.opens_ms ? r->d.opens_ms : r->d.deadline_ms;
		at = due < at ? due : at;
	}
	if (r && sh_batch_submissions(&r->intake.gathering) > 0) {
		int64_t commit = commit_at(c, &r->intake, now_ms);
		at = commit < at ? commit : at;
	}
	return at == INT64_MAX ? -1 : at > now_ms ? at - now_ms : 0;
}

size_t sh_core_not_durable(const struct sh_core *c)
{
	const struct sh_round *r = sh_live_collecting(&c->live);

	return (r ? sh_batch_submissions(&r->intake.gathering) : 0) +
	       (c->under_way ? c->under_way->submissions : 0);
}

/* ---- What each task does ---- */

static void begin_commit(struct sh_task *t, int64_t now_ms)
{
	(void)now_ms;
	sh_intake_take(&t->round->intake, &t->batch);
	t->submissions = sh_batch_submissions(&t->batch);
	t->slow = true;
}

static enum cm_rc run_commit(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	return sh_round_commit(t->round, &t->batch, rng, err);
}

static enum cm_rc end_commit(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	(void)c;
	(void)err;
	assert(t->round->intake.flying_bytes > 0); /* nothing else ended this commit */
	done->submissions = t->submissions;
	done->messages = sh_batch_messages(&t->batch);
	sh_intake_committed(&t->round->intake);
	return CM_OK;
}

/* This epoch satisfies every request made until now; a later request needs another epoch. */
static void begin_epoch(struct sh_task *t, int64_t now_ms)
{
	t->began_ms = now_ms;
	t->round->spread.wanted = false;
	t->slow = true;
}

/* A device that is known from the store has a receipt when it comes again.  Before, an intake may have
 * committed it and ended. */
static enum cm_rc mark_stored(const struct sh_round *r, uint64_t devices, struct cm_err *err)
{
	return sh_mark_raise(r->mark, devices < r->d.target ? devices : r->d.target, err);
}

static enum cm_rc run_epoch(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	struct sh_vault *v = &t->round->vault;

	(void)rng;
	enum cm_rc rc = v->store->data_epoch(v->data, false, &t->epoch, err);
	return rc == CM_OK && !t->epoch.closed ? mark_stored(t->round, t->epoch.devices, err) : rc;
}

static enum cm_rc end_epoch(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	struct sh_round *r = t->round;
	bool wanted = r->spread.wanted;

	(void)c;
	(void)done;
	(void)err;
	/* An earlier process closed the data, so continue with the round's end. */
	if (t->epoch.closed) {
		r->intake.closed = true;
		return CM_OK;
	}
	sh_spread_begin(&r->spread, &t->epoch, t->began_ms);
	r->spread.wanted = wanted;
	r->intake.participants = t->epoch.devices;
	return CM_OK;
}

static void begin_close(struct sh_task *t, int64_t now_ms)
{
	(void)now_ms;
	t->slow = true;
}

static enum cm_rc run_close(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	struct sh_vault *v = &t->round->vault;

	(void)rng;
	enum cm_rc rc = v->store->data_epoch(v->data, true, &t->epoch, err);
	if (rc == CM_OK)
		rc = sh_tags_init(&t->tags, t->round->d.target, err);
	if (rc == CM_OK)
		rc = sh_vault_tags(v, &t->tags, &t->counts, err);
	return rc == CM_OK ? mark_stored(t->round, t->tags.n, err) : rc;
}

static enum cm_rc end_close(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	struct sh_intake *in = &t->round->intake;

	(void)c;
	(void)done;
	(void)err;
	sh_tags_fini(&in->tags);
	sh_counts_fini(&in->counts);
	in->tags = t->tags;
	in->counts = t->counts;
	t->tags = (struct sh_tags){ 0 };
	t->counts = (struct sh_counts){ 0 };
	in->participants = in->tags.n;
	t->round->spread.closed = true;
	return CM_OK;
}

static void begin_route(struct sh_task *t, int64_t now_ms)
{
	(void)now_ms;
	t->slow = true;
}

static enum cm_rc run_route(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	return sh_route_step(t->round, rng, err);
}

static enum cm_rc end_route(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	(void)c;
	(void)t;
	(void)done;
	(void)err;
	return CM_OK;
}

static void begin_blanket(struct sh_task *t, int64_t now_ms)
{
	(void)now_ms;
	t->dummies = sh_blanket_next(t->round);
	assert(t->dummies > 0);
	t->slow = true;
}

static enum cm_rc run_blanket(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	return sh_blanket_commit(t->round, t->dummies, rng, err);
}

static enum cm_rc end_blanket(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	(void)c;
	(void)err;
	done->dummies = t->dummies;
	sh_blanket_committed(t->round, t->dummies);
	return CM_OK;
}

/* A round that will be void has no roots. */
static void begin_seal(struct sh_task *t, int64_t now_ms)
{
	struct sh_round *r = t->round;

	r->seal_ms = now_ms;
	t->slow = sh_route_enough(r) && !r->cancelled && r->damage.code == CM_OK;
}

static enum cm_rc run_seal(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err)
{
	(void)rng;
	return sh_round_roots(t->round, &t->buckets, err);
}

/* Seal the collecting round (sh_round_seal), and apply what follows; r may be over afterwards. */
static enum cm_rc seal(struct sh_core *c, struct sh_round *r, struct rd_bucket *buckets, struct cm_err *err)
{
	enum cm_rc rc = sh_round_seal(r, buckets, err);

	if (rc != CM_OK)
		return rc;
	const struct cr_span manifest = { r->manifest.data, r->manifest.len };
	sh_plans_ended(c->plans, &r->d, r->state == SH_VOID ? &manifest : NULL);
	if (r->state == SH_SEALED)
		return sh_proofs_keep(&c->proofs, r->d.round_id, r->seal_ms, err);
	return sh_core_over(c, r, err);
}

/* A VOID manifest would deny the reports that were acknowledged, so there is none; the entry is spent, as
 * after `round give-up`. */
static enum cm_rc lose(struct sh_core *c, struct sh_round *r, struct cm_err *err)
{
	enum cm_rc rc = sh_leaves_erase(&r->env->leaves, r->d.round_id, err);

	if (rc == CM_OK)
		rc = sh_round_over(r, SH_ERASED, err);
	if (rc != CM_OK)
		return rc;
	sh_plans_ended(c->plans, &r->d, NULL);
	return sh_core_over(c, r, err);
}

static enum cm_rc end_seal(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	struct sh_round *r = t->round;
	struct rd_bucket *buckets = t->buckets;
	uint8_t round_id[PR_ROUND_ID_LEN];

	/* The round may have been called off meanwhile, but a round that had too few participants still has
	 * too few. */
	assert(!buckets == !t->slow);
	done->sequence = r->d.sequence;
	done->participants = r->intake.participants;
	memcpy(round_id, r->d.round_id, PR_ROUND_ID_LEN);
	t->buckets = NULL; /* taken over */
	done->damage = r->damage;
	done->query = r->d.query.name;
	done->round = r;
	if (r->damage.code != CM_OK)
		return lose(c, r, err);
	enum cm_rc rc = seal(c, r, buckets, err);
	done->is_void = rc == CM_OK && !sh_live_find(&c->live, round_id);
	return rc;
}

/* ---- Begin, run, end ---- */

static const struct {
	bool closes; /* no submission may follow the task's begin */
	void (*begin)(struct sh_task *t, int64_t now_ms);
	enum cm_rc (*run)(struct sh_task *t, const struct cr_rng *rng, struct cm_err *err);
	enum cm_rc (*end)(
		struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err);
} tasks[] = {
	[SH_TASK_EPOCH] = { false, begin_epoch, run_epoch, end_epoch },
	[SH_TASK_CLOSE] = { true, begin_close, run_close, end_close },
	[SH_TASK_COMMIT] = { false, begin_commit, run_commit, end_commit },
	[SH_TASK_ROUTE] = { true, begin_route, run_route, end_route },
	[SH_TASK_BLANKET] = { true, begin_blanket, run_blanket, end_blanket },
	[SH_TASK_SEAL] = { true, begin_seal, run_seal, end_seal },
};

/* Whether everything accepted is durable and nothing else comes, as it must be once a task has closed the
 * round's intake. */
static bool is_quiet(const struct sh_intake *in)
{
	return in->closed && in->flying_bytes == 0 && sh_batch_submissions(&in->gathering) == 0;
}

enum sh_task_kind sh_core_task_begin(struct sh_core *c, enum sh_pace pace, int64_t now_ms, struct sh_task *t)
{
	assert(!c->under_way);
	*t = (struct sh_task){ .kind = sh_core_task_next(c, pace, now_ms) };
	if (t->kind == SH_TASK_NONE)
		return SH_TASK_NONE;
	struct sh_round *r = t->round = sh_live_collecting(&c->live);
	t->participants = r->intake.participants;
	if (tasks[t->kind].closes) {
		r->intake.closed = true;
		assert(is_quiet(&r->intake));
	}
	tasks[t->kind].begin(t, now_ms);
	c->under_way = t;
	return t->kind;
}

void sh_core_task_run(struct sh_task *t, const struct cr_rng *rng)
{
	struct cr_rng system;

	assert(t->slow && t->round->state == SH_COLLECTING);
	if (!rng) {
		t->rc = cr_rng_system(&system, &t->err);
		rng = &system;
	}
	if (t->rc == CM_OK)
		t->rc = tasks[t->kind].run(t, rng, &t->err);
}

static void task_fini(struct sh_task *t)
{
	if (t->kind == SH_TASK_COMMIT)
		sh_batch_fini(&t->batch);
	sh_tags_fini(&t->tags);
	sh_counts_fini(&t->counts);
	free(t->buckets);
	t->buckets = NULL;
}

enum cm_rc sh_core_task_end(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err)
{
	struct sh_round *r = t->round;

	assert(c->under_way == t && r == sh_live_collecting(&c->live));
	/* The loop continued meanwhile: it may have called the round off, but nothing else. */
	assert(!tasks[t->kind].closes || (is_quiet(&r->intake) && r->intake.participants == t->participants));
	*done = (struct sh_task_done){ .kind = t->kind };
	c->under_way = NULL;
	if (sh_round_is_damaged(r, t->rc)) {
		r->damage = t->err;
		r->intake.closed = true;
		task_fini(t);
		*done = (struct sh_task_done){ .kind = SH_TASK_CLOSE };
		return CM_OK;
	}
	if (t->rc != CM_OK)
		*err = t->err;
	if (t->rc == CM_EDATA)
		sh_round_cannot_go_on(r->d.sequence, err);
	enum cm_rc rc = t->rc == CM_OK ? tasks[t->kind].end(c, t, done, err) : t->rc;
	task_fini(t);
	return rc;
}
