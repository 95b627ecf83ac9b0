/* cl_mqtt_conf.c - lists and checks the keys of group `mqtt`. */
#include "cl_mqtt_conf.h"

#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_secret.h"

#include <openssl/ssl.h>

#define AT(field) offsetof(struct cl_mqtt_conf, field)

#define MAX_AGE_MS      INT64_C(3600000)
#define MAX_AGE_HELD_MS (7 * INT64_C(86400000))
#define DEVICE_KIB      64
#define DEVICE_KIB_HELD 2

#define IN(field) offsetof(struct cl_mqtt_source, field)

/* The keys of a source besides its topics; at_ is the offset at which its struct begins. */
#define SOURCE_ROWS(at_)                                                                                  \
	CF_DEFAULT("device", CF_STRING, (at_) + IN(device), "topic:2",                                    \
		"what names the device: \"topic:N\", the Nth level of the topic from 1; several levels, " \
		"joined by /: \"topic:2-3\", \"topic:2-\", \"topic:2,4\"; or \"field:NAME\" of a JSON "   \
		"object"),                                                                                \
		CF_DEFAULT("payload", CF_STRING, (at_) + IN(payload), "json",                             \
			"json: an object with the query's field; text: the value alone"),                 \
		CF_OPTIONAL("field", CF_STRING, (at_) + IN(field),                                        \
			"of a value alone: \"topic:N\", the level that names the field, or the field's "  \
			"name")

static const struct cf_row source_rows[] = {
	CF_REQUIRED("topics", CF_STRINGS(1, CL_MQTT_TOPICS_MAX), IN(topics), "topic filters to subscribe to"),
	SOURCE_ROWS(0),
	CF_OPTIONAL("group", CF_STRING, IN(group),
		"stands before the names of this source's devices, as GROUP/NAME; sources of one group share "
		"their devices; each source has one, or none has"),
	CL_MAP_ROW(IN(map)),
	CF_END,
};

static const struct cf_row tls_rows[] = {
	CF_OPTIONAL("ca", CF_PATH, AT(broker.ca),
		"the CA that may vouch for the broker; with it the connection is TLS"),
	CF_OPTIONAL("cert", CF_PATH, AT(broker.cert), "our certificate for a broker that asks for one"),
	CF_OPTIONAL("key", CF_PATH, AT(broker.key), "and its private key"),
	CF_END,
};

const struct cf_row cl_mqtt_rows[] = {
	CF_OPTIONAL("sources", CF_LIST(1, CL_MQTT_SOURCES_MAX, source_rows, struct cl_mqtt_source),
		AT(sources),
		"what to subscribe to, and how to read it: the first source whose topics match reads a "
		"message"),
	CF_OPTIONAL("topics", CF_STRINGS(1, CL_MQTT_TOPICS_MAX), AT(only.topics),
		"in place of sources, with the next three keys: the topic filters of the only one"),
	SOURCE_ROWS(AT(only)),
	CF_OPTIONAL("devices", CF_PATH, AT(devices),
		"file of the devices that take part, a name a line, whether they publish or not; required "
		"for MQTT; read at the start and when it changes"),
	CF_DEFAULT("retained", CF_BOOL, AT(retained), "false",
		"accept retained messages as readings, too: old values that count as received on arrival"),
	CF_OPTIONAL("max_age", CF_DURATION(1000, 3.1536e10), AT(max_age_ms),
		"greatest age of a reading that counts in a round; 1h when absent, 7d with hold"),
	CF_DEFAULT("hold", CF_BOOL, AT(hold), "false",
		"true: the last value of each field of a device counts in every round until max_age, over "
		"restarts too: for devices that report on change"),
	CF_DEFAULT("save", CF_DURATION(1000, 8.64e7), AT(save_ms), "1m",
		"with hold: how often all last values are written, sealed, to state_dir, whether anything "
		"came or not; and at the end"),
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
	CF_OPTIONAL("device_kib", CF_INT(1, 65536), AT(device_kib),
		"for the readings of one device, whose oldest go first; all together take at most this "
		"times the listed devices; 64 when absent, 2 with hold, which writes as much to disk"),
	CF_REMOVED("memory_mib",
		"memory is each device's own, so that none takes another's: see mqtt.device_kib"),
	CF_END,
};

struct cl_mqtt_sources cl_mqtt_conf_sources(const struct cl_mqtt_conf *conf)
{
	if (conf->sources.n > 0)
		return (struct cl_mqtt_sources){ conf->sources.item, conf->sources.n };
	return (struct cl_mqtt_sources){ &conf->only, conf->only.topics.n > 0 ? 1 : 0 };
}

static bool matches(const struct cl_mqtt_source *source, const char *topic)
{
	for (size_t i = 0; i < source->topics.n; i++)
		if (cl_mqtt_filter_matches(source->topics.item[i], topic))
			return true;
	return false;
}

const struct cl_mqtt_source *cl_mqtt_conf_source(const struct cl_mqtt_conf *conf, const char *topic)
{
	const struct cl_mqtt_sources sources = cl_mqtt_conf_sources(conf);
	const struct cl_mqtt_source *at = sources.item, *end = at + sources.n;

	for (; at < end; at++)
		if (matches(at, topic))
			return at;
	return NULL;
}

/* ---- check-config ---- */

struct checking {
	const struct cf_file *file;
	FILE *faults;
	struct cm_err *first;
};

static void say(const struct checking *c, const char *key, const struct cm_err *why)
{
	char dotted[80];

	(void)snprintf(dotted, sizeof dotted, "mqtt.%s", key);
	/* An absent key is reported at the line of its source or group. */
	for (char *dot; cf_line(c->file, dotted) == 0 && (dot = strrchr(dotted, '.')) != NULL;)
		*dot = '\0';
	cf_fault_at(c->file, dotted, why, c->faults, c->first);
}

static void say_text(const struct checking *c, const char *key, const char *text)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_ECONFIG, "%s", text);
	say(c, key, &why);
}

/* Check one source, whose keys the file has at `prefix`. */
static void check_source(struct cl_mqtt_source *source, const char *prefix, const struct checking *c)
{
	const struct cl_mqtt_form_of of = { source->device, source->payload, source->field, source->group };
	const char *key = "";
	struct cm_err why;
	char at[64];

	if (cl_mqtt_form_parse(&of, &source->form, &key, &why) != CM_OK) {
		(void)snprintf(at, sizeof at, "%s%s", prefix, key);
		say(c, at, &why);
		return;
	}
	for (size_t i = 0; i < source->topics.n; i++)
		if (cl_mqtt_filter_check(source->topics.item[i], &source->form, &why) != CM_OK) {
			(void)snprintf(at, sizeof at, "%stopics.[%zu]", prefix, i);
			say(c, at, &why);
		}
}

static void check_map(const struct cl_mqtt_source *source, const char *prefix, const struct checking *c)
{
	const struct cl_mqtt_form *form = &source->form;
	char dotted[64];

	(void)snprintf(dotted, sizeof dotted, "mqtt.%smap", prefix);
	cl_map_check(&source->map, form->json ? CL_MAP_JSON : CL_MAP_VALUE, form->device_field, c->file,
		dotted, c->faults, c->first);
	if (form->device_field && cl_map_find(&source->map, form->device_field))
		say_text(c, dotted + 5,
			"the field that names the device is a member of the payload itself, and not in the "
			"map");
}

/* Refuse sources of which only some have a group: a device of a source without one could by chance have the
 * name of another source's device. */
static void check_groups(const struct cl_mqtt_source *source, size_t n, const struct checking *c)
{
	char at[64];
	size_t with = 0;

	for (size_t i = 0; i < n; i++)
		with += source[i].group != NULL;
	for (size_t i = 0; i < n && with > 0 && with < n; i++)
		if (!source[i].group) {
			(void)snprintf(at, sizeof at, "sources.[%zu]", i);
			say_text(c, at, "this source has no group, and others have: each needs one, or none");
		}
}

static void check_sources(struct cl_mqtt_conf *conf, const struct checking *c)
{
	static const char *const keys[] = { "topics", "device", "payload", "field" };
	struct cl_mqtt_source *source = conf->sources.item;
	char prefix[40], dotted[64], why[192];
	size_t topics = 0;

	if (conf->sources.n == 0) {
		check_source(&conf->only, "", c);
		return;
	}
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		(void)snprintf(dotted, sizeof dotted, "mqtt.%s", keys[i]);
		(void)snprintf(why, sizeof why,
			"%s stands beside mqtt.sources: write it into the source that it is of", dotted);
		if (cf_line(c->file, dotted) > 0)
			say_text(c, keys[i], why);
	}
	for (size_t i = 0; i < conf->sources.n; i++) {
		(void)snprintf(prefix, sizeof prefix, "sources.[%zu].", i);
		check_source(&source[i], prefix, c);
		check_map(&source[i], prefix, c);
		topics += source[i].topics.n;
	}
	if (topics > CL_MQTT_ALL_TOPICS_MAX) {
		(void)snprintf(why, sizeof why,
			"%zu topic filters in all sources, and at most %u are allowed", topics,
			CL_MQTT_ALL_TOPICS_MAX);
		say_text(c, "sources", why);
	}
	check_groups(source, conf->sources.n, c);
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

	if (cl_mqtt_conf_sources(conf).n == 0)
		return;
	if (conf->max_age_ms == 0)
		conf->max_age_ms = conf->hold ? MAX_AGE_HELD_MS : MAX_AGE_MS;
	if (conf->device_kib == 0)
		conf->device_kib = conf->hold ? DEVICE_KIB_HELD : DEVICE_KIB;
	if (*conf->broker.host == '\0')
		say_text(&c, "host", "host is empty");
	if (strcmp(conf->broker.protocol, "5") != 0 && strcmp(conf->broker.protocol, "3.1.1") != 0)
		say_text(&c, "protocol", "protocol is neither \"5\" nor \"3.1.1\"");
	if (CM_CHECKED("client.mqtt.qos") && conf->qos == 0)
		say_text(&c, "qos",
			"qos = 0: a broker drops messages of QoS 0 when one device publishes many, and with them "
			"the readings of others");
	check_sources(conf, &c);
	check_login(conf, &c);
	check_tls(conf, &c);
}

void cl_mqtt_conf_check_list(
	const struct cl_mqtt_conf *conf, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	const struct checking c = { file, faults, first };

	if (cl_mqtt_conf_sources(conf).n > 0 && !conf->devices)
		say_text(&c, "devices",
			"mqtt needs devices = \"FILE\", the names of the devices that take part, one a line: "
			"who takes part must not depend on who publishes; `tombola-client devices --listen 10m` "
			"prints a list to edit");
}

void cl_mqtt_conf_notes(const struct cl_mqtt_conf *conf, FILE *out)
{
	if (cl_mqtt_conf_sources(conf).n == 0)
		return;
	if (conf->sources.n > 1 && !cl_mqtt_conf_sources(conf).item[0].group)
		(void)fprintf(out,
			"mqtt.sources: devices of different sources that have the same name are one device; "
			"where they are not, give each source a group\n");
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
