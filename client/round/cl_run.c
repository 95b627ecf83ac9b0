/* cl_run.c - the loop behind `run`, `send` and `encode`: setup, signals, and the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_evidence.h"
#include "cl_run_private.h"
#include "cm_file.h"
#include "nt_confine.h"

void cl_run_say(const struct cl_run *run, enum cm_level level, const char *msg, const struct cm_err *why)
{
	if (!run->conf.quiet || level == CM_LOG_ERROR)
		cm_log(level, msg, CM_S("reason", why->msg));
}

static void on_links_closed(void *user)
{
	((struct cl_run *)user)->links = NULL;
}

/* Close everything on the loop, so that it ends: at once, or when the running work or round returns and calls
 * this again. */
void cl_run_finish(struct cl_run *run, const struct cm_err *why)
{
	bool preparing = run->phase == CL_PREPARING && !cl_run_mqtt_gathering(run);

	if (run->phase != CL_ENDING) {
		run->result = why != NULL ? *why : (struct cm_err){ .code = CM_OK };
		run->phase = CL_ENDING;
		atomic_store(&run->plans.stop, true);
		uv_close((uv_handle_t *)&run->ask_timer, NULL);
		uv_close((uv_handle_t *)&run->wait_timer, NULL);
		nt_http_close(run->http);
		run->http = NULL;
		cl_run_mqtt_close(run);
		cl_run_proof_close(run);
		if (run->round != NULL)
			cl_round_stop(run->round);
		if (preparing)
			return;
	}
	if (run->round != NULL)
		return;
	if (run->links != NULL)
		cl_links_close(run->links);
	nt_loop_free(run->signals);
	run->signals = NULL;
}

/* Report a fault that ends `send` and that `run` survives. */
void cl_run_fault(struct cl_run *run, const char *msg, const struct cm_err *why)
{
	if (run->conf.stop_on_fault || why->code == CM_EIO || why->code == CM_EINTERNAL) {
		cl_run_finish(run, why);
		return;
	}
	cl_run_say(run, CM_LOG_ERROR, msg, why);
	cl_run_begin_asking(run, CL_PAUSE_MS);
}

static void on_stop(void *user)
{
	struct cl_run *run = user;

	run->stopped = true;
	if (run->phase != CL_ENDING)
		cl_run_finish(run, NULL);
}

void cl_run_adopt_devices(struct cl_run *run)
{
	struct cl_devices *old = run->devices;
	struct cm_err err;

	if (run->devices_next == NULL)
		return;
	run->devices = run->devices_next;
	run->devices_next = NULL;
	if (run->mqtt != NULL && cl_run_mqtt_list(run, &err) != CM_OK) {
		cl_run_say(run, CM_LOG_ERROR, "the old list of devices stays", &err);
		cl_devices_free(run->devices);
		run->devices = old;
		return;
	}
	cl_devices_free(old);
}

static void on_reload(void *user)
{
	struct cl_run *run = user;
	struct cl_devices *devices = NULL;
	struct nt_tls_ctx *fresh = NULL;
	size_t listed;
	struct cm_err err;

	if (run->phase == CL_ENDING)
		return;
	if (cl_setup_devices(run->setup, &run->secret, &devices, &err) != CM_OK ||
		cl_setup_tls(run->setup, &fresh, &err) != CM_OK ||
		cl_plans_reload(&run->plans, &err) != CM_OK) {
		cl_devices_free(devices);
		nt_tls_ctx_free(fresh);
		cl_metrics_reloaded(run->metrics, false);
		cl_run_say(run, CM_LOG_ERROR, "reload failed, the old files stay in force", &err);
		return;
	}
	listed = cl_devices_n(devices);
	cl_devices_free(run->devices_next);
	run->devices_next = devices;
	if (run->phase != CL_PREPARING)
		cl_run_adopt_devices(run);
	cl_links_reload(run->links, fresh);
	nt_tls_ctx_free(run->tls);
	run->tls = fresh;
	cl_metrics_reloaded(run->metrics, true);
	cm_log_plain(CM_LOG_INFO, "certificates reloaded");
	if (listed > 0)
		cm_log(CM_LOG_INFO, "list of devices reloaded", CM_I("devices", listed));
}

static void say_status(void *user, char *text, size_t room)
{
	const struct cl_run *run = user;
	unsigned up = cl_links_count_up(run->links);
	size_t n = 0;

	if (up == 0)
		n = (size_t)snprintf(text, room, "dialling the shuffler");
	else if (run->phase == CL_PREPARING) /* another thread may be writing to the round */
		n = (size_t)snprintf(text, room, "reading for a round");
	else if (run->phase == CL_UPLOADING)
		n = (size_t)snprintf(text, room, "round %" PRIu64 " (%s)", run->prepared.j.d.sequence,
			run->prepared.j.d.query.name);
	else
		n = (size_t)snprintf(text, room, "connected, waiting for a round");
	if (n < room && run->spent > 0)
		(void)snprintf(text + n, room - n,
			"; plans of epsilon %.4f of %g pinned, round %" PRIu64 " done",
			cl_shown_bound(run->spent), run->setup->policy.max_epsilon, run->after);
}

static const char *not_ready(void *user)
{
	const struct cl_run *run = user;
	struct cl_mqtt_now mqtt;

	if (cl_links_count_up(run->links) == 0)
		return "not connected to the shuffler";
	return cl_run_mqtt_now(run, &mqtt) && !mqtt.up ? "not connected to the MQTT broker" : NULL;
}

static int metrics(void *user, const char *path, struct nt_http_reply *out)
{
	struct cl_run *run = user;
	const struct cl_metrics_now now = { .phase = (enum cl_phase)run->phase,
		.after = run->after,
		.links = cl_links_count_up(run->links),
		.ready = not_ready(run) == NULL };

	struct cl_mqtt_now mqtt;
	int failed = cl_metrics_reply(run->metrics, &now, out);

	(void)path;
	return failed == 0 && cl_run_mqtt_now(run, &mqtt)
		       ? cl_mqtt_metrics_append(&mqtt, cl_setup_shows(run->setup), out)
		       : failed;
}

/* Whether a person is watching this run. */
static bool watched(const struct cl_run *run)
{
	return !run->conf.stop_on_fault && run->setup->conf.http != NULL && *run->setup->conf.http != '\0';
}

/* Verify the stored documents; on a fault, name the file with its directory. */
static enum cm_rc check_evidence(struct cl_db *db, const char *dir, struct cm_err *err)
{
	struct cm_err why;
	enum cm_rc rc = cl_evidence_check(db, err);

	if (rc != CM_EDATA || strncmp(err->msg, "client.db: ", 11) != 0)
		return rc;
	why = *err;
	return cm_fail(err, CM_EDATA, "%s/%.200s", dir, why.msg);
}

static enum cm_rc open_state(struct cl_run *run, struct cm_err *err)
{
	const char *dir = run->setup->conf.state_dir;
	struct cr_rng rng;
	bool charged = false;
	enum cm_rc rc = cm_file_mkdir(dir, err);

	if (rc == CM_OK)
		rc = cm_file_lock(dir, err);
	if (rc == CM_OK)
		rc = cm_file_sweep(dir, err);
	if (rc == CM_OK)
		rc = cr_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = cl_db_open(dir, run->setup->conf.population, &run->db, err);
	if (rc == CM_OK)
		rc = check_evidence(run->db, dir, err);
	/* Open the secret after the database: a secret without a database means that a ledger was lost
	 * (cl_db_open). */
	if (rc == CM_OK)
		rc = cl_ledger_any(run->db, &charged, err);
	if (rc == CM_OK)
		rc = cl_device_secret(dir, charged, &rng, &run->secret, err);
	if (rc == CM_OK)
		rc = cl_setup_devices(run->setup, &run->secret, &run->devices, err);
	if (rc == CM_OK)
		rc = cl_ledger_last(run->db, &run->after, err);
	if (rc != CM_OK)
		return rc;
	run->spent = cl_run_spent(run);
	rc = cl_store_active(run->db, &run->active, err);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

static enum cm_rc start(struct cl_run *run, struct cm_err *err)
{
	static const struct nt_loop_handler signals = { on_stop, on_reload, say_status };
	const struct cl_links_conf links = {
		.loop = &run->loop,
		.address = run->setup->conf.shuffler,
		.tls = run->tls,
		.n = run->conf.fetch_only ? 1 : (unsigned)run->setup->conf.connections,
		.user = run,
		.on_up = cl_run_on_up,
		.on_frame = cl_run_on_frame,
		.on_down = cl_run_on_down,
		.on_closed = on_links_closed,
		.counts = cl_metrics_counts(run->metrics),
	};
	static const struct nt_http_route routes[] = { { .path = "/metrics", .handle = metrics } };
	const struct nt_http_conf http = { .address = run->setup->conf.http,
		.anywhere = run->setup->conf.http_anywhere,
		.not_ready = not_ready,
		.user = run,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	enum cm_rc rc = CM_OK;

	(void)uv_timer_init(&run->loop, &run->ask_timer);
	(void)uv_timer_init(&run->loop, &run->wait_timer);
	run->ask_timer.data = run->wait_timer.data = run;
	run->links = cl_links_new(&links);
	if (run->links == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = nt_loop_new(&run->loop, &signals, run, &run->signals, err);
	if (rc == CM_OK && watched(run))
		rc = nt_http_new(&run->loop, &http, &run->http, err);
	if (rc == CM_OK && run->conf.mqtt)
		rc = cl_run_mqtt_open(run, err);
	if (rc == CM_OK && run->db != NULL)
		rc = cl_run_proof_open(run, err);
	if (rc != CM_OK)
		return rc;
	/* Report readiness now: if the shuffler is away the client waits for it, and the service manager must
	 * not restart it. */
	nt_loop_ready(run->signals);
	cl_run_begin_waiting(run);
	return CM_OK;
}

static enum cm_rc run_all(struct cl_run *run, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	cm_buf_init(&run->descriptor, PR_DESCRIPTOR_MAX);
	if (!run->conf.fetch_only)
		rc = open_state(run, err);
	if (rc == CM_OK)
		rc = cl_setup_tls(run->setup, &run->tls, err);
	if (rc == CM_OK)
		rc = cl_plans_init(&run->plans, run->setup, run->db, err);
	if (rc == CM_OK && watched(run)) {
		run->metrics = cl_metrics_new(run->setup);
		cl_metrics_ledger(run->metrics, run->db);
		rc = run->metrics != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc != CM_OK)
		return rc;
	nt_confine(run->conf.quiet ? CM_LOG_DEBUG : CM_LOG_INFO);
	if (uv_loop_init(&run->loop) != 0)
		return cm_fail(err, CM_EINTERNAL, "no event loop");
	rc = start(run, err);
	if (rc != CM_OK && run->links != NULL)
		cl_run_finish(run, err);
	(void)uv_run(&run->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&run->loop) != 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "handles were left on the loop");
	if (rc == CM_OK && run->result.code != CM_OK) {
		*err = run->result;
		rc = err->code;
	}
	return rc;
}

static void run_fini(struct cl_run *run)
{
	cl_run_mqtt_free(run);
	cl_devices_free(run->devices);
	cl_devices_free(run->devices_next);
	cl_run_proof_free(run);
	cl_prepared_fini(&run->prepared);
	cl_active_fini(&run->active);
	cm_buf_fini(&run->descriptor);
	cl_plans_fini(&run->plans);
	cl_db_close(run->db);
	cl_metrics_free(run->metrics);
	cr_key_fini(&run->secret);
	nt_tls_ctx_free(run->tls);
	free(run);
}

enum cm_rc cl_run(const struct cl_run_conf *conf, bool *stopped, struct cm_err *err)
{
	struct cl_run *run = calloc(1, sizeof *run);
	enum cm_rc rc;

	if (run == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	run->conf = *conf;
	run->setup = conf->setup;
	rc = run_all(run, err);
	*stopped = run->stopped;
	run_fini(run);
	return rc;
}

void cl_fetched_init(struct cl_fetched *f)
{
	*f = (struct cl_fetched){ .signature = { 0 } };
	cm_buf_init(&f->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&f->plan, PR_PLAN_MAX);
}

void cl_fetched_fini(struct cl_fetched *f)
{
	cm_buf_fini(&f->descriptor);
	cm_buf_fini(&f->plan);
}

static enum cm_rc take_fetched(struct cl_run *run, struct cl_fetched *out, struct cm_err *err)
{
	if (run->descriptor.len == 0)
		return cm_fail(err, CM_ELATER, "stopped before a round came");
	if (cm_buf_put(&out->descriptor, run->descriptor.data, run->descriptor.len) != CM_OK ||
		cm_buf_put(&out->plan, run->plans.fetched.data, run->plans.fetched.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(out->signature, run->signature, PR_SIGNATURE_LEN);
	memcpy(out->plan_signature, run->plans.fetched_signature, PR_SIGNATURE_LEN);
	return CM_OK;
}

enum cm_rc cl_run_fetch(
	const struct cl_setup *setup, int64_t wait_ms, struct cl_fetched *out, struct cm_err *err)
{
	struct cl_run *run = calloc(1, sizeof *run);
	enum cm_rc rc;

	if (run == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	run->conf = (struct cl_run_conf){
		.setup = setup, .wait_ms = wait_ms, .stop_on_fault = true, .fetch_only = true, .quiet = true
	};
	run->setup = setup;
	rc = run_all(run, err);
	if (rc == CM_OK)
		rc = take_fetched(run, out, err);
	run_fini(run);
	return rc;
}
