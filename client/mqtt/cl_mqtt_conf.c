/* cl_mqtt_conf.c - the keys of group `mqtt`, and checking them. */
#include "cl_mqtt_conf.h"

#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"

#include <openssl/ssl.h>

#define AT(field) offsetof(struct cl_mqtt_conf, field)

static const struct cf_row tls_rows[] = {
	CF_OPTIONAL("ca", CF_PATH, AT(broker.ca),
		"the CA that may vouch for the broker; with it the connection is TLS"),
	CF_OPTIONAL("cert", CF_PATH, AT(broker.cert), "our certificate for a broker that asks for one"),
	CF_OPTIONAL("key", CF_PATH, AT(broker.key), "and its private key"),
	CF_END,
};

const struct cf_row cl_mqtt_rows[] = {
	CF_OPTIONAL("topics", CF_STRINGS(1, CL_MQTT_TOPICS_MAX), AT(topics),
		"topic filters to subscribe to; without them there is no MQTT"),
	CF_DEFAULT("device", CF_STRING, AT(device), "topic:2",
		"what names the device: \"topic:N\", the Nth level of the topic from 1, or \"field:NAME\" "
		"of a JSON object"),
	CF_OPTIONAL("devices", CF_PATH, AT(devices),
		"file of the devices that take part, a name a line, whether they publish or not; required "
		"for MQTT; read at the start and when it changes"),
	CF_DEFAULT("payload", CF_STRING, AT(payload), "json",
		"json: an object with the query's field; text: the value alone"),
	CF_OPTIONAL("field", CF_STRING, AT(field),
		"of a value alone: \"topic:N\", the level that names the field, or the field's name"),
	CF_DEFAULT("retained", CF_BOOL, AT(retained), "false",
		"accept retained messages as readings, too: old values that count as received on arrival"),
	CF_DEFAULT("max_age", CF_DURATION(1000, 6.048e8), AT(max_age_ms), "1h",
		"greatest age of a reading that counts in a round"),
	CF_DEFAULT("gather", CF_DURATION(0, 8.64e7), AT(gather_ms), "5s",
		"how long after a round opens its readings are drawn; at most half of the round's time"),
	CF_REMOVED("wait",
		"a round does not wait for readings; every device of mqtt.devices takes part after "
		"mqtt.gather, with a reading or without"),
	CF_DEFAULT("host", CF_STRING, AT(broker.host), "127.0.0.1", "of the broker"),
	CF_DEFAULT("port", CF_INT(1, 65535), AT(broker.port), "1883",
		"port of the broker; with TLS commonly 8883"),
	CF_DEFAULT("protocol", CF_STRING, AT(broker.protocol), "5",
		"MQTT 5, or 3.1.1 for a broker without it (then the broker must have no limit of queued "
		"messages)"),
	CF_DEFAULT("qos", CF_INT(0, 1), AT(qos), "1",
		"quality of service of the subscriptions: 1; a broker drops messages of QoS 0 when one "
		"device publishes many"),
	CF_DEFAULT("keepalive", CF_DURATION(5000, 6.5535e7), AT(broker.keepalive_ms), "60s",
		"a broker silent for longer is pinged, and disconnected if it does not answer"),
	CF_OPTIONAL("client_id", CF_STRING, AT(broker.client_id),
		"client identifier at the broker; the broker chooses one when absent"),
	CF_DEFAULT("clean_session", CF_BOOL, AT(clean_session), "true",
		"has no effect: a session ends with its connection"),
	CF_OPTIONAL("username", CF_STRING, AT(broker.username), "to log in with"),
	CF_OPTIONAL("password_file", CF_PATH, AT(broker.password_file),
		"its first line; the file must be 0600 or 0400"),
	CF_OPTIONAL("tls", CF_GROUP(tls_rows), 0, "for a broker elsewhere"),
	CF_DEFAULT("plaintext_to_remote", CF_BOOL, AT(plaintext_to_remote), "false",
		"true: without TLS even beyond loopback; whoever is on the path reads every value"),
	CF_DEFAULT("payload_max", CF_INT(1, CL_MQTT_PAYLOAD_MAX), AT(broker.payload_max), "4096",
		"bytes of a payload"),
	CF_DEFAULT("readings", CF_INT(1, 1000), AT(readings), "16",
		"most readings held of one device: the newest"),
	CF_DEFAULT("device_kib", CF_INT(1, 65536), AT(device_kib), "64",
		"for the readings of one device, whose oldest go first; all together take at most this "
		"times the listed devices"),
	CF_REMOVED("memory_mib",
		"memory is each device's own, so that none takes another's: see mqtt.device_kib"),
	CF_END,
};

/* ---- check-config ---- */

struct checking {
	const struct cf_file *file;
	FILE *faults;
	struct cm_err *first;
};

static void say(const struct checking *c, const char *key, const struct cm_err *why)
{
	char dotted[64];

	(void)snprintf(dotted, sizeof dotted, "mqtt.%s", key);
	cf_fault_at(c->file, cf_line(c->file, dotted) > 0 ? dotted : "mqtt", why, c->faults, c->first);
}

static void say_text(const struct checking *c, const char *key, const char *text)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_ECONFIG, "%s", text);
	say(c, key, &why);
}

static void check_form(struct cl_mqtt_conf *conf, const struct checking *c)
{
	const char *key = "";
	struct cm_err why;
	char at[32];

	if (cl_mqtt_form_parse(conf->device, conf->payload, conf->field, &conf->form, &key, &why) != CM_OK) {
		say(c, key, &why);
		return;
	}
	for (size_t i = 0; i < conf->topics.n; i++)
		if (cl_mqtt_filter_check(conf->topics.item[i], &conf->form, &why) != CM_OK) {
			(void)snprintf(at, sizeof at, "topics.[%zu]", i);
			say(c, at, &why);
		}
}

static void check_login(const struct cl_mqtt_conf *conf, const struct checking *c)
{
	char password[MQ_PASSWORD_MAX + 1];
	struct cm_err why;

	if (conf->broker.password_file && !conf->broker.username)
		say_text(c, "password_file", "password_file needs username");
	if (conf->broker.password_file && mq_password(&conf->broker, password, &why) != CM_OK)
		say(c, "password_file", &why);
	cr_wipe(password, sizeof password);
}

static void check_tls(const struct cl_mqtt_conf *conf, const struct checking *c)
{
	SSL_CTX *ctx = NULL;
	struct cm_err why;

	if ((conf->broker.cert == NULL) != (conf->broker.key == NULL))
		say_text(c, "tls", "tls.cert and tls.key go together");
	if (conf->broker.cert && !conf->broker.ca)
		say_text(c, "tls", "tls.cert needs tls.ca: without it there is no TLS");
	if (mq_tls(&conf->broker, NULL, &ctx, &why) != CM_OK)
		say(c, "tls", &why);
	SSL_CTX_free(ctx);
	if (CM_CHECKED("client.mqtt.plaintext") && !conf->broker.ca && !conf->plaintext_to_remote &&
		!mq_is_loopback(conf->broker.host))
		say_text(c, "host",
			"a broker that is not on loopback without tls.ca: everyone on the way would read the "
			"values (plaintext_to_remote = true if that is meant)");
}

void cl_mqtt_conf_check(
	struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	const struct checking c = { file, faults, first };

	if (conf->topics.n == 0)
		return;
	if (!conf->devices)
		say_text(&c, "devices",
			"mqtt needs devices = \"FILE\", the names of the devices that take part, one a line: "
			"who takes part must not depend on who publishes");
	if (*conf->broker.host == '\0')
		say_text(&c, "host", "host is empty");
	if (strcmp(conf->broker.protocol, "5") != 0 && strcmp(conf->broker.protocol, "3.1.1") != 0)
		say_text(&c, "protocol", "protocol is neither \"5\" nor \"3.1.1\"");
	if (CM_CHECKED("client.mqtt.qos") && conf->qos == 0)
		say_text(&c, "qos",
			"qos = 0: a broker drops messages of QoS 0 when one device publishes many, and with them "
			"the readings of others");
	check_form(conf, &c);
	check_login(conf, &c);
	check_tls(conf, &c);
}

void cl_mqtt_conf_notes(const struct cl_mqtt_conf *conf, FILE *out)
{
	if (conf->topics.n == 0)
		return;
	if (!conf->clean_session)
		(void)fprintf(out,
			"mqtt.clean_session = false has no effect: of what a broker queues while the "
			"client is away it drops some when one device publishes many\n");
	if (strcmp(conf->broker.protocol, "5") != 0)
		(void)fprintf(out,
			"mqtt.protocol = \"3.1.1\": the broker must have no limit of queued messages "
			"(mosquitto: max_queued_messages 0), or one device's may cost others theirs\n");
	if (conf->retained)
		(void)fprintf(out,
			"mqtt.retained = true: the broker must have no limit of queued messages "
			"(mosquitto: max_queued_messages 0), since it sends all retained ones at once\n");
}
