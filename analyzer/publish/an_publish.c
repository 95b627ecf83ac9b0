/* an_publish.c - publishes with libmosquitto, which runs for one round at a time. */
#include "an_publish.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "mq_hosts.h"
#include "mq_session.h"

#define PATIENCE_MS 15000 /* longest time without progress */
#define TURN_MS     100

struct session {
	struct mosquitto *m;
	size_t up; /* 1 if the broker has accepted our login */
	bool over;
	int refused; /* the X509_V_ERR with which we refused the broker's certificate */
	bool no;     /* the broker refused us or a message */
	size_t acknowledged;
	const char *why; /* why the connection is over; a static text, or one of libmosquitto's */
};

static void give_up(struct session *s, const char *why)
{
	if (!s->over)
		s->why = why;
	s->over = true;
}

static void on_connect(struct mosquitto *m, void *user, int reason, int flags, const mosquitto_property *p)
{
	struct session *s = user;

	(void)m;
	(void)flags;
	(void)p;
	s->up = reason == 0 ? 1 : 0;
	s->no = reason != 0;
	if (reason != 0)
		give_up(s, reason < 128 ? mosquitto_connack_string(reason) : mosquitto_reason_string(reason));
}

static void on_disconnect(struct mosquitto *m, void *user, int rc)
{
	struct session *s = user;

	(void)m;
	give_up(s, mq_session_reason(rc, s->refused));
}

static void on_publish(struct mosquitto *m, void *user, int mid, int reason, const mosquitto_property *p)
{
	struct session *s = user;

	(void)m;
	(void)mid;
	(void)p;
	s->acknowledged++;
	if (reason >= 128) {
		s->no = true;
		give_up(s, mosquitto_reason_string(reason));
	}
}

/* Let libmosquitto work until *progress is `want`, or until the connection is over. */
static void turn(struct session *s, const size_t *progress, size_t want)
{
	int64_t end = cm_clock_mono_ms() + PATIENCE_MS;
	size_t before = *progress;

	while (!s->over && *progress < want) {
		int rc = mosquitto_loop(s->m, TURN_MS, 1);

		if (rc != MOSQ_ERR_SUCCESS)
			give_up(s, mq_session_reason(rc, s->refused));
		if (*progress != before)
			end = cm_clock_mono_ms() + PATIENCE_MS;
		before = *progress;
		if (cm_clock_mono_ms() > end)
			give_up(s, "no answer");
	}
}

/* Dial the current address, and wait until the broker has accepted our login. */
static enum cm_rc connect_address(
	const struct an_publish *p, struct mq_hosts *h, struct session *s, struct cm_err *err)
{
	const char *fault;
	enum cm_rc rc;

	*s = (struct session){ .refused = X509_V_OK };
	rc = mq_session_new(&p->broker, s, &s->refused, &s->m, err);
	if (rc != CM_OK)
		return rc;
	mosquitto_connect_v5_callback_set(s->m, on_connect);
	mosquitto_disconnect_callback_set(s->m, on_disconnect);
	mosquitto_publish_v5_callback_set(s->m, on_publish);
	rc = mq_hosts_dial(h, s->m, &p->broker, &s->refused, err);
	if (rc != CM_OK)
		return rc;
	(void)poll(&(struct pollfd){ .fd = mosquitto_socket(s->m), .events = POLLOUT }, 1, PATIENCE_MS);
	fault = mq_hosts_fault(h, mosquitto_socket(s->m));
	if (fault)
		return cm_fail(err, CM_EUNAVAIL, "%s", fault);
	turn(s, &s->up, 1);
	return s->up > 0 ? CM_OK : cm_fail(err, s->no ? CM_EPERM : CM_EUNAVAIL, "%s", s->why);
}

static enum cm_rc connect_any(const struct an_publish *p, struct session *s, struct cm_err *err)
{
	struct mq_hosts h = { 0 };
	enum cm_rc rc = connect_address(p, &h, s, err);

	while (rc == CM_EUNAVAIL && mq_hosts_next(&h, err->msg)) {
		mosquitto_destroy(s->m);
		rc = connect_address(p, &h, s, err);
	}
	if (rc == CM_EUNAVAIL && h.tried.n > 0)
		(void)cm_fail(err, rc, "%s", h.tried.text);
	return rc == CM_OK ? CM_OK : cm_context(err, "broker %s", p->broker.host);
}

static enum cm_rc say(struct session *s, const char *topic, const char *text, struct cm_err *err)
{
	int rc = strlen(text) <= MQTT_MAX_PAYLOAD
			 ? mosquitto_publish(s->m, NULL, topic, (int)strlen(text), text, 1, true)
			 : MOSQ_ERR_PAYLOAD_SIZE;

	return rc == MOSQ_ERR_SUCCESS
		       ? CM_OK
		       : cm_fail(err, CM_EUNAVAIL, "%s: %s", topic, mq_session_reason(rc, s->refused));
}

/* Publish all messages; a sensor's description precedes the state that it describes. */
static enum cm_rc say_all(const struct an_publish *p, struct session *s, const struct an_event *e,
	const char *text, struct cm_err *err)
{
	size_t sensors = an_sensors(&p->topics, e);
	char topic[AN_TOPIC_MAX];
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < sensors; i++) {
		char *described = an_sensor(&p->topics, e, i, topic);

		rc = described ? say(s, topic, described, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
		free(described);
	}
	an_topic_state(&p->topics, e, topic);
	if (rc == CM_OK)
		rc = say(s, topic, text, err);
	if (rc != CM_OK)
		return rc;
	turn(s, &s->acknowledged, sensors + 1);
	return s->over ? cm_fail(err, s->no ? CM_EPERM : CM_EUNAVAIL, "broker %s: %s", p->broker.host, s->why)
		       : CM_OK;
}

enum cm_rc an_publish(
	const struct an_publish *p, const struct an_event *e, const char *text, struct cm_err *err)
{
	struct session s = { 0 };
	enum cm_rc rc;

	(void)mosquitto_lib_init();
	rc = connect_any(p, &s, err);
	if (rc == CM_OK)
		rc = say_all(p, &s, e, text, err);
	if (rc == CM_OK && mosquitto_disconnect(s.m) == MOSQ_ERR_SUCCESS)
		(void)mosquitto_loop(s.m, TURN_MS, 1);
	mosquitto_destroy(s.m);
	(void)mosquitto_lib_cleanup();
	return rc;
}
