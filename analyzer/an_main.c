/* an_main.c - the command tombola-analyzer: its verbs. */
#include <stdlib.h>
#include <string.h>

#include "an_ask.h"
#include "an_check.h"
#include "an_daemon.h"
#include "an_desk.h"
#include "an_mend.h"
#include "an_range.h"
#include "an_result.h"
#include "an_show.h"
#include "an_verbs.h"
#include "cm_libcrypto.h"
#include "cm_near.h"
#include "cm_noted.h"

enum { OPT_ONCE = 0 };
enum { OPT_CSV = 0, OPT_ALL, OPT_RANGE };

static enum cm_rc run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	enum cm_rc rc = an_desk_open(cli, &d, false, err);
	const struct an_daemon_conf conf = { .conf = &d.conf,
		.once = cli->option[OPT_ONCE] != NULL,
		.json = cli->json,
		.table = cli->option[OPT_ONCE] != NULL && !cli->json ? stdout : NULL };

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_daemon_run(&conf, err);
	an_desk_close(&d);
	return rc;
}

static enum cm_rc show_round(
	const struct cm_cli *cli, struct an_desk *d, const struct an_round_state *r, struct cm_err *err)
{
	json_t *doc = NULL, *result = NULL;
	enum cm_rc rc = CM_OK;

	if (r->stage == AN_SETTLED)
		rc = an_result_load(d->conf.state_dir, r, &result, err);
	if (rc == CM_OK && cli->json) {
		json_t *round = an_round_json(r);

		doc = round != NULL ? json_pack("{s:s}", "schema", "tombola.round/1") : NULL;
		if (doc == NULL || json_object_update_new(doc, round) != 0 ||
			(result != NULL && json_object_set(doc, "result", result) != 0))
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		else
			rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK && result != NULL) {
		an_result_print(result, false, stdout);
	} else if (rc == CM_OK) {
		(void)printf("round %u (%s) is %s%s%s\n", r->plan->number, r->plan->query.name,
			an_stage_name(r->stage), r->reason[0] != '\0' ? ": " : "", r->reason);
	}
	json_decref(doc);
	json_decref(result);
	return rc;
}

static enum cm_rc round_list(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);
	json_t *doc = NULL;

	(void)exit_code;
	if (rc == CM_OK && cli->json) {
		doc = an_rounds_json(&d.books, err);
		rc = doc != NULL ? an_json_print(doc, 0, stdout, err) : err->code;
	} else if (rc == CM_OK) {
		an_rounds_print(&d.books, stdout);
	}
	json_decref(doc);
	an_desk_close(&d);
	return rc;
}

/* Say how the round stands after the run; `before` is where it stood.  A refusal's explanation is its
 * message: the daemon has given one it made itself, an older one is given again. */
static enum cm_rc say_outcome(const struct cm_cli *cli, struct an_desk *d, const struct an_round_state *r,
	enum an_stage before, enum cm_rc rc, int *exit_code)
{
	struct an_explanation e;
	struct cm_err err = { 0 };

	if (rc == CM_OK || cli->json)
		rc = show_round(cli, d, r, &err) == CM_OK ? rc : err.code;
	if (r->stage != AN_REFUSED)
		return rc;
	if (before == AN_REFUSED && !cli->json && an_budget_explain(&d->books.state, r, &e, &err) == CM_OK)
		an_explanation_print(&d->books.state, &e, stderr);
	*exit_code = cm_exit_code(CM_EBUDGET);
	return CM_OK;
}

static enum cm_rc round_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	struct an_round_state *r = NULL;
	struct cm_err again = { 0 };
	enum an_stage before;
	uint32_t number;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	if (rc == CM_OK)
		rc = an_desk_round(cli, &d, &r, err);
	if (rc != CM_OK) {
		an_desk_close(&d);
		return rc;
	}
	number = r->plan->number;
	before = r->stage;
	an_books_close(&d.books);
	rc = an_daemon_run(
		&(struct an_daemon_conf){ .conf = &d.conf, .only = number, .json = cli->json }, err);
	if ((rc == CM_OK || rc == CM_EBUDGET || rc == CM_ELATER) &&
		an_books_open(&d.conf, false, &d.books, &again) == CM_OK)
		rc = say_outcome(cli, &d, &d.books.state.round[number - 1], before, rc, exit_code);
	an_desk_close(&d);
	return rc;
}

static enum cm_rc round_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	struct an_round_state *r = NULL;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_desk_round(cli, &d, &r, err);
	if (rc == CM_OK)
		rc = show_round(cli, &d, r, err);
	an_desk_close(&d);
	return rc;
}

static enum cm_rc no_query(const struct pl_plan *p, const char *typed, struct cm_err *err)
{
	struct cm_near near = { 0 };

	for (size_t i = 0; i < p->rounds; i++)
		cm_near_offer(&near, typed, p->round[i].query.name);
	if (near.word == NULL)
		return cm_fail(
			err, CM_EUSAGE, "the plan has no query '%.64s' (round list shows them)", typed);
	return cm_fail(
		err, CM_EUSAGE, "the plan has no query '%.64s' (did you mean '%s'?)", typed, near.word);
}

static enum cm_rc show_range(const struct cm_cli *cli, const json_t *result, struct cm_err *err)
{
	struct an_range r;
	json_t *doc;
	enum cm_rc rc = an_range_sum(result, cli->option[OPT_RANGE], &r, err);

	if (rc != CM_OK)
		return rc;
	if (!cli->json) {
		an_range_print(result, &r, stdout);
		return CM_OK;
	}
	doc = an_range_json(result, &r);
	rc = doc != NULL ? an_json_print(doc, 0, stdout, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	json_decref(doc);
	return rc;
}

static enum cm_rc estimate(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	const struct pl_round *p = NULL;
	const char *fault;
	json_t *result = NULL;
	enum cm_rc rc = an_desk_open(cli, &d, true, err);

	if (rc == CM_OK && cli->option[OPT_CSV] != NULL && cli->json)
		rc = cm_fail(err, CM_EUSAGE, "--csv or --json, not both");
	if (rc == CM_OK && cli->option[OPT_RANGE] != NULL &&
		(cli->option[OPT_CSV] != NULL || cli->option[OPT_ALL] != NULL))
		rc = cm_fail(err, CM_EUSAGE, "--range shows one number, without --csv and --all");
	if (rc == CM_OK) {
		p = pl_plan_query(&d.books.plan, cli->argv[1]);
		rc = p != NULL ? an_result_load(
					 d.conf.state_dir, &d.books.state.round[p->number - 1], &result, err)
			       : no_query(&d.books.plan, cli->argv[1], err);
	}
	fault = json_string_value(json_object_get(result, "fault"));
	if (rc == CM_OK && p != NULL && fault != NULL && (!cli->json || cli->option[OPT_RANGE] != NULL)) {
		rc = cm_fail(
			err, CM_EDATA, "round %u (%s) has no estimate: %s", p->number, p->query.name, fault);
	} else if (rc == CM_OK && cli->option[OPT_RANGE] != NULL) {
		rc = show_range(cli, result, err);
	} else if (rc == CM_OK) {
		if (cli->option[OPT_CSV] != NULL)
			an_result_csv(result, stdout);
		else if (cli->json)
			rc = an_json_print(result, 0, stdout, err);
		else
			an_result_print(result, cli->option[OPT_ALL] != NULL, stdout);
		if (rc == CM_OK && fault != NULL)
			*exit_code = cm_exit_code(CM_EDATA);
	}
	json_decref(result);
	an_desk_close(&d);
	return rc;
}

static enum cm_rc status(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_desk d;
	enum cm_rc rc = an_desk_open(cli, &d, false, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_ask_status(&d.conf, cli->json, stdout, err);
	an_desk_close(&d);
	return rc;
}

static enum cm_rc check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cm_health h;
	struct an_desk d;
	enum cm_rc rc = cm_health_begin(cli, CM_ROLE_ANALYZER, &h, err);

	if (rc != CM_OK)
		return rc;
	rc = an_desk_open(cli, &d, false, err);
	if (rc == CM_OK)
		an_check(&d.conf, &h);
	*exit_code = cm_health_end(&h, rc, err, stdout);
	an_desk_close(&d);
	return CM_OK;
}

/* Both files; every fault of both is said. */
static enum cm_rc check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_conf conf = { 0 };
	struct pl_plan plan = { 0 };
	struct cm_err second;
	char digest[2 * PR_HASH_LEN + 1];
	enum cm_rc rc = cm_conf_load(cli->config, an_conf_rows, &conf, stderr, err), planned;

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_conf_check(cli->config, &conf, stderr, err);
	if (conf.plan != NULL) {
		planned = pl_plan_load(conf.plan, stderr, &plan, rc == CM_OK ? err : &second);
		rc = rc == CM_OK ? planned : rc;
	}
	if (rc == CM_OK) {
		cm_hex(plan.digest, PR_HASH_LEN, digest);
		(void)printf("%s and %s are valid: plan %s, %zu rounds, digest %s\n", cli->config, conf.plan,
			plan.name, plan.rounds, digest);
	}
	pl_plan_fini(&plan);
	cm_conf_free(an_conf_rows, &conf);
	return rc;
}

static enum cm_rc config_sample(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	if (cli->argc > 1 && strcmp(cli->argv[1], "plan") != 0)
		return cm_fail(err, CM_EUSAGE, "config-sample, or config-sample plan");
	if (cli->argc > 1)
		pl_plan_sample(stdout);
	else
		cm_conf_sample(an_conf_rows, stdout);
	return CM_OK;
}

/* A verb of two words stands before the one it begins with. */
static const struct cm_cli_verb verbs[] = {
	{ .name = "run",
		.args = "",
		.help = "run the plan's remaining rounds, then stay up until SIGTERM",
		.option = { [OPT_ONCE] = { "once", NULL, "end when the plan is through", false } },
		.run = run },
	{ .name = "status", .args = "", .help = "show what the running daemon is doing", .run = status },
	{ .name = "round list",
		.args = "",
		.help = "list the rounds of the plan and what they cost",
		.run = round_list },
	{ .name = "round run",
		.args = "N",
		.help = "run one round; exit 3 when the budget refuses it, 75 when it is void",
		.min_args = 1,
		.max_args = 1,
		.run = round_run },
	{ .name = "round show",
		.args = "N",
		.help = "show where a round stands, and its result",
		.min_args = 1,
		.max_args = 1,
		.run = round_show },
	{ .name = "round give-up",
		.args = "N",
		.help = "end a round whose batch is lost; what it was charged stays charged",
		.min_args = 1,
		.max_args = 1,
		.option = { [AN_MEND_CONFIRM] = { "confirm", "QUERY", "required: the name of its query",
				    false } },
		.run = an_mend_give_up },
	{ .name = "estimate",
		.args = "QUERY",
		.help = "show a query's estimate with its intervals",
		.min_args = 1,
		.max_args = 1,
		.option = { [OPT_CSV] = { "csv", NULL, "comma-separated values, with a head line", false },
			[OPT_ALL] = { "all", NULL, "every item of a long list", false },
			[OPT_RANGE] = { "range", "LOW:HIGH", "of ranges: how many are in this one", false } },
		.run = estimate },
	{ .name = "budget explain",
		.args = "[N]",
		.help = "explain why a round fits or not, what spent the budget, what would fit; exit 3 if "
			"not",
		.max_args = 1,
		.run = an_verb_budget_explain },
	{ .name = "budget",
		.args = "",
		.help = "show the budget, what is spent and what is left",
		.run = an_verb_budget },
	{ .name = "ledger verify",
		.args = "",
		.help = "verify every record of the ledger",
		.run = an_verb_ledger_verify },
	{ .name = "ledger export",
		.args = "",
		.help = "print every record as a line of JSON, with the cells an auditor needs",
		.run = an_verb_ledger_export },
	{ .name = "check",
		.args = "",
		.help = "say the state in one line, for monitoring; exit 0 OK, 1 WARNING, 2 CRITICAL, 3 "
			"UNKNOWN",
		.option = { CM_HEALTH_OPTIONS },
		.run = check },
	{ .name = "check-config",
		.args = "",
		.help = "say every fault of configuration, plan and keys as file:line: text",
		.run = check_config },
	{ .name = "config-sample",
		.args = "[plan]",
		.help = "print a commented configuration, or plan, to start from",
		.max_args = 1,
		.run = config_sample },
	CM_CLI_COMPLETION,
	{ .name = NULL },
};

int main(int argc, char **argv)
{
	static const struct cm_cli_program program = { .name = "tombola-analyzer",
		.summary = "Runs a plan of rounds, keeps the privacy ledger, and estimates.",
		.role = "analyzer",
		.verb = verbs };

	cm_libcrypto_begin();
	json_set_alloc_funcs(cm_noted_malloc, free);
	return cm_cli_main(&program, argc, argv);
}
