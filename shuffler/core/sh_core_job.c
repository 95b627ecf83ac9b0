/* sh_core_job.c - slow work for rounds that are released or over: buckets are read, messages deleted. */
#include <assert.h>
#include <string.h>

#include "sh_core_private.h"

/* ---- Rounds that are over ---- */

enum cm_rc sh_core_over(struct sh_core *c, struct sh_round *r, struct cm_err *err)
{
	for (size_t i = 0; i < c->rounds; i++)
		if (c->round[i] == r)
			c->round[i] = c->round[--c->rounds];
	assert(c->overs < sizeof c->over / sizeof c->over[0]);
	c->over[c->overs++] = r;
	return r->d.payload_size > 0 ? sh_core_drop_payload(c, r->d.payload_hash, err) : CM_OK;
}

bool sh_core_erases(const struct sh_core *c, const uint8_t *round_id)
{
	for (size_t i = 0; i < c->overs; i++)
		if (memcmp(c->over[i]->d.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return true;
	return false;
}

/* ---- What each job does ---- */

static bool begin_read(struct sh_core *c, struct sh_job *j)
{
	for (size_t i = 0; i < c->rounds; i++) {
		struct sh_segment *s = sh_round_wanted(c->round[i]);
		if (!s)
			continue;
		j->kind = SH_JOB_READ;
		j->round = c->round[i];
		j->segment = s;
		return true;
	}
	return false;
}

/* Nothing reads the round any more: a reading would be the job under way. */
static bool begin_erase(struct sh_core *c, struct sh_job *j)
{
	if (c->overs == 0)
		return false;
	j->kind = SH_JOB_ERASE;
	j->round = c->over[0];
	sh_round_forget(j->round);
	return true;
}

static void end_erase(struct sh_core *c)
{
	sh_round_free(c->over[0]);
	c->overs--;
	for (size_t i = 0; i < c->overs; i++)
		c->over[i] = c->over[i + 1];
}

/* ---- Begin, run, end ---- */

enum sh_job_kind sh_core_job_begin(struct sh_core *c, bool erasures, struct sh_job *j)
{
	assert(!c->job);
	*j = (struct sh_job){ .kind = SH_JOB_NONE };
	if (begin_erase(c, j) || (!erasures && begin_read(c, j)))
		c->job = j;
	return j->kind;
}

void sh_core_job_run(struct sh_job *j)
{
	j->rc = j->kind == SH_JOB_READ ? sh_round_read(j->round, j->segment, &j->err)
				       : sh_round_erase(j->round, &j->err);
}

enum cm_rc sh_core_job_end(struct sh_core *c, struct sh_job *j, struct cm_err *err)
{
	assert(c->job == j);
	c->job = NULL;
	if (j->kind == SH_JOB_READ && j->rc == CM_EDATA) {
		sh_core_cannot_go_on(j->round->d.sequence, &j->err);
		j->round->damage = j->err;
		return CM_OK;
	}
	if (j->rc != CM_OK) {
		*err = j->err;
		return j->rc;
	}
	if (j->kind == SH_JOB_READ)
		j->segment->filled = true;
	else
		end_erase(c);
	return CM_OK;
}

enum cm_rc sh_core_keeps(const struct sh_core *c, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;

	return store->keeps && c->rounds > 0 && !c->job ? store->keeps(store->ctx, err) : CM_OK;
}
