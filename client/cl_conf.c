/* cl_conf.c - the client's options, and loading what they name. */
#include "cl_conf.h"

#include <stddef.h>
#include <string.h>

#include "cl_upload.h"
#include "cm_addr.h"
#include "cm_http.h"
#include "rd_text.h"

#define AT(field) offsetof(struct cl_conf, field)

static const struct cm_conf_row tls_rows[] = {
	{ .key = "cert",
		.type = CM_CONF_PATH,
		.offset = AT(cert),
		.required = true,
		.help = "this client's certificate" },
	{ .key = "key",
		.type = CM_CONF_PATH,
		.offset = AT(key),
		.required = true,
		.help = "and its private key" },
	{ .key = "services_ca",
		.type = CM_CONF_PATH,
		.offset = AT(services_ca),
		.required = true,
		.help = "the CA that may vouch for the shuffler" },
	{ .key = "services_crl",
		.type = CM_CONF_PATH,
		.offset = AT(crl),
		.help = "its revocation list; read again on SIGHUP" },
	{ .key = NULL },
};

static const struct cm_conf_row input_rows[] = {
	{ .key = "path",
		.type = CM_CONF_PATH,
		.offset = AT(input),
		.help = "readings for `run`: a CSV or NDJSON file, read anew in every round" },
	{ .key = "format",
		.type = CM_CONF_STRING,
		.offset = AT(format),
		.help = "csv or ndjson; by the file's extension when absent" },
	{ .key = "device_field",
		.type = CM_CONF_STRING,
		.offset = AT(device_field),
		.help = "field that names the device of a reading; every row its own device when absent" },
	{ .key = NULL },
};

const struct cm_conf_row cl_conf_rows[] = {
	{ .key = "shuffler",
		.type = CM_CONF_STRING,
		.offset = AT(shuffler),
		.required = true,
		.help = "host:port to dial; the host is the name its certificate must carry" },
	{ .key = "state_dir",
		.type = CM_CONF_PATH,
		.offset = AT(state_dir),
		.required = true,
		.help = "this client's ledger, gateway secret and unanswered submissions; back it up" },
	{ .key = "population",
		.type = CM_CONF_STRING,
		.offset = AT(population),
		.required = true,
		.help = "as in the policy and the analyzer's plan" },
	{ .key = "tls", .type = CM_CONF_GROUP, .required = true, .help = "mutual TLS", .sub = tls_rows },
	{ .key = "analyzer_key",
		.type = CM_CONF_PATH,
		.offset = AT(analyzer_key),
		.required = true,
		.help = "the analyzer's pinned signing key: descriptors" },
	{ .key = "shuffler_key",
		.type = CM_CONF_PATH,
		.offset = AT(shuffler_key),
		.required = true,
		.help = "the shuffler's pinned signing key: receipts" },
	{ .key = "policy",
		.type = CM_CONF_PATH,
		.offset = AT(policy),
		.required = true,
		.help = "what this client agrees to" },
	{ .key = "input", .type = CM_CONF_GROUP, .help = "the readings of `run`", .sub = input_rows },
	{ .key = "mqtt",
		.type = CM_CONF_GROUP,
		.offset = AT(mqtt),
		.help = "or its readings by MQTT, from a broker that it subscribes to (doc/mqtt.md)",
		.sub = cl_mqtt_rows },
	{ .key = "connections",
		.type = CM_CONF_INT,
		.offset = AT(connections),
		.min = 1,
		.max = CL_CONNECTIONS_MAX,
		.fallback = "2",
		.help = "to the shuffler" },
	{ .key = "frame_devices",
		.type = CM_CONF_INT,
		.offset = AT(frame_devices),
		.min = 1,
		.max = PR_SUBMISSIONS_MAX,
		.fallback = "300",
		.help = "devices in one frame, where they fit" },
	{ .key = "spread",
		.type = CM_CONF_DURATION,
		.offset = AT(spread_ms),
		.min = 0,
		.max = 8.64e8,
		.fallback = "0s",
		.help = "send at random moments over this time after a round opens" },
	{ .key = "http",
		.type = CM_CONF_STRING,
		.offset = AT(http),
		.fallback = "127.0.0.1:9466",
		.help = "loopback host:port of /healthz, /readyz and /metrics; \"\" for none" },
	{ .key = "http_anywhere",
		.type = CM_CONF_BOOL,
		.offset = AT(http_anywhere),
		.fallback = "false",
		.help = "true: `http` may be an address that others reach; who asks is not authenticated" },
	{ .key = NULL },
};

static void check_format(struct cl_setup *s, const char *path, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	if (s->conf.format != NULL) {
		s->format = cl_format_parse(s->conf.format);
		if (s->format == CL_FORMAT_GUESS) {
			(void)cm_fail(&why, CM_ECONFIG, "input.format is neither csv nor ndjson");
			cm_conf_fault_at(path, "input.format", &why, faults, first);
		}
	} else if (s->conf.input != NULL) {
		s->format = cl_format_of_path(s->conf.input);
		if (s->format == CL_FORMAT_GUESS) {
			(void)cm_fail(&why, CM_ECONFIG, "input.path tells no format: set input.format");
			cm_conf_fault_at(path, "input.path", &why, faults, first);
		}
	}
}

static void check_mqtt(struct cl_setup *s, const char *path, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	cl_mqtt_conf_check(&s->conf.mqtt, path, faults, first);
	if (s->conf.mqtt.topics.n == 0 || s->conf.input == NULL)
		return;
	(void)cm_fail(&why, CM_ECONFIG, "readings come from input.path or by mqtt, not both");
	cm_conf_fault_at(path, "mqtt", &why, faults, first);
}

enum cm_rc cl_setup_load(const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err)
{
	struct cm_err first = { .code = CM_OK }, why;
	struct cm_tls_ctx *tls = NULL;
	struct cm_addr shuffler;
	enum cm_rc rc;

	*out = (struct cl_setup){ 0 };
	rc = cm_conf_load(path, cl_conf_rows, &out->conf, faults, err);
	/* The policy's faults are said in any case. */
	if (rc != CM_OK && out->conf.policy != NULL && faults != NULL &&
		cl_policy_load(out->conf.policy, &out->policy, faults, &why) != CM_OK)
		return rc;
	if (rc != CM_OK)
		return rc;
	if (cm_addr_split(out->conf.shuffler, &shuffler, &why) != CM_OK)
		cm_conf_fault_at(path, "shuffler", &why, faults, &first);
	if (*out->conf.http != '\0' &&
		cm_http_check_address(out->conf.http, out->conf.http_anywhere, &why) != CM_OK)
		cm_conf_fault_at(path, "http", &why, faults, &first);
	if (!rd_is_name(out->conf.population)) {
		(void)cm_fail(&why, CM_ECONFIG, "population is not a name (of a-z, 0-9 and ._-)");
		cm_conf_fault_at(path, "population", &why, faults, &first);
	}
	check_format(out, path, faults, &first);
	check_mqtt(out, path, faults, &first);
	if (cm_verifier_load(out->conf.analyzer_key, &out->analyzer, &why) != CM_OK)
		cm_conf_fault_at(path, "analyzer_key", &why, faults, &first);
	if (cm_verifier_load(out->conf.shuffler_key, &out->shuffler, &why) != CM_OK)
		cm_conf_fault_at(path, "shuffler_key", &why, faults, &first);
	if (cl_setup_tls(out, &tls, &why) != CM_OK)
		cm_conf_fault_at(path, "tls", &why, faults, &first);
	cm_tls_ctx_free(tls);
	/* The policy's own faults come with its own lines. */
	if (cl_policy_load(out->conf.policy, &out->policy, faults, &why) != CM_OK) {
		if (first.code == CM_OK)
			first = why;
	} else if (strcmp(out->policy.population, out->conf.population) != 0) {
		(void)cm_fail(&why, CM_ECONFIG, "population is not '%.100s', as in %.100s",
			out->conf.population, path);
		cm_conf_fault_at(out->conf.policy, "population", &why, faults, &first);
	}
	if (first.code == CM_OK)
		return CM_OK;
	*err = first;
	return cm_conf_blamed(err);
}

void cl_setup_fini(struct cl_setup *s)
{
	cm_verifier_free(s->analyzer);
	cm_verifier_free(s->shuffler);
	cl_policy_free(&s->policy);
	cm_conf_free(cl_conf_rows, &s->conf);
}

enum cm_rc cl_setup_tls(const struct cl_setup *s, struct cm_tls_ctx **out, struct cm_err *err)
{
	const struct cm_tls_conf conf = {
		.cert_file = s->conf.cert,
		.key_file = s->conf.key,
		.trust = { { CM_ROLE_SHUFFLER, s->conf.services_ca, s->conf.crl } },
	};

	return cm_tls_ctx_new(&conf, out, err);
}
