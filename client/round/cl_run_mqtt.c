/* cl_run_mqtt.c - readings by MQTT for a running client: the connection to the broker, the time that devices
 * get to publish for a round, and drawing the readings on the thread pool.  No step here depends on whether a
 * reading arrives. */
#include <stdlib.h>
#include <string.h>

#include "cl_mqtt_link.h"
#include "cl_run_private.h"
#include "cm_clock.h"

#define TICK_MS   100u
#define EXPIRE_MS 1000

struct cl_run_mqtt {
	struct cl_run *run;
	struct cl_mqtt_input *input;
	struct cl_mqtt_link *link;
	uv_timer_t tick;
	uv_work_t work;
	int64_t expire_at; /* monotonic */
	bool gathering;
	int64_t draw_at; /* wall */
};

static void on_message(void *user, const struct cl_mqtt_message *m)
{
	const struct cl_run_mqtt *q = user;

	(void)cl_mqtt_input_take(q->input, m, cm_clock_mono_ms());
}

static void on_up(void *user)
{
	const struct cl_run_mqtt *q = user;

	cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	cm_log(CM_LOG_INFO, "subscribed", CM_S("broker", q->run->setup->conf.mqtt.broker.host));
}

static void on_down(void *user, const struct cm_err *why)
{
	const struct cl_run_mqtt *q = user;

	cm_log(CM_LOG_WARN, "not connected to the MQTT broker, retrying",
		CM_S("broker", q->run->setup->conf.mqtt.broker.host), CM_S("reason", why->msg));
}

/* ---- a round's readings ---- */

static void draw_work(uv_work_t *w)
{
	struct cl_run_mqtt *q = w->data;
	struct cl_run *run = q->run;
	struct cl_prepared *p = &run->prepared;
	struct cm_err *err = &run->prepare_err;
	struct cr_rng rng;

	err->code = cr_rng_system(&rng, err);
	if (err->code == CM_OK)
		err->code = cl_prepare_batch(&run->input, &p->j.d, &run->setup->policy, &run->secret, &rng,
			p->j.resumed ? run->db : NULL, &p->batch, &p->rows, err);
}

static void on_drawn(uv_work_t *w, int status)
{
	struct cl_run_mqtt *q = w->data;
	struct cl_run *run = q->run;

	(void)status;
	cl_mqtt_input_drawn(q->input);
	if (run->phase == CL_ENDING) {
		cl_run_finish(run, NULL);
		return;
	}
	run->phase = CL_ASKING;
	cl_run_prepared(run);
}

void cl_run_mqtt_draw(struct cl_run *run)
{
	struct cl_run_mqtt *q = run->mqtt;
	const struct rd_descriptor *d = &run->prepared.j.d;
	struct cl_held_round round = { .entry = d->entry, .sequence = d->entry == 0 ? d->sequence : 0 };
	struct cm_err err;

	memcpy(round.plan, d->plan_hash, PR_HASH_LEN);
	run->phase = CL_PREPARING;
	run->prepare_from = q->draw_at;
	run->input = (struct cl_input){ .path = "mqtt",
		.feed = cl_mqtt_input_feed,
		.user = q->input,
		.format = CL_FORMAT_NDJSON,
		.devices = run->devices };
	if (cl_mqtt_input_draw(q->input, d->query.name, &round, cm_clock_mono_ms(), &err) != CM_OK) {
		run->phase = CL_ASKING;
		cl_run_finish(run, &err);
		return;
	}
	q->work.data = q;
	if (uv_queue_work(&run->loop, &q->work, draw_work, on_drawn) != 0) {
		run->phase = CL_ASKING;
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
		cl_run_finish(run, &err);
	}
}

/* Draw the readings if it is time. */
static void draw_if_time(struct cl_run_mqtt *q)
{
	if (cm_clock_wall_ms() < q->draw_at)
		return;
	q->gathering = false;
	if (q->run->prepared.j.resumed) {
		cl_run_mqtt_draw(q->run);
		return;
	}
	/* Other devices may have filled the round meanwhile; a closed round must not be charged. */
	q->run->confirming = true;
	cl_run_begin_asking(q->run, 0);
}

void cl_run_mqtt_gather(struct cl_run *run)
{
	struct cl_run_mqtt *q = run->mqtt;
	const struct rd_descriptor *d = &run->prepared.j.d;
	int64_t now = cm_clock_wall_ms(), start = now > d->opens_ms ? now : d->opens_ms;
	int64_t gather = run->setup->conf.mqtt.gather_ms, half = (d->deadline_ms - start) / 2;

	run->phase = CL_PREPARING;
	q->gathering = true;
	/* A round whose reports are stored needs no new readings, so it does not wait. */
	q->draw_at = run->prepared.j.resumed ? now : start + (gather < half ? gather : half);
	draw_if_time(q);
}

bool cl_run_mqtt_gathering(const struct cl_run *run)
{
	return run->mqtt != NULL && run->mqtt->gathering;
}

static void on_tick(uv_timer_t *t)
{
	struct cl_run_mqtt *q = t->data;
	int64_t now = cm_clock_mono_ms();

	if (now >= q->expire_at) {
		q->expire_at = now + EXPIRE_MS;
		cl_mqtt_input_expire(q->input, now);
	}
	if (q->gathering)
		draw_if_time(q);
}

/* ---- start and end ---- */

enum cm_rc cl_run_mqtt_open(struct cl_run *run, struct cm_err *err)
{
	const struct cl_conf *conf = &run->setup->conf;
	struct cl_run_mqtt *q = calloc(1, sizeof *q);
	const struct cl_mqtt_link_conf link = { .loop = &run->loop,
		.conf = &conf->mqtt,
		.user = q,
		.on_message = on_message,
		.on_up = on_up,
		.on_down = on_down };

	if (q == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	q->run = run;
	q->input = cl_mqtt_input_new(&conf->mqtt, &run->secret, conf->population);
	if (q->input == NULL) {
		free(q);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	run->mqtt = q;
	if (cl_run_mqtt_list(run, err) != CM_OK)
		return err->code;
	(void)uv_timer_init(&run->loop, &q->tick);
	q->tick.data = q;
	(void)uv_timer_start(&q->tick, on_tick, TICK_MS, TICK_MS);
	return cl_mqtt_link_new(&link, &q->link, err);
}

enum cm_rc cl_run_mqtt_list(struct cl_run *run, struct cm_err *err)
{
	return cl_mqtt_input_list(run->mqtt->input, run->devices, err);
}

void cl_run_mqtt_close(struct cl_run *run)
{
	struct cl_run_mqtt *q = run->mqtt;

	if (q == NULL)
		return;
	q->gathering = false;
	cl_mqtt_link_close(q->link);
	q->link = NULL;
	uv_close((uv_handle_t *)&q->tick, NULL);
}

void cl_run_mqtt_free(struct cl_run *run)
{
	if (run->mqtt == NULL)
		return;
	cl_mqtt_input_free(run->mqtt->input);
	free(run->mqtt);
	run->mqtt = NULL;
}

bool cl_run_mqtt_now(const struct cl_run *run, struct cl_mqtt_now *out)
{
	const struct cl_run_mqtt *q = run->mqtt;

	if (q == NULL || q->link == NULL)
		return false;
	cl_mqtt_input_counts(q->input, &out->counts);
	out->up = cl_mqtt_link_up(q->link);
	out->connections = cl_mqtt_link_connections(q->link);
	return true;
}
