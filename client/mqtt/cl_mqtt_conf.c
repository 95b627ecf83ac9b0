/* cl_mqtt_conf.c - the keys of group `mqtt`, and checking them. */
#include "cl_mqtt_conf.h"

#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"

#include <openssl/ssl.h>

#define AT(field) offsetof(struct cl_mqtt_conf, field)

static const struct cf_row tls_rows[] = {
	{ .key = "ca",
		.type = CF_PATH,
		.offset = AT(broker.ca),
		.help = "the CA that may vouch for the broker; with it the connection is TLS" },
	{ .key = "cert",
		.type = CF_PATH,
		.offset = AT(broker.cert),
		.help = "our certificate for a broker that asks for one" },
	{ .key = "key", .type = CF_PATH, .offset = AT(broker.key), .help = "and its private key" },
	{ .key = NULL },
};

const struct cf_row cl_mqtt_rows[] = {
	{ .key = "topics",
		.type = CF_STRINGS,
		.offset = AT(topics),
		.min = 1,
		.max = CL_MQTT_TOPICS_MAX,
		.help = "topic filters to subscribe to; without them there is no MQTT" },
	{ .key = "device",
		.type = CF_STRING,
		.offset = AT(device),
		.fallback = "topic:2",
		.help = "what names the device: \"topic:N\", the Nth level of the topic from 1, or "
			"\"field:NAME\" of a JSON object" },
	{ .key = "devices",
		.type = CF_PATH,
		.offset = AT(devices),
		.help = "file of the devices that take part, a name a line, whether they publish or not; "
			"required for MQTT; read at the start and on SIGHUP" },
	{ .key = "payload",
		.type = CF_STRING,
		.offset = AT(payload),
		.fallback = "json",
		.help = "json: an object with the query's field; text: the value alone" },
	{ .key = "field",
		.type = CF_STRING,
		.offset = AT(field),
		.help = "of a value alone: \"topic:N\", the level that names the field, or the field's "
			"name" },
	{ .key = "retained",
		.type = CF_BOOL,
		.offset = AT(retained),
		.fallback = "false",
		.help = "accept retained messages as readings, too: old values that count as received on "
			"arrival" },
	{ .key = "max_age",
		.type = CF_DURATION,
		.offset = AT(max_age_ms),
		.min = 1000,
		.max = 6.048e8,
		.fallback = "1h",
		.help = "greatest age of a reading that counts in a round" },
	{ .key = "gather",
		.type = CF_DURATION,
		.offset = AT(gather_ms),
		.min = 0,
		.max = 8.64e7,
		.fallback = "5s",
		.help = "how long after a round opens its readings are drawn; at most half of the round's "
			"time" },
	{ .key = "wait",
		.type = CF_GONE,
		.help = "a round does not wait for readings; every device of mqtt.devices takes part after "
			"mqtt.gather, with a reading or without" },
	{ .key = "host",
		.type = CF_STRING,
		.offset = AT(broker.host),
		.fallback = "127.0.0.1",
		.help = "of the broker" },
	{ .key = "port",
		.type = CF_INT,
		.offset = AT(broker.port),
		.min = 1,
		.max = 65535,
		.fallback = "1883",
		.help = "port of the broker; with TLS commonly 8883" },
	{ .key = "protocol",
		.type = CF_STRING,
		.offset = AT(broker.protocol),
		.fallback = "5",
		.help = "MQTT 5, or 3.1.1 for a broker without it (then the broker must have no limit of queued "
			"messages)" },
	{ .key = "qos",
		.type = CF_INT,
		.offset = AT(qos),
		.min = 0,
		.max = 1,
		.fallback = "1",
		.help = "quality of service of the subscriptions: 1; a broker drops messages of QoS 0 when one "
			"device publishes many" },
	{ .key = "keepalive",
		.type = CF_DURATION,
		.offset = AT(broker.keepalive_ms),
		.min = 5000,
		.max = 6.5535e7,
		.fallback = "60s",
		.help = "a broker silent for longer is pinged, and disconnected if it does not answer" },
	{ .key = "client_id",
		.type = CF_STRING,
		.offset = AT(broker.client_id),
		.help = "client identifier at the broker; the broker chooses one when absent" },
	{ .key = "clean_session",
		.type = CF_BOOL,
		.offset = AT(clean_session),
		.fallback = "true",
		.help = "has no effect: a session ends with its connection" },
	{ .key = "username", .type = CF_STRING, .offset = AT(broker.username), .help = "to log in with" },
	{ .key = "password_file",
		.type = CF_PATH,
		.offset = AT(broker.password_file),
		.help = "its first line; the file must be 0600 or 0400" },
	{ .key = "tls", .type = CF_GROUP, .help = "for a broker elsewhere", .sub = tls_rows },
	{ .key = "plaintext_to_remote",
		.type = CF_BOOL,
		.offset = AT(plaintext_to_remote),
		.fallback = "false",
		.help = "true: without TLS even beyond loopback; whoever is on the path reads every value" },
	{ .key = "payload_max",
		.type = CF_INT,
		.offset = AT(broker.payload_max),
		.min = 1,
		.max = CL_MQTT_PAYLOAD_MAX,
		.fallback = "4096",
		.help = "bytes of a payload" },
	{ .key = "readings",
		.type = CF_INT,
		.offset = AT(readings),
		.min = 1,
		.max = 1000,
		.fallback = "16",
		.help = "most readings held of one device: the newest" },
	{ .key = "device_kib",
		.type = CF_INT,
		.offset = AT(device_kib),
		.min = 1,
		.max = 65536,
		.fallback = "64",
		.help = "for the readings of one device, whose oldest go first; all together take at most "
			"this times the listed devices" },
	{ .key = "memory_mib",
		.type = CF_GONE,
		.help = "memory is each device's own, so that none takes another's: see mqtt.device_kib" },
	{ .key = NULL },
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
