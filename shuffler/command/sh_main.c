/* sh_main.c - the command tombola-shuffler: verbs, and setting up the running daemon. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cf_change.h"
#include "cm_file.h"
#include "cm_heap.h"
#include "cm_inherited.h"
#include "cm_lock.h"
#include "cm_log.h"
#include "cm_marker.h"
#include "cm_oom.h"
#include "cr_hpke.h"
#include "cr_libcrypto.h"
#include "nt_confine.h"
#include "nt_health.h"
#include "nt_http.h"
#include "nt_loop.h"
#include "nt_service.h"
#include "sh_check.h"
#include "sh_intake_conf.h"
#include "sh_recover.h"
#include "sh_serve.h"
#include "sh_show.h"
#include "sh_stores.h"

#define CONNECTIONS_BESIDE 64u /* connections accepted but not judged yet, or refused but not closed yet */

#define AHEAD_BYTES (8u << 20) /* as many as the store reads at once */

struct daemon {
	const char *path; /* of the configuration */
	struct sh_conf conf;
	const struct sh_store_kind *kind;
	struct sh_policy policy;
	struct cr_signer *signer;
	struct cr_verifier *analyzer;
	struct nt_tls_ctx *tls;
	struct sh_store store;
	char *key_dir, *leaves_dir;
	struct sh_core *core;
	uv_loop_t loop;
	struct nt_loop *signals;
	struct sh_serve *serve;
	struct nt_http *http;
	struct sh_metrics *metrics;
};

/* ---- Configuration ---- */

/* Load both files, and print every fault of both. */
static enum cm_rc load(struct daemon *d, const char *path, struct cm_err *err)
{
	struct cm_err second;

	d->path = path;
	enum cm_rc rc = sh_conf_load(path, &d->conf, stderr, err);
	if (rc == CM_OK)
		rc = sh_stores_of(&d->conf, &d->kind, err);
	if (!d->conf.policy)
		return rc;
	enum cm_rc policy = sh_policy_load(d->conf.policy, &d->policy, stderr, rc == CM_OK ? err : &second);
	return rc == CM_OK ? policy : rc;
}

static enum cm_rc load_keys(struct daemon *d, struct cm_err *err)
{
	enum cm_rc rc = cr_signer_load(d->conf.signing_key, &d->signer, err);

	if (rc == CM_OK)
		rc = cr_verifier_load(d->conf.analyzer_key, &d->analyzer, err);
	if (rc == CM_OK)
		rc = sh_check_tls(&d->conf, &d->tls, err);
	return rc;
}

static void daemon_fini(struct daemon *d)
{
	sh_metrics_free(d->metrics);
	sh_core_free(d->core);
	if (d->store.close)
		d->store.close(d->store.ctx);
	free(d->key_dir);
	free(d->leaves_dir);
	nt_tls_ctx_free(d->tls);
	cr_verifier_free(d->analyzer);
	cr_signer_free(d->signer);
	sh_policy_fini(&d->policy);
	sh_conf_free(&d->conf);
}

/* ---- run ---- */

/* Log accepted losses at every start, because they explain later refusals. */
static enum cm_rc say_losses(const char *state_dir, struct cm_err *err)
{
	struct cm_marker marker;

	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK && marker.losses > 0)
		cm_log(CM_LOG_WARN, "this shuffler's state was lost, and a new one was created",
			CM_I("times", marker.losses), CM_S("last", marker.last));
	return rc;
}

static enum cm_rc open_core(struct daemon *d, struct cm_err *err)
{
	struct sh_core_conf conf = {
		.env = { .store = &d->store,
			.signer = d->signer,
			.intakes = d->conf.intakes,
			.max_bytes = (size_t)d->conf.limits.max_waiting_mib << 20,
			.ahead_bytes = AHEAD_BYTES },
		.policy = &d->policy,
		.analyzer = d->analyzer,
		.commit_messages = (size_t)d->conf.limits.commit_messages,
		.commit_wait_ms = d->conf.limits.commit_wait_ms,
	};

	enum cm_rc rc = cm_file_mkdir(d->conf.state_dir, err);
	if (rc == CM_OK)
		rc = cm_lock_take(d->conf.state_dir, SH_PARTY, err);
	if (rc != CM_OK)
		return rc;
	d->key_dir = cm_file_join(d->conf.state_dir, "keys");
	if (!d->key_dir)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	conf.env.key_dir = d->key_dir;
	rc = cm_file_mkdir(d->key_dir, err);
	if (rc == CM_OK)
		rc = cm_file_sweep(d->key_dir, err);
	if (rc == CM_OK && !(d->leaves_dir = cm_file_join(d->conf.state_dir, "leaves")))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = cm_file_mkdir(d->leaves_dir, err);
	if (rc == CM_OK)
		rc = cm_file_sweep(d->leaves_dir, err);
	conf.env.leaves = (struct sh_leaves_place){ d->leaves_dir, d->conf.proof_window_ms };
	if (rc == CM_OK)
		rc = d->kind->open(&d->conf, &d->store, err);
	if (rc == CM_OK)
		rc = sh_core_new(&conf, &d->core, err);
	if (rc == CM_OK)
		rc = say_losses(d->conf.state_dir, err);
	/* If a PostgreSQL database is lost, the shuffler ends.  The file in-service then tells the next
	 * start that there was one. */
	const char *ledger = d->conf.database ? "in-service" : "state.db";
	const struct cr_files files = sh_tls_files(&d->conf.tls);
	d->metrics = sh_metrics_new(&files, d->conf.state_dir, ledger, &d->store);
	if (rc == CM_OK && !d->metrics)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	return rc;
}

static const char *not_ready(void *user)
{
	const struct daemon *d = user;

	return d->serve ? sh_serve_not_ready(d->serve) : "going down";
}

static char *status_json(void *user)
{
	const struct daemon *d = user;

	return d->serve ? sh_serve_status(d->serve) : NULL;
}

static int metrics(void *user, const char *path, struct nt_http_reply *out)
{
	const struct daemon *d = user;

	(void)path;
	return d->serve ? sh_serve_metrics(d->serve, out) : -1;
}

static void on_stopped(void *user)
{
	struct daemon *d = user;

	if (d->http)
		nt_http_close(d->http);
	d->http = NULL;
	nt_loop_free(d->signals);
	d->signals = NULL;
}

static void on_stop(void *user)
{
	struct daemon *d = user;

	cm_log_plain(CM_LOG_INFO, "stopping");
	sh_serve_stop(d->serve, on_stopped, d);
}

/* Whether a policy that was read again may be taken up: a shuffler's state is of one population. */
static bool is_same_population(const struct daemon *d, const struct sh_policy *fresh)
{
	const char *now = fresh->shared.population, *was = d->policy.shared.population;

	if (strcmp(now, was) == 0)
		return true;
	cm_log(CM_LOG_WARN,
		"policy not reloaded; the old one stays: a changed population waits for a restart",
		CM_S("file", d->conf.policy), CM_S("key", "population"), CM_S("in_force", was),
		CM_S("file_has", now));
	return false;
}

/* Read the policy again.  A fault leaves the old one as it is. */
static void reload_policy(struct daemon *d)
{
	struct sh_policy fresh, old = d->policy;
	struct cm_err err;

	bool good = sh_policy_load(d->conf.policy, &fresh, NULL, &err) == CM_OK;
	if (!good)
		cm_log(CM_LOG_ERROR, "policy not reloaded; the old one stays", CM_S("reason", err.msg));
	if (!good || !is_same_population(d, &fresh)) {
		sh_policy_fini(&fresh);
		return;
	}
	size_t changed = cf_changes_log(d->conf.policy, sh_policy_rows, &old, &fresh, CM_LOG_INFO,
		"a changed key of the policy is taken up");
	if (changed > 0) {
		d->policy = fresh;
		sh_serve_reconsider(d->serve, &old);
	} else { /* its keys may stand on other lines */
		d->policy.shared.file = fresh.shared.file;
		fresh.shared.file = old.shared.file;
		sh_policy_fini(&fresh);
	}
	cm_log(CM_LOG_INFO, "policy reloaded", CM_I("changed", changed));
}

static void reload(struct daemon *d, bool asked)
{
	struct nt_tls_ctx *tls;
	struct cm_err err;

	bool fresh = sh_check_tls(&d->conf, &tls, &err) == CM_OK;
	lk_metrics_reloaded(sh_metrics_shared(d->metrics), fresh);
	if (!fresh) {
		cm_log(asked ? CM_LOG_ERROR : CM_LOG_WARN,
			asked ? "certificates not reloaded; the old ones stay" : NT_LOOP_KEPT,
			CM_S("reason", err.msg));
	} else {
		sh_serve_reload(d->serve, tls);
		nt_tls_ctx_free(d->tls);
		d->tls = tls;
		cm_log_plain(CM_LOG_INFO, asked ? "certificates reloaded" : NT_LOOP_TAKEN);
	}
}

static void on_reload(void *user)
{
	struct daemon *d = user;

	reload(d, true);
	cf_changes_wait(d->path, sh_conf_rows, &d->conf, sizeof d->conf);
	reload_policy(d);
}

static void on_certificates(void *user)
{
	reload(user, false);
}

static enum cm_rc watch(struct daemon *d, struct cm_err *err)
{
	const struct cr_files files = sh_tls_files(&d->conf.tls);

	return nt_loop_watch_tls(d->signals, &files, d->conf.tls.key, on_certificates, err);
}

static void say_status(void *user, char *text, size_t room)
{
	const struct daemon *d = user;

	if (d->serve)
		sh_serve_say(d->serve, text, room);
}

static enum cm_rc serve(struct daemon *d, struct cm_err *err)
{
	static const struct nt_http_route routes[] = { { .path = "/metrics", .handle = metrics } };
	const struct nt_loop_handler signals = {
		.on_stop = on_stop, .on_reload = on_reload, .status = say_status
	};
	struct nt_http_conf http = { .address = d->conf.http,
		.anywhere = d->conf.http_anywhere,
		.not_ready = not_ready,
		.status_json = status_json,
		.user = d,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	struct sh_serve_conf conf = { .gate = { .listen = d->conf.listen, .tls = d->tls },
		.core = d->core,
		.metrics = d->metrics,
		.store = &d->store,
		.high_water = (size_t)d->conf.limits.max_waiting_mib << 19,
		.parts_bytes = (size_t)d->conf.limits.max_waiting_mib << 19 };

	nt_conn_limits_default(&conf.gate.limits);
	conf.gate.max_clients = (uint32_t)d->conf.limits.max_connections;
	conf.gate.links_of_one = (uint32_t)d->conf.limits.of_one;
	/* This limit also covers connections that lk_admission.h does not count: those in a handshake, and
	 * those accepted next. */
	conf.gate.limits.max_connections =
		conf.gate.max_clients + LK_KEPT + conf.gate.limits.max_handshaking + CONNECTIONS_BESIDE;
	conf.gate.quota =
		(struct sh_quota_conf){ .frames_per_second = (uint32_t)d->conf.limits.frames_per_second,
			.waiting_bytes = (size_t)d->conf.limits.max_waiting_mib << 18 };
	conf.gate.limits.idle_ms = (uint32_t)d->conf.limits.idle_ms;
	enum cm_rc rc = nt_service_socket(&conf.gate.passed, err);
	if (rc == CM_OK)
		rc = nt_loop_new(&d->loop, &signals, d, &d->signals, err);
	if (rc == CM_OK)
		rc = watch(d, err);
	if (rc == CM_OK && *d->conf.http)
		rc = nt_http_new(&d->loop, &http, &d->http, err);
	if (rc == CM_OK)
		rc = sh_serve_new(&d->loop, &conf, &d->serve, err);
	if (rc != CM_OK) {
		on_stopped(d);
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
		return rc;
	}
	cm_log(CM_LOG_INFO, "shuffler ready",
		CM_S("listen", conf.gate.passed > 0 ? "passed socket" : d->conf.listen),
		CM_I("port", sh_serve_port(d->serve)), CM_S("population", d->policy.shared.population),
		CM_I("ledger_seq", sh_core_witness(d->core).seq), CM_S("x25519", cr_hpke_way()));
	nt_loop_ready(d->signals);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	sh_serve_free(d->serve);
	d->serve = NULL;
	cm_log_plain(CM_LOG_INFO, "stopped");
	return CM_OK;
}

static enum cm_rc run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct daemon d = { 0 };

	(void)exit_code;
	nt_loop_deaf();
	(void)umask(077); /* the store creates files of its own */
	enum cm_rc rc = load(&d, cli->config, err);
	if (rc == CM_OK)
		rc = load_keys(&d, err);
	if (rc == CM_OK)
		rc = open_core(&d, err);
	if (rc == CM_OK)
		nt_confine(CM_LOG_INFO);
	if (rc == CM_OK && uv_loop_init(&d.loop) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot make an event loop");
	else if (rc == CM_OK) {
		rc = serve(&d, err);
		if (uv_loop_close(&d.loop) != 0 && rc == CM_OK)
			rc = cm_fail(err, CM_EINTERNAL, "handles were left open at the end");
	}
	daemon_fini(&d);
	return rc;
}

/* ---- The other verbs ---- */

static enum cm_rc config_sample(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	const char *of = cli->argc > 1 ? cli->argv[1] : "";
	if (*of != '\0' && strcmp(of, "policy") != 0 && strcmp(of, "intake") != 0)
		return cm_fail(err, CM_EUSAGE, "config-sample, config-sample policy or config-sample intake");
	cf_sample(*of == 'p' ? sh_policy_rows : *of == 'i' ? sh_intake_conf_rows : sh_conf_rows, stdout);
	return CM_OK;
}

static enum cm_rc check_config(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	if (cli->argc == 1)
		return sh_check_config(cli, exit_code, err);
	if (strcmp(cli->argv[1], "intake") != 0)
		return cm_fail(err, CM_EUSAGE, "check-config or check-config intake");
	return sh_intake_check(cli, exit_code, err);
}

static const struct cm_cli_verb verbs[] = {
	CM_VERB("run", "", 0, 0, run, "serve clients and the analyzer, until SIGTERM"),
	CM_VERB("intake", "", 0, 0, sh_intake_run,
		"take reports of clients for a shuffler on another host, until SIGTERM (store "
		"\"postgresql\")"),
	CM_VERB("status", "", 0, 0, sh_show_status,
		"show the running daemon's rounds and the ledger it has witnessed"),
	CM_VERB_WITH("round give-up", "N", 1, 1, sh_recover_give_up,
		"end a round whose key or messages are lost",
		SH_RECOVER_OPTIONS("QUERY", "required: the name of its query"),
		[SH_GIVE_UP_NEWEST] = CM_FLAG("newest",
			"state.db is no copy, so the round was not sealed since: its entry waits for its next "
			"try")),
	CM_VERB_WITH("accept-loss", "", 0, 0, sh_recover_accept_loss,
		"begin a new state.db in place of one that is lost: what its plans took stays spent",
		SH_RECOVER_OPTIONS("POPULATION", "required: its name, as the policy says it"),
		[SH_RECOVER_LEDGER] = CM_OPTION("ledger", "N",
			"ledger records that it had witnessed in any case: their plans are closed, whatever "
			"clients state"),
		[SH_RECOVER_SPENT] = CM_FLAG("spent", "ask no clients: the population's budget is spent")),
	CM_VERB_WITH("check", "", 0, 0, sh_show_check,
		"say the state in one line, for monitoring; exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN",
		NT_HEALTH_OPTIONS),
	CM_VERB("check-config", "[intake]", 0, 1, check_config,
		"list every fault of configuration, policy, keys and state, with its place; with `intake`, "
		"of an intake's configuration and its role in the database"),
	CM_VERB("config-sample", "[policy|intake]", 0, 1, config_sample,
		"print a commented configuration, of an intake too, or policy, to start from"),
	CM_CLI_COMPLETION,
	{ 0 },
};

int main(int argc, char **argv)
{
	const struct cm_cli_program program = {
		.name = "tombola-shuffler",
		.summary = "Collects, permutes and releases sealed reports, one round at a time.",
		.role = "shuffler",
		.verb = verbs,
		.machine = cr_hpke_begin,
	};

	sh_stores_begin(argv);
	cm_inherited_mend();
	cm_heap_begin();
	cr_libcrypto_begin();
	json_set_alloc_funcs(cm_oom_malloc, free);
	return cm_cli_main(&program, argc, argv);
}
