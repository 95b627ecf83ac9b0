/* cl_loop.c - runs the loop behind `run`, `send` and `encode`: sets up what every part uses, handles
 * signals, and ends the run. */
#include "cl_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_inclusion.h"
#include "cl_mqtt_saved.h"
#include "cl_policy_next.h"
#include "cl_rehearse.h"
#include "cl_rounds.h"
#include "cm_fault.h"
#include "cr_pki.h"
#include "nt_confine.h"
#include "nt_http.h"
#include "nt_loop.h"

struct cl_loop {
	struct cl_context context;
	struct nt_loop *signals;
	struct nt_http *http;
	struct nt_tls_ctx *tls;
	struct cl_links *links;
	struct cl_plans plans;    /* requests for standing, plan and manifest */
	struct cl_gather *gather; /* NULL if the readings are in a file */
	struct cl_rounds *rounds;
	struct cl_inclusion *inclusion;
	struct cl_rehearse *rehearse;
	/* a list that was read again and is not in force yet; NULL if there is none */
	struct cl_devices *devices_next;
	struct cl_policy_next policy; /* a policy that was read again and is not in force yet */
	bool key_waits; /* the certificate's files have another key, which waits for the end of a round */
	double spent;   /* epsilon of the slices of all pinned plans */
	bool stopped;   /* a signal ended the run */
	bool ending;    /* the loop is ending, with `result` */
	struct cm_err result;
};

/* ---- the end ---- */

static void on_links_closed(void *user)
{
	((struct cl_loop *)user)->links = NULL;
}

/* Close what work and rounds used, now that none is under way, so that the loop ends. */
static void on_rounds_closed(void *user)
{
	struct cl_loop *run = user;

	if (run->links)
		cl_links_close(run->links);
	nt_loop_free(run->signals);
	run->signals = NULL;
}

/* Close everything on the loop, so that it ends with this result; later calls change nothing. */
static void finish(void *user, const struct cm_err *why)
{
	struct cl_loop *run = user;

	if (run->ending)
		return;
	run->ending = true;
	run->result = *why;
	nt_http_close(run->http);
	run->http = NULL;
	cl_gather_close(run->gather);
	cl_inclusion_close(run->inclusion);
	cl_rehearse_close(run->rehearse);
	if (run->rounds)
		cl_rounds_close(run->rounds);
	else
		on_rounds_closed(run);
}

/* ---- the devices ---- */

/* Put the list of devices that was read again into force.  A fault is logged, and the old list stays. */
static void adopt_devices(struct cl_loop *run)
{
	struct cl_devices *old = run->context.devices;
	struct cm_err err;

	if (!run->devices_next)
		return;
	run->context.devices = run->devices_next;
	run->devices_next = NULL;
	if (run->gather && cl_gather_list(run->gather, &err) != CM_OK) {
		cl_say(&run->context, CM_LOG_ERROR, "the old list of devices stays", &err);
		run->context.devices = old;
		return;
	}
	cl_devices_free(old);
}

/* Use this list from the next round on, or now if no round is being prepared. */
static void take_devices(struct cl_loop *run, struct cl_devices *devices)
{
	cl_devices_free(run->devices_next);
	run->devices_next = devices;
	if (cl_rounds_phase(run->rounds) != CL_PREPARING)
		adopt_devices(run);
}

/* ---- the policy ---- */

/* Put the policy that was read again into force, unless a round was judged by the old one and is not over. */
static void adopt_policy(struct cl_loop *run)
{
	struct cl_context *c = &run->context;
	struct cl_policy old;

	if ((CM_CHECKED("client.policy.waits") && cl_rounds_judged(run->rounds)) ||
		!cl_policy_next_take(&run->policy, c->run->policy, &old))
		return;
	cl_rehearse_reconsider(run->rehearse, &old);
	cl_metrics_ledger(c->metrics, c->db);
	if (run->policy.changes > 0)
		cl_rounds_reconsider(run->rounds);
	cm_log(CM_LOG_INFO, "policy reloaded", CM_I("changed", run->policy.changes));
}

/* ---- certificates ---- */

/* Reports whose receipts did not come are sent again, and the shuffler knows them by the key. */
static bool key_must_wait(const struct cl_loop *run)
{
	struct cr_pki_info info;
	struct cm_err unused;

	return CM_CHECKED("client.key.waits") && cl_rounds_under_way(run->rounds) &&
	       cr_pki_show(run->context.setup->conf.cert, &info, &unused) == CM_OK &&
	       memcmp(info.identity.key_hash, run->plans.key_hash, PR_HASH_LEN) != 0;
}

/* Read the certificates again.  *out NULL: they have another key, and are read once more when the round is
 * over. */
static enum cm_rc read_tls(struct cl_loop *run, struct nt_tls_ctx **out, struct cm_err *err)
{
	enum cm_rc rc = cl_setup_tls(run->context.setup, out, err);
	bool said = run->key_waits;

	if (rc != CM_OK)
		return rc;
	run->key_waits = key_must_wait(run);
	if (!run->key_waits)
		rc = cl_plans_reload(&run->plans, err);
	if (run->key_waits || rc != CM_OK) {
		nt_tls_ctx_free(*out);
		*out = NULL;
	}
	if (run->key_waits && !said)
		cm_log_plain(CM_LOG_INFO, "certificates of another key are taken up when the round is over");
	return rc;
}

static void take_tls(struct cl_loop *run, struct nt_tls_ctx *fresh, bool keep)
{
	cl_links_reload(run->links, fresh, keep);
	nt_tls_ctx_free(run->tls);
	run->tls = fresh;
	cl_metrics_reloaded(run->context.metrics, true);
}

/* Prepare for the judgement of a round. */
static void on_begin(void *user)
{
	struct cl_loop *run = user;

	cl_rehearse_cut(run->rehearse);
	adopt_devices(run);
	adopt_policy(run);
}

/* Read the list of devices and the certificates again. */
static void reload_files(struct cl_loop *run)
{
	struct cl_context *c = &run->context;
	struct cl_devices *devices = NULL;
	struct nt_tls_ctx *fresh = NULL;
	size_t listed;
	struct cm_err err;

	if (cl_setup_devices(c->setup, &c->secret, &devices, &err) != CM_OK ||
		read_tls(run, &fresh, &err) != CM_OK) {
		cl_devices_free(devices);
		cl_metrics_reloaded(c->metrics, false);
		cl_say(c, CM_LOG_ERROR, "reload failed, the old files stay in force", &err);
		return;
	}
	listed = cl_devices_n(devices);
	take_devices(run, devices);
	if (fresh) {
		take_tls(run, fresh, false);
		cm_log_plain(CM_LOG_INFO, "certificates reloaded");
	}
	if (listed > 0)
		cm_log(CM_LOG_INFO, "list of devices reloaded", CM_I("devices", listed));
}

static void on_reload(void *user)
{
	struct cl_loop *run = user;
	struct cm_err err;

	if (run->ending)
		return;
	reload_files(run);
	/* A command that ends by itself keeps what it began with. */
	if (!run->context.run->policy)
		return;
	cl_setup_changes_wait(run->context.setup);
	if (cl_policy_next_read(&run->policy, run->context.setup, cl_rounds_judged(run->rounds), &err) !=
		CM_OK)
		cl_say(&run->context, CM_LOG_ERROR, "policy not reloaded; the old one stays", &err);
	else
		adopt_policy(run);
}

/* ---- files that were replaced ---- */

/* Replace the certificates.  Connections stay, unless the new certificate tells the shuffler something new:
 * another key, by which it recognises this client's reports, or another number of devices. */
static void on_certificates(void *user)
{
	struct cl_loop *run = user;
	struct cl_context *c = &run->context;
	struct nt_tls_ctx *fresh = NULL;
	uint8_t before[PR_HASH_LEN];
	uint32_t devices = run->plans.devices;
	struct cm_err err;

	if (run->ending)
		return;
	memcpy(before, run->plans.key_hash, sizeof before);
	if (read_tls(run, &fresh, &err) != CM_OK) {
		cl_metrics_reloaded(c->metrics, false);
		cl_say(c, CM_LOG_WARN, NT_LOOP_KEPT, &err);
		return;
	}
	if (!fresh)
		return;
	take_tls(run, fresh,
		devices == run->plans.devices && memcmp(before, run->plans.key_hash, sizeof before) == 0);
	cm_log_plain(CM_LOG_INFO, NT_LOOP_TAKEN);
}

static void on_devices(void *user)
{
	struct cl_loop *run = user;
	struct cl_context *c = &run->context;
	struct cl_devices *devices = NULL;
	struct cm_err err;

	if (run->ending)
		return;
	if (cl_setup_devices(c->setup, &c->secret, &devices, &err) != CM_OK) {
		cl_say(c, CM_LOG_WARN, NT_LOOP_KEPT, &err);
		return;
	}
	cm_log(CM_LOG_INFO, "the changed list of devices is taken up",
		CM_I("devices", cl_devices_n(devices)));
	take_devices(run, devices);
}

static void on_broker_files(void *user)
{
	struct cl_loop *run = user;

	if (!run->ending)
		cl_gather_files(run->gather);
}

/* Watch the certificate files, except in a verb that ends by itself: that uses the files with which it
 * began. */
static enum cm_rc watch(struct cl_loop *run, struct cm_err *err)
{
	const struct cl_setup *setup = run->context.setup;
	const struct cr_files files = cl_setup_files(setup);
	const struct mq_broker *broker = &setup->conf.mqtt.broker;
	const char *const to_broker[] = { broker->ca, broker->cert, broker->key, broker->password_file };
	enum cm_rc rc;

	if (run->context.run->stop_on_fault)
		return CM_OK;
	rc = nt_loop_watch_tls(run->signals, &files, setup->conf.key, on_certificates, err);
	if (rc == CM_OK)
		rc = nt_loop_watch(run->signals, &setup->devices, 1, on_devices, err);
	if (rc == CM_OK && run->context.run->mqtt)
		rc = nt_loop_watch(run->signals, to_broker, 4, on_broker_files, err);
	return rc;
}

static void on_stop(void *user)
{
	struct cl_loop *run = user;

	run->stopped = true;
	finish(run, &(struct cm_err){ .code = CM_OK });
}

/* ---- who looks on ---- */

/* Sum of epsilon over the slices of all pinned plans; 0 for none. */
static double spent(const struct cl_loop *run)
{
	struct rd_slices slices;
	struct cm_err unused;

	return cl_pin_slices(run->context.db, &slices, &unused) == CM_OK ? slices.epsilon : 0;
}

static void on_summary(void *user, const struct cl_summary *s)
{
	struct cl_loop *run = user;
	const struct cl_loop_conf *conf = run->context.run;

	run->spent = spent(run);
	cl_metrics_round(run->context.metrics, s);
	cl_metrics_ledger(run->context.metrics, run->context.db);
	if (conf->on_round)
		conf->on_round(conf->user, s);
}

/* Programs are left out on purpose: a program may have ended their spawner because of a reading.  If that
 * made a client "not ready", a supervisor that restarts such clients would make their connections depend on
 * a reading. */
static const char *not_ready(void *user)
{
	const struct cl_loop *run = user;
	const char *expired = cl_metrics_expired(run->context.metrics);
	struct cl_mqtt_now mqtt;

	if (expired)
		return expired;
	if (cl_links_count_up(run->links) == 0)
		return *run->plans.away ? run->plans.away : "not connected to the shuffler";
	if (*run->plans.away && cl_links_up(run->links, 0))
		return run->plans.away;
	if (*run->plans.foreign)
		return run->plans.foreign;
	return cl_gather_now(run->gather, &mqtt) && !mqtt.up ? "not connected to the MQTT broker" : NULL;
}

static void say_status(void *user, char *text, size_t room)
{
	const struct cl_loop *run = user;
	const char *why = not_ready(user);
	enum cl_phase phase = cl_rounds_shown(run->rounds);
	size_t n = 0;

	if (cl_links_count_up(run->links) == 0)
		n = (size_t)snprintf(text, room, "dialling the shuffler");
	else if (why)
		n = (size_t)snprintf(text, room, "%s", why);
	else if (phase == CL_PREPARING) /* another thread may be writing to the round */
		n = (size_t)snprintf(text, room, "reading for a round");
	else if (phase == CL_UPLOADING)
		n = (size_t)snprintf(text, room, "round %" PRIu64 " (%s)",
			cl_rounds_current(run->rounds)->sequence, cl_rounds_current(run->rounds)->query.name);
	else
		n = (size_t)snprintf(text, room, "connected, waiting for a round");
	if (n < room && run->spent > 0)
		(void)snprintf(text + n, room - n,
			"; plans of epsilon %.4f of %g pinned, round %" PRIu64 " done",
			cl_shown_bound(run->spent), run->context.setup->policy.shared.max_epsilon,
			cl_rounds_after(run->rounds));
}

static int metrics(void *user, const char *path, struct nt_http_reply *out)
{
	struct cl_loop *run = user;
	const struct cl_metrics_now now = { .phase = cl_rounds_shown(run->rounds),
		.after = cl_rounds_after(run->rounds),
		.links = cl_links_count_up(run->links),
		.ready = not_ready(run) == NULL };

	struct cl_mqtt_now mqtt;
	int failed = cl_metrics_reply(run->context.metrics, &now, out);

	(void)path;
	return failed == 0 && cl_gather_now(run->gather, &mqtt)
		       ? cl_mqtt_metrics_append(&mqtt, cl_setup_shows(run->context.setup), out)
		       : failed;
}

/* Reports on the programs, for `check`. */
static int programs(void *user, const char *path, struct nt_http_reply *out)
{
	const struct cl_loop *run = user;

	(void)path;
	out->body = strdup(cl_programs_lost(run->context.run->programs) ? "ended\n" : "ok\n");
	out->len = out->body ? strlen(out->body) : 0;
	return out->body ? 0 : -1;
}

/* Whether a person is watching this run. */
static bool watched(const struct cl_context *c)
{
	return !c->run->stop_on_fault && c->setup->conf.http && *c->setup->conf.http != '\0';
}

/* ---- connections and parts ---- */

static void on_up(void *user, unsigned i)
{
	cl_rounds_up(((struct cl_loop *)user)->rounds, i);
}

static void on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame)
{
	struct cl_loop *run = user;

	if (!cl_inclusion_frame(run->inclusion, i, frame))
		cl_rounds_frame(run->rounds, i, frame);
}

static void on_down(void *user, unsigned i, bool was_up, const struct cm_err *why)
{
	struct cl_loop *run = user;

	if (run->ending)
		return;
	if (i == 0) {
		cl_inclusion_down(run->inclusion);
		cl_rehearse_down(run->rehearse);
	}
	cl_rounds_down(run->rounds, i, was_up, why);
}

static void on_due(void *user)
{
	cl_rounds_due(((struct cl_loop *)user)->rounds);
}

static void on_next(void *user)
{
	struct cl_loop *run = user;

	if (run->key_waits)
		on_certificates(run);
	adopt_policy(run);
	cl_inclusion_begin(run->inclusion);
}

static void on_rehearse(void *user, const Tombola__V1__Rehearse *question)
{
	struct cl_loop *run = user;

	adopt_policy(run);
	cl_rehearse_asked(run->rehearse, question);
}

static bool busy(void *user)
{
	return cl_rounds_phase(((struct cl_loop *)user)->rounds) == CL_PREPARING;
}

static bool awaits_manifest(void *user)
{
	return cl_rounds_awaits_manifest(((struct cl_loop *)user)->rounds);
}

/* ---- the start ---- */

static enum cm_rc start_serving(struct cl_loop *run, struct cm_err *err)
{
	static const struct nt_loop_handler signals = { on_stop, on_reload, say_status };
	static const struct nt_http_route routes[] = { { .path = "/metrics", .handle = metrics },
		{ .path = "/programs", .handle = programs } };
	const struct nt_http_conf http = { .address = run->context.setup->conf.http,
		.anywhere = run->context.setup->conf.http_anywhere,
		.not_ready = not_ready,
		.user = run,
		.routes = routes,
		.n_routes = sizeof routes / sizeof routes[0] };
	enum cm_rc rc = nt_loop_new(&run->context.loop, &signals, run, &run->signals, err);

	if (rc == CM_OK)
		rc = watch(run, err);
	if (rc == CM_OK && watched(&run->context))
		rc = nt_http_new(&run->context.loop, &http, &run->http, err);
	return rc;
}

static enum cm_rc start(struct cl_loop *run, uint64_t after, struct cm_err *err)
{
	struct cl_context *c = &run->context;
	const struct cl_links_conf links = {
		.loop = &c->loop,
		.address = c->setup->conf.shuffler.item,
		.addresses = c->setup->conf.shuffler.n,
		.tls = run->tls,
		.n = (unsigned)c->setup->conf.connections,
		.user = run,
		.on_up = on_up,
		.on_frame = on_frame,
		.on_down = on_down,
		.on_closed = on_links_closed,
		.counts = cl_metrics_counts(c->metrics),
	};
	enum cm_rc rc = cl_links_new(&links, &run->links, err);

	if (rc == CM_OK)
		rc = start_serving(run, err);
	/* Erase what a run with `hold` has stored, because the configuration no longer wants it. */
	if (rc == CM_OK && !c->setup->conf.mqtt.hold)
		rc = cl_mqtt_saved_erase(c->setup->conf.state_dir, err);
	if (rc == CM_OK)
		rc = cl_rehearse_new(c, run->links, &run->rehearse, err);
	if (rc == CM_OK && c->run->mqtt)
		rc = cl_gather_new(c, on_due, run, &run->gather, err);
	if (rc == CM_OK)
		rc = cl_rounds_new(&(struct cl_rounds_conf){ .context = c,
					   .links = run->links,
					   .plans = &run->plans,
					   .gather = run->gather,
					   .after = after,
					   .user = run,
					   .on_begin = on_begin,
					   .on_rehearse = on_rehearse,
					   .on_summary = on_summary,
					   .on_next = on_next,
					   .on_end = finish,
					   .on_closed = on_rounds_closed },
			&run->rounds, err);
	if (rc == CM_OK)
		rc = cl_inclusion_new(&(struct cl_inclusion_conf){ .context = c,
					      .links = run->links,
					      .user = run,
					      .busy = busy,
					      .awaits_manifest = awaits_manifest,
					      .on_end = finish },
			&run->inclusion, err);
	if (rc != CM_OK)
		return rc;
	/* Report readiness now: if the shuffler is away the client waits for it, and the service manager
	 * must not restart it. */
	nt_loop_ready(run->signals);
	return CM_OK;
}

static enum cm_rc run_all(struct cl_loop *run, struct cm_err *err)
{
	struct cl_context *c = &run->context;
	uint64_t after = 0;
	enum cm_rc rc = cl_context_open(c, &after, err);

	if (rc == CM_OK)
		rc = cl_setup_tls(c->setup, &run->tls, err);
	if (rc == CM_OK)
		rc = cl_plans_init(&run->plans, c->setup, c->db, &c->secret, err);
	if (rc == CM_OK && watched(c)) {
		c->metrics = cl_metrics_new(c->setup);
		cl_metrics_ledger(c->metrics, c->db);
		rc = c->metrics ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc != CM_OK)
		return rc;
	run->spent = spent(run);
	nt_confine(c->run->quiet ? CM_LOG_DEBUG : CM_LOG_INFO);
	if (uv_loop_init(&c->loop) != 0)
		return cm_fail(err, CM_EINTERNAL, "no event loop");
	rc = start(run, after, err);
	if (rc != CM_OK)
		finish(run, err);
	(void)uv_run(&c->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&c->loop) != 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "handles were left on the loop");
	if (rc == CM_OK && run->result.code != CM_OK) {
		*err = run->result;
		rc = err->code;
	}
	return rc;
}

static void run_fini(struct cl_loop *run)
{
	cl_rounds_free(run->rounds);
	cl_gather_free(run->gather);
	cl_inclusion_free(run->inclusion);
	cl_rehearse_free(run->rehearse);
	cl_devices_free(run->devices_next);
	cl_policy_next_fini(&run->policy);
	cl_plans_fini(&run->plans);
	cl_context_close(&run->context);
	nt_tls_ctx_free(run->tls);
	free(run);
}

enum cm_rc cl_loop_run(const struct cl_loop_conf *conf, bool *stopped, struct cm_err *err)
{
	struct cl_loop *run = calloc(1, sizeof *run);
	enum cm_rc rc;

	if (!run)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	run->context.run = conf;
	run->context.setup = conf->setup;
	rc = run_all(run, err);
	*stopped = run->stopped;
	run_fini(run);
	return rc;
}
