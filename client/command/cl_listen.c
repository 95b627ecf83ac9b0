/* cl_listen.c - listens to a broker, and prints the devices whose messages came. */
#include "cl_listen.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cl_conf.h"
#include "cl_mqtt_link.h"
#include "cl_mqtt_names.h"
#include "cl_options.h"
#include "cm_text.h"
#include "nt_confine.h"
#include "nt_loop.h"

struct listening {
	const struct cl_mqtt_conf *conf;
	struct cl_mqtt_names *names;
	uv_loop_t loop;
	struct nt_loop *signals;
	struct cl_mqtt_link *link;
	uv_timer_t until;
	bool heard; /* the broker has accepted every subscription, at least once */
	struct cm_err down;
};

static void on_message(void *user, const struct cl_mqtt_message *m)
{
	cl_mqtt_names_take(((struct listening *)user)->names, m);
}

static void on_up(void *user)
{
	struct listening *l = user;

	l->heard = true;
	cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	cm_log(CM_LOG_INFO, "subscribed", CM_S("broker", l->conf->broker.host));
}

static void on_down(void *user, const struct cm_err *why)
{
	struct listening *l = user;

	l->down = *why;
	cm_log(CM_LOG_WARN, "not connected to the MQTT broker, retrying",
		CM_S("broker", l->conf->broker.host), CM_S("reason", why->msg));
}

static void end(struct listening *l)
{
	cl_mqtt_link_settle(l->link);
	cl_mqtt_link_close(l->link);
	l->link = NULL;
	nt_loop_free(l->signals);
	l->signals = NULL;
	if (!uv_is_closing((uv_handle_t *)&l->until))
		uv_close((uv_handle_t *)&l->until, NULL);
}

static void on_stop(void *user)
{
	end(user);
}

static void on_time(uv_timer_t *t)
{
	end(t->data);
}

static enum cm_rc listen_for(struct listening *l, int64_t ms, struct cm_err *err)
{
	static const struct nt_loop_handler signals = { .on_stop = on_stop };
	const struct cl_mqtt_link_conf link = { .loop = &l->loop,
		.conf = l->conf,
		.user = l,
		.on_message = on_message,
		.on_up = on_up,
		.on_down = on_down };
	enum cm_rc rc;

	nt_confine(CM_LOG_DEBUG);
	if (uv_loop_init(&l->loop) != 0)
		return cm_fail(err, CM_EINTERNAL, "no event loop");
	(void)uv_timer_init(&l->loop, &l->until);
	l->until.data = l;
	(void)uv_timer_start(&l->until, on_time, (uint64_t)ms, 0);
	rc = nt_loop_new(&l->loop, &signals, l, &l->signals, err);
	if (rc == CM_OK)
		rc = cl_mqtt_link_new(&link, &l->link, err);
	if (rc != CM_OK)
		end(l);
	(void)uv_run(&l->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&l->loop) != 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "handles were left on the loop");
	return rc;
}

/* ---- what is printed ---- */

static void print_name(void *user, const char *name)
{
	(void)user;
	(void)puts(name);
}

static void print_faults(const struct listening *l)
{
	const struct cl_mqtt_names_fault *f;
	char name[320];

	for (size_t i = 0; (f = cl_mqtt_names_fault(l->names, i)) != NULL; i++) {
		cm_text_copy(name, sizeof name, f->name);
		(void)fprintf(stderr, "left out: '%s': %s\n", name, f->why);
		if (i + 1 == CL_MQTT_NAMES_FAULTS_MAX)
			(void)fprintf(stderr, "left out: there may be more; %u are shown\n",
				CL_MQTT_NAMES_FAULTS_MAX);
	}
}

static void print_fields(const struct listening *l)
{
	const struct cl_mqtt_names_field *f;
	char name[320];

	for (size_t i = 0; (f = cl_mqtt_names_field(l->names, i)) != NULL; i++) {
		cm_text_copy(name, sizeof name, f->name);
		(void)fprintf(
			stderr, "field %s: %zu device%s\n", name, f->devices, f->devices == 1 ? "" : "s");
	}
}

/* Print how many messages came, and what became of those that name no device of the list. */
static void print_counts(const struct cl_mqtt_names_counts *c)
{
	(void)fprintf(stderr, "%zu device%s in %" PRIu64 " message%s", c->names, c->names == 1 ? "" : "s",
		c->messages, c->messages == 1 ? "" : "s");
	for (int i = CL_MQTT_KEPT + 1; i < CL_MQTT_FATES; i++)
		if (c->fate[i] > 0)
			(void)fprintf(stderr, ", %" PRIu64 " %s", c->fate[i], cl_mqtt_fates[i]);
	if (c->unlistable > 0)
		(void)fprintf(stderr, ", %" PRIu64 " of names that no list holds", c->unlistable);
	(void)fputc('\n', stderr);
}

static enum cm_rc print(const struct listening *l, struct cm_err *err)
{
	const struct cl_mqtt_names_counts c = cl_mqtt_names_counts(l->names);

	cl_mqtt_names_each(l->names, print_name, NULL);
	print_faults(l);
	print_fields(l);
	if (!l->heard)
		return cm_fail(err, CM_EUNAVAIL, "the broker %s:%" PRId64 " was not reached: %s",
			l->conf->broker.host, l->conf->broker.port,
			l->down.code != CM_OK ? l->down.msg : "it did not answer in this time");
	print_counts(&c);
	if (c.over > 0)
		return cm_fail(err, CM_EDATA,
			"the list is not whole: %" PRIu64
			" messages were of further devices, and %u are kept; listen to fewer topics",
			c.over, CL_MQTT_NAMES_MAX);
	if (c.names == 0)
		return cm_fail(err, CM_ENOINPUT,
			"no device was heard: listen for longer, or see whether mqtt.topics and `device` are "
			"those of the devices");
	return CM_OK;
}

enum cm_rc cl_listen(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct listening l = { .down.code = CM_OK };
	struct cl_setup setup;
	int64_t ms = 0;
	enum cm_rc rc;

	(void)exit_code;
	if (!cli->option[CL_LISTEN_TIME])
		return cm_fail(err, CM_EUSAGE, "devices needs --listen TIME, such as 10m");
	rc = cl_options_time("--listen", cli->option[CL_LISTEN_TIME], &ms, err);
	if (rc != CM_OK)
		return rc;
	rc = cl_setup_load_mqtt(cli->config, &setup, stderr, err);
	if (rc == CM_OK) {
		l.conf = &setup.conf.mqtt;
		l.names = cl_mqtt_names_new(l.conf);
		rc = l.names ? listen_for(&l, ms, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc == CM_OK)
		rc = print(&l, err);
	cl_mqtt_names_free(l.names);
	cl_setup_fini(&setup);
	return rc;
}
