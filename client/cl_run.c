/* cl_run.c - the loop behind `run`, `send` and `encode`: what it is set up with, signals, and its end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_run_private.h"
#include "cm_confine.h"
#include "cm_file.h"

void cl_run_say(const struct cl_run *run, enum cm_level level, const char *msg, const struct cm_err *why)
{
	if (!run->conf.quiet || level == CM_LOG_ERROR)
		cm_log(level, msg, CM_S("reason", why->msg));
}

static void on_links_closed(void *user)
{
	((struct cl_run *)user)->links = NULL;
}

/* Take everything off the loop, so that it ends: at once, or when the work or round under way is back and
 * calls again. */
void cl_run_finish(struct cl_run *run, const struct cm_err *why)
{
	bool preparing = run->phase == PREPARING && !cl_run_mqtt_gathering(run);

	if (run->phase != ENDING) {
		run->result = why != NULL ? *why : (struct cm_err){ .code = CM_OK };
		run->phase = ENDING;
		uv_close((uv_handle_t *)&run->ask_timer, NULL);
		uv_close((uv_handle_t *)&run->wait_timer, NULL);
		cm_http_close(run->http);
		run->http = NULL;
		cl_run_mqtt_close(run);
		if (run->round != NULL)
			cl_round_stop(run->round);
		if (preparing)
			return;
	}
	if (run->round != NULL)
		return;
	if (run->links != NULL)
		cl_links_close(run->links);
	cm_loop_free(run->signals);
	run->signals = NULL;
}

/* What ends `send` and what `run` outlives. */
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
	if (run->phase != ENDING)
		cl_run_finish(run, NULL);
}

static void on_reload(void *user)
{
	struct cl_run *run = user;
	struct cm_tls_ctx *fresh = NULL;
	struct cm_err err;

	if (run->phase == ENDING)
		return;
	if (cl_setup_tls(run->setup, &fresh, &err) != CM_OK) {
		cl_metrics_reloaded(run->metrics, false);
		cl_run_say(run, CM_LOG_ERROR, "certificates not reloaded, the old ones stay", &err);
		return;
	}
	cl_links_reload(run->links, fresh);
	cm_tls_ctx_free(run->tls);
	run->tls = fresh;
	cl_metrics_reloaded(run->metrics, true);
	cm_log_plain(CM_LOG_INFO, "certificates reloaded");
}

static void say_status(void *user, char *text, size_t room)
{
	const struct cl_run *run = user;
	unsigned up = cl_links_count_up(run->links);
	size_t n = 0;

	if (up == 0)
		n = (size_t)snprintf(text, room, "dialling the shuffler");
	else if (run->phase == PREPARING) /* on another thread: its round is not ours to read */
		n = (size_t)snprintf(text, room, "reading for a round");
	else if (run->phase == UPLOADING)
		n = (size_t)snprintf(text, room, "round %" PRIu64 " (%s)", run->prepared.j.d.sequence,
			run->prepared.j.d.query.name);
	else
		n = (size_t)snprintf(text, room, "connected, waiting for a round");
	if (n < room && run->spent > 0)
		(void)snprintf(text + n, room - n, "; epsilon %.4f of %g spent after round %" PRIu64,
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

static int metrics(void *user, const char *path, struct cm_http_reply *out)
{
	struct cl_run *run = user;
	const struct cl_metrics_now now = { .phase = (enum cl_phase)run->phase,
		.after = run->after,
		.links = cl_links_count_up(run->links),
		.ready = not_ready(run) == NULL };

	struct cl_mqtt_now mqtt;
	int failed = cl_metrics_reply(run->metrics, &now, out);

	(void)path;
	return failed == 0 && cl_run_mqtt_now(run, &mqtt) ? cl_mqtt_metrics_append(&mqtt, out) : failed;
}

/* Does anybody watch this run? */
static bool watched(const struct cl_run *run)
{
	return !run->conf.stop_on_fault && run->setup->conf.http != NULL && *run->setup->conf.http != '\0';
}

static enum cm_rc open_state(struct cl_run *run, struct cm_err *err)
{
	const char *dir = run->setup->conf.state_dir;
	struct cm_rng rng;
	bool charged = false;
	enum cm_rc rc = cm_file_mkdir(dir, err);

	if (rc == CM_OK)
		rc = cm_file_lock(dir, err);
	if (rc == CM_OK)
		rc = cm_file_sweep(dir, err);
	if (rc == CM_OK)
		rc = cm_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = cl_db_open(dir, run->setup->conf.population, &run->db, err);
	/* After the database: a secret without one means that a ledger was lost (cl_db_open). */
	if (rc == CM_OK)
		rc = cl_ledger_any(run->db, &charged, err);
	if (rc == CM_OK)
		rc = cl_device_secret(dir, charged, &rng, &run->secret, err);
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
	static const struct cm_loop_handler signals = { on_stop, on_reload, say_status };
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
	static const struct cm_http_route routes[] = { { .path = "/metrics", .handle = metrics } };
	const struct cm_http_conf http = { .address = run->setup->conf.http,
		.anywhere = run->setup->conf.http_anywhere,
		.not_ready = not_ready,
		.user = run,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	enum cm_rc rc = CM_OK;

	cm_confine(run->conf.quiet ? CM_LOG_DEBUG : CM_LOG_INFO);
	(void)uv_timer_init(&run->loop, &run->ask_timer);
	(void)uv_timer_init(&run->loop, &run->wait_timer);
	run->ask_timer.data = run->wait_timer.data = run;
	run->links = cl_links_new(&links);
	if (run->links == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cm_loop_new(&run->loop, &signals, run, &run->signals, err);
	if (rc == CM_OK && watched(run))
		rc = cm_http_new(&run->loop, &http, &run->http, err);
	if (rc == CM_OK && run->conf.mqtt)
		rc = cl_run_mqtt_open(run, err);
	if (rc != CM_OK)
		return rc;
	/* A shuffler that is away is waited for, not a reason to be started again. */
	cm_loop_ready(run->signals);
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
	if (rc == CM_OK && watched(run)) {
		run->metrics = cl_metrics_new(run->setup);
		cl_metrics_ledger(run->metrics, run->db);
		rc = run->metrics != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc != CM_OK)
		return rc;
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
	cl_prepared_fini(&run->prepared);
	cl_active_fini(&run->active);
	cm_buf_fini(&run->descriptor);
	cl_db_close(run->db);
	cl_metrics_free(run->metrics);
	cm_key_fini(&run->secret);
	cm_tls_ctx_free(run->tls);
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

enum cm_rc cl_run_fetch(const struct cl_setup *setup, int64_t wait_ms, struct cm_buf *descriptor,
	uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
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
	if (rc == CM_OK && run->descriptor.len == 0)
		rc = cm_fail(err, CM_ELATER, "stopped before a round came");
	if (rc == CM_OK && cm_buf_put(descriptor, run->descriptor.data, run->descriptor.len) != CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(signature, run->signature, PR_SIGNATURE_LEN);
	run_fini(run);
	return rc;
}
