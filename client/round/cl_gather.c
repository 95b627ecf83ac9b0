/* cl_gather.c - collects readings by MQTT for a running client. */
#include "cl_gather.h"

#include <stdlib.h>
#include <string.h>

#include "cl_mqtt_link.h"
#include "cl_mqtt_saved.h"
#include "cm_clock.h"
#include "cm_steady.h"

#define TICK_MS   100u
#define EXPIRE_MS 1000

struct cl_gather {
	struct cl_context *context;
	void (*on_due)(void *user);
	void *user;
	struct cl_mqtt_input *input;
	struct cl_mqtt_link *link;
	uv_timer_t tick;
	int64_t expire_at;      /* in the time of cm_clock_boot_ms, like the age of every reading */
	bool waiting;           /* a round waits for the moment draw_at */
	struct cm_steady clock; /* runs while a round waits */
	int64_t draw_at;        /* in the time of `clock` */
	/* The fields below are used only with `hold`: */
	bool loaded;                 /* the file of the last run was read */
	int64_t save_at;             /* in the time of cm_clock_boot_ms */
	uv_work_t saving;            /* a thread of the pool writes `image` */
	struct cl_mqtt_image *image; /* NULL if no thread writes */
	struct cm_err saved;         /* how the last write ended */
};

static void on_message(void *user, const struct cl_mqtt_message *m)
{
	const struct cl_gather *g = user;

	(void)cl_mqtt_input_take(g->input, m, cm_clock_boot_ms());
}

static void on_up(void *user)
{
	const struct cl_gather *g = user;

	cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	cm_log(CM_LOG_INFO, "subscribed", CM_S("broker", g->context->setup->conf.mqtt.broker.host));
}

static void on_down(void *user, const struct cm_err *why)
{
	const struct cl_gather *g = user;

	cm_log(CM_LOG_WARN, "not connected to the MQTT broker, retrying",
		CM_S("broker", g->context->setup->conf.mqtt.broker.host), CM_S("reason", why->msg));
}

/* ---- a round's readings ---- */

static void look(struct cl_gather *g)
{
	cm_steady_watch(&g->clock);
	if (cm_steady_ms(&g->clock) < g->draw_at)
		return;
	g->waiting = false;
	g->on_due(g->user);
}

void cl_gather_begin(struct cl_gather *g, const struct rd_descriptor *d, bool resumed)
{
	int64_t gather = g->context->setup->conf.mqtt.gather_ms, now, half;

	cm_steady_begin(&g->clock, d->opens_ms);
	now = cm_steady_ms(&g->clock);
	half = (d->deadline_ms - now) / 2;
	g->waiting = true;
	g->draw_at = resumed ? now : now + (gather < half ? gather : half);
	look(g);
}

enum cm_rc cl_gather_draw(struct cl_gather *g, const struct rd_descriptor *d, struct cl_input *input,
	int64_t *from, struct cm_err *err)
{
	struct cl_held_round round = { .entry = d->entry, .sequence = d->entry == 0 ? d->sequence : 0 };

	/* Every message that has come by now counts, even if many wait to be judged. */
	cl_mqtt_link_settle(g->link);
	memcpy(round.plan, d->plan_hash, PR_HASH_LEN);
	*from = g->draw_at;
	*input = (struct cl_input){ .path = "mqtt",
		.feed = cl_mqtt_input_feed,
		.user = g->input,
		.format = CL_FORMAT_NDJSON,
		.devices = g->context->devices };
	return cl_mqtt_input_draw(g->input, d->query.name, &round, cm_clock_boot_ms(), err);
}

void cl_gather_drawn(struct cl_gather *g)
{
	cl_mqtt_input_drawn(g->input);
}

/* ---- over restarts ---- */

static void write_image(struct cl_gather *g)
{
	const struct cl_conf *conf = &g->context->setup->conf;
	struct cr_rng rng;
	enum cm_rc rc = cr_rng_system(&rng, &g->saved);

	if (rc == CM_OK)
		rc = cl_mqtt_image_write(g->image, conf->state_dir, conf->population, &rng, &g->saved);
	g->saved.code = rc;
}

static void on_save(uv_work_t *w)
{
	write_image(w->data);
}

static void on_saved(uv_work_t *w, int status)
{
	struct cl_gather *g = w->data;

	(void)status;
	cl_mqtt_image_free(g->image);
	g->image = NULL;
	if (g->saved.code != CM_OK)
		cl_say(g->context, CM_LOG_WARN, "last values are not saved", &g->saved);
}

static void take_image(struct cl_gather *g)
{
	g->image = cl_mqtt_image_new(cl_mqtt_input_held(g->input), cm_clock_boot_ms(), cm_clock_wall_ms());
	if (!g->image)
		cm_log_plain(CM_LOG_WARN, "last values are not saved: out of memory");
}

/* Write all that is held, even if little has changed since the last time. */
static void save(struct cl_gather *g, int64_t now)
{
	g->save_at = now + g->context->setup->conf.mqtt.save_ms;
	if (g->image)
		return;
	take_image(g);
	g->saving.data = g;
	if (g->image && uv_queue_work(&g->context->loop, &g->saving, on_save, on_saved) != 0)
		on_saved(&g->saving, 0);
}

static enum cm_rc load(struct cl_gather *g, struct cm_err *err)
{
	const struct cl_conf *conf = &g->context->setup->conf;
	int64_t now = cm_clock_boot_ms();
	struct cm_err lost;
	enum cm_rc rc;

	if (!conf->mqtt.hold)
		return CM_OK;
	rc = cl_mqtt_saved_load(conf->state_dir, conf->population, cl_mqtt_input_held(g->input), now,
		cm_clock_wall_ms(), &lost, err);
	/* Readings that somebody can make readable again must not be written over. */
	if (rc != CM_OK)
		return rc;
	/* A client that lost its held readings goes on: devices report again, and until then they have no
	 * reading. */
	if (lost.code != CM_OK)
		cl_say(g->context, CM_LOG_WARN, "last values of before are lost", &lost);
	g->loaded = true;
	g->save_at = now + conf->mqtt.save_ms;
	return CM_OK;
}

static void on_tick(uv_timer_t *t)
{
	struct cl_gather *g = t->data;
	int64_t now = cm_clock_boot_ms();

	if (now >= g->expire_at) {
		g->expire_at = now + EXPIRE_MS;
		cl_mqtt_input_expire(g->input, now);
	}
	if (g->loaded && now >= g->save_at)
		save(g, now);
	if (g->waiting)
		look(g);
}

/* ---- start and end ---- */

enum cm_rc cl_gather_new(struct cl_context *context, void (*on_due)(void *user), void *user,
	struct cl_gather **out, struct cm_err *err)
{
	const struct cl_conf *conf = &context->setup->conf;
	struct cl_gather *g = calloc(1, sizeof *g);
	const struct cl_mqtt_link_conf link = { .loop = &context->loop,
		.conf = &conf->mqtt,
		.user = g,
		.on_message = on_message,
		.on_up = on_up,
		.on_down = on_down };

	if (!g)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = g;
	if (!conf->mqtt.clean_session)
		cm_log(CM_LOG_WARN, "a setting has no effect", CM_S("setting", "mqtt.clean_session = false"));
	g->context = context;
	g->on_due = on_due;
	g->user = user;
	g->input = cl_mqtt_input_new(&conf->mqtt, &context->secret, conf->population);
	if (!g->input)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (cl_gather_list(g, err) != CM_OK || load(g, err) != CM_OK)
		return err->code;
	(void)uv_timer_init(&context->loop, &g->tick);
	g->tick.data = g;
	(void)uv_timer_start(&g->tick, on_tick, TICK_MS, TICK_MS);
	return cl_mqtt_link_new(&link, &g->link, err);
}

enum cm_rc cl_gather_list(struct cl_gather *g, struct cm_err *err)
{
	return cl_mqtt_input_list(g->input, g->context->devices, err);
}

void cl_gather_files(struct cl_gather *g)
{
	struct cm_err why;

	if (!g || !g->link)
		return;
	if (cl_mqtt_link_files(g->link, &why) == CM_OK)
		cm_log_plain(CM_LOG_INFO,
			"the changed files for the MQTT broker are used from the next connection on");
	else
		cl_say(g->context, CM_LOG_WARN,
			"the changed files for the MQTT broker cannot be used; a connection stays until it ends",
			&why);
}

void cl_gather_close(struct cl_gather *g)
{
	if (!g)
		return;
	g->waiting = false;
	cl_mqtt_link_close(g->link);
	g->link = NULL;
	if (g->tick.data && !uv_is_closing((uv_handle_t *)&g->tick))
		uv_close((uv_handle_t *)&g->tick, NULL);
}

void cl_gather_free(struct cl_gather *g)
{
	if (g && g->loaded) {
		take_image(g);
		if (g->image)
			write_image(g);
		if (g->image)
			on_saved(&(uv_work_t){ .data = g }, 0);
	}
	if (g)
		cl_mqtt_input_free(g->input);
	free(g);
}

bool cl_gather_now(const struct cl_gather *g, struct cl_mqtt_now *out)
{
	if (!g || !g->link)
		return false;
	cl_mqtt_input_counts(g->input, &out->counts);
	out->up = cl_mqtt_link_up(g->link);
	out->connections = cl_mqtt_link_connections(g->link);
	return true;
}
