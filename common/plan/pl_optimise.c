/* pl_optimise.c - finds numbers for the rounds of a plan that wish for an error or a weight. */
#include "pl_optimise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_allocate.h"
#include "pl_auto.h"
#include "pl_fault.h"
#include "pl_load.h"
#include "pl_make.h"

#define LEAST_EPSILON0 1e-3
/* the search begins with so few dummies, for a row that allows a fraction of one */
#define LEAST_DUMMIES 1e-4
/* the search begins with this part of the budget, for a round that says `epsilon` */
#define LEAST_SHARE 1e-3
#define WHOLE       (1 - 1e-6)
#define AUTO_NODES  16 /* nodes of the table of a round of "auto": few, since each is a search */

_Static_assert(ACCT_ALLOCATE_PARTS == PT_PARTS_MAX, "a round's parts");
_Static_assert(ACCT_ALLOCATE_ROUNDS >= PL_ROUNDS_MAX, "a plan's rounds");

struct open {
	const struct pl_wish *wish;
	/* the round in the plan that is searched; its randomizer is that of `value` */
	struct pl_round *round;
	size_t count; /* number of rounds in the plan that are recurrences of it, at least 1 */
	double scale; /* what the error is divided by: `scale` of pl_optimise.h */
	/* the number of the wish as text: the one that is tried, and the one when all rounds last fitted */
	char value[32], kept[32];
	bool tried, exists; /* `value` was tried before, and whether the row has such a round */
	double error;
};

struct work {
	struct pl_plan *plan;
	struct open *open;
	size_t n;
	struct rd_account *account; /* account of the rounds without a wish */
	struct cm_err *err;
};

/* ---- One round at one value ---- */

static void print_value(const struct open *o, double loose, char out[32])
{
	if (o->wish->key == PL_OPEN_EPSILON0 || o->wish->key == PL_OPEN_EPSILON)
		(void)snprintf(out, 32, "%.4g", loose);
	else if (o->wish->key == PL_OPEN_SHUFFLER_DUMMIES || !o->round->protocol->device->rare_dummy)
		(void)snprintf(out, 32, "%.0f", floor(1 / loose));
	else
		(void)snprintf(out, 32, "%.4g", 1 / loose);
}

static enum cm_rc choose(const struct work *w, struct pl_round *r, double cost, struct cm_err *err)
{
	const struct pl_need need = pl_need_of(w->plan, r, cost);
	struct pl_choice choice;
	enum cm_rc rc = pl_choose(&need, &choice, err);

	if (rc == CM_OK) {
		r->protocol = choice.best.protocol;
		r->randomizer = choice.best.randomizer;
	}
	return rc;
}

static enum cm_rc derive(const struct open *o, double value, struct cm_err *err)
{
	struct pt_request request = o->round->request;

	switch (o->wish->key) {
	case PL_OPEN_EPSILON0:
		request.epsilon0 = value;
		break;
	case PL_OPEN_DUMMIES:
		pt_request_dummies(&request, value);
		break;
	case PL_OPEN_SHUFFLER_DUMMIES:
		request.shuffler_dummies = (uint64_t)value;
		break;
	case PL_OPEN_EPSILON:
		request.noise_epsilon = value;
		break;
	}
	return pt_derive(o->round->protocol, &o->round->query, &request, &o->round->randomizer, err);
}

/* Make the round with this value; if the row has no such round, `exists` is false. */
static enum cm_rc set_value(const struct work *w, struct open *o, double loose)
{
	char text[sizeof o->value];
	struct cm_err e = { 0 };
	enum cm_rc rc;

	print_value(o, loose, text);
	if (o->tried && strcmp(text, o->value) == 0)
		return CM_OK;
	memcpy(o->value, text, sizeof text);
	rc = o->round->automatic ? choose(w, o->round, strtod(text, NULL), &e)
				 : derive(o, strtod(text, NULL), &e);
	if (rc == CM_EINTERNAL)
		return cm_fail(w->err, rc, "%s", e.msg);
	o->tried = true;
	o->exists = rc == CM_OK;
	if (o->exists)
		o->error = pt_expected_error(&o->round->query, &o->round->randomizer, o->round->min_reports);
	return CM_OK;
}

static enum acct_rc offer(void *user, size_t i, double loose, struct acct_round part[ACCT_ALLOCATE_PARTS],
	size_t *parts, double *error)
{
	const struct work *w = user;
	struct open *o = &w->open[i];
	struct pt_loss loss;
	struct cm_err ignored = { 0 };

	*parts = 0;
	if (set_value(w, o, loose) != CM_OK)
		return ACCT_EDOMAIN;
	if (!o->exists || !isfinite(o->error) || pl_round_loss(w->plan, o->round, &loss, &ignored) != CM_OK)
		return ACCT_OK;
	*parts = loss.parts;
	*error = fmax(o->error, 1e-100) / o->scale;
	for (size_t k = 0; k < loss.parts; k++) {
		part[k] = loss.part[k];
		part[k].count *= o->count;
	}
	return ACCT_OK;
}

/* ---- All rounds ---- */

static void round_id(const struct pl_round *r, size_t recurrence, uint8_t id[PR_ROUND_ID_LEN])
{
	memset(id, 0, PR_ROUND_ID_LEN);
	cm_put_le32(id, r->number + (uint32_t)recurrence);
}

/* Add the open rounds except the very last, which is judged. */
static enum cm_rc judge_all(const struct work *w, bool *does)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < w->n && rc == CM_OK; i++) {
		struct pt_loss loss;
		struct rd_verdict v;

		rc = pl_round_loss(w->plan, w->open[i].round, &loss, w->err);
		for (size_t k = 0; k < w->open[i].count && rc == CM_OK; k++) {
			uint8_t id[PR_ROUND_ID_LEN];

			round_id(w->open[i].round, k, id);
			if (i + 1 < w->n || k + 1 < w->open[i].count) {
				rc = rd_account_add(w->account, id, &loss, w->err);
			} else {
				rc = rd_account_judge(w->account, &loss, &v, w->err);
				*does = rc == CM_OK && v.fits;
			}
		}
	}
	return rc;
}

static enum acct_rc fits(void *user, const double *loose, bool *does)
{
	const struct work *w = user;
	enum cm_rc rc = CM_OK;
	bool exist = true;

	*does = false;
	for (size_t i = 0; i < w->n && rc == CM_OK; i++) {
		rc = set_value(w, &w->open[i], loose[i]);
		exist = exist && w->open[i].exists;
	}
	if (rc == CM_OK && exist)
		rc = judge_all(w, does);
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->open[i].count; k++) {
			uint8_t id[PR_ROUND_ID_LEN];
			round_id(w->open[i].round, k, id);
			(void)rd_account_remove(w->account, id);
		}
	for (size_t i = 0; i < w->n && *does; i++)
		memcpy(w->open[i].kept, w->open[i].value, sizeof w->open[i].kept);
	return rc == CM_OK ? ACCT_OK : ACCT_EDOMAIN;
}

/* Charge the rounds without a wish first, since their cost is known. */
static enum cm_rc add_the_others(
	const struct work *w, const struct pl_wishes *wishes, struct pl_checker *c, struct cm_err *err)
{
	struct pl_plan *p = w->plan;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		struct pl_round *r = &p->round[i];
		struct pt_loss loss;
		struct rd_verdict v;
		uint8_t id[PR_ROUND_ID_LEN];

		if (pl_wish_of(wishes, r->item))
			continue;
		round_id(r, 0, id);
		if (r->automatic && !(r->cost > 0)) {
			pl_fault(c, r->line,
				"round %u (%s) says no 'epsilon', so it would take all that is left: write "
				"\"weight 1\" there",
				r->number, r->label);
			return err->code;
		}
		if (r->automatic)
			rc = choose(w, r, r->cost, err);
		if (rc == CM_OK)
			rc = pl_round_loss(p, r, &loss, err);
		if (rc == CM_OK)
			rc = rd_account_judge(w->account, &loss, &v, err);
		if (rc == CM_OK && !v.fits)
			rc = cm_fail(err, CM_EBUDGET,
				"the rounds whose numbers are given do not fit the budget: round %u (%s) "
				"would be refused",
				r->number, r->label);
		if (rc == CM_OK)
			rc = rd_account_add(w->account, id, &loss, err);
	}
	return rc;
}

/* ---- What is wanted ---- */

static double scale_of(const struct pl_round *r)
{
	const struct qy_query *q = &r->query;
	bool number = (q->kind & (QY_MEAN | QY_QUANTILES | QY_SUM | QY_VECTOR)) != 0;
	bool counts = !number || q->kind == QY_SUM;

	return (number ? q->high - q->low : 1) * (counts ? (double)r->min_reports : 1);
}

static struct acct_loose loose_of(const struct work *w, const struct open *o)
{
	struct acct_loose l = { .weight = o->wish->number, .nodes = ACCT_ALLOCATE_NODES };

	switch (o->wish->key) {
	case PL_OPEN_EPSILON0:
		l.least = LEAST_EPSILON0;
		l.most = PT_EPSILON0_MAX;
		break;
	case PL_OPEN_DUMMIES:
		l.least = 1.0 / (PR_BLANKET_MAX - 1);
		/* 2 stands for no dummies, as the searched value is the inverse of their number */
		l.most = o->round->protocol->device->rare_dummy ? 1 / LEAST_DUMMIES : 2;
		break;
	case PL_OPEN_SHUFFLER_DUMMIES:
		l.least = 1.0 / PT_SHUFFLER_DUMMIES_MAX;
		l.most = 1;
		break;
	case PL_OPEN_EPSILON:
		l.least = w->plan->epsilon * LEAST_SHARE;
		l.most = w->plan->epsilon * WHOLE;
		l.nodes = o->round->automatic ? AUTO_NODES : ACCT_ALLOCATE_NODES;
		break;
	}
	return l;
}

static void check_wishes(struct pl_checker *c, const struct pl_wishes *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct pl_wish *wish = &w->wish[i];

		if (!(wish->number > 0))
			pl_fault(c, wish->line,
				"'%s' must be a number, \"error X\" or \"weight X\", X above 0%s",
				pl_open_name(wish->key), pl_wish_meant(wish));
		else if (wish->error != w->wish[0].error)
			pl_fault(c, wish->line,
				"all rounds say an error, or all say a weight: line %d says %s",
				w->wish[0].line, w->wish[0].error ? "an error" : "a weight");
		else if (pl_wish_of(w, wish->item) != wish)
			pl_fault(c, wish->line, "one wish in a round: line %d has one",
				pl_wish_of(w, wish->item)->line);
	}
	if (w->n == 0)
		pl_fault(c, 1,
			"no round says what is wanted: \"weight 1\" or \"error X\" for an epsilon0, dummies, "
			"shuffler_dummies or epsilon");
}

/* A row that allows no dummies at all would be given 0 of them, whatever is wished for. */
static void check_dummies(struct pl_checker *c, const struct open *o)
{
	struct cm_err why = { 0 };

	for (double n = 1; n < PR_BLANKET_MAX; n *= 2)
		if (derive(o, n, &why) == CM_OK)
			return;
	pl_fault(c, o->wish->line, "no number of 'dummies' is possible: %s", why.msg);
}

static void take_wishes(struct work *w, struct pl_checker *c, const struct pl_wishes *wishes)
{
	for (size_t i = 0; i < wishes->n; i++) {
		struct open *o = &w->open[i];
		size_t at = 0;

		while (w->plan->round[at].item != wishes->wish[i].item)
			at++;
		o->wish = &wishes->wish[i];
		o->round = &w->plan->round[at];
		o->count = o->round->recurrences > 0 ? o->round->recurrences : 1;
		o->scale = o->wish->error ? 1 : scale_of(o->round);
		if (!o->round->automatic && o->wish->key == PL_OPEN_DUMMIES)
			check_dummies(c, o);
		if (o->round->automatic && o->wish->key != PL_OPEN_EPSILON)
			pl_fault(c, o->wish->line,
				"of protocol \"auto\" the wish is for 'epsilon': '%s' is a limit",
				pl_open_name(o->wish->key));
	}
	w->n = wishes->n;
}

static enum cm_rc search(struct work *w, struct cm_err *err)
{
	struct acct_loose *loose = calloc(w->n, sizeof *loose);
	const struct acct_allocation a = { .round = loose,
		.n = w->n,
		.targets = w->open[0].wish->error,
		.epsilon = w->plan->epsilon,
		.delta = w->plan->delta,
		.user = w,
		.offer = offer,
		.fits = fits };
	bool found = false;
	enum acct_rc rc;

	if (!loose)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < w->n; i++)
		loose[i] = loose_of(w, &w->open[i]);
	rc = acct_allocate(&a, &found);
	free(loose);
	if (rc != ACCT_OK)
		return err->code != CM_OK ? err->code
					  : cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(rc));
	if (found)
		return CM_OK;
	return cm_fail(err, CM_EBUDGET, "nothing fits epsilon %g at delta %g, however large the errors",
		w->plan->epsilon, w->plan->delta);
}

/* ---- What was found ---- */

static enum cm_rc accepted(
	void *user, size_t i, const struct rd_account *before, const struct rd_verdict *v, struct cm_err *err)
{
	struct pl_optimised *out = user;

	(void)before;
	out->last = *v;
	if (v->fits)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "round %u (%s) of the plan that was found would be refused",
		out->plan.round[i].number, out->plan.round[i].label);
}

/* Fill in the text, and read and judge it as every party will. */
static enum cm_rc write_text(const struct work *w, const struct pl_wishes *wishes, const uint8_t *bytes,
	size_t n, const char *name, struct pl_optimised *out, struct cm_err *err)
{
	char(*value)[32] = calloc(w->n, sizeof *value);
	enum cm_rc rc;

	out->granted = calloc(w->n, sizeof *out->granted);
	if (!value || !out->granted) {
		free(value);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	for (size_t i = 0; i < w->n; i++)
		memcpy(value[i], w->open[i].kept, sizeof value[i]);
	rc = pl_wishes_fill(wishes, (const char *)bytes, n, (const char(*)[32])value, &out->text, err);
	free(value);
	if (rc == CM_OK)
		rc = pl_plan_parse(out->text.data, out->text.len, name, NULL, &out->plan, err);
	if (rc == CM_OK)
		rc = pl_plan_accept(&out->plan, NULL, accepted, out, err);
	for (size_t i = 0; i < w->n && rc == CM_OK; i++) {
		struct pl_granted *g = &out->granted[out->n++];

		g->wish = wishes->wish[i];
		memcpy(g->value, w->open[i].kept, sizeof g->value);
		g->round = &out->plan.round[w->open[i].round - w->plan->round];
		g->error = pt_expected_error(&g->round->query, &g->round->randomizer, g->round->min_reports);
		g->range = scale_of(g->round);
	}
	return rc;
}

static enum cm_rc run(const uint8_t *bytes, size_t n, const struct pl_wishes *wishes, struct pl_checker *c,
	struct pl_plan *plan, struct pl_optimised *out)
{
	struct cm_err *err = c->first;
	struct work w = { .plan = plan, .err = err };
	enum cm_rc rc = pl_plan_parse_open(bytes, n, c->name, wishes, c->faults, plan, err);

	if (rc != CM_OK)
		return rc;
	w.open = calloc(wishes->n, sizeof *w.open);
	w.account = rd_account_new_mode(plan->epsilon, plan->delta, plan->mode);
	if (!w.open || !w.account)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK) {
		take_wishes(&w, c, wishes);
		rc = c->found > 0 ? err->code : add_the_others(&w, wishes, c, err);
	}
	if (rc == CM_OK)
		rc = search(&w, err);
	if (rc == CM_OK)
		rc = write_text(&w, wishes, bytes, n, c->name, out, err);
	rd_account_free(w.account);
	free(w.open);
	return rc;
}

enum cm_rc pl_optimise(const uint8_t *bytes, size_t n, const char *name, FILE *faults,
	struct pl_optimised *out, struct cm_err *err)
{
	struct pl_checker c = { .name = name, .faults = faults, .first = err };
	struct pl_wishes wishes;
	struct pl_plan plan = { 0 };
	enum cm_rc rc = CM_OK;

	*out = (struct pl_optimised){ 0 };
	cm_buf_init(&out->text, PL_FILE_MAX);
	*err = (struct cm_err){ 0 };
	if (!pl_wishes_find((const char *)bytes, n, &wishes))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	else
		check_wishes(&c, &wishes);
	if (rc == CM_OK)
		rc = c.found > 0 ? err->code : run(bytes, n, &wishes, &c, &plan, out);
	pl_plan_fini(&plan);
	pl_wishes_fini(&wishes);
	return rc;
}

void pl_optimised_fini(struct pl_optimised *o)
{
	cm_buf_fini(&o->text);
	pl_plan_fini(&o->plan);
	free(o->granted);
	*o = (struct pl_optimised){ 0 };
}
