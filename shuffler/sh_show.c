/* sh_show.c - the verbs that ask a running shuffler how it is. */
#include "sh_show.h"

#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "cm_clock.h"
#include "cm_health.h"
#include "cm_http.h"
#include "rd_account.h"
#include "sh_conf.h"

#define ASK_MS 2000

static enum cm_rc ask(
	const struct cm_cli *cli, const char *path, int *status, char **body, struct cm_err *err)
{
	struct sh_conf conf;

	enum cm_rc rc = sh_conf_load(cli->config, &conf, stderr, err);
	if (rc == CM_OK)
		rc = cm_http_get(conf.http, path, ASK_MS, status, body, err);
	sh_conf_free(&conf);
	return rc;
}

static void print_status(const json_t *root)
{
	const json_t *rounds = json_object_get(root, "rounds");
	json_int_t seq = json_integer_value(json_object_get(root, "ledger_seq"));

	const char *mode = json_string_value(json_object_get(root, "mode"));

	if (mode && rd_mode_filter(mode) != 0)
		(void)printf("ledger     %lld records witnessed, mode %s, %.2f %% of its budget spent\n",
			(long long)seq, mode,
			ceil(1e4 * json_number_value(json_object_get(root, "share_spent"))) / 1e2);
	else
		(void)printf("ledger     %lld records witnessed, epsilon %.4f of %.4f spent\n",
			(long long)seq,
			ceil(1e4 * json_number_value(json_object_get(root, "epsilon_spent"))) / 1e4,
			json_number_value(json_object_get(root, "epsilon_limit")));
	(void)printf("peers      %lld connected\n",
		(long long)json_integer_value(json_object_get(root, "connections")));
	if (json_array_size(rounds) == 0)
		(void)printf("rounds     none under way\n");
	for (size_t i = 0; i < json_array_size(rounds); i++) {
		const json_t *r = json_array_get(rounds, i);
		(void)printf("round %-4lld %s, %s: %lld of %lld participants, minimum %lld\n",
			(long long)json_integer_value(json_object_get(r, "round")),
			json_string_value(json_object_get(r, "query")),
			json_string_value(json_object_get(r, "state")),
			(long long)json_integer_value(json_object_get(r, "participants")),
			(long long)json_integer_value(json_object_get(r, "target_batch")),
			(long long)json_integer_value(json_object_get(r, "min_batch")));
	}
}

enum cm_rc sh_show_status(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	char *body = NULL;
	int code;

	(void)exit_code;
	enum cm_rc rc = ask(cli, "/status", &code, &body, err);
	if (rc != CM_OK)
		return rc;
	json_t *root = json_loads(body, 0, NULL);
	if (code != 200 || !root)
		rc = cm_fail(err, CM_EPROTO, "the shuffler's /status answered %d", code);
	else if (cli->json)
		(void)printf("%s\n", body);
	else
		print_status(root);
	json_decref(root);
	free(body);
	return rc;
}

/* The daemon's own word on budget and readiness. */
static void check_running(
	struct cm_health *h, const struct cm_health_limits *limits, const struct sh_conf *conf)
{
	struct cm_err err;
	char *body = NULL;
	int status = 0;

	if (*conf->http && cm_http_get(conf->http, "/status", ASK_MS, &status, &body, &err) == CM_OK &&
		status == 200) {
		json_t *root = json_loads(body, 0, NULL);
		const json_t *share = json_object_get(root, "share_spent");
		if (json_is_real(share))
			cm_health_budget(h, limits, json_real_value(share), 1);
		json_decref(root);
	}
	free(body);
	cm_health_daemon(h, conf->http);
}

enum cm_rc sh_show_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cm_health_limits limits;
	struct cm_health h = { 0 };
	struct sh_conf conf = { 0 };

	enum cm_rc rc = cm_health_limits(cli, &limits, err);
	if (rc == CM_OK)
		rc = sh_conf_load(cli->config, &conf, stderr, err);
	if (rc == CM_OK) {
		cm_health_certificate(&h, &limits, conf.cert, CM_ROLE_SHUFFLER, cm_clock_wall_ms());
		check_running(&h, &limits, &conf);
		*exit_code = cm_health_print(&h, cli->json, cli->color, stdout);
	}
	sh_conf_free(&conf);
	return rc;
}
