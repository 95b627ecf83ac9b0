/* sh_intake_main.c - the verb `intake`: sets up and runs an intake. */
#include <sys/stat.h>

#include "cf_change.h"
#include "nt_confine.h"
#include "nt_http.h"
#include "nt_loop.h"
#include "nt_service.h"
#include "sh_front.h"
#include "sh_intake_check.h"
#include "sh_postgresql.h"
#include "sh_stores.h"

#define CONNECTIONS_BESIDE 64u /* as in sh_main.c */

struct intake {
	const char *path; /* of the configuration */
	struct sh_intake_conf conf;
	struct nt_tls_ctx *tls, *up;
	struct sh_store store;
	uv_loop_t loop;
	struct nt_loop *signals;
	struct sh_front *front;
	struct nt_http *http;
};

static const char *not_ready(void *user)
{
	const struct intake *n = user;

	return n->front ? sh_front_not_ready(n->front) : "starting";
}

static char *status_json(void *user)
{
	const struct intake *n = user;

	return n->front ? sh_front_status(n->front) : NULL;
}

static int metrics(void *user, const char *path, struct nt_http_reply *out)
{
	const struct intake *n = user;

	(void)path;
	return n->front ? sh_front_metrics(n->front, out) : -1;
}

static void on_stopped(void *user)
{
	struct intake *n = user;

	if (n->http)
		nt_http_close(n->http);
	n->http = NULL;
	nt_loop_free(n->signals);
	n->signals = NULL;
}

static void on_stop(void *user)
{
	struct intake *n = user;

	cm_log_plain(CM_LOG_INFO, "stopping");
	sh_front_stop(n->front, on_stopped, n);
}

static void reload(struct intake *n, bool asked)
{
	struct nt_tls_ctx *tls, *up;
	struct cm_err err;

	bool fresh = sh_intake_tls(&n->conf, &tls, &up, &err) == CM_OK;
	lk_metrics_reloaded(sh_front_shared(n->front), fresh);
	if (!fresh) {
		cm_log(asked ? CM_LOG_ERROR : CM_LOG_WARN,
			asked ? "certificates not reloaded; the old ones stay" : NT_LOOP_KEPT,
			CM_S("reason", err.msg));
		return;
	}
	sh_front_reload(n->front, tls, up, !asked);
	nt_tls_ctx_free(n->tls);
	nt_tls_ctx_free(n->up);
	n->tls = tls;
	n->up = up;
	cm_log_plain(CM_LOG_INFO, asked ? "certificates reloaded" : NT_LOOP_TAKEN);
}

static void on_reload(void *user)
{
	struct intake *n = user;

	reload(n, true);
	cf_changes_wait(n->path, sh_intake_conf_rows, &n->conf, sizeof n->conf);
}

static void on_certificates(void *user)
{
	reload(user, false);
}

static enum cm_rc watch(struct intake *n, struct cm_err *err)
{
	const struct cr_files files = sh_tls_files(&n->conf.tls);

	return nt_loop_watch_tls(n->signals, &files, n->conf.tls.key, on_certificates, err);
}

static struct sh_front_conf front_conf(const struct intake *n)
{
	const struct sh_intake_conf *c = &n->conf;
	struct sh_front_conf out = {
		.gate = { .listen = c->listen,
			.tls = n->tls,
			.max_clients = (uint32_t)c->limits.max_connections,
			.links_of_one = (uint32_t)c->limits.of_one,
			.quota = { .frames_per_second = (uint32_t)c->limits.frames_per_second,
				.waiting_bytes = (size_t)c->limits.max_waiting_mib << 18 } },
		.head = c->head,
		.up = n->up,
		.store = &n->store,
		.max_bytes = (size_t)c->limits.max_waiting_mib << 20,
		.commit_messages = (size_t)c->limits.commit_messages,
		.commit_wait_ms = c->limits.commit_wait_ms,
		.files = sh_tls_files(&c->tls)
	};

	nt_conn_limits_default(&out.gate.limits);
	out.gate.limits.idle_ms = (uint32_t)c->limits.idle_ms;
	out.gate.limits.max_connections =
		out.gate.max_clients + LK_KEPT + out.gate.limits.max_handshaking + CONNECTIONS_BESIDE;
	return out;
}

static enum cm_rc serve(struct intake *n, struct cm_err *err)
{
	static const struct nt_http_route routes[] = { { .path = "/metrics", .handle = metrics } };
	const struct nt_loop_handler signals = { .on_stop = on_stop, .on_reload = on_reload };
	struct nt_http_conf http = { .address = n->conf.http,
		.anywhere = n->conf.http_anywhere,
		.not_ready = not_ready,
		.status_json = status_json,
		.user = n,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	struct sh_front_conf conf = front_conf(n);

	enum cm_rc rc = nt_service_socket(&conf.gate.passed, err);
	if (rc == CM_OK)
		rc = nt_loop_new(&n->loop, &signals, n, &n->signals, err);
	if (rc == CM_OK)
		rc = watch(n, err);
	if (rc == CM_OK && *n->conf.http)
		rc = nt_http_new(&n->loop, &http, &n->http, err);
	if (rc == CM_OK)
		rc = sh_front_new(&n->loop, &conf, &n->front, err);
	if (rc != CM_OK) {
		on_stopped(n);
		(void)uv_run(&n->loop, UV_RUN_DEFAULT);
		return rc;
	}
	cm_log(CM_LOG_INFO, "intake ready",
		CM_S("listen", conf.gate.passed > 0 ? "passed socket" : n->conf.listen),
		CM_I("port", sh_front_port(n->front)), CM_S("head", n->conf.head));
	nt_loop_ready(n->signals);
	(void)uv_run(&n->loop, UV_RUN_DEFAULT);
	sh_front_free(n->front);
	n->front = NULL;
	cm_log_plain(CM_LOG_INFO, "stopped");
	return CM_OK;
}

enum cm_rc sh_intake_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct intake n = { .path = cli->config };

	(void)exit_code;
	nt_loop_deaf();
	(void)umask(077);
	enum cm_rc rc = sh_intake_conf_load(cli->config, &n.conf, stderr, err);
	if (rc == CM_OK) {
		err->code = CM_OK;
		rc = sh_intake_check_databases(&n.conf, err);
	}
	if (rc == CM_OK)
		rc = sh_intake_tls(&n.conf, &n.tls, &n.up, err);
	const struct sh_pg_conf pg = sh_intake_databases(&n.conf);
	if (rc == CM_OK)
		rc = sh_postgresql_join(&pg, &n.store, err);
	if (rc == CM_OK)
		nt_confine(CM_LOG_INFO);
	if (rc == CM_OK && uv_loop_init(&n.loop) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot make an event loop");
	else if (rc == CM_OK) {
		rc = serve(&n, err);
		if (uv_loop_close(&n.loop) != 0 && rc == CM_OK)
			rc = cm_fail(err, CM_EINTERNAL, "handles were left open at the end");
	}
	if (n.store.close)
		n.store.close(n.store.ctx);
	nt_tls_ctx_free(n.tls);
	nt_tls_ctx_free(n.up);
	sh_intake_conf_free(&n.conf);
	return rc;
}
