/* sh_live.c - keeps the rounds that are under way, and does slow work for those that are released or
 * over. */
#include "sh_live.h"

#include <assert.h>
#include <string.h>

void sh_live_fini(struct sh_live *l)
{
	assert(!l->job);
	for (size_t i = 0; i < l->n; i++)
		sh_round_free(l->round[i]);
	for (size_t i = 0; i < l->overs; i++)
		sh_round_free(l->over[i]);
	l->n = l->overs = 0;
}

struct sh_round *sh_live_find(const struct sh_live *l, const uint8_t *round_id)
{
	for (size_t i = 0; i < l->n; i++)
		if (memcmp(l->round[i]->d.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return l->round[i];
	return NULL;
}

struct sh_round *sh_live_collecting(const struct sh_live *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->round[i]->state == SH_COLLECTING)
			return l->round[i];
	return NULL;
}

void sh_live_over(struct sh_live *l, struct sh_round *r)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->round[i] == r)
			l->round[i] = l->round[--l->n];
	assert(l->overs < sizeof l->over / sizeof l->over[0]);
	l->over[l->overs++] = r;
}

bool sh_live_erases(const struct sh_live *l, const uint8_t *round_id)
{
	for (size_t i = 0; i < l->overs; i++)
		if (memcmp(l->over[i]->d.round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return true;
	return false;
}

/* ---- What each job does ---- */

static bool begin_read(struct sh_live *l, struct sh_job *j)
{
	for (size_t i = 0; i < l->n; i++) {
		struct sh_segment *s = sh_round_wanted(l->round[i]);
		if (!s)
			continue;
		j->kind = SH_JOB_READ;
		j->round = l->round[i];
		j->segment = s;
		return true;
	}
	return false;
}

/* Nothing reads the round any more, since a reading would be the job under way. */
static bool begin_erase(struct sh_live *l, struct sh_job *j)
{
	if (l->overs == 0)
		return false;
	j->kind = SH_JOB_ERASE;
	j->round = l->over[0];
	sh_round_forget(j->round);
	return true;
}

static void end_erase(struct sh_live *l)
{
	sh_round_free(l->over[0]);
	l->overs--;
	for (size_t i = 0; i < l->overs; i++)
		l->over[i] = l->over[i + 1];
}

/* ---- Begin, run, end ---- */

enum sh_job_kind sh_job_begin(struct sh_live *l, bool erasures, struct sh_job *j)
{
	assert(!l->job);
	*j = (struct sh_job){ .kind = SH_JOB_NONE };
	if (begin_erase(l, j) || (!erasures && begin_read(l, j)))
		l->job = j;
	return j->kind;
}

void sh_job_run(struct sh_job *j)
{
	j->rc = j->kind == SH_JOB_READ ? sh_round_read(j->round, j->segment, &j->err)
				       : sh_round_erase(j->round, &j->err);
}

enum cm_rc sh_job_end(struct sh_live *l, struct sh_job *j, struct cm_err *err)
{
	assert(l->job == j);
	l->job = NULL;
	if (j->kind == SH_JOB_READ && j->rc == CM_EDATA) {
		sh_round_cannot_go_on(j->round->d.sequence, &j->err);
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
		end_erase(l);
	return CM_OK;
}
