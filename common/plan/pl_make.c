/* pl_make.c - decides which rounds of a plan file fit together, and writes them into the plan that is
 * signed. */
#include "pl_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

enum cm_rc pl_plan_accept(const struct pl_plan *p, const atomic_bool *stop, pl_judged_fn *judged, void *user,
	struct cm_err *err)
{
	struct rd_account *a = rd_account_new_mode(p->epsilon, p->delta, p->mode);
	enum cm_rc rc = a ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	struct rd_verdict v = { 0 };
	struct pt_loss loss;

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		uint8_t id[PR_ROUND_ID_LEN] = { 0 };
		bool repeats = pl_repeats(p, i);

		if (stop && atomic_load(stop)) {
			rc = cm_fail(err, CM_ELATER, "stopping");
			break;
		}
		if (!repeats)
			rc = pl_round_loss(p, &p->round[i], &loss, err);
		/* A round that did not fit does not fit when it is asked again beside the same rounds. */
		if (rc == CM_OK && !(repeats && !v.fits))
			rc = rd_account_judge(a, &loss, &v, err);
		if (rc == CM_OK)
			rc = judged(user, i, a, &v, err);
		cm_put_le32(id, p->round[i].number);
		if (rc == CM_OK && v.fits)
			rc = rd_account_add(a, id, &loss, err);
		if (rc != CM_OK && rc != CM_EMORE)
			(void)cm_context(err, "round %u", p->round[i].number);
	}
	rd_account_free(a);
	return rc == CM_EMORE ? CM_OK : rc;
}

/* ---- the signed plan ---- */

struct making {
	const struct pl_plan *p;
	struct rd_plan *out;
};

/* Candidates that follow from an earlier answer are not known yet, only their number: the first possible
 * ones stand for them. */
static enum cm_rc stand_in(const struct qy_query *planned, struct qy_query *q, struct cm_err *err)
{
	uint32_t digits = planned->bits / 4;

	q->category = calloc(planned->categories, sizeof *q->category);
	if (!q->category)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (q->categories = 0; q->categories < planned->categories; q->categories++) {
		char *text = malloc(digits + 1 > 9 ? digits + 1 : 9);

		if (!text)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		(void)sprintf(text, "%0*x", (int)digits, (unsigned)q->categories);
		q->category[q->categories] = text;
	}
	return CM_OK;
}

static enum cm_rc judged(
	void *user, size_t i, const struct rd_account *before, const struct rd_verdict *v, struct cm_err *err)
{
	const struct making *m = user;
	const struct pl_round *r = &m->p->round[i];
	struct rd_plan *out = m->out;
	struct rd_entry *e;

	(void)before;
	if (CM_CHECKED("analyzer.budget") && !v->fits) {
		struct rd_refused *f = &out->refused[out->refusals++];

		*f = (struct rd_refused){
			.number = r->number, .epsilon_round = v->epsilon_round, .epsilon_total = v->total
		};
		memcpy(f->query, r->query.name, sizeof f->query);
		return CM_OK;
	}
	e = &out->entry[out->entries++];
	*e = (struct rd_entry){ .number = r->number,
		.query = r->query,
		.randomizer = r->randomizer,
		.computing = r->computing,
		.payload_max = r->payload_max,
		.min_reports = r->min_reports,
		.target = r->target,
		.epsilon0 = r->epsilon0,
		.epsilon_round = v->epsilon_round,
		.epsilon_total = v->total };
	if (r->after == 0)
		return CM_OK;
	e->query.category = NULL;
	e->query.categories = 0;
	return stand_in(&r->query, &e->query, err);
}

/* The queries belong to the plan file, except for those made here. */
static void making_fini(struct making *m)
{
	for (size_t i = 0; m->out->entry && i < m->out->entries; i++) {
		struct rd_entry *e = &m->out->entry[i];

		if (m->p->round[e->number - 1].after != 0)
			qy_query_fini(&e->query);
	}
	free(m->out->entry);
	free(m->out->refused);
}

/* Set everything but the rounds. */
static enum cm_rc making_init(
	struct making *m, uint64_t number, const uint8_t previous[PR_HASH_LEN], struct cm_err *err)
{
	const struct pl_plan *p = m->p;
	struct rd_plan *made = m->out;

	*made = (struct rd_plan){ .number = number,
		.epsilon = p->epsilon,
		.delta = p->delta,
		.honest_fraction = p->honest_fraction,
		.colluders = p->colluders,
		.tries = p->tries };
	memcpy(made->population, p->population, sizeof made->population);
	memcpy(made->name, p->name, sizeof made->name);
	memcpy(made->mode, p->mode, sizeof made->mode);
	memcpy(made->unit, p->unit, sizeof made->unit);
	memcpy(made->previous, previous, PR_HASH_LEN);
	memcpy(made->file_hash, p->digest, PR_HASH_LEN);
	made->entry = calloc(p->rounds, sizeof *made->entry);
	made->refused = calloc(p->rounds, sizeof *made->refused);
	return made->entry && made->refused ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc pl_plan_make(const struct pl_plan *p, uint64_t number, const uint8_t previous[PR_HASH_LEN],
	const atomic_bool *stop, struct cm_buf *out, struct cm_err *err)
{
	struct rd_plan made;
	struct making m = { .p = p, .out = &made };
	enum cm_rc rc = making_init(&m, number, previous, err);

	if (rc == CM_OK && rd_mode_filter(p->mode) == 0)
		rc = pl_plan_accept(p, stop, judged, &m, err);
	if (rc == CM_OK)
		rc = rd_plan_encode(&made, out, err);
	making_fini(&m);
	return rc;
}

enum cm_rc pl_plan_size_check(const struct pl_plan *p, struct cm_err *err)
{
	static const uint8_t previous[PR_HASH_LEN];
	const struct rd_verdict fits = { .fits = true };
	struct rd_plan made;
	struct making m = { .p = p, .out = &made };
	size_t size = 0;
	enum cm_rc rc = making_init(&m, 2, previous, err);

	for (size_t i = 0; rc == CM_OK && rd_mode_filter(p->mode) == 0 && i < p->rounds; i++)
		rc = judged(&m, i, NULL, &fits, err);
	if (rc == CM_OK)
		rc = rd_plan_size(&made, &size, err);
	if (rc == CM_OK && size > PR_PLAN_MAX)
		rc = cm_fail(err, CM_ECONFIG,
			"the plan cannot be signed: its %zu rounds with their lists of values take %zu "
			"bytes, a plan has %u at most",
			p->rounds, size, PR_PLAN_MAX);
	making_fini(&m);
	return rc;
}
