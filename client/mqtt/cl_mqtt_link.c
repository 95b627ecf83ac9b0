/* cl_mqtt_link.c - runs libmosquitto on the loop: one struct mosquitto per connection, and a timer between
 * connections. */
#include "cl_mqtt_link.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cr_rand.h"
#include "mq_hosts.h"
#include "mq_session.h"

#define TICK_MS 1000u
/* Time to connect, for all addresses together; and from there to the last subscription. */
#define ANSWER_MS 15000
/* A connection that lasted this long resets the pause. */
#define STEADY_MS      10000
#define RETRY_FIRST_MS 500u
#define RETRY_MAX_MS   30000u

enum step { WAITING, DIALLING, GREETING, UP, CLOSED };

struct cl_mqtt_link {
	struct cl_mqtt_link_conf conf;
	enum step step;
	struct mosquitto *m; /* of the current connection; NULL while waiting */
	struct cr_rng rng;
	uv_work_t work;
	struct mq_hosts hosts; /* n 0: the host must be looked up */
	bool reached;          /* m is connected to the current address */
	bool working;          /* a thread of the pool is using m and hosts */
	struct cm_err dialled; /* result of dialling */
	uv_poll_t *poll;
	int fd; /* the socket that `poll` watches */
	uv_timer_t tick, retry;
	unsigned open; /* open handles */
	uint32_t retry_ms;
	bool said_down;
	int refused;              /* X509_V_ERR for which the broker's certificate was refused */
	int64_t answer_by, up_at; /* monotonic */
	size_t granted;           /* subscriptions that the broker has accepted */
	uint64_t connections;
	/* Set in a callback of libmosquitto; handled after libmosquitto has returned. */
	bool over;
	struct cm_err why;
};

static void dial(struct cl_mqtt_link *l);
static void dial_address(struct cl_mqtt_link *l);

/* ---- ending a connection, and closing ---- */

static void free_closed(struct cl_mqtt_link *l)
{
	if (l->step != CLOSED || l->open > 0 || l->working)
		return;
	mosquitto_destroy(l->m);
	(void)mosquitto_lib_cleanup();
	free(l);
}

static void on_timer_closed(uv_handle_t *h)
{
	struct cl_mqtt_link *l = h->data;

	l->open--;
	free_closed(l);
}

static void on_poll_closed(uv_handle_t *h)
{
	struct cl_mqtt_link *l = h->data;

	free(h);
	l->open--;
	free_closed(l);
}

/* Stop watching before the descriptor is closed, since its number may be reused. */
static void unwatch(struct cl_mqtt_link *l)
{
	if (!l->poll)
		return;
	(void)uv_poll_stop(l->poll);
	uv_close((uv_handle_t *)l->poll, on_poll_closed);
	l->poll = NULL;
	l->fd = -1;
}

static void let_go(struct cl_mqtt_link *l)
{
	unwatch(l);
	mosquitto_destroy(l->m);
	l->m = NULL;
	(void)uv_timer_stop(&l->tick);
}

static void on_retry(uv_timer_t *t)
{
	dial(t->data);
}

static void lost(struct cl_mqtt_link *l, const struct cm_err *why)
{
	uint32_t wait;

	/* A connection that ends at once is retried as slowly as a failed one. */
	if (l->step == UP && cm_clock_mono_ms() - l->up_at >= STEADY_MS)
		l->retry_ms = RETRY_FIRST_MS;
	wait = l->retry_ms / 2 + (uint32_t)cr_rng_below(&l->rng, l->retry_ms / 2 + 1);
	let_go(l);
	l->step = WAITING;
	(void)uv_timer_start(&l->retry, on_retry, wait, 0);
	l->retry_ms = l->retry_ms > RETRY_MAX_MS / 2 ? RETRY_MAX_MS : l->retry_ms * 2;
	if (!l->said_down) {
		l->said_down = true;
		l->conf.on_down(l->conf.user, why);
	}
}

/* Called in a callback of libmosquitto: end the connection. */
static void give_up(struct cl_mqtt_link *l, const char *why)
{
	if (l->over)
		return;
	l->over = true;
	(void)cm_fail(&l->why, CM_EUNAVAIL, "%s", why);
}

/* ---- libmosquitto's callbacks ---- */

static void on_connect(
	struct mosquitto *m, void *user, int reason, int flags, const mosquitto_property *properties)
{
	struct cl_mqtt_link *l = user;
	const struct cl_mqtt_conf *conf = l->conf.conf;
	bool v5 = strcmp(conf->broker.protocol, "5") == 0;
	/* A broker of MQTT 5 can be told not to send the retained messages that we would drop. */
	int options = v5 && !conf->retained ? MQTT_SUB_OPT_SEND_RETAIN_NEVER : 0;

	(void)flags;
	(void)properties;
	if (reason != 0) {
		give_up(l, v5 ? mosquitto_reason_string(reason) : mosquitto_connack_string(reason));
		return;
	}
	for (size_t i = 0; i < conf->topics.n && !l->over; i++)
		if (mosquitto_subscribe_v5(m, NULL, conf->topics.item[i], (int)conf->qos, options, NULL) !=
			MOSQ_ERR_SUCCESS)
			give_up(l, "cannot subscribe");
}

static void on_subscribe(struct mosquitto *m, void *user, int mid, int n, const int *granted)
{
	struct cl_mqtt_link *l = user;

	(void)m;
	(void)mid;
	for (int i = 0; i < n; i++)
		if (granted[i] < 0 || granted[i] > 2)
			give_up(l, "the broker refuses a subscription: what is this user allowed to read?");
	l->granted++;
}

static void on_message(struct mosquitto *m, void *user, const struct mosquitto_message *message)
{
	struct cl_mqtt_link *l = user;
	const struct cl_mqtt_message got = { .topic = message->topic,
		.payload = message->payload,
		.len = (size_t)message->payloadlen,
		.retained = message->retain };

	(void)m;
	l->conf.on_message(l->conf.user, &got);
}

static void on_disconnect(struct mosquitto *m, void *user, int rc)
{
	struct cl_mqtt_link *l = user;

	(void)m;
	give_up(l, mq_session_reason(rc, l->refused));
}

/* ---- the socket ---- */

static void on_poll(uv_poll_t *p, int status, int events);

/* Watch the socket for the events that can be handled now. */
static void watch(struct cl_mqtt_link *l)
{
	SSL *ssl = mosquitto_ssl_get(l->m);
	bool write = !l->reached || (ssl && !SSL_is_init_finished(ssl) ? SSL_want_write(ssl) != 0
								       : mosquitto_want_write(l->m));
	int fd = mosquitto_socket(l->m);

	if (fd != l->fd)
		unwatch(l);
	if (!l->poll) {
		l->poll = malloc(sizeof *l->poll);
		if (!l->poll || uv_poll_init(l->conf.loop, l->poll, fd) != 0) {
			free(l->poll);
			l->poll = NULL;
			give_up(l, "the loop cannot watch the socket");
			return;
		}
		l->poll->data = l;
		l->fd = fd;
		l->open++;
	}
	/* A completed connect appears as a write event. */
	(void)uv_poll_start(l->poll, UV_READABLE | (write ? UV_WRITABLE : 0), on_poll);
}

/* Try the next address after one that did not connect.  If the broker was reached, its refusal is final: the
 * other addresses are probably the same broker. */
static void failed(struct cl_mqtt_link *l)
{
	struct cm_err why = l->why;

	if (!l->reached && l->refused == X509_V_OK && l->hosts.n > 0) {
		if (mq_hosts_next(&l->hosts, why.msg)) {
			let_go(l);
			dial_address(l);
			return;
		}
		(void)cm_fail(&why, CM_EUNAVAIL, "%s", l->hosts.tried.text);
	}
	lost(l, &why);
}

/* Call after every call into libmosquitto; rc: its result. */
static void settle(struct cl_mqtt_link *l, int rc)
{
	if (!l->over && (rc != MOSQ_ERR_SUCCESS || mosquitto_socket(l->m) < 0))
		give_up(l, mq_session_reason(rc, l->refused));
	if (!l->over)
		watch(l);
	if (l->over) {
		failed(l);
		return;
	}
	if (l->step == GREETING && l->granted == l->conf.conf->topics.n) {
		l->step = UP;
		l->said_down = false;
		l->up_at = cm_clock_mono_ms();
		l->connections++;
		l->conf.on_up(l->conf.user);
	}
}

static void on_poll(uv_poll_t *p, int status, int events)
{
	struct cl_mqtt_link *l = p->data;
	SSL *ssl = mosquitto_ssl_get(l->m);
	int rc = MOSQ_ERR_SUCCESS;

	if (!l->reached) {
		const char *fault = mq_hosts_fault(&l->hosts, l->fd);

		if (fault) {
			give_up(l, fault);
			settle(l, MOSQ_ERR_SUCCESS);
			return;
		}
		l->reached = true;
		l->answer_by = cm_clock_mono_ms() + ANSWER_MS;
	}
	/* A TLS handshake continues by reading, whichever event it waits for; a fault appears there, too. */
	if (status != 0 || (events & UV_READABLE) != 0 || (ssl && !SSL_is_init_finished(ssl)))
		rc = mosquitto_loop_read(l->m, 1);
	if (rc == MOSQ_ERR_SUCCESS && !l->over && mosquitto_socket(l->m) >= 0 && (events & UV_WRITABLE) != 0)
		rc = mosquitto_loop_write(l->m, 1);
	if (rc == MOSQ_ERR_SUCCESS && status != 0)
		give_up(l, uv_strerror(status));
	settle(l, rc);
}

static void on_tick(uv_timer_t *t)
{
	struct cl_mqtt_link *l = t->data;

	if (l->step == GREETING && cm_clock_mono_ms() > l->answer_by)
		give_up(l, "no answer");
	settle(l, l->over ? MOSQ_ERR_SUCCESS : mosquitto_loop_misc(l->m));
}

/* ---- dialling ---- */

static void on_dialled(uv_work_t *w, int status)
{
	struct cl_mqtt_link *l = w->data;

	l->working = false;
	if (l->step == CLOSED) {
		free_closed(l);
		return;
	}
	l->step = GREETING;
	l->answer_by = cm_clock_mono_ms() + ANSWER_MS / (int64_t)(l->hosts.n > 0 ? l->hosts.n : 1);
	(void)uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
	if (status != 0 || l->dialled.code != CM_OK)
		give_up(l, status != 0 ? uv_strerror(status) : l->dialled.msg);
	settle(l, MOSQ_ERR_SUCCESS);
}

/* Runs on the thread pool, because looking up a name may take long.  It does not wait for the connection. */
static void dial_work(uv_work_t *w)
{
	struct cl_mqtt_link *l = w->data;

	l->dialled.code = mq_hosts_dial(&l->hosts, l->m, &l->conf.conf->broker, &l->refused, &l->dialled);
}

static void dial(struct cl_mqtt_link *l)
{
	l->hosts.n = 0;
	dial_address(l);
}

/* Dial the current address with a fresh struct mosquitto. */
static void dial_address(struct cl_mqtt_link *l)
{
	struct cm_err err;

	l->over = l->reached = false;
	l->granted = 0;
	l->refused = X509_V_OK;
	if (mq_session_new(&l->conf.conf->broker, l, &l->refused, &l->m, &err) != CM_OK) {
		lost(l, &err);
		return;
	}
	mosquitto_connect_v5_callback_set(l->m, on_connect);
	mosquitto_subscribe_callback_set(l->m, on_subscribe);
	mosquitto_message_callback_set(l->m, on_message);
	mosquitto_disconnect_callback_set(l->m, on_disconnect);
	l->step = DIALLING;
	l->work.data = l;
	if (uv_queue_work(l->conf.loop, &l->work, dial_work, on_dialled) != 0) {
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
		lost(l, &err);
		return;
	}
	l->working = true;
}

enum cm_rc cl_mqtt_link_new(
	const struct cl_mqtt_link_conf *conf, struct cl_mqtt_link **out, struct cm_err *err)
{
	struct cl_mqtt_link *l = calloc(1, sizeof *l);
	enum cm_rc rc;

	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cr_rng_system(&l->rng, err);
	if (rc != CM_OK) {
		free(l);
		return rc;
	}
	l->conf = *conf;
	l->fd = -1;
	l->retry_ms = RETRY_FIRST_MS;
	(void)mosquitto_lib_init();
	(void)uv_timer_init(conf->loop, &l->tick);
	(void)uv_timer_init(conf->loop, &l->retry);
	l->tick.data = l->retry.data = l;
	l->open = 2;
	*out = l;
	dial(l);
	return CM_OK;
}

void cl_mqtt_link_close(struct cl_mqtt_link *l)
{
	if (!l || l->step == CLOSED)
		return;
	/* Queue DISCONNECT and write what the socket accepts, without waiting. */
	if (l->step == UP)
		(void)mosquitto_disconnect(l->m);
	l->step = CLOSED;
	unwatch(l);
	uv_close((uv_handle_t *)&l->tick, on_timer_closed);
	uv_close((uv_handle_t *)&l->retry, on_timer_closed);
}

bool cl_mqtt_link_up(const struct cl_mqtt_link *l)
{
	return l->step == UP;
}

uint64_t cl_mqtt_link_connections(const struct cl_mqtt_link *l)
{
	return l->connections;
}
