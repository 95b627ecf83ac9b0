/* cl_mqtt_conf.c - the keys of group `mqtt`, and loading the files that they name. */
#include "cl_mqtt_conf.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "cr_pem.h"
#include "cr_private_file.h"
#include "cr_secret.h"
#include "nt_addr.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define AT(field) offsetof(struct cl_mqtt_conf, field)

static const struct cf_row tls_rows[] = {
	{ .key = "ca",
		.type = CF_PATH,
		.offset = AT(ca),
		.help = "the CA that may vouch for the broker; with it the connection is TLS" },
	{ .key = "cert",
		.type = CF_PATH,
		.offset = AT(cert),
		.help = "our certificate for a broker that asks for one" },
	{ .key = "key", .type = CF_PATH, .offset = AT(key), .help = "and its private key" },
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
		.offset = AT(host),
		.fallback = "127.0.0.1",
		.help = "of the broker" },
	{ .key = "port",
		.type = CF_INT,
		.offset = AT(port),
		.min = 1,
		.max = 65535,
		.fallback = "1883",
		.help = "port of the broker; with TLS commonly 8883" },
	{ .key = "protocol",
		.type = CF_STRING,
		.offset = AT(protocol),
		.fallback = "5",
		.help = "MQTT 5, or 3.1.1 for a broker without it (which then also sends payloads above "
			"payload_max)" },
	{ .key = "qos",
		.type = CF_INT,
		.offset = AT(qos),
		.min = 0,
		.max = 1,
		.fallback = "1",
		.help = "quality of service of the subscriptions; a reading delivered twice only weighs more "
			"in the draw" },
	{ .key = "keepalive",
		.type = CF_DURATION,
		.offset = AT(keepalive_ms),
		.min = 5000,
		.max = 6.5535e7,
		.fallback = "60s",
		.help = "a broker silent for longer is pinged, and disconnected if it does not answer" },
	{ .key = "client_id",
		.type = CF_STRING,
		.offset = AT(client_id),
		.help = "client identifier at the broker; the broker chooses one when absent" },
	{ .key = "clean_session",
		.type = CF_BOOL,
		.offset = AT(clean_session),
		.fallback = "true",
		.help = "false: the broker keeps messages of QoS 1 while we are away (needs client_id)" },
	{ .key = "username", .type = CF_STRING, .offset = AT(username), .help = "to log in with" },
	{ .key = "password_file",
		.type = CF_PATH,
		.offset = AT(password_file),
		.help = "its first line; the file must be 0600 or 0400" },
	{ .key = "tls", .type = CF_GROUP, .help = "for a broker elsewhere", .sub = tls_rows },
	{ .key = "plaintext_to_remote",
		.type = CF_BOOL,
		.offset = AT(plaintext_to_remote),
		.fallback = "false",
		.help = "true: without TLS even beyond loopback; whoever is on the path reads every value" },
	{ .key = "payload_max",
		.type = CF_INT,
		.offset = AT(payload_max),
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

/* ---- password and certificates ---- */

enum cm_rc cl_mqtt_password(
	const struct cl_mqtt_conf *conf, char out[CL_MQTT_PASSWORD_MAX + 1], struct cm_err *err)
{
	const char *path = conf->password_file;
	size_t n = 0, line;
	enum cm_rc rc = cr_private_read(
		path, CM_CHECKED("client.mqtt.password_mode"), (uint8_t *)out, CL_MQTT_PASSWORD_MAX, &n, err);

	if (rc != CM_OK)
		return rc;
	out[n] = '\0';
	line = strcspn(out, "\r\n");
	if (line == 0 || line + strspn(out + line, "\r\n") != n)
		rc = cm_fail(err, CM_EDATA, "%s: not a password in one line", path);
	out[line] = '\0';
	return rc;
}

static enum cm_rc tls_fault(struct cm_err *err, const char *path)
{
	return cm_fail(err, CM_ECONFIG, "%s: %s", path, ERR_reason_error_string(ERR_peek_last_error()));
}

static enum cm_rc load_own(SSL_CTX *ctx, const struct cl_mqtt_conf *conf, struct cm_err *err)
{
	EVP_PKEY *key = NULL;
	enum cm_rc rc;

	SSL_CTX_set_default_passwd_cb(ctx, cr_pem_no_password);
	if (SSL_CTX_use_certificate_chain_file(ctx, conf->cert) != 1)
		return tls_fault(err, conf->cert);
	rc = cr_pem_private_key(conf->key, 1, &key, err);
	if (rc == CM_OK && (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1))
		rc = cm_fail(err, CM_EPERM, "%s: this key does not belong to certificate %s", conf->key,
			conf->cert);
	EVP_PKEY_free(key);
	return rc;
}

static int verify(X509_STORE_CTX *chain, void *refused)
{
	int good = X509_verify_cert(chain);

	if (refused != NULL)
		*(int *)refused = good == 1 ? X509_V_OK : X509_STORE_CTX_get_error(chain);
	return good;
}

/* libmosquitto dials an address and would send that as server name; send the host's name instead. */
static void name_server(const SSL *ssl, int where, int ret)
{
	char *host = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	char *name = nt_addr_numeric(host) ? NULL : host;

	(void)ret;
	if ((where & SSL_CB_HANDSHAKE_START) != 0)
		(void)SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl, name);
}

enum cm_rc cl_mqtt_tls(const struct cl_mqtt_conf *conf, int *refused, SSL_CTX **out, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	X509_VERIFY_PARAM *who;
	SSL_CTX *ctx;

	*out = NULL;
	if (conf->ca == NULL)
		return CM_OK;
	ERR_clear_error();
	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	who = SSL_CTX_get0_param(ctx);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, verify, refused);
	(void)SSL_CTX_set_app_data(ctx, conf->host);
	SSL_CTX_set_info_callback(ctx, name_server);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
		(nt_addr_numeric(conf->host) ? X509_VERIFY_PARAM_set1_ip_asc(who, conf->host)
					     : X509_VERIFY_PARAM_set1_host(who, conf->host, 0)) != 1)
		rc = tls_fault(err, conf->host);
	else if (SSL_CTX_load_verify_file(ctx, conf->ca) != 1)
		rc = tls_fault(err, conf->ca);
	else if (conf->cert != NULL && conf->key != NULL)
		rc = load_own(ctx, conf, err);
	ERR_clear_error();
	if (rc != CM_OK) {
		SSL_CTX_free(ctx);
		return rc;
	}
	*out = ctx;
	return CM_OK;
}

/* ---- check-config ---- */

struct checking {
	const char *path;
	FILE *faults;
	struct cm_err *first;
};

static void say(const struct checking *c, const char *key, const struct cm_err *why)
{
	char dotted[64];

	(void)snprintf(dotted, sizeof dotted, "mqtt.%s", key);
	cf_fault_at(c->path, cf_line(dotted) > 0 ? dotted : "mqtt", why, c->faults, c->first);
}

static void say_text(const struct checking *c, const char *key, const char *text)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_ECONFIG, "%s", text);
	say(c, key, &why);
}

static bool is_loopback(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcmp(host, "localhost") == 0;
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
	char password[CL_MQTT_PASSWORD_MAX + 1];
	struct cm_err why;

	if (conf->password_file != NULL && conf->username == NULL)
		say_text(c, "password_file", "password_file needs username");
	if (conf->password_file != NULL && cl_mqtt_password(conf, password, &why) != CM_OK)
		say(c, "password_file", &why);
	cr_wipe(password, sizeof password);
	if (!conf->clean_session && (conf->client_id == NULL || *conf->client_id == '\0'))
		say_text(c, "clean_session", "clean_session = false needs client_id");
}

static void check_tls(const struct cl_mqtt_conf *conf, const struct checking *c)
{
	SSL_CTX *ctx = NULL;
	struct cm_err why;

	if ((conf->cert == NULL) != (conf->key == NULL))
		say_text(c, "tls", "tls.cert and tls.key go together");
	if (conf->cert != NULL && conf->ca == NULL)
		say_text(c, "tls", "tls.cert needs tls.ca: without it there is no TLS");
	if (cl_mqtt_tls(conf, NULL, &ctx, &why) != CM_OK)
		say(c, "tls", &why);
	SSL_CTX_free(ctx);
	if (CM_CHECKED("client.mqtt.plaintext") && conf->ca == NULL && !conf->plaintext_to_remote &&
		!is_loopback(conf->host))
		say_text(c, "host",
			"a broker that is not on loopback without tls.ca: everyone on the way would read the "
			"values (plaintext_to_remote = true if that is meant)");
}

void cl_mqtt_conf_check(struct cl_mqtt_conf *conf, const char *path, FILE *faults, struct cm_err *first)
{
	const struct checking c = { path, faults, first };

	if (conf->topics.n == 0)
		return;
	if (conf->devices == NULL)
		say_text(&c, "devices",
			"mqtt needs devices = \"FILE\", the names of the devices that take part, one a line: "
			"who takes part must not depend on who publishes");
	if (*conf->host == '\0')
		say_text(&c, "host", "host is empty");
	if (strcmp(conf->protocol, "5") != 0 && strcmp(conf->protocol, "3.1.1") != 0)
		say_text(&c, "protocol", "protocol is neither \"5\" nor \"3.1.1\"");
	check_form(conf, &c);
	check_login(conf, &c);
	check_tls(conf, &c);
}
