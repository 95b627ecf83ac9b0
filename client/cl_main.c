/* cl_main.c - the command tombola-client: verbs, options, exit codes. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cl_check.h"
#include "cl_saved.h"
#include "cl_show.h"
#include "cm_cli.h"
#include "cm_libcrypto.h"
#include "cm_log.h"
#include "cm_noted.h"
#include "cm_secret.h"

#define WAIT_DEFAULT_MS 60000
#define WAIT_MAX_MS     (7 * 86400000LL)

enum { SEND_FORMAT, SEND_DEVICE_FIELD, SEND_LIMIT, SEND_STRICT, SEND_ROUNDS, SEND_WAIT };
enum {
	ENCODE_FORMAT,
	ENCODE_DEVICE_FIELD,
	ENCODE_LIMIT,
	ENCODE_STRICT,
	ENCODE_DRY_RUN,
	ENCODE_DESCRIPTOR,
	ENCODE_SAVE,
	ENCODE_WAIT
};
enum { RUN_ROUNDS };

/* "60s", "1500ms", "2m", "1h"; a bare number is seconds. */
static enum cm_rc read_wait(const char *text, int64_t *ms, struct cm_err *err)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	char *end;
	unsigned long long n;

	if (text == NULL) {
		*ms = WAIT_DEFAULT_MS;
		return CM_OK;
	}
	errno = 0;
	n = strtoull(text, &end, 10);
	if (end != text && *text != '-' && errno == 0 && n > 0)
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (strcmp(end, units[i].unit) == 0 &&
				n <= (unsigned long long)(WAIT_MAX_MS / units[i].ms)) {
				*ms = (int64_t)n * units[i].ms;
				return CM_OK;
			}
	return cm_fail(err, CM_EUSAGE,
		"--wait: '%.40s' is no duration like 500ms, 60s, 10m, 1h (up to 7 days)", text);
}

/* The readings a verb names, with the configuration's choices where it names none. */
static enum cm_rc read_input(const struct cm_cli *cli, const struct cl_setup *setup, const char *path,
	struct cl_input *in, struct cm_err *err)
{
	const char *format = cli->option[SEND_FORMAT];

	*in = (struct cl_input){ .path = path, .strict = cli->option[SEND_STRICT] != NULL };
	in->device_field = cli->option[SEND_DEVICE_FIELD] != NULL ? cli->option[SEND_DEVICE_FIELD]
								  : setup->conf.device_field;
	if (format != NULL) {
		in->format = cl_format_parse(format);
		if (in->format == CL_FORMAT_GUESS)
			return cm_fail(err, CM_EUSAGE, "--format: csv or ndjson, not '%.40s'", format);
	} else {
		in->format = cl_format_of_path(path);
	}
	if (in->format == CL_FORMAT_GUESS && setup->conf.format != NULL)
		in->format = setup->format;
	if (in->format == CL_FORMAT_GUESS)
		return cm_fail(
			err, CM_EUSAGE, "%s tells no format: say --format csv or --format ndjson", path);
	if (cli->option[SEND_LIMIT] != NULL &&
		cm_cli_u64(cli->option[SEND_LIMIT], "--limit", 1, CL_BATCH_MAX, &in->limit, err) != CM_OK)
		return err->code;
	/* Better said now than in the first round. */
	if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
		return cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));
	return CM_OK;
}

/* ---- send ---- */

struct sent {
	const struct cm_cli *cli;
	json_t *rounds;
	uint64_t accepted, devices;
};

static void on_sent(void *user, const struct cl_summary *s)
{
	struct sent *t = user;

	t->accepted += s->counts.by[1];
	t->devices += s->counts.total;
	if (t->rounds != NULL)
		(void)json_array_append_new(t->rounds, cl_summary_json(s));
	else if (s->refused == CM_OK)
		cl_show_summary(s, stdout);
	(void)fflush(stdout);
}

static enum cm_rc print_sent(const struct sent *t, struct cm_err *err)
{
	json_t *all;

	if (t->rounds == NULL)
		return CM_OK;
	all = json_pack("{s:s, s:O}", "schema", "tombola.send/1", "rounds", t->rounds);
	if (all == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
	(void)putchar('\n');
	json_decref(all);
	return CM_OK;
}

static enum cm_rc send_readings(const struct cm_cli *cli, const struct cl_setup *setup, struct cm_err *err)
{
	struct sent t = { .cli = cli, .rounds = cli->json ? json_array() : NULL };
	struct cl_input input;
	struct cl_run_conf conf = { .setup = setup,
		.input = &input,
		.rounds = 1,
		.stop_on_fault = true,
		.progress = cli->level >= CM_LOG_WARN && isatty(STDERR_FILENO),
		.quiet = cli->level < CM_LOG_INFO,
		.on_round = on_sent,
		.user = &t };
	struct cm_err printing;
	bool stopped = false;
	enum cm_rc rc = read_input(cli, setup, cli->argv[1], &input, err);

	if (rc == CM_OK)
		rc = read_wait(cli->option[SEND_WAIT], &conf.wait_ms, err);
	if (rc == CM_OK && cli->option[SEND_ROUNDS] != NULL)
		rc = cm_cli_u64(cli->option[SEND_ROUNDS], "--rounds", 1, 1000000, &conf.rounds, err);
	if (rc == CM_OK && conf.rounds > 1 && strcmp(input.path, "-") == 0)
		rc = cm_fail(err, CM_EUSAGE, "stdin can be read for one round only: --rounds needs a file");
	if (rc == CM_OK)
		rc = cl_run(&conf, &stopped, err);
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

/* ---- run
 * ---------------------------------------------------------------------------------------------------------
 */

static void on_round_logged(void *user, const struct cl_summary *s)
{
	const struct cm_field seldom[] = { CM_I("conflicts", s->counts.by[2]),
		CM_I("closed", s->counts.by[3]), CM_I("over_limit", s->counts.by[4]),
		CM_I("unanswered", s->counts.by[0]),
		CM_I("rows_left_out", s->rows.bad + s->rows.out_of_domain),
		CM_I("duplicates", s->rows.duplicates) };
	struct cm_field field[8 + sizeof seldom / sizeof seldom[0]];
	size_t n = 0;

	(void)user;
	if (s->refused != CM_OK) {
		cm_log(CM_LOG_WARN, "round refused", CM_I("round", s->sequence), CM_S("query", s->query),
			CM_S("reason", s->reason));
		return;
	}
	field[n++] = CM_I("round", s->sequence);
	field[n++] = CM_S("query", s->query);
	field[n++] = CM_I("devices", s->counts.total);
	field[n++] = CM_I("accepted", s->counts.by[1]);
	/* What did not happen is not said. */
	for (size_t i = 0; i < sizeof seldom / sizeof seldom[0]; i++)
		if (seldom[i].v.i != 0)
			field[n++] = seldom[i];
	if (s->rows.first_bad[0] != '\0')
		field[n++] = CM_S("first_left_out", s->rows.first_bad);
	field[n++] = CM_D("epsilon_round", s->epsilon_round);
	field[n++] = CM_D("epsilon_total", s->epsilon_total);
	if (s->shuffler_dummies > 0)
		field[n++] = CM_I("shuffler_dummies", s->shuffler_dummies);
	cm_log_fields(CM_LOG_INFO, "round done", field, n);
}

static enum cm_rc verb_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	struct cl_input input;
	struct cl_run_conf conf = { .setup = &setup, .input = &input, .on_round = on_round_logged };
	bool stopped = false;
	enum cm_rc rc = cl_setup_load(cli->config, &setup, stderr, err);

	(void)exit_code;
	conf.mqtt = setup.conf.mqtt.topics.n > 0;
	if (rc == CM_OK && setup.conf.input == NULL && !conf.mqtt)
		rc = cm_fail(err, CM_ECONFIG, "%s: `run` needs input.path or mqtt.topics", cli->config);
	if (rc == CM_OK && cli->option[RUN_ROUNDS] != NULL)
		rc = cm_cli_u64(cli->option[RUN_ROUNDS], "--rounds", 1, 1000000, &conf.rounds, err);
	if (rc == CM_OK) {
		input = (struct cl_input){ .path = setup.conf.input,
			.format = setup.format,
			.device_field = setup.conf.device_field };
		conf.progress = isatty(STDERR_FILENO);
		rc = cl_run(&conf, &stopped, err);
	}
	cl_setup_fini(&setup);
	return rc;
}

/* ---- encode ---- */

static enum cm_rc encode_readings(const struct cm_cli *cli, const struct cl_setup *setup, struct cm_err *err)
{
	const char *path = cli->option[ENCODE_DESCRIPTOR], *save = cli->option[ENCODE_SAVE];
	uint8_t signature[PR_SIGNATURE_LEN];
	struct cm_buf descriptor;
	struct cl_input input;
	int64_t wait_ms = 0;
	enum cm_rc rc = read_input(cli, setup, cli->argv[1], &input, err);

	if (rc == CM_OK)
		rc = read_wait(cli->option[ENCODE_WAIT], &wait_ms, err);
	if (rc != CM_OK)
		return rc;
	cm_buf_init(&descriptor, PR_DESCRIPTOR_MAX);
	rc = path != NULL ? cl_saved_load(path, &descriptor, signature, err)
			  : cl_run_fetch(setup, wait_ms, &descriptor, signature, err);
	if (rc == CM_OK && save != NULL)
		rc = cl_saved_store(save, &descriptor, signature, err);
	if (rc == CM_OK) {
		const struct cl_dry_run what = { setup, &input, descriptor.data, signature, descriptor.len,
			cli->json };

		rc = cl_dry_run(&what, stdout, err);
	}
	cm_buf_fini(&descriptor);
	return rc;
}

static enum cm_rc verb_encode(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc;

	(void)exit_code;
	if (cli->option[ENCODE_DRY_RUN] == NULL)
		return cm_fail(err, CM_EUSAGE, "encode only shows: say --dry-run (send takes part)");
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		rc = encode_readings(cli, &setup, err);
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
	struct cm_health h;
	enum cm_rc rc = cm_health_begin(cli, CM_ROLE_CLIENT, &h, err);

	if (rc != CM_OK)
		return rc;
	rc = cl_setup_load(cli->config, &setup, stderr, err);
	if (rc == CM_OK)
		cl_check(&setup, &h);
	*exit_code = cm_health_end(&h, rc, err, stdout);
	cl_setup_fini(&setup);
	return CM_OK;
}

static enum cm_rc verb_check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cl_setup setup;
	enum cm_rc rc = cl_setup_load(cli->config, &setup, stderr, err);

	(void)exit_code;
	if (rc == CM_OK)
		(void)printf("%s and %s are valid\n", cli->config, setup.conf.policy);
	cl_setup_fini(&setup);
	return rc;
}

static enum cm_rc verb_config_sample(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	if (cli->argc > 1 && strcmp(cli->argv[1], "policy") != 0)
		return cm_fail(err, CM_EUSAGE, "config-sample, or config-sample policy");
	cm_conf_sample(cli->argc > 1 ? cl_policy_rows : cl_conf_rows, stdout);
	return CM_OK;
}

#define INPUT_OPTIONS                                                                                 \
	{ "format", "csv|ndjson", "of FILE; by its extension when absent", false },                   \
		{ "device-field", "NAME",                                                             \
			"field that names the device; every row its own device when absent", false }, \
		{ "limit", "N", "the first N devices only", false },                                  \
	{                                                                                             \
		"strict", NULL, "end at the first row that cannot be used", false                     \
	}

static const struct cm_cli_verb verbs[] = {
	{ "run", "", "take part in every round with the configured readings, until SIGTERM", 0, 0,
		{ { "rounds", "N", "end after N rounds", false } }, verb_run },
	{ "send", "FILE|-", "take part in the next round with the readings of FILE, then end", 1, 1,
		{ INPUT_OPTIONS, { "rounds", "N", "take part in N rounds (1)", false },
			{ "wait", "TIME", "for a round to open (60s)", false } },
		verb_send },
	{ "encode", "--dry-run FILE|-", "show what would leave this machine, and send nothing", 1, 1,
		{ INPUT_OPTIONS, { "dry-run", NULL, "required: nothing is sent or charged", false },
			{ "descriptor", "FILE", "a saved round instead of the shuffler's open one", false },
			{ "save", "FILE", "keep the round's descriptor and signature there", false },
			{ "wait", "TIME", "for a round to open (60s)", false } },
		verb_encode },
	{ "status", "", "show this client's ledger and the round under way", 0, 0, { { 0 } }, verb_status },
	{ "check", "",
		"say the state in one line, for monitoring; exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN", 0,
		0, { CM_HEALTH_OPTIONS }, verb_check },
	{ "check-config", "", "say every fault of configuration, policy and keys as file:line: text", 0, 0,
		{ { 0 } }, verb_check_config },
	{ "config-sample", "[policy]", "print a commented configuration, or policy, to start from", 0, 1,
		{ { 0 } }, verb_config_sample },
	CM_CLI_COMPLETION,
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct cm_cli_program program = {
		.name = "tombola-client",
		.summary = "Takes part in rounds of differentially private statistics, for one device or a "
			   "gateway of many.",
		.role = "client",
		.verb = verbs,
	};

	cm_libcrypto_begin();
	/* Readings pass through it. */
	json_set_alloc_funcs(cm_noted_malloc, cm_wiping_free);
	return cm_cli_main(&program, argc, argv);
}
