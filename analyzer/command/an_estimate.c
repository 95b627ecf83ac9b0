/* an_estimate.c - carries out the verb that shows results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "an_command.h"
#include "an_history.h"
#include "an_liars.h"
#include "an_range.h"
#include "an_result.h"
#include "an_result_show.h"
#include "an_verbs.h"
#include "cm_clock.h"
#include "cm_suggest.h"
#include "cm_table.h"

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

/* Read a number of devices, or a share of them as "1%", rounded up. */
static enum cm_rc read_liars(const char *text, uint64_t devices, uint64_t *out, struct cm_err *err)
{
	char *end, all[32];
	double v = strtod(text, &end);
	bool share = strcmp(end, "%") == 0;

	if (end == text || (!share && *end != '\0') || !(v >= 0) || !(v <= 1e18) || (!share && v != floor(v)))
		return cm_fail(err, CM_EUSAGE,
			"--liars takes a number of devices, as 10, or a share of them, as 1%%, not '%.40s'",
			text);
	if (share)
		v = ceil(v / 100 * (double)devices);
	if (v >= (double)devices)
		return cm_fail(err, CM_EUSAGE, "--liars %.40s: all %s devices would be liars", text,
			cm_thousands((int64_t)devices, all));
	*out = (uint64_t)v;
	return CM_OK;
}

/* Compute again what the result says of liars, by other assumptions.  The stored result stays. */
static enum cm_rc assume(
	const struct cm_cli *cli, const struct an_round_state *r, json_t *result, struct cm_err *err)
{
	const char *many = cli->option[AN_ESTIMATE_LIARS], *above = cli->option[AN_ESTIMATE_ABOVE];
	struct an_liars liars = an_liars_of(&r->descriptor, r->participants);
	enum cm_rc rc = CM_OK;
	char *end;

	if ((!many && !above) || json_object_get(result, "fault"))
		return CM_OK;
	if (many) {
		liars.from = "asked";
		rc = read_liars(many, r->participants, &liars.m, err);
	}
	if (rc == CM_OK && above) {
		liars.above = strtod(above, &end);
		if (end == above || *end != '\0' || !isfinite(liars.above))
			rc = cm_fail(err, CM_EUSAGE, "--above takes a number, not '%.40s'", above);
	}
	return rc == CM_OK ? an_liars_assume(result, &r->descriptor, &liars, err) : rc;
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
		rc = assume(cli, r, result, err);
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
	if ((cli->option[AN_ESTIMATE_LIARS] || cli->option[AN_ESTIMATE_ABOVE]) && (range || history))
		return cm_fail(err, CM_EUSAGE,
			"--liars and --above are of one result, without --range, --history and --since");
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
