/* sh_show.c - the verbs that ask a running shuffler for its state. */
#include "sh_show.h"

#include <stdlib.h>

#include <jansson.h>

#include "cm_clock.h"
#include "cm_round.h"
#include "nt_health.h"
#include "nt_http.h"
#include "rd_figure.h"
#include "sh_conf.h"

#define ASK_MS 2000

static enum cm_rc ask(
	const struct cm_cli *cli, const char *path, int *status, char **body, struct cm_err *err)
{
	struct sh_conf conf;

	enum cm_rc rc = sh_conf_load(cli->config, &conf, stderr, err);
	if (rc == CM_OK)
		rc = nt_http_get(conf.http, path, ASK_MS, status, body, err);
	sh_conf_free(&conf);
	return rc;
}

static void print_plans(const json_t *plans)
{
	for (size_t i = 0; i < json_array_size(plans); i++) {
		const json_t *p = json_array_get(plans, i);
		const char *mode = json_string_value(json_object_get(p, "mode"));
		(void)printf("plan %-5lld %s, epsilon %.4g, %s: ",
			(long long)json_integer_value(json_object_get(p, "plan")),
			json_string_value(json_object_get(p, "name")),
			json_number_value(json_object_get(p, "epsilon")),
			json_string_value(json_object_get(p, "state")));
		if (mode && rd_mode_filter(mode) != 0)
			(void)printf("%s, %lld rounds, %.2f %% of its budget spent\n", mode,
				(long long)json_integer_value(json_object_get(p, "rounds")),
				cm_percent_up(json_number_value(json_object_get(p, "share")), 2));
		else
			(void)printf("%lld of %lld entries taken, %lld answered, %lld void\n",
				(long long)json_integer_value(json_object_get(p, "taken")),
				(long long)json_integer_value(json_object_get(p, "entries")),
				(long long)json_integer_value(json_object_get(p, "answered")),
				(long long)json_integer_value(json_object_get(p, "void")));
	}
}

/* Describe a client's statement about the ledger that prevents rounds from being announced. */
static bool stated_text(const json_t *root, char *text, size_t room)
{
	const json_t *h = json_object_get(root, "stated");
	json_int_t lacking = json_integer_value(json_object_get(h, "lacking"));

	if (json_is_true(json_object_get(h, "waits")))
		(void)snprintf(text, room,
			"state lost: waits for clients of more than %lld devices; %lld certificates of %lld "
			"devices were heard",
			(long long)json_integer_value(json_object_get(h, "colluders")),
			(long long)json_integer_value(json_object_get(h, "certificates")),
			(long long)json_integer_value(json_object_get(h, "devices")));
	else if (lacking > 0)
		(void)snprintf(text, room,
			"a client holds the analyzer's signature on ledger record %lld, which is not known "
			"here",
			(long long)lacking);
	else
		return false;
	return true;
}

static bool figure_of(const json_t *root, struct rd_figure *out)
{
	return json_unpack(json_object_get(root, "population_budget"), RD_FIGURE_UNPACK(out)) == 0;
}

static void print_figure(const json_t *root)
{
	struct rd_figure_words words;
	struct rd_figure figure;

	if (!figure_of(root, &figure))
		return;
	rd_figure_words(&figure, (size_t)json_integer_value(json_object_get(root, "pinned_plans")), &words);
	(void)printf("budget     %s\npinned     %s\nused       %s\nfree       %s\n", words.budget,
		words.pinned, words.used, words.free);
}

static void print_status(const json_t *root)
{
	const json_t *rounds = json_object_get(root, "rounds");
	json_int_t seq = json_integer_value(json_object_get(root, "ledger_seq"));
	char stated[200];

	(void)printf("ledger     %lld records witnessed\n", (long long)seq);
	print_figure(root);
	if (stated_text(root, stated, sizeof stated))
		(void)printf("clients    %s\n", stated);
	print_plans(json_object_get(root, "plans"));
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
			(long long)json_integer_value(json_object_get(r, "target")),
			(long long)json_integer_value(json_object_get(r, "min_reports")));
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

/* Rounds arrive here without a schedule, so measure from the last seal, or from the daemon's start. */
static void check_age(struct nt_health *h, const json_t *root)
{
	const json_t *sealed = json_object_get(root, "last_sealed_ms"),
		     *started = json_object_get(root, "started_ms");

	if (json_is_integer(sealed) || json_is_integer(started))
		nt_health_round(h, json_integer_value(json_is_integer(sealed) ? sealed : started),
			cm_clock_wall_ms());
}

/* Ask the daemon for its budget and readiness. */
static void check_running(struct nt_health *h, const struct sh_conf *conf)
{
	struct cm_err err;
	char stated[200], *body = NULL;
	int status = 0;

	if (*conf->http && nt_http_get(conf->http, "/status", ASK_MS, &status, &body, &err) == CM_OK &&
		status == 200) {
		json_t *root = json_loads(body, 0, NULL);
		struct rd_figure figure;
		if (figure_of(root, &figure))
			nt_health_slices(h, figure.ratio, rd_figure_pinned(&figure));
		if (json_is_integer(json_object_get(root, "ledger_seq")))
			h->ledger_records = (double)json_integer_value(json_object_get(root, "ledger_seq"));
		if (stated_text(root, stated, sizeof stated))
			nt_health_say(h, NT_HEALTH_CRITICAL, "%s", stated);
		check_age(h, root);
		json_decref(root);
	}
	free(body);
	nt_health_daemon(h, conf->http);
}

enum cm_rc sh_show_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cr_files files;
	struct sh_conf conf;
	struct nt_health h;

	enum cm_rc rc = nt_health_begin(cli, CR_ROLE_SHUFFLER, &h, err);
	if (rc != CM_OK)
		return rc;
	rc = sh_conf_load(cli->config, &conf, stderr, err);
	if (rc == CM_OK) {
		files = sh_tls_files(&conf.tls);
		nt_health_certificate(&h, conf.tls.cert, cm_clock_wall_ms());
		nt_health_trust(&h, &files, cm_clock_wall_ms());
		check_running(&h, &conf);
	}
	*exit_code = nt_health_end(&h, rc, err, stdout);
	sh_conf_free(&conf);
	return CM_OK;
}
