/* an_main.c - runs the command tombola-analyzer, which is a table of verbs. */
#include <stdlib.h>
#include <string.h>

#include "an_ask.h"
#include "an_check.h"
#include "an_command.h"
#include "an_daemon.h"
#include "an_recover.h"
#include "an_result.h"
#include "an_result_show.h"
#include "an_results.h"
#include "an_sign.h"
#include "an_tables.h"
#include "an_verbs.h"
#include "cm_clock.h"
#include "cm_file.h"
#include "cm_heap.h"
#include "cm_inherited.h"
#include "cm_oom.h"
#include "cr_hpke.h"
#include "cr_libcrypto.h"
#include "nt_loop.h"
#include "pl_load.h"

enum { OPT_ONCE = 0, OPT_PAYLOAD = 0, OPT_WAIT = 0 };

#define REHEARSE_S 10L /* seconds to wait for clients, unless --wait gives another time */

static enum cm_rc run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;

	nt_loop_deaf();

	enum cm_rc rc = an_command_open(cli, &d, false, err);
	const struct an_daemon_conf conf = { .path = cli->config,
		.conf = &d.conf,
		.once = cli->option[OPT_ONCE] != NULL,
		.json = cli->json,
		.table = cli->option[OPT_ONCE] && !cli->json ? stdout : NULL };

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_daemon_run(&conf, err);
	an_command_close(&d);
	return rc;
}

static enum cm_rc plan_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, true, err);
	const struct an_daemon_conf conf = { .conf = &d.conf, .check = true };
	bool pinned = rc == CM_OK && d.files.state.current;

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_ledger_files_preview(&d.files, NULL, err);
	if (rc == CM_OK && !pinned)
		an_sign_warn(&d.files, stdout);
	if (rc == CM_OK)
		rc = an_daemon_run(&conf, err);
	if (rc == CM_OK)
		(void)printf("%s fits the policy of the shuffler at %s\n", d.conf.plan, d.conf.shuffler);
	an_command_close(&d);
	return rc;
}

static enum cm_rc plan_rehearse(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *wait = cli->option[OPT_WAIT];
	long seconds = REHEARSE_S;
	struct an_command d;

	(void)exit_code;
	if (wait) {
		char *end;

		seconds = strtol(wait, &end, 10);
		if (*wait == '\0' || *end != '\0' || seconds < 1 || seconds > PR_WAIT_MAX_MS / 1000)
			return cm_fail(err, CM_EUSAGE, "--wait is a number of seconds, 1 to %u",
				PR_WAIT_MAX_MS / 1000);
	}

	enum cm_rc rc = an_command_open(cli, &d, false, err);
	const struct an_daemon_conf conf = {
		.conf = &d.conf, .check = true, .wait_ms = (uint32_t)seconds * 1000, .json = cli->json
	};
	if (rc == CM_OK)
		rc = an_daemon_run(&conf, err);
	an_command_close(&d);
	return rc;
}

static enum cm_rc show_round(
	const struct cm_cli *cli, struct an_command *d, const struct an_round_state *r, struct cm_err *err)
{
	json_t *doc = NULL, *result = NULL;
	enum cm_rc rc = CM_OK;

	if (r->stage == AN_SETTLED)
		rc = an_result_load(d->conf.state_dir, r, &result, err);
	if (rc == CM_OK && cli->json) {
		json_t *round = an_round_json(r, cm_clock_wall_ms());

		doc = round ? json_pack("{s:s}", "schema", "tombola.round/1") : NULL;
		if (!doc || json_object_update_new(doc, round) != 0 ||
			(result && json_object_set(doc, "result", result) != 0))
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		else
			rc = an_json_print(doc, 0, stdout, err);
	} else if (rc == CM_OK && result) {
		an_result_print(result, false, stdout);
	} else if (rc == CM_OK) {
		(void)printf("round %u (%s) is %s%s%s\n", r->plan->number, r->plan->label,
			an_stage_name(r->stage), r->reason[0] != '\0' ? ": " : "", r->reason);
	}
	json_decref(doc);
	json_decref(result);
	return rc;
}

static enum cm_rc round_list(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, true, err);
	json_t *doc = NULL;

	(void)exit_code;
	if (rc == CM_OK && cli->json) {
		doc = an_rounds_json(&d.files, cm_clock_wall_ms(), err);
		rc = doc ? an_json_print(doc, 0, stdout, err) : err->code;
	} else if (rc == CM_OK) {
		an_rounds_print(&d.files, cm_clock_wall_ms(), stdout);
	}
	json_decref(doc);
	an_command_close(&d);
	return rc;
}

/* Print the state of the round after the run; `before` is its stage before the run.  The daemon has
 * explained a refusal that it made itself; an older refusal is explained again. */
static enum cm_rc say_outcome(const struct cm_cli *cli, struct an_command *d, const struct an_round_state *r,
	enum an_stage before, enum cm_rc rc, int *exit_code)
{
	struct an_explanation e;
	struct cm_err err = { 0 };

	if (rc == CM_OK || cli->json)
		rc = show_round(cli, d, r, &err) == CM_OK ? rc : err.code;
	if (r->stage != AN_REFUSED)
		return rc;
	if (before == AN_REFUSED && !cli->json && an_budget_explain(&d->files.state, r, &e, &err) == CM_OK)
		an_explanation_print(&d->files.state, &e, stderr);
	*exit_code = cm_exit_code(CM_EBUDGET);
	return CM_OK;
}

static enum cm_rc round_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	static const uint8_t empty;
	struct an_command d;
	struct an_daemon_conf run = { .conf = &d.conf, .json = cli->json };
	struct an_round_state *r = NULL;
	struct cm_buf payload;
	struct cm_err again = { 0 };
	enum an_stage before = AN_PLANNED;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	cm_buf_init(&payload, PR_PAYLOAD_MAX + 1);
	if (rc == CM_OK)
		rc = an_command_round(cli, &d, &r, err);
	if (rc == CM_OK && r->of && !r->of->current)
		rc = cm_fail(err, CM_EUSAGE, "only rounds of the plan file are run");
	if (rc == CM_OK && cli->option[OPT_PAYLOAD]) {
		rc = cm_file_read(cli->option[OPT_PAYLOAD], PR_PAYLOAD_MAX, &payload, err);
		run.payload = (struct an_payload){ payload.data ? payload.data : &empty, payload.len };
	}
	if (rc != CM_OK)
		goto out;
	run.only = r->plan->number;
	before = r->stage;
	an_ledger_files_close(&d.files);
	rc = an_daemon_run(&run, err);
	if ((rc == CM_OK || rc == CM_EBUDGET || rc == CM_ELATER) &&
		an_ledger_files_open(&d.conf, false, &d.files, &again) == CM_OK)
		rc = say_outcome(cli, &d, &d.files.state.round[run.only - 1], before, rc, exit_code);
out:
	cm_buf_fini(&payload);
	an_command_close(&d);
	return rc;
}

static enum cm_rc round_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct an_round_state *r = NULL;
	enum cm_rc rc = an_command_open(cli, &d, true, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_command_round(cli, &d, &r, err);
	if (rc == CM_OK)
		rc = show_round(cli, &d, r, err);
	an_command_close(&d);
	return rc;
}

static enum cm_rc status(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	enum cm_rc rc = an_command_open(cli, &d, false, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = an_ask_status(&d.conf, cli->json, stdout, err);
	an_command_close(&d);
	return rc;
}

static enum cm_rc check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct nt_health h;
	struct an_command d;
	enum cm_rc rc = nt_health_begin(cli, CR_ROLE_ANALYZER, &h, err);

	if (rc != CM_OK)
		return rc;
	rc = an_command_open(cli, &d, false, err);
	if (rc == CM_OK)
		an_check(&d.conf, &h);
	*exit_code = nt_health_end(&h, rc, err, stdout);
	an_command_close(&d);
	return CM_OK;
}

/* Check both files and the state.  Every finding is printed, and the first decides the exit code. */
static enum cm_rc check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_conf conf = { 0 };
	struct pl_plan plan = { 0 };
	struct cf_file *file;
	struct cm_err why;
	char digest[2 * PR_HASH_LEN + 1];
	bool planned, absent;

	(void)exit_code;
	err->code = CM_OK;
	enum cm_rc rc = cf_load(cli->config, an_conf_rows, &conf, &file, stderr, &why);
	if (rc != CM_OK)
		cf_finding(&why, stderr, err);
	an_conf_check(file, &conf, stderr, err);
	/* A missing configuration ends a verb like any missing input file. */
	if (rc != CM_ENOINPUT)
		rc = cf_blamed(err);
	absent = conf.plan && cf_absent_at(file, "plan", conf.plan, stderr, err);
	planned = conf.plan && !absent && an_plan_load(&conf, stderr, &plan, &why) == CM_OK;
	if (conf.plan && !absent && !planned)
		cf_finding(&why, stderr, err);
	an_state_check(&conf, file, planned, stderr, err);
	rc = rc == CM_OK ? err->code : rc;
	if (rc == CM_OK) {
		cm_hex(plan.digest, PR_HASH_LEN, digest);
		(void)printf("%s and %s are valid: plan %s, %zu round%s, digest %s\n", cli->config, conf.plan,
			plan.name, plan.rounds, plan.rounds == 1 ? "" : "s", digest);
	}
	pl_plan_fini(&plan);
	cf_file_free(file);
	cf_free(an_conf_rows, &conf);
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
		cf_sample(an_conf_rows, stdout);
	return CM_OK;
}

#define DELIVER_OPTIONS                                                                                \
	[AN_DELIVER_CURSOR] = CM_OPTION("cursor", "FILE", "required: keeps which round was the last"), \
	[AN_DELIVER_ONCE] = CM_FLAG("once", "end when all settled rounds are delivered")

/* A verb of two words precedes the verb that is its first word alone. */
static const struct cm_cli_verb verbs[] = {
	CM_VERB_WITH("run", "", 0, 0, run, "run the plan's remaining rounds, then stay up until SIGTERM",
		[OPT_ONCE] = CM_FLAG("once", "end when no round is due")),
	CM_VERB("status", "", 0, 0, status, "show what the running daemon is doing"),
	CM_VERB("round list", "", 0, 0, round_list, "list the rounds of the plan and what they cost"),
	CM_VERB_WITH("round run", "N", 1, 1, round_run,
		"try one round once, N, QUERY or QUERY#N; exit 3 when the budget refuses it, 75 when the "
		"try is void, 65 when the payload does not fit the round",
		[OPT_PAYLOAD] = CM_OPTION("payload", "FILE",
			"the bytes that its devices compute with, of a round that waits for them")),
	CM_VERB("round show", "N", 1, 1, round_show, "show where a round stands, and its result"),
	CM_VERB_WITH("round give-up", "N", 1, 1, an_recover_give_up,
		"end a round whose batch is lost; what it was charged stays charged",
		[AN_RECOVER_CONFIRM] = CM_OPTION("confirm", "QUERY", "required: the name of its query")),
	CM_VERB_WITH("estimate", "QUERY", 1, 1, an_verb_estimate,
		"show a query's estimate with its intervals",
		[AN_ESTIMATE_CSV] = CM_FLAG("csv", "comma-separated values, with a head line"),
		[AN_ESTIMATE_ALL] = CM_FLAG("all", "every item of a long list"),
		[AN_ESTIMATE_RANGE] = CM_OPTION("range", "LOW:HIGH", "of ranges: how many are in this one"),
		[AN_ESTIMATE_SINCE] = CM_OPTION("since", "TIME", "all its results since then, in UTC"),
		[AN_ESTIMATE_HISTORY] = CM_FLAG("history", "all its results, of every recurrence and plan"),
		[AN_ESTIMATE_LIARS] = CM_OPTION(
			"liars", "M", "if M devices lied, or M% of them: what is known of the honest ones"),
		[AN_ESTIMATE_ABOVE] = CM_OPTION("above", "X",
			"with how many liars it is certain that the honest devices' answer is above X")),
	CM_VERB_WITH("results export", "", 0, 0, an_results_export,
		"print every settled round as lines for other programs, each once",
		[AN_EXPORT_FOLLOW] = CM_FLAG("follow", "go on with rounds as they settle"),
		[AN_EXPORT_FORMAT] = CM_OPTION("format", "FORM", "ndjson (the default), csv or influx"),
		[AN_EXPORT_AFTER] = CM_OPTION("after", "SEQ", "only rounds after the one with this seq"),
		[AN_EXPORT_CURSOR] =
			CM_OPTION("cursor", "FILE", "go on after the last one that this file names")),
	CM_VERB_WITH("results hook", "", 0, 0, an_results_hook,
		"run the program of on_settled for every settled round, again until it succeeds",
		DELIVER_OPTIONS),
	CM_VERB_WITH("results mqtt", "", 0, 0, an_results_mqtt,
		"publish every settled round to an MQTT broker, with sensors for Home Assistant",
		DELIVER_OPTIONS, [AN_MQTT_BROKER] = CM_OPTION("broker", "HOST:PORT", "required"),
		[AN_MQTT_USER] = CM_OPTION("user", "NAME", "to log in with"),
		[AN_MQTT_PASSWORD] = CM_OPTION("password-file", "FILE", "its first line; mode 0600 or 0400"),
		[AN_MQTT_CA] = CM_OPTION(
			"ca", "FILE", "who may vouch for the broker; with it the connection is TLS"),
		[AN_MQTT_CERT] = CM_OPTION("cert", "FILE", "our certificate, for a broker that asks"),
		[AN_MQTT_KEY] = CM_OPTION("key", "FILE", "and its private key"),
		[AN_MQTT_PLAINTEXT] = CM_FLAG("plaintext-to-remote", "no TLS, even beyond loopback"),
		[AN_MQTT_PROTOCOL] = CM_OPTION("protocol", "VERSION", "5 (the default) or 3.1.1"),
		[AN_MQTT_PREFIX] = CM_OPTION("prefix", "TOPIC", "of the state topics; tombola by default"),
		[AN_MQTT_DISCOVERY] = CM_OPTION(
			"discovery", "TOPIC", "Home Assistant's; homeassistant by default, \"\" for none"),
		[AN_MQTT_SENSORS] = CM_OPTION("sensors", "N", "most sensors of a query; 64 by default")),
	CM_VERB("budget explain", "[N]", 0, 1, an_verb_budget_explain,
		"explain why a round fits or not, what spent the budget, what would fit; exit 3 if not"),
	CM_VERB("budget", "", 0, 0, an_verb_budget, "show the budget, what is spent and what is left"),
	CM_VERB("plan show", "", 0, 0, an_verb_plan_show,
		"show the signed plan, or what would be signed: its slice, entries and refused rounds"),
	CM_VERB("plan check", "", 0, 0, plan_check,
		"ask the shuffler whether the plan fits its policy, before it is signed; exit 78 if not"),
	CM_VERB_WITH("plan rehearse", "", 0, 0, plan_rehearse,
		"ask the shuffler and the clients that are connected what would become of the plan, before it "
		"is signed; exit 78 if anything would go wrong",
		[OPT_WAIT] =
			CM_OPTION("wait", "SECONDS", "wait so long for clients, 1 to 30; 10 by default")),
	CM_VERB_WITH("plan sign", "", 0, 0, an_sign,
		"show what the plan takes of the population's budget, rehearse it, ask, and sign it; exit 78 if the "
		"shuffler would refuse it",
		[AN_SIGN_YES] = CM_FLAG("yes",
			"sign without asking for the population's name, unless the rehearsal finds "
			"a fault"),
		[AN_SIGN_ANYWAY] = CM_FLAG("anyway", "with --yes: sign whatever the rehearsal finds")),
	CM_VERB("plan digest", "", 0, 0, an_verb_plan_digest,
		"print the digest of the signed plan, which a client's policy may name"),
	CM_VERB("ledger verify", "", 0, 0, an_verb_ledger_verify, "verify every record of the ledger"),
	CM_VERB("ledger export", "", 0, 0, an_verb_ledger_export,
		"print every record as a line of JSON, with the cells an auditor needs"),
	CM_VERB_WITH("check", "", 0, 0, check,
		"say the state in one line, for monitoring; exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN",
		NT_HEALTH_OPTIONS),
	CM_VERB("check-config", "", 0, 0, check_config,
		"say every fault of configuration, plan, keys and state, with its place"),
	CM_VERB("config-sample", "[plan]", 0, 1, config_sample,
		"print a commented configuration, or plan, to start from"),
	CM_CLI_COMPLETION,
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct cm_cli_program program = { .name = "tombola-analyzer",
		.summary = "Runs a plan of rounds, keeps the privacy ledger, and estimates.",
		.role = "analyzer",
		.verb = verbs,
		.lists_queries = "round list",
		.machine = cr_hpke_begin };

	cm_inherited_mend();
	cm_heap_begin();
	cr_libcrypto_begin();
	json_set_alloc_funcs(cm_oom_malloc, free);
	return cm_cli_main(&program, argc, argv);
}
