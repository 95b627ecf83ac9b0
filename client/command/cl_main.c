/* cl_main.c - runs the command tombola-client: verbs, options, exit codes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cl_begin_programs.h"
#include "cl_check.h"
#include "cl_db.h"
#include "cl_device.h"
#include "cl_dry_plan.h"
#include "cl_dry_run.h"
#include "cl_left_out.h"
#include "cl_listen.h"
#include "cl_options.h"
#include "cl_proofs.h"
#include "cl_recover.h"
#include "cl_saved.h"
#include "cl_show.h"
#include "cl_spawner.h"
#include "cm_cli.h"
#include "cm_heap.h"
#include "cm_inherited.h"
#include "cm_lock.h"
#include "cm_log.h"
#include "cm_oom.h"
#include "cm_owned.h"
#include "cr_hpke.h"
#include "cr_libcrypto.h"
#include "cr_secret.h"
#include "nt_loop.h"

/* Indices of the options of `send`, after the shared ones. */
enum { SEND_ROUNDS = CL_INPUT_OPTIONS, SEND_WAIT, SEND_SHOW };
enum {
	ENCODE_STRICT = CL_INPUT_OPTIONS,
	ENCODE_DRY_RUN,
	ENCODE_PLAN,
	ENCODE_OTHERS,
	ENCODE_EACH,
	ENCODE_SHOW,
	ENCODE_DESCRIPTOR,
	ENCODE_SAVE,
	ENCODE_WAIT
};
enum { RUN_ROUNDS };

/* ---- send ---- */

struct sent {
	const struct cm_cli *cli;
	json_t *rounds;
	bool show; /* print how many readings were used */
	uint64_t accepted, devices;
};

static void on_sent(void *user, const struct cl_summary *s)
{
	struct sent *t = user;

	t->accepted += s->counts.by[CL_ACCEPTED];
	t->devices += s->counts.total;
	if (t->rounds)
		(void)json_array_append_new(t->rounds, cl_summary_json(s, t->show));
	else if (s->refused == CM_OK)
		cl_show_summary(s, t->show, stdout);
	(void)fflush(stdout);
}

static enum cm_rc print_sent(const struct sent *t, struct cm_err *err)
{
	json_t *all;

	if (!t->rounds)
		return CM_OK;
	all = json_pack("{s:s, s:O}", "schema", "tombola.send/2", "rounds", t->rounds);
	if (!all)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
	(void)putchar('\n');
	json_decref(all);
	return CM_OK;
}

static enum cm_rc send_readings(const struct cm_cli *cli, struct cl_setup *setup, struct cm_err *err)
{
	struct sent t = { .cli = cli,
		.rounds = cli->json ? json_array() : NULL,
		.show = cl_setup_shows(setup) || cli->option[SEND_SHOW] != NULL };
	struct cl_input input;
	struct cl_loop_conf conf = { .setup = setup,
		.input = &input,
		.rounds = 1,
		.stop_on_fault = true,
		.progress = cli->level >= CM_LOG_WARN && isatty(STDERR_FILENO),
		.quiet = cli->level < CM_LOG_INFO,
		.on_round = on_sent,
		.user = &t };
	struct cm_err printing;
	bool stopped = false;
	enum cm_rc rc = cl_options_input(cli, setup, cli->argv[1], &input, err);

	if (rc == CM_OK)
		rc = cl_options_wait(cli->option[SEND_WAIT], &conf.wait_ms, err);
	if (rc == CM_OK && cli->option[SEND_ROUNDS])
		rc = cm_cli_u64(cli->option[SEND_ROUNDS], "--rounds", 1, 1000000, &conf.rounds, err);
	if (rc == CM_OK && conf.rounds > 1 && strcmp(input.path, "-") == 0)
		rc = cm_fail(err, CM_EUSAGE, "stdin can be read for one round only: --rounds needs a file");
	input.again = conf.rounds > 1;
	if (rc == CM_OK)
		rc = cl_begin_programs(setup, &conf.programs, err);
	if (rc == CM_OK)
		rc = cl_loop_run(&conf, &stopped, err);
	cl_programs_stop(conf.programs);
	if (rc == CM_OK && stopped)
		rc = cm_fail(err, CM_ELATER, "stopped; what is stored is sent when it runs again");
	if (rc == CM_OK && t.devices > 0 && t.accepted == 0)
		rc = cm_fail(err, CM_ELATER, "no device was accepted");
	if (print_sent(&t, &printing) != CM_OK && rc == CM_OK) {
		*err = printing;
		rc = err->code;
	}
	json_decref(t.rounds);
	return rc;
}

static enum cm_rc verb_send(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc = cl_setup_load(cli->config, &setup, stderr, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = send_readings(cli, &setup, err);
	cl_setup_fini(&setup);
	return rc;
}

/* ---- run ---- */

static void on_round_logged(void *user, const struct cl_summary *s)
{
	const struct cl_setup *setup = user;
	bool show = cl_setup_shows(setup);
	const struct cm_field seldom[] = { CM_I("conflicts", s->counts.by[CL_CONFLICT]),
		CM_I("closed", s->counts.by[CL_CLOSED]), CM_I("over_limit", s->counts.by[CL_OVER_LIMIT]),
		CM_I("unanswered", s->counts.by[CL_UNANSWERED]),
		CM_I("rows_left_out", show ? s->rows.bad + s->rows.out_of_domain : 0),
		CM_I("unlisted", show ? s->rows.unlisted : 0),
		CM_I("without_reading", show ? s->rows.none : 0),
		CM_I("duplicates", show ? s->rows.duplicates : 0) };
	bool left_out = cl_left_out_any(&s->counts);
	char plan[160], why[360];
	struct cm_field field[13 + sizeof seldom / sizeof seldom[0]];
	size_t n = 0;

	if (s->refused != CM_OK) {
		cm_log(CM_LOG_WARN, "round refused", CM_I("round", s->sequence), CM_S("query", s->query),
			CM_S("key", s->key ? s->key : ""), CM_S("reason", s->reason));
		return;
	}
	field[n++] = CM_I("round", s->sequence);
	field[n++] = CM_S("query", s->query);
	field[n++] = CM_I("devices", s->counts.total);
	field[n++] = CM_I("accepted", s->counts.by[CL_ACCEPTED]);
	/* Log only the counts that are not zero. */
	for (size_t i = 0; i < sizeof seldom / sizeof seldom[0]; i++)
		if (seldom[i].v.i != 0)
			field[n++] = seldom[i];
	if (left_out) {
		cl_left_out_words(setup, s->target, &s->counts, why, sizeof why);
		field[n++] = CM_S("reason", why);
	}
	if (show && s->rows.first_bad[0] != '\0')
		field[n++] = CM_S("first_left_out", s->rows.first_bad);
	if (s->plan.number > 0) {
		(void)snprintf(plan, sizeof plan, "%s (%" PRIu64 ")", s->plan.name, s->plan.number);
		field[n++] = CM_S("plan", plan);
		field[n++] = CM_I("entry", s->entry);
		field[n++] = CM_I("try", s->attempt);
	}
	field[n++] = CM_D("epsilon_round", s->epsilon_round);
	field[n++] = CM_D("epsilon_total", s->epsilon_total);
	if (s->shuffler_dummies > 0)
		field[n++] = CM_I("shuffler_dummies", s->shuffler_dummies);
	/* A round that was charged, but in which no device was counted, must not end with success. */
	left_out = left_out || (s->counts.total > 0 && s->counts.by[CL_ACCEPTED] == 0);
	cm_log_fields(left_out ? CM_LOG_WARN : CM_LOG_INFO, "round done", field, n);
}

static enum cm_rc verb_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	struct cl_input input;
	struct cl_loop_conf conf = { .setup = &setup,
		.policy = &setup.policy,
		.input = &input,
		.on_round = on_round_logged,
		.user = &setup };
	bool stopped = false;
	enum cm_rc rc = cl_setup_load(cli->config, &setup, stderr, err);

	(void)exit_code;
	conf.mqtt = cl_mqtt_conf_sources(&setup.conf.mqtt).n > 0;
	if (rc == CM_OK && !setup.conf.input && !conf.mqtt)
		rc = cm_fail(err, CM_ECONFIG, "%s: `run` needs input.path or mqtt.sources", cli->config);
	if (rc == CM_OK && cli->option[RUN_ROUNDS])
		rc = cm_cli_u64(cli->option[RUN_ROUNDS], "--rounds", 1, 1000000, &conf.rounds, err);
	if (rc == CM_OK) {
		input = (struct cl_input){ .path = setup.conf.input,
			.again = true,
			.may_be_absent = true,
			.labels = setup.conf.labels,
			.format = setup.format,
			.device_field = setup.conf.device_field,
			.map = &setup.conf.map,
			.csv = setup.conf.csv };
		conf.progress = isatty(STDERR_FILENO);
		rc = cl_begin_programs(&setup, &conf.programs, err);
	}
	if (rc == CM_OK)
		nt_loop_deaf(); /* call it only after the process of the programs was started */
	if (rc == CM_OK)
		rc = cl_loop_run(&conf, &stopped, err);
	cl_programs_stop(conf.programs);
	cl_setup_fini(&setup);
	return rc;
}

/* ---- proofs ---- */

static enum cm_rc verb_proofs(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	int64_t wait_ms = 0;

	(void)exit_code;
	enum cm_rc rc = cl_options_wait(cli->option[CL_PROOFS_WAIT], &wait_ms, err);
	return rc == CM_OK ? cl_proofs(cli, wait_ms, err) : rc;
}

/* ---- encode ---- */

/* Judge the readings for every round of a plan file, without a shuffler. */
static enum cm_rc encode_plan(const struct cm_cli *cli, struct cl_setup *setup, struct cm_err *err)
{
	const char *path = cli->argc > 1 ? cli->argv[1] : setup->conf.input,
		   *others = cli->option[ENCODE_OTHERS];
	struct cl_input input;
	struct cl_dry_plan what = { .setup = setup,
		.input = &input,
		.plan = cli->option[ENCODE_PLAN],
		.each = cli->option[ENCODE_EACH] != NULL,
		.json = cli->json };
	enum cm_rc rc;

	if (cli->option[ENCODE_DESCRIPTOR] || cli->option[ENCODE_SAVE] || cli->option[ENCODE_WAIT])
		return cm_fail(err, CM_EUSAGE,
			"--plan asks no shuffler for a round: leave out --descriptor, --save and --wait");
	if (!path)
		return cm_fail(
			err, CM_EUSAGE, "name the file of readings: %s has no input.path", cli->config);
	rc = cl_options_input(cli, setup, path, &input, err);
	if (rc == CM_OK && strcmp(path, "-") == 0)
		rc = cm_fail(err, CM_EUSAGE, "stdin can be read for one round only: --plan needs a file");
	if (rc == CM_OK && others)
		rc = cm_cli_u64(others, "--others", 0, PR_ROUND_REPORTS_MAX, &what.others, err);
	if (rc == CM_OK && cli->option[ENCODE_SHOW])
		rc = cm_cli_u64(cli->option[ENCODE_SHOW], "--show", 1, CL_BATCH_MAX, &what.show, err);
	input.strict = cli->option[ENCODE_STRICT] != NULL;
	return rc == CM_OK ? cl_dry_plan(&what, stdout, err) : rc;
}

/* Encode the readings for the round that the shuffler has open, or for a saved one. */
static enum cm_rc encode_readings(const struct cm_cli *cli, struct cl_setup *setup, struct cm_err *err)
{
	const char *path = cli->option[ENCODE_DESCRIPTOR], *save = cli->option[ENCODE_SAVE];
	struct cl_programs *programs = NULL;
	struct cl_fetched round;
	struct cl_input input;
	int64_t wait_ms = 0;
	enum cm_rc rc = cl_options_input(cli, setup, cli->argv[1], &input, err);

	input.strict = cli->option[ENCODE_STRICT] != NULL;
	if (rc == CM_OK)
		rc = cl_options_wait(cli->option[ENCODE_WAIT], &wait_ms, err);
	if (rc == CM_OK)
		rc = cl_begin_programs(setup, &programs, err);
	if (rc != CM_OK)
		return rc;
	cl_fetched_init(&round);
	rc = path ? cl_saved_load(path, &round, err) : cl_loop_fetch(setup, wait_ms, &round, err);
	if (rc == CM_OK && save)
		rc = cl_saved_store(save, &round, err);
	if (rc == CM_OK) {
		const struct cl_dry_run what = { setup, &input, programs, &round, cli->json };

		rc = cl_dry_run(&what, stdout, err);
	}
	cl_fetched_fini(&round);
	cl_programs_stop(programs);
	return rc;
}

static enum cm_rc verb_encode(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc;

	(void)exit_code;
	if (!cli->option[ENCODE_DRY_RUN])
		return cm_fail(err, CM_EUSAGE, "encode only shows: say --dry-run (send takes part)");
	if (!cli->option[ENCODE_PLAN] && cli->argc < 2)
		return cm_fail(err, CM_EUSAGE, "encode needs the file of readings");
	if (!cli->option[ENCODE_PLAN] &&
		(cli->option[ENCODE_OTHERS] || cli->option[ENCODE_EACH] || cli->option[ENCODE_SHOW]))
		return cm_fail(err, CM_EUSAGE, "--others, --each and --show are of --plan");
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		rc = cli->option[ENCODE_PLAN] ? encode_plan(cli, &setup, err)
					      : encode_readings(cli, &setup, err);
	cl_setup_fini(&setup);
	return rc;
}

/* ---- status, check, check-config, config-sample ---- */

static enum cm_rc verb_status(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc = cl_setup_load(cli->config, &setup, stderr, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = cl_show_status(&setup, cli->json, stdout, err);
	cl_setup_fini(&setup);
	return rc;
}

static enum cm_rc verb_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	struct nt_health h;
	enum cm_rc rc = nt_health_begin(cli, CR_ROLE_CLIENT, &h, err);

	if (rc != CM_OK)
		return rc;
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		cl_check(&setup, &h);
	*exit_code = nt_health_end(&h, rc, err, stdout);
	cl_setup_fini(&setup);
	return CM_OK;
}

/* Check what a start would find in the client's database, without writing.  population is NULL if it is not
 * known. */
static enum cm_rc check_database(const char *dir, const char *population, struct cm_err *err)
{
	struct cl_db *db = NULL;
	bool used = false;
	enum cm_rc rc = cl_db_open_readonly(dir, &db, err);

	cl_db_close(db);
	db = NULL;
	if (rc == CM_ENOINPUT) {
		rc = cl_device_has_secret(dir, &used, err);
		if (rc == CM_OK && used)
			rc = cm_fail(err, CM_EDATA,
				"%s/client.db: missing beside gateway.key: the ledger was lost, so what was "
				"spent is not known (accept-loss)",
				dir);
		return rc;
	}
	/* Check a copy in memory: its population, and every table. */
	if (rc == CM_OK && population)
		rc = cl_db_copy(dir, population, 0, &db, err);
	cl_db_close(db);
	if (rc == CM_ELATER) {
		(void)fprintf(stderr, "%s\n", err->msg);
		return err->code = CM_OK;
	}
	if (rc != CM_OK && !strstr(err->msg, "client.db"))
		(void)cm_context(err, "%s/client.db", dir);
	return rc;
}

static void check_state(const struct cl_conf *c, struct cm_err *first)
{
	struct cm_err why;

	if (cm_owned_state(c->state_dir, &why) != CM_OK ||
		cm_lock_check(c->state_dir, CL_PARTY, &why) != CM_OK)
		cf_finding(&why, stderr, first);
	if (check_database(c->state_dir, c->population, &why) != CM_OK)
		cf_finding(&why, stderr, first);
}

/* Check both files and the state.  Every finding is printed, and the first decides the exit code. */
static enum cm_rc verb_check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc;

	(void)exit_code;
	err->code = CM_OK;
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (setup.conf.state_dir)
		check_state(&setup.conf, err);
	cl_setup_check_files(&setup, stderr, err);
	cl_check_input(&setup, stderr, err);
	rc = rc == CM_OK ? err->code : rc;
	if (rc == CM_OK)
		rc = cl_try_programs(&setup, err);
	if (rc == CM_OK)
		(void)printf("%s and %s are valid\n", cli->config, setup.conf.policy);
	for (size_t i = 0; rc == CM_OK && setup.conf.shuffler.n > 1 && i < setup.conf.shuffler.n; i++)
		(void)printf("%s%s%s", i > 0 ? ", " : "dials, in random order: ", setup.conf.shuffler.item[i],
			i + 1 == setup.conf.shuffler.n ? "\n" : "");
	if (rc == CM_OK)
		cl_mqtt_conf_notes(&setup.conf.mqtt, stdout);
	cl_setup_fini(&setup);
	return rc;
}

static enum cm_rc verb_config_sample(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	if (cli->argc > 1 && strcmp(cli->argv[1], "policy") != 0)
		return cm_fail(err, CM_EUSAGE, "config-sample, or config-sample policy");
	cf_sample(cli->argc > 1 ? cl_policy_rows : cl_conf_rows, stdout);
	return CM_OK;
}

static const struct cm_cli_verb verbs[] = {
	CM_VERB_WITH("run", "", 0, 0, verb_run,
		"take part in every round with the configured readings, until SIGTERM",
		CM_OPTION("rounds", "N", "end after N rounds")),
	CM_VERB_WITH("send", "FILE|-", 1, 1, verb_send,
		"take part in the next round with the readings of FILE, then end", CL_OPTIONS_OF_INPUT,
		CM_OPTION("rounds", "N", "take part in N rounds (1)"),
		CM_OPTION("wait", "TIME", "for a round to open (60s)"),
		CM_FLAG("show-readings",
			"say how many readings were usable; whoever sees this output learns that")),
	CM_VERB_WITH("proofs", "", 0, 0, verb_proofs,
		"ask the shuffler now whether watched messages are in its manifests, and say what came of "
		"it",
		CM_OPTION("save", "N",
			"write the manifest of round N to --out instead, for `tombola evidence verify`"),
		CM_OPTION("out", "FILE", "with --save: the file"),
		CM_OPTION("wait", "TIME", "for the answers (60s)")),
	CM_VERB_WITH("encode", "--dry-run [FILE|-]", 0, 1, verb_encode,
		"show what would leave this machine, or judge the readings for a plan; send nothing",
		CL_OPTIONS_OF_INPUT, CM_FLAG("strict", "end at the first row that cannot be used"),
		CM_FLAG("dry-run", "required: nothing is sent or charged"),
		CM_OPTION("plan", "PLAN",
			"judge the readings for every round of this plan file, without a shuffler; FILE is "
			"the configured input when absent"),
		CM_OPTION("others", "N", "with --plan: devices that take part through other clients (0)"),
		CM_FLAG("each", "with --plan: a line for each device of each round"),
		CM_OPTION(
			"show", "N", "with --plan: what the first N devices hold, and what they would send"),
		CM_OPTION("descriptor", "FILE", "a saved round instead of the shuffler's open one"),
		CM_OPTION("save", "FILE", "keep the round's descriptor and signature there"),
		CM_OPTION("wait", "TIME", "for a round to open (60s)")),
	CM_VERB_WITH("devices", "", 0, 0, cl_listen,
		"print the devices that publish at the MQTT broker, as a list to edit for mqtt.devices",
		CM_OPTION("listen", "TIME", "required: for how long, such as 10m; SIGINT ends it earlier")),
	CM_VERB("status", "", 0, 0, verb_status, "show this client's ledger and the round under way"),
	CM_VERB_WITH("accept-loss", "", 0, 0, cl_recover_accept_loss,
		"go on after the ledger was restored from a copy, cloned or lost, and note it",
		CL_RECOVER_OPTIONS),
	CM_VERB_WITH("check", "", 0, 0, verb_check,
		"say the state in one line, for monitoring; exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN",
		NT_HEALTH_OPTIONS),
	CM_VERB("check-config", "", 0, 0, verb_check_config,
		"say every fault of configuration, policy, keys and state, with its place"),
	CM_VERB("config-sample", "[policy]", 0, 1, verb_config_sample,
		"print a commented configuration, or policy, to start from"),
	CM_CLI_COMPLETION,
	{ 0 },
};

int main(int argc, char **argv)
{
	int code;
	static const struct cm_cli_program program = {
		.name = "tombola-client",
		.summary = "Takes part in rounds of differentially private statistics, for one device or a "
			   "gateway of many.",
		.role = "client",
		.verb = verbs,
		.machine = cr_hpke_begin,
	};

	cm_inherited_mend();
	if (cl_spawner_main(argc, argv, &code))
		return code;
	cm_heap_begin();
	cr_libcrypto_begin();
	/* JSON documents contain readings, so their memory is wiped when freed. */
	json_set_alloc_funcs(cm_oom_malloc, cr_wiping_free);
	return cm_cli_main(&program, argc, argv);
}
