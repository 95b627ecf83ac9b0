/* cl_mqtt_link.c - runs one connection to the broker at a time on the loop, and a timer between
 * connections. */
#include "cl_mqtt_link.h"

#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_log.h"
#include "cr_rand.h"
#include "cr_secret.h"
#include "mq_hosts.h"
#include "mq_packet.h"
#include "mq_stream.h"

#define TICK_MS 1000u
/* Time limit for connecting, over all addresses together, and again from there to the last accepted
 * subscription. */
#define ANSWER_MS 15000
/* A connection that lasted this long resets the pause. */
#define STEADY_MS      10000
#define RETRY_FIRST_MS 500u
#define RETRY_MAX_MS   30000u
enum step { WAITING, LOOKING, CONNECTING, GREETING, UP, CLOSED };

struct cl_mqtt_link {
	struct cl_mqtt_link_conf conf;
	enum step step;
	struct cr_rng rng;
	uv_work_t work;
	struct mq_hosts hosts;
	bool working;        /* a thread of the pool looks up hosts */
	struct cm_err found; /* the result of looking up */
	struct mq_stream stream;
	struct mq_reader reader;
	uv_poll_t *poll;
	uv_timer_t tick, retry;
	uv_idle_t judge; /* runs while received chunks wait to be judged */
	unsigned open;   /* number of open handles */
	uint32_t retry_ms;
	bool said_down;
	int64_t answer_by, up_at; /* in the time of the monotonic clock */
	int64_t keepalive_ms;
	uint64_t pings, pongs; /* pings and answers on this connection */
	/* subscriptions that were asked for, and those that the broker has accepted */
	size_t asked, granted;
	uint64_t connections;
	bool over; /* the connection has to end, for the reason `why` */
	struct cm_err why;
};

static void dial(struct cl_mqtt_link *l);
static void connect_address(struct cl_mqtt_link *l);

static bool is_v5(const struct cl_mqtt_link *l)
{
	return strcmp(l->conf.conf->broker.protocol, "5") == 0;
}

/* ---- ending a connection, and closing ---- */

static void free_closed(struct cl_mqtt_link *l)
{
	if (l->step != CLOSED || l->open > 0 || l->working)
		return;
	free(l);
}

static void on_closed(uv_handle_t *h)
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

static void let_go(struct cl_mqtt_link *l)
{
	/* Stop watching before the descriptor is closed, since its number may be reused. */
	if (l->poll) {
		(void)uv_poll_stop(l->poll);
		uv_close((uv_handle_t *)l->poll, on_poll_closed);
		l->poll = NULL;
	}
	mq_stream_close(&l->stream);
	mq_reader_fini(&l->reader);
	(void)uv_timer_stop(&l->tick);
	(void)uv_idle_stop(&l->judge);
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

static void give_up(struct cl_mqtt_link *l, const char *why)
{
	if (l->over)
		return;
	l->over = true;
	(void)cm_fail(&l->why, CM_EUNAVAIL, "%s", why);
}

/* Try the next address after one that did not connect.  If the broker was reached, its refusal is final: the
 * other addresses are probably the same broker. */
static void failed(struct cl_mqtt_link *l)
{
	struct cm_err why = l->why;

	if (l->step == CONNECTING) {
		if (mq_hosts_next(&l->hosts, why.msg)) {
			let_go(l);
			connect_address(l);
			return;
		}
		(void)cm_fail(&why, CM_EUNAVAIL, "%s", l->hosts.tried.text);
	}
	lost(l, &why);
}

/* Note the result of adding a packet to `out`. */
static void added(struct cl_mqtt_link *l, enum cm_rc rc)
{
	if (rc != CM_OK)
		give_up(l,
			rc == CM_EDATA ? "the broker does not read our acknowledgements" : "out of memory");
}

/* ---- packets ---- */

static void greet(struct cl_mqtt_link *l)
{
	const struct mq_broker *broker = &l->conf.conf->broker;
	char password[MQ_PASSWORD_MAX + 1];
	struct mq_connect c = { .v5 = is_v5(l),
		.client_id = broker->client_id,
		.username = broker->username,
		.password = broker->password_file ? password : NULL,
		.keepalive_s = (uint16_t)((broker->keepalive_ms + 999) / 1000) };
	struct cm_err err;

	if (broker->password_file && mq_password(broker, password, &err) != CM_OK)
		give_up(l, err.msg);
	else
		added(l, mq_put_connect(&l->stream.out, &c));
	cr_wipe(password, sizeof password);
	l->keepalive_ms = c.keepalive_s * INT64_C(1000);
}

static void on_connack(struct cl_mqtt_link *l, const struct mq_got *got)
{
	const struct cl_mqtt_conf *conf = l->conf.conf;
	const struct cl_mqtt_sources sources = cl_mqtt_conf_sources(conf);

	if (got->reason != 0) {
		give_up(l, is_v5(l) ? mosquitto_reason_string(got->reason)
				    : mosquitto_connack_string(got->reason));
		return;
	}
	if (got->keepalive_s > 0)
		l->keepalive_ms = got->keepalive_s * INT64_C(1000);
	/* A broker of MQTT 5 can be told not to send the retained messages that we would drop. */
	for (size_t i = 0; i < sources.n; i++)
		for (size_t k = 0; k < sources.item[i].topics.n; k++)
			added(l, mq_put_subscribe(&l->stream.out, is_v5(l), (uint16_t)++l->asked,
					 sources.item[i].topics.item[k], !conf->retained));
}

static void on_suback(struct cl_mqtt_link *l, const struct mq_got *got)
{
	if (got->reason > 2)
		give_up(l, "the broker refuses a subscription: what is this user allowed to read?");
	else if (got->reason == 0)
		give_up(l, "the broker grants a subscription of QoS 0 alone, at which it drops messages when "
			   "one device publishes many");
	l->granted++;
}

static void on_publish(struct cl_mqtt_link *l, const struct mq_got *got)
{
	const struct cl_mqtt_message m = {
		.topic = got->topic, .payload = got->payload, .len = got->len, .retained = got->retained
	};

	if (got->id != 0)
		added(l, mq_put_puback(&l->stream.out, got->id));
	l->conf.on_message(l->conf.user, &m);
}

static bool on_packet(void *user, const struct mq_got *got)
{
	struct cl_mqtt_link *l = user;

	switch (got->kind) {
	case MQ_CONNACK:
		on_connack(l, got);
		break;
	case MQ_SUBACK:
		on_suback(l, got);
		break;
	case MQ_PUBLISH:
		on_publish(l, got);
		break;
	case MQ_PINGRESP:
		l->pongs++;
		break;
	case MQ_DISCONNECT:
		give_up(l, mosquitto_reason_string(got->reason));
		break;
	}
	return !l->over;
}

/* ---- the socket ---- */

static void on_poll(uv_poll_t *p, int status, int events);

static void watch(struct cl_mqtt_link *l)
{
	bool write = l->step == CONNECTING || mq_stream_wants_write(&l->stream);

	if (!l->poll) {
		l->poll = malloc(sizeof *l->poll);
		if (!l->poll || uv_poll_init(l->conf.loop, l->poll, l->stream.fd) != 0) {
			free(l->poll);
			l->poll = NULL;
			give_up(l, "the loop cannot watch the socket");
			return;
		}
		l->poll->data = l;
		l->open++;
	}
	(void)uv_poll_start(l->poll,
		(mq_stream_has_room(&l->stream) ? UV_READABLE : 0) | (write ? UV_WRITABLE : 0), on_poll);
}

/* Call after anything that may have changed the connection. */
static void settle(struct cl_mqtt_link *l)
{
	struct cm_err err;

	if (!l->over && mq_stream_flush(&l->stream, &err) != CM_OK)
		give_up(l, err.msg);
	if (!l->over)
		watch(l);
	if (l->over) {
		failed(l);
		return;
	}
	if (l->step == GREETING && l->asked > 0 && l->granted == l->asked) {
		l->step = UP;
		l->said_down = false;
		l->up_at = cm_clock_mono_ms();
		l->connections++;
		l->conf.on_up(l->conf.user);
	}
}

/* Judge the oldest chunk that was received. */
static void judge_first(struct cl_mqtt_link *l)
{
	const struct mq_chunk *c = l->stream.first;
	struct cm_err err;

	if (mq_reader_feed(&l->reader, c->bytes, c->n, on_packet, l, &err) != CM_OK)
		give_up(l, err.msg);
	mq_stream_drop(&l->stream);
	if (!l->stream.first)
		(void)uv_idle_stop(&l->judge);
}

/* Receive everything that has arrived. */
static void receive(struct cl_mqtt_link *l)
{
	struct cm_err err;

	if (mq_stream_receive(&l->stream, &err) != CM_OK)
		give_up(l, err.msg);
}

/* Messages that came before the broker closed the connection count, too. */
static void judge_all(struct cl_mqtt_link *l)
{
	bool over = l->over;

	l->over = false;
	while (l->stream.first && !l->over)
		judge_first(l);
	l->over |= over;
}

static void on_judge(uv_idle_t *i)
{
	struct cl_mqtt_link *l = i->data;

	judge_first(l);
	settle(l);
}

static void on_poll(uv_poll_t *p, int status, int events)
{
	struct cl_mqtt_link *l = p->data;

	(void)events;
	if (l->step == CONNECTING) {
		const char *fault = mq_hosts_fault(&l->hosts, l->stream.fd);

		if (fault) {
			give_up(l, fault);
		} else {
			l->step = GREETING;
			l->answer_by = cm_clock_mono_ms() + ANSWER_MS;
			greet(l);
		}
	} else {
		/* A TLS handshake continues by reading, whichever event it waits for; a fault appears there,
		 * too. */
		receive(l);
		if (status != 0)
			give_up(l, uv_strerror(status));
		if (l->over)
			judge_all(l);
		else if (l->stream.first)
			(void)uv_idle_start(&l->judge, on_judge);
	}
	settle(l);
}

static void ping(struct cl_mqtt_link *l)
{
	added(l, mq_put_pingreq(&l->stream.out));
	l->pings++;
}

static void keep_alive(struct cl_mqtt_link *l, int64_t now)
{
	int64_t quiet = now - l->stream.heard_ms;

	if (l->pings > l->pongs && quiet > l->keepalive_ms)
		give_up(l, "the broker does not answer any more");
	else if (l->pings == l->pongs &&
		 (quiet >= l->keepalive_ms || now - l->stream.sent_ms >= l->keepalive_ms))
		ping(l);
}

static void on_tick(uv_timer_t *t)
{
	struct cl_mqtt_link *l = t->data;
	int64_t now = cm_clock_mono_ms();

	if (l->step != UP && now > l->answer_by)
		give_up(l, "no answer");
	else if (l->step == UP)
		keep_alive(l, now);
	settle(l);
}

/* ---- dialling ---- */

/* Dial the current address. */
static void connect_address(struct cl_mqtt_link *l)
{
	struct cm_err err;

	l->over = false;
	l->asked = l->granted = 0;
	l->pings = l->pongs = 0;
	l->step = CONNECTING;
	l->answer_by = cm_clock_mono_ms() + ANSWER_MS / (int64_t)l->hosts.n;
	mq_reader_init(&l->reader, is_v5(l), (size_t)l->conf.conf->broker.payload_max);
	(void)uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
	if (mq_hosts_connect(&l->hosts, &l->stream.fd, &err) != CM_OK) {
		give_up(l, err.msg);
	} else if (mq_stream_tls(&l->stream, &l->conf.conf->broker, &err) != CM_OK) {
		lost(l, &err);
		return;
	}
	settle(l);
}

static void on_found(uv_work_t *w, int status)
{
	struct cl_mqtt_link *l = w->data;
	struct cm_err err = l->found;

	l->working = false;
	if (l->step == CLOSED) {
		free_closed(l);
		return;
	}
	if (status != 0)
		(void)cm_fail(&err, CM_EUNAVAIL, "%s", uv_strerror(status));
	if (err.code != CM_OK)
		lost(l, &err);
	else
		connect_address(l);
}

/* Runs on the thread pool, because looking up a name may take long. */
static void look_up(uv_work_t *w)
{
	struct cl_mqtt_link *l = w->data;

	l->found.code = mq_hosts_look_up(&l->hosts, &l->conf.conf->broker, &l->found);
}

static void dial(struct cl_mqtt_link *l)
{
	struct cm_err err;

	l->step = LOOKING;
	l->work.data = l;
	if (uv_queue_work(l->conf.loop, &l->work, look_up, on_found) != 0) {
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
	mq_stream_init(&l->stream);
	l->retry_ms = RETRY_FIRST_MS;
	(void)uv_timer_init(conf->loop, &l->tick);
	(void)uv_timer_init(conf->loop, &l->retry);
	(void)uv_idle_init(conf->loop, &l->judge);
	l->tick.data = l->retry.data = l->judge.data = l;
	l->open = 3;
	*out = l;
	dial(l);
	return CM_OK;
}

void cl_mqtt_link_close(struct cl_mqtt_link *l)
{
	struct cm_err why;

	if (!l || l->step == CLOSED)
		return;
	/* Write what the socket accepts, without waiting. */
	if (l->step == UP && mq_put_disconnect(&l->stream.out) == CM_OK &&
		mq_stream_flush(&l->stream, &why) != CM_OK)
		cm_log(CM_LOG_DEBUG, "the broker was not told", CM_S("reason", why.msg));
	let_go(l);
	l->step = CLOSED;
	uv_close((uv_handle_t *)&l->tick, on_closed);
	uv_close((uv_handle_t *)&l->retry, on_closed);
	uv_close((uv_handle_t *)&l->judge, on_closed);
}

void cl_mqtt_link_settle(struct cl_mqtt_link *l)
{
	if (!l || l->step != UP)
		return;
	receive(l);
	judge_all(l);
	settle(l);
}

enum cm_rc cl_mqtt_link_files(struct cl_mqtt_link *l, struct cm_err *err)
{
	enum cm_rc rc = mq_check(&l->conf.conf->broker, err);

	if (rc != CM_OK || l->step != WAITING)
		return rc;
	(void)uv_timer_stop(&l->retry);
	l->retry_ms = RETRY_FIRST_MS;
	dial(l);
	return CM_OK;
}

bool cl_mqtt_link_up(const struct cl_mqtt_link *l)
{
	return l->step == UP;
}

uint64_t cl_mqtt_link_connections(const struct cl_mqtt_link *l)
{
	return l->connections;
}
