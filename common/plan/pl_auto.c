/* pl_auto.c - chooses protocol and parameters for the rounds of a plan that say protocol "auto". */
#include "pl_auto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_round.h"
#include "pl_mu.h"
#include "pl_why.h"

/* Shares are counted in thousandths of the budget.  The whole budget is taken as a little less, since a
 * total equal to the limit is refused. */
#define SHARES     1000
#define WHOLE      (1 - 1e-6)
#define TRIALS_MAX 8
/* a share that brings all rounds to this part of the budget is good enough: a larger one would not be worth
 * the search */
#define NEARLY_ALL 0.99

struct work {
	struct pl_plan *plan;
	/* the account of the rounds that state an epsilon of their own, so do not share */
	struct rd_account *account;
	/* for each round; kept: the choices for the largest share that fits */
	struct pl_choice *choice, *kept;
	double *cost; /* for each round: the epsilon that its choice was made for; 0: none was made yet */
	struct pt_loss *loss; /* loss of the round being considered */
	/* mu of what is in the account, and mu of the budget: of the Gaussian mechanism that loses as
	 * much */
	double base, limit;
	size_t sharing;
	const struct pl_round **at;
};

static bool shares(const struct pl_round *r)
{
	return r->automatic && r->cost == 0;
}

static bool same_question(const struct pl_round *a, const struct pl_round *b)
{
	const struct qy_query *x = &a->query, *y = &b->query;

	if (a->item == b->item)
		return true;
	/* Compare only queries about one number with the usual answers; other kinds are rare, and are
	 * searched again. */
	return x->kind == y->kind && qy_value_width(x) == 0 && x->probabilities + y->probabilities == 0 &&
	       x->leaves == y->leaves && x->fanout == y->fanout && x->bits == y->bits && x->none == y->none &&
	       x->none_value >= y->none_value && x->none_value <= y->none_value &&
	       x->none_category == y->none_category && x->categories == y->categories && x->low >= y->low &&
	       x->low <= y->low && x->high >= y->high && x->high <= y->high &&
	       a->min_reports == b->min_reports && a->max_bytes == b->max_bytes &&
	       a->shuffler == b->shuffler && a->request.size == b->request.size &&
	       a->request.epsilon0 >= b->request.epsilon0 && a->request.epsilon0 <= b->request.epsilon0;
}

struct pl_need pl_need_of(const struct pl_plan *p, const struct pl_round *r, double cost)
{
	return (struct pl_need){ .query = &r->query,
		.reports = r->min_reports,
		.honest = rd_honest(r->min_reports, p->honest_fraction, p->colluders),
		.epsilon = cost,
		.delta = p->delta,
		.epsilon0 = r->request.epsilon0,
		.max_bytes = r->max_bytes,
		.size = r->request.size,
		.shuffler = r->shuffler,
		.noise_delta = pl_noise_delta(p) };
}

/* Choose for round i at this cost, or copy the choice made for an equal round. */
static enum cm_rc choose(struct work *w, size_t i, double cost, struct cm_err *err)
{
	const struct pl_plan *p = w->plan;
	const struct pl_round *r = &p->round[i];
	const struct pl_need need = pl_need_of(p, r, cost);

	*w->at = r;
	w->cost[i] = cost;
	for (size_t j = 0; j < i; j++)
		if (p->round[j].automatic && w->cost[j] >= cost && w->cost[j] <= cost &&
			same_question(&p->round[j], r)) {
			w->choice[i] = w->choice[j];
			return CM_OK;
		}
	return pl_choose(&need, &w->choice[i], err);
}

static enum cm_rc loss_of(const struct pl_plan *p, const struct pl_round *r, const struct pl_choice *c,
	struct pt_loss *out, struct cm_err *err)
{
	struct pl_round as_chosen = *r;

	if (c) {
		as_chosen.protocol = c->best.protocol;
		as_chosen.randomizer = c->best.randomizer;
	}
	return pl_round_loss(p, &as_chosen, out, err);
}

static enum cm_rc add(struct work *w, size_t i, struct cm_err *err)
{
	const struct pl_round *r = &w->plan->round[i];
	uint8_t id[PR_ROUND_ID_LEN] = { 0 };
	enum cm_rc rc = loss_of(w->plan, r, r->automatic ? &w->choice[i] : NULL, w->loss, err);

	cm_put_le32(id, r->number);
	return rc == CM_OK ? rd_account_add(w->account, id, w->loss, err) : rc;
}

/* Add all rounds that do not share, as far as they fit in their order. */
static enum cm_rc add_the_others(struct work *w, struct cm_err *err)
{
	struct pl_plan *p = w->plan;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		struct rd_verdict v;

		if (shares(r))
			continue;
		rc = loss_of(p, r, r->automatic ? &w->choice[i] : NULL, w->loss, err);
		if (rc == CM_OK)
			rc = rd_account_judge(w->account, w->loss, &v, err);
		if (rc == CM_OK && v.fits)
			rc = add(w, i, err);
		*w->at = r;
	}
	return rc;
}

/* Compute what all rounds cost together when each that shares may cost this much alone. */
static enum cm_rc try_share(struct work *w, double cost, struct rd_verdict *v, struct cm_err *err)
{
	struct pl_plan *p = w->plan;
	size_t added = 0, end = p->rounds;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++)
		if (shares(&p->round[i]))
			rc = choose(w, i, cost, err);
	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		if (!shares(&p->round[i]))
			continue;
		/* the last round is judged, not added */
		if (++added < w->sharing) {
			rc = add(w, i, err);
			continue;
		}
		end = i;
		rc = loss_of(p, &p->round[i], &w->choice[i], w->loss, err);
		if (rc == CM_OK)
			rc = rd_account_judge(w->account, w->loss, v, err);
	}
	for (size_t i = 0; i < end; i++) {
		uint8_t id[PR_ROUND_ID_LEN] = { 0 };

		cm_put_le32(id, p->round[i].number);
		if (shares(&p->round[i]))
			(void)rd_account_remove(w->account, id);
	}
	return rc;
}

static double cost_of(const struct pl_plan *p, int share)
{
	return share == SHARES ? p->epsilon * WHOLE : p->epsilon * share / SHARES;
}

/* Estimate the share at which all rounds together would just reach the limit.  Rounds compose about as
 * Gaussian mechanisms do, whose squares of mu add up.  cost: epsilon of the rounds that were tried; got: mu
 * of them together with the others. */
static int next_share(const struct work *w, double cost, double got, int low, int high)
{
	const struct pl_plan *p = w->plan;
	double room = w->limit * w->limit - w->base * w->base, used = got * got - w->base * w->base;
	double mu = pl_mu(cost, p->delta) * sqrt(fmax(room, 0) / fmax(used, 1e-12));
	double share = floor(SHARES * pl_mu_epsilon(fmin(mu, w->limit), p->delta) / p->epsilon);

	return share <= low ? low + 1 : share >= high ? high - 1 : (int)share;
}

static enum cm_rc nothing_left(struct work *w, double needed, struct cm_err *err)
{
	const struct pl_plan *p = w->plan;
	double spent = 0;
	enum cm_rc rc = rd_account_spent(w->account, &spent, err);

	for (size_t i = p->rounds; i-- > 0;)
		if (shares(&p->round[i]))
			*w->at = &p->round[i];
	return rc != CM_OK ? rc
			   : cm_fail(err, CM_ECONFIG,
				     "auto: the other rounds spend %.4g of the budget's epsilon %g and leave "
				     "nothing to share; a budget of %.4f would do",
				     spent, p->epsilon, cm_round_up(needed, 4));
}

static enum cm_rc find_share(struct work *w, struct cm_err *err)
{
	struct pl_plan *p = w->plan;
	struct rd_verdict v = { 0 };
	double spent = 0;
	int low = 0, high = SHARES + 1, share = SHARES;
	enum cm_rc rc = rd_account_spent(w->account, &spent, err);

	w->base = spent > 0 ? pl_mu(spent, p->delta) : 0;
	w->limit = pl_mu(p->epsilon, p->delta);
	if (w->sharing > 1 || spent > 0) {
		/* the first share to try, as if each round were a Gaussian mechanism */
		double one = pl_mu(p->epsilon / SHARES, p->delta);

		share = next_share(w, p->epsilon / SHARES,
			sqrt(w->base * w->base + (double)w->sharing * one * one), low, high);
	}
	for (int i = 0; rc == CM_OK && i < TRIALS_MAX && high - low > 1 + low / 100; i++) {
		rc = try_share(w, cost_of(p, share), &v, err);
		if (rc != CM_OK)
			return rc;
		if (v.fits) {
			low = share;
			memcpy(w->kept, w->choice, p->rounds * sizeof *w->kept);
			if (v.total >= p->epsilon * NEARLY_ALL)
				break;
		} else {
			high = share;
		}
		share = next_share(w, cost_of(p, share),
			isfinite(v.total) ? pl_mu(v.total, p->delta) : 2 * w->limit, low, high);
		/* The last trials make sure that there is an answer. */
		if (low == 0 && i >= TRIALS_MAX / 2)
			share = i == TRIALS_MAX - 2 ? 1 : high / 2;
		if (share < 1)
			share = 1;
	}
	if (rc == CM_OK && low == 0)
		rc = nothing_left(w, v.total, err);
	if (rc == CM_OK)
		memcpy(w->choice, w->kept, p->rounds * sizeof *w->kept);
	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++)
		if (shares(&p->round[i]))
			w->cost[i] = cost_of(p, low);
	return rc;
}

static void apply(struct work *w)
{
	for (size_t i = 0; i < w->plan->rounds; i++) {
		struct pl_round *r = &w->plan->round[i];
		const struct pl_choice *c = &w->choice[i];

		if (!r->automatic)
			continue;
		r->protocol = c->best.protocol;
		r->request = c->best.request;
		r->randomizer = c->best.randomizer;
		r->epsilon0 = r->randomizer.row->epsilon0(&r->randomizer);
		r->cost = w->cost[i];
		pl_choice_why(c, r->why);
	}
}

static enum cm_rc run(struct work *w, struct cm_err *err)
{
	struct pl_plan *p = w->plan;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];

		if (!r->automatic)
			continue;
		*w->at = r;
		if (r->cost > 0 && r->cost >= p->epsilon)
			return cm_fail(err, CM_ECONFIG,
				"auto: 'epsilon' %g does not fit the budget, which is %g in all", r->cost,
				p->epsilon);
		if (r->cost > 0)
			rc = choose(w, i, r->cost, err);
		else if (strcmp(p->mode, RD_MODE_PLAN) != 0)
			return cm_fail(err, CM_ECONFIG,
				"auto: missing 'epsilon': in mode \"adaptive\" there is nothing to share, "
				"since rounds may follow");
		else
			w->sharing++;
	}
	if (rc == CM_OK && w->sharing > 0)
		rc = add_the_others(w, err);
	if (rc == CM_OK && w->sharing > 0)
		rc = find_share(w, err);
	if (rc == CM_OK)
		apply(w);
	return rc;
}

enum cm_rc pl_auto(struct pl_plan *p, const struct pl_round **at, struct cm_err *err)
{
	struct work w = { .plan = p, .at = at };
	enum cm_rc rc;

	*at = &p->round[0];
	w.account = rd_account_new_mode(p->epsilon, p->delta, p->mode);
	w.choice = calloc(p->rounds, sizeof *w.choice);
	w.kept = calloc(p->rounds, sizeof *w.kept);
	w.cost = calloc(p->rounds, sizeof *w.cost);
	w.loss = calloc(1, sizeof *w.loss);
	rc = !w.account || !w.choice || !w.kept || !w.cost || !w.loss
		     ? cm_fail(err, CM_EINTERNAL, "out of memory")
		     : run(&w, err);
	rd_account_free(w.account);
	free(w.choice);
	free(w.kept);
	free(w.cost);
	free(w.loss);
	return rc;
}
