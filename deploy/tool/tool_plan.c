/* tool_plan.c - the plan verbs: faults, digest, and what each round would spend. */
#include "tool_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cm_table.h"
#include "pl_plan.h"

enum cm_rc tool_plan_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_plan p;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(p.digest, PR_HASH_LEN, digest);
		printf("%s is valid: plan %s, %zu rounds, population %s, digest %s\n", cli->argv[1], p.name,
			p.rounds, p.population, digest);
	}
	pl_plan_fini(&p);
	return rc;
}

enum cm_rc tool_plan_digest(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_plan p;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK) {
		cm_hex(p.digest, PR_HASH_LEN, digest);
		puts(digest);
	}
	pl_plan_fini(&p);
	return rc;
}

/* For people: what is spent rounded up, what is left rounded down. */
static double up(double v)
{
	return ceil(v * 1e4) / 1e4;
}

static void print_row(
	struct cm_table *t, const struct pl_plan *p, const struct pl_round *r, const struct pl_cost *c)
{
	double total = c->run ? c->verdict.total : c->verdict.spent;
	double left = p->epsilon > total ? floor((p->epsilon - total) * 1e4) / 1e4 : 0;
	char number[16], eps0[24], min[32], cost[24], sum[24], rest[24];

	(void)snprintf(number, sizeof number, "%u", r->number);
	(void)snprintf(eps0, sizeof eps0, "%.2f", r->epsilon0);
	(void)snprintf(cost, sizeof cost, c->run ? "%.4f" : "REFUSED", up(c->verdict.epsilon_round));
	(void)snprintf(sum, sizeof sum, "%.4f", up(total));
	(void)snprintf(rest, sizeof rest, "%.4f", left);
	if (c->verdict.adaptive) {
		double share = c->run ? c->verdict.share_total : c->verdict.share_spent;

		(void)snprintf(sum, sizeof sum, "%.2f %%", ceil(share * 1e4) / 1e2);
		(void)snprintf(rest, sizeof rest, "%.2f %%", share < 1 ? floor((1 - share) * 1e4) / 1e2 : 0);
	}
	cm_table_row(t, (const char *const[]){ number, r->query.name, r->protocol->name, eps0,
				cm_thousands((int64_t)r->min_reports, min), cost, sum, rest });
}

static void print_costs(const struct pl_plan *p, const struct pl_cost *cost)
{
	static const char *const head[] = { "round", "query", "protocol", "eps0", "reports >=", "cost",
		"total", "left" };
	struct cm_table *t = cm_table_new("><<>>>>>", head);
	enum acct_filter_kind filter = rd_mode_filter(p->mode);

	if (t == NULL)
		return;
	printf("plan %s  budget epsilon %.3f at delta %g, unit %s, %zu rounds\n", p->name, p->epsilon,
		p->delta, p->unit, p->rounds);
	if (filter != 0)
		printf("mode adaptive, filter %s: totals are shares of its budget\n",
			acct_filter_name(filter));
	putchar('\n');
	for (size_t i = 0; i < p->rounds; i++)
		print_row(t, p, &p->round[i], &cost[i]);
	cm_table_print(t, stdout);
	cm_table_free(t);
	for (size_t i = 0; i < p->rounds; i++) {
		const struct rd_verdict *v = &cost[i].verdict;

		if (cost[i].run)
			continue;
		printf("\nround %u (%s) would be refused: it needs ", p->round[i].number,
			p->round[i].query.name);
		if (v->adaptive)
			printf("%.2f %% of the filter's budget, %.2f %% is spent\n",
				ceil(v->share * 1e4) / 1e2, ceil(v->share_spent * 1e4) / 1e2);
		else
			printf("epsilon %.4f, the total would be %.4f\n", up(v->epsilon_round), up(v->total));
		if (cost[i].largest_epsilon0 > 0)
			printf("  it would fit with epsilon0 <= %.3g\n", cost[i].largest_epsilon0);
	}
	puts("\ncosts and totals are upper bounds, at the guaranteed minimum of honest reports");
}

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_string("inf");
}

static enum cm_rc print_json(const struct pl_plan *p, const struct pl_cost *cost, struct cm_err *err)
{
	json_t *rounds = json_array(), *doc;
	char digest[2 * PR_HASH_LEN + 1];
	int bad = rounds == NULL;

	cm_hex(p->digest, PR_HASH_LEN, digest);
	for (size_t i = 0; !bad && i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		const struct rd_verdict *v = &cost[i].verdict;

		bad = json_array_append_new(rounds,
			json_pack("{s:i, s:s, s:s, s:o, s:I, s:b, s:o, s:o, s:o, s:o}", "round",
				(int)r->number, "query", r->query.name, "protocol", r->protocol->name,
				"epsilon0", real(r->epsilon0), "min_reports", (json_int_t)r->min_reports,
				"fits", (int)cost[i].run, "share", real(v->share), "epsilon_round",
				real(v->epsilon_round), "epsilon_total", real(v->total), "largest_epsilon0",
				cost[i].run ? json_null() : real(cost[i].largest_epsilon0)));
	}
	doc = bad ? NULL
		  : json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:O}", "schema", "tombola.plan-cost/1", "plan",
			    p->name, "digest", digest, "mode", p->mode, "epsilon_limit", p->epsilon, "delta",
			    p->delta, "rounds", rounds);
	bad = doc == NULL || json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
	      putchar('\n') == EOF;
	json_decref(rounds);
	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_cost(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_cost *cost = NULL;
	struct pl_plan p;
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK && (cost = calloc(p.rounds, sizeof *cost)) == NULL)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = pl_plan_cost(&p, cost, err);
	if (rc == CM_OK && cli->json)
		rc = print_json(&p, cost, err);
	else if (rc == CM_OK)
		print_costs(&p, cost);
	free(cost);
	pl_plan_fini(&p);
	return rc;
}
