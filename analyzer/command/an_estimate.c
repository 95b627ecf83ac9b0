/* an_estimate.c - carries out the verb that shows results. */
#include <string.h>

#include "an_command.h"
#include "an_history.h"
#include "an_range.h"
#include "an_result.h"
#include "an_result_show.h"
#include "an_verbs.h"
#include "cm_clock.h"
#include "cm_suggest.h"

static enum cm_rc no_query(const struct pl_plan *p, const char *typed, struct cm_err *err)
{
	struct cm_suggest nearest = { 0 };

	for (size_t i = 0; i < p->rounds; i++)
		cm_suggest_offer(&nearest, typed, p->round[i].query.name);
	if (!nearest.word)
		return cm_fail(
			err, CM_EUSAGE, "the plan has no query '%.64s' (round list shows them)", typed);
	return cm_fail(
		err, CM_EUSAGE, "the plan has no query '%.64s' (did you mean '%s'?)", typed, nearest.word);
}

static enum cm_rc show_range(const struct cm_cli *cli, const json_t *result, struct cm_err *err)
{
	struct an_range r;
	json_t *doc;
	enum cm_rc rc = an_range_sum(result, cli->option[AN_ESTIMATE_RANGE], &r, err);

	if (rc != CM_OK)
		return rc;
	if (!cli->json) {
		an_range_print(result, &r, stdout);
		return CM_OK;
	}
	doc = an_range_json(result, &r);
	rc = doc ? an_json_print(doc, 0, stdout, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	json_decref(doc);
	return rc;
}

static enum cm_rc show_history(const struct cm_cli *cli, const struct an_command *d, struct cm_err *err)
{
	const char *since = cli->option[AN_ESTIMATE_SINCE];
	struct an_history h = { .query = cli->argv[1],
		.since_ms = INT64_MIN,
		.now_ms = cm_clock_wall_ms(),
		.form = cli->option[AN_ESTIMATE_CSV] ? AN_HISTORY_CSV
			: cli->json                  ? AN_HISTORY_JSON
						     : AN_HISTORY_TABLE,
		.all = cli->option[AN_ESTIMATE_ALL] != NULL };

	if (since && !cm_clock_instant(since, &h.since_ms))
		return cm_fail(err, CM_EUSAGE,
			"--since takes an instant in UTC, as 2026-12-01T06:00:00Z, or a day, as 2026-12-01");
	return an_history_print(&d->files, &h, stdout, err);
}

/* Show one result.  If the round has a fault there is no estimate; then the JSON and the exit code say
 * so. */
static enum cm_rc show_result(const struct cm_cli *cli, const struct an_round_state *r, json_t *result,
	int *exit_code, struct cm_err *err)
{
	const bool range = cli->option[AN_ESTIMATE_RANGE] != NULL, csv = cli->option[AN_ESTIMATE_CSV] != NULL;
	const char *fault = json_string_value(json_object_get(result, "fault"));

	if (fault && (!cli->json || range))
		return cm_fail(err, CM_EDATA, "round %u (%s) has no estimate: %s", r->plan->number,
			r->plan->label, fault);
	if (range)
		return show_range(cli, result, err);
	if (csv) {
		an_result_csv(result, stdout);
		return CM_OK;
	}
	if (!cli->json) {
		an_result_print(result, cli->option[AN_ESTIMATE_ALL] != NULL, stdout);
		return CM_OK;
	}
	if (an_json_print(result, 0, stdout, err) != CM_OK)
		return err->code;
	if (fault)
		*exit_code = cm_exit_code(CM_EDATA);
	return CM_OK;
}

static enum cm_rc show_last(
	const struct cm_cli *cli, const struct an_command *d, int *exit_code, struct cm_err *err)
{
	const struct an_round_state *r = an_state_query(&d->files.state, cli->argv[1]);
	json_t *result = NULL;
	enum cm_rc rc;

	if (!r)
		return no_query(&d->files.plan, cli->argv[1], err);
	rc = an_result_load(d->conf.state_dir, r, &result, err);
	if (rc == CM_OK)
		rc = show_result(cli, r, result, exit_code, err);
	json_decref(result);
	return rc;
}

/* Refuse options that do not go together. */
static enum cm_rc check_options(const struct cm_cli *cli, bool history, struct cm_err *err)
{
	const bool range = cli->option[AN_ESTIMATE_RANGE] != NULL, csv = cli->option[AN_ESTIMATE_CSV] != NULL;

	if (csv && cli->json)
		return cm_fail(err, CM_EUSAGE, "--csv or --json, not both");
	if (range && history)
		return cm_fail(err, CM_EUSAGE, "--range is of one result, without --history and --since");
	if (range && (csv || cli->option[AN_ESTIMATE_ALL]))
		return cm_fail(err, CM_EUSAGE, "--range shows one number, without --csv and --all");
	return CM_OK;
}

enum cm_rc an_verb_estimate(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const bool history = cli->option[AN_ESTIMATE_SINCE] || cli->option[AN_ESTIMATE_HISTORY];
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	if (rc == CM_OK)
		rc = check_options(cli, history, err);
	if (rc == CM_OK)
		rc = history ? show_history(cli, &d, err) : show_last(cli, &d, exit_code, err);
	an_command_close(&d);
	return rc;
}
