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

/* Rounds come and go here without a date; the daemon knows when it last sealed one, or when it started. */
static void check_age(struct cm_health *h, const json_t *root)
{
	const json_t *sealed = json_object_get(root, "last_sealed_ms"),
		     *started = json_object_get(root, "started_ms");

	if (json_is_integer(sealed) || json_is_integer(started))
		cm_health_round(h, json_integer_value(json_is_integer(sealed) ? sealed : started),
			cm_clock_wall_ms());
}

/* The daemon's own word on budget and readiness. */
static void check_running(struct cm_health *h, const struct sh_conf *conf)
{
	struct cm_err err;
	char *body = NULL;
	int status = 0;

	if (*conf->http && cm_http_get(conf->http, "/status", ASK_MS, &status, &body, &err) == CM_OK &&
		status == 200) {
		json_t *root = json_loads(body, 0, NULL);
		const json_t *share = json_object_get(root, "share_spent");
		if (json_is_real(share))
			cm_health_budget(h, json_real_value(share));
		if (json_is_integer(json_object_get(root, "ledger_seq")))
			h->ledger_records = (double)json_integer_value(json_object_get(root, "ledger_seq"));
		check_age(h, root);
		json_decref(root);
	}
	free(body);
	cm_health_daemon(h, conf->http);
}

enum cm_rc sh_show_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct sh_conf conf;
	struct cm_health h;

	enum cm_rc rc = cm_health_begin(cli, CM_ROLE_SHUFFLER, &h, err);
	if (rc != CM_OK)
		return rc;
	rc = sh_conf_load(cli->config, &conf, stderr, err);
	if (rc == CM_OK) {
		cm_health_certificate(&h, conf.cert, cm_clock_wall_ms());
		check_running(&h, &conf);
	}
	*exit_code = cm_health_end(&h, rc, err, stdout);
	sh_conf_free(&conf);
	return CM_OK;
}
