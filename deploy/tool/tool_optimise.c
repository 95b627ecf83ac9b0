/* tool_optimise.c - `tombola plan optimise`: a plan with numbers for what its rounds say is wanted. */
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "cm_file.h"
#include "cm_round.h"
#include "cm_table.h"
#include "pl_optimise.h"
#include "tool_plan.h"

/* On standard error: the plan itself is what is printed. */
static void print_granted(const struct pl_optimised *o)
{
	static const char *const head[] = { "round", "query", "wanted", "found", "error" };
	struct cm_table *t = cm_table_new("><<<>", head);
	double most = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct pl_granted *g = &o->granted[i];
		char number[24], wanted[48], found[80], error[24];

		(void)snprintf(number, sizeof number, "%u", g->round->number);
		(void)snprintf(
			wanted, sizeof wanted, "%s %g", g->wish.error ? "error" : "weight", g->wish.number);
		(void)snprintf(found, sizeof found, "%s = %s", pl_open_name(g->wish.key), g->value);
		(void)snprintf(error, sizeof error, "%.3g", g->error);
		most = fmax(most, g->error / g->wish.number);
		if (t)
			cm_table_row(t,
				(const char *const[]){ number, g->round->query.name, wanted, found, error });
	}
	if (t)
		cm_table_print(t, stderr);
	cm_table_free(t);
	if (o->last.adaptive)
		(void)fprintf(stderr, "all rounds take %.2f %% of the filter's budget",
			cm_percent_up(o->last.share_total, 2));
	else
		(void)fprintf(stderr, "all rounds cost epsilon %.4f of %.4f at delta %g",
			tool_spent(o->last.total), o->plan.epsilon, o->plan.delta);
	if (o->n > 0 && o->granted[0].wish.error)
		(void)fprintf(stderr, "; errors are at most %.3g times what is wanted", most);
	(void)fputc('\n', stderr);
}

/* A budget that is too small is met with answers that are noise. */
static void warn_of_noise(const struct pl_optimised *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->granted[i].error > o->granted[i].range)
			(void)fprintf(stderr,
				"warning: round %u (%s): an error of %.3g where answers differ by at most "
				"%.3g: the budget is too small\n",
				o->granted[i].round->number, o->granted[i].round->query.name,
				o->granted[i].error, o->granted[i].range);
}

static json_t *granted_json(const struct pl_optimised *o)
{
	json_t *rounds = json_array();

	for (size_t i = 0; i < o->n; i++) {
		const struct pl_granted *g = &o->granted[i];

		(void)json_array_append_new(rounds,
			json_pack("{s:i, s:s, s:s, s:f, s:s, s:s, s:f}", "round", (int)g->round->number,
				"query", g->round->query.name, "wanted", g->wish.error ? "error" : "weight",
				"number", g->wish.number, "key", pl_open_name(g->wish.key), "value", g->value,
				"expected_error", g->error));
	}
	return rounds;
}

static enum cm_rc print_json(const struct pl_optimised *o, struct cm_err *err)
{
	json_t *doc = json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:s%}", "schema",
		"tombola.plan-optimised/1", "plan", o->plan.name, "epsilon_limit", o->plan.epsilon, "delta",
		o->plan.delta, "epsilon_total", o->last.total, "share_total", o->last.share_total, "rounds",
		granted_json(o), "text", (const char *)o->text.data, o->text.len);
	bool bad = !doc || json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
		   putchar('\n') == EOF;

	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_optimise(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_optimised o = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	(void)exit_code;
	cm_buf_init(&b, PL_FILE_MAX);
	rc = cm_file_read(cli->argv[1], PL_FILE_MAX, &b, err);
	if (rc == CM_OK && b.len == 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: is empty", cli->argv[1]);
	if (rc == CM_OK)
		rc = pl_optimise(b.data, b.len, cli->argv[1], stderr, &o, err);
	if (rc == CM_OK && cli->json) {
		rc = print_json(&o, err);
	} else if (rc == CM_OK) {
		if (fwrite(o.text.data, 1, o.text.len, stdout) != o.text.len || fflush(stdout) != 0)
			rc = cm_fail(err, CM_EIO, "cannot write the plan");
		else
			print_granted(&o);
	}
	if (rc == CM_OK)
		warn_of_noise(&o);
	pl_optimised_fini(&o);
	cm_buf_fini(&b);
	return rc;
}
