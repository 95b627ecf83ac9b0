/* an_results_mqtt.c (an_results.h) - carries out the verb that publishes settled rounds by MQTT. */
#include <string.h>

#include "an_command.h"
#include "an_deliver.h"
#include "an_publish.h"
#include "an_results.h"
#include "nt_addr.h"
#include "nt_confine.h"

#define KEEPALIVE_MS 60000
#define PAYLOAD_MAX  4096 /* bytes of a payload that the broker may send us; we subscribe to nothing */
#define SENSORS      64u
#define SENSORS_MAX  10000u

static enum cm_rc publish(void *user, const struct an_event *e, const char *text, struct cm_err *err)
{
	return an_publish(user, e, text, err);
}

static const char *or_else(const char *given, const char *otherwise)
{
	return given ? given : otherwise;
}

/* Topics to publish to have no wildcards, and those that begin with "$" are the broker's own. */
static bool is_prefix(const char *t)
{
	size_t n = strlen(t);

	return n > 0 && n <= 100 && !strpbrk(t, "+#") && t[0] != '$' && t[0] != '/' && t[n - 1] != '/';
}

static enum cm_rc check(const struct cm_cli *cli, const struct an_publish *p, struct cm_err *err)
{
	const struct mq_broker *b = &p->broker;

	if (b->password_file && !b->username)
		return cm_fail(err, CM_EUSAGE, "--password-file needs --user");
	if ((b->cert == NULL) != (b->key == NULL) || (b->cert && !b->ca))
		return cm_fail(err, CM_EUSAGE, "--cert and --key go together, and with --ca");
	if (strcmp(b->protocol, "5") != 0 && strcmp(b->protocol, "3.1.1") != 0)
		return cm_fail(err, CM_EUSAGE, "--protocol is 5 or 3.1.1");
	if (!is_prefix(p->topics.prefix) || (*p->topics.discovery != '\0' && !is_prefix(p->topics.discovery)))
		return cm_fail(err, CM_EUSAGE,
			"--prefix and --discovery are topics without wildcards, of at most 100 bytes, not "
			"beginning with $ or / and not ending with /");
	if (!b->ca && !cli->option[AN_MQTT_PLAINTEXT] && !mq_is_loopback(b->host))
		return cm_fail(err, CM_EUSAGE,
			"%s is not on loopback, so --ca FILE is needed: without TLS anyone on the way could "
			"change the results (--plaintext-to-remote if that is meant)",
			b->host);
	/* Report faults of the files now, rather than at every try. */
	return mq_check(b, err);
}

static enum cm_rc options(
	const struct cm_cli *cli, struct nt_addr *address, struct an_publish *p, struct cm_err *err)
{
	const char *const *o = cli->option;
	uint64_t port = 0, sensors = SENSORS;
	enum cm_rc rc = !o[AN_MQTT_BROKER] || !o[AN_DELIVER_CURSOR]
				? cm_fail(err, CM_EUSAGE, "--broker HOST:PORT and --cursor FILE are required")
				: nt_addr_split(o[AN_MQTT_BROKER], address, err);

	if (rc == CM_OK)
		rc = cm_cli_u64(address->port, "the broker's port", 1, UINT16_MAX, &port, err);
	if (rc == CM_OK && o[AN_MQTT_SENSORS])
		rc = cm_cli_u64(o[AN_MQTT_SENSORS], "--sensors", 0, SENSORS_MAX, &sensors, err);
	*p = (struct an_publish){ .broker = { .host = address->host,
					  .port = (int64_t)port,
					  .keepalive_ms = KEEPALIVE_MS,
					  .protocol = (char *)or_else(o[AN_MQTT_PROTOCOL], "5"),
					  .username = (char *)o[AN_MQTT_USER],
					  .password_file = (char *)o[AN_MQTT_PASSWORD],
					  .ca = (char *)o[AN_MQTT_CA],
					  .cert = (char *)o[AN_MQTT_CERT],
					  .key = (char *)o[AN_MQTT_KEY],
					  .payload_max = PAYLOAD_MAX },
		.topics = { .prefix = or_else(o[AN_MQTT_PREFIX], "tombola"),
			.discovery = or_else(o[AN_MQTT_DISCOVERY], "homeassistant"),
			.sensors = sensors } };
	return rc == CM_OK ? check(cli, p, err) : rc;
}

enum cm_rc an_results_mqtt(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct an_command d;
	struct nt_addr address;
	struct an_publish p;
	enum cm_rc rc = an_command_open(cli, &d, false, err);
	const struct an_deliver how = { .conf = &d.conf,
		.cursor = cli->option[AN_DELIVER_CURSOR],
		.what = "mqtt",
		.once = cli->option[AN_DELIVER_ONCE] != NULL,
		.hand_on = publish,
		.user = &p };

	(void)exit_code;
	if (rc == CM_OK)
		rc = options(cli, &address, &p, err);
	if (rc == CM_OK) {
		nt_confine(CM_LOG_DEBUG);
		rc = an_deliver_run(&how, err);
	}
	an_command_close(&d);
	return rc;
}
