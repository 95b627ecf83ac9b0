/* cl_conf.c - lists the keys of the client's configuration, and loads the files that it names. */
#include "cl_conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cf_change.h"
#include "cf_http.h"
#include "cl_limits.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "nt_addr.h"
#include "nt_http.h"
#include "rd_text.h"

#define AT(field) offsetof(struct cl_conf, field)

static const struct cf_row tls_rows[] = {
	CF_REQUIRED("cert", CF_PATH, AT(cert), "this client's certificate"),
	CF_REQUIRED("key", CF_PATH, AT(key), "and its private key"),
	CF_REQUIRED("services_ca", CF_PATH, AT(services_ca), "the CA that may vouch for the shuffler"),
	CF_OPTIONAL("services_crl", CF_PATH, AT(crl), "its revocation list; taken up when it changes"),
	CF_END,
};

static const struct cf_row input_rows[] = {
	CF_OPTIONAL("path", CF_PATH, AT(input),
		"readings for `run`: a CSV or NDJSON file, or a NumPy array (.npy), read anew in every "
		"round"),
	CF_OPTIONAL("labels", CF_PATH, AT(labels), "of a .npy: the array of the rows' labels"),
	CF_OPTIONAL(
		"format", CF_STRING, AT(format), "csv, ndjson or npy; by the file's extension when absent"),
	CF_OPTIONAL("device_field", CF_STRING, AT(device_field),
		"field that names the device of a reading; every row its own device when absent"),
	CF_OPTIONAL("devices", CF_PATH, AT(devices),
		"file of the devices that take part, a name a line, with a reading or without; read at the "
		"start and when it changes; without it the devices that the readings' rows name"),
	CL_MAP_ROW(AT(map)),
	CF_DEFAULT("delimiter", CF_CHAR, AT(csv.delimiter), ",",
		"of CSV: what separates columns: \",\", \";\", \"|\" or \"\\t\" (a tab)"),
	CF_DEFAULT("decimal_comma", CF_BOOL, AT(csv.decimal_comma), "false",
		"of CSV: true: numbers have a decimal comma; one with a point is no reading then; needs "
		"another delimiter"),
	CF_OPTIONAL("comment", CF_STRING, AT(csv.comment),
		"of CSV: lines that begin with this text are skipped, such as \"#\"; none are when absent"),
	CF_END,
};

const struct cf_row cl_conf_rows[] = {
	CF_REQUIRED("shuffler", CF_SOME(1, CL_ADDRESSES_MAX), AT(shuffler),
		"host:port to dial; the host is the name its certificate must carry; or a list of them, "
		"which is dialled in random order until one answers"),
	CF_REQUIRED("state_dir", CF_PATH, AT(state_dir),
		"this client's ledger, gateway secret and unanswered submissions; back it up"),
	CF_REQUIRED("population", CF_STRING, AT(population), "as in the policy and the analyzer's plan"),
	CF_REQUIRED("tls", CF_GROUP(tls_rows), 0, "mutual TLS"),
	CF_REQUIRED(
		"analyzer_key", CF_PATH, AT(analyzer_key), "the analyzer's pinned signing key: descriptors"),
	CF_REQUIRED("shuffler_key", CF_PATH, AT(shuffler_key), "the shuffler's pinned signing key: receipts"),
	CF_REQUIRED("policy", CF_PATH, AT(policy), "file with the limits that this client accepts"),
	CF_OPTIONAL("input", CF_GROUP(input_rows), 0, "the readings of `run`"),
	CF_OPTIONAL("mqtt", CF_GROUP(cl_mqtt_rows), AT(mqtt),
		"or its readings by MQTT, from a broker that it subscribes to (doc/mqtt.md)"),
	CF_OPTIONAL("programs", CF_GROUP(cl_program_rows), AT(programs),
		"programs of this host that rounds may ask to compute values (doc/computing.md)"),
	CF_DEFAULT("connections", CF_INT(1, CL_CONNECTIONS_MAX), AT(connections), "2", "to the shuffler"),
	CF_DEFAULT("frame_devices", CF_INT(1, PR_SUBMISSIONS_MAX), AT(frame_devices), "2048",
		"devices in one frame, where they fit"),
	CF_DEFAULT("prepare", CF_DURATION(1, 8.64e7), AT(prepare_ms), "1s",
		"after a round came: sending begins then, or after as many of these as reading and sealing "
		"all devices takes"),
	CF_DEFAULT("fetch", CF_DURATION(10, 8.64e7), AT(fetch_ms), "5s",
		"in a round with a payload: the time to fetch it, before the readings are read; who does "
		"not have it then takes part as without readings"),
	CF_DEFAULT("spread", CF_DURATION(0, 8.64e8), AT(spread_ms), "0s",
		"send at random moments over this time from then on"),
	CF_DEFAULT("show_readings", CF_BOOL, AT(show_readings), "false",
		"true: log and metrics show how many readings were usable; whoever sees them learns that"),
	CF_DEFAULT("proofs", CF_INT(0, CL_PROOFS_MAX), AT(proofs), "32",
		"devices of a round, drawn at random, whose receipts are held against its manifest; 0: none"),
	CF_DEFAULT("proof_within", CF_DURATION(0, 604800e3), AT(proof_within_ms), "10m",
		"`run` asks for them at a random moment within so long after the round, and again if it is "
		"open"),
	CF_HTTP_ROWS(
		AT(http), AT(http_anywhere), "127.0.0.1:9466", "/healthz, /readyz, /metrics and /programs"),
	CF_END,
};

static bool by_mqtt(const struct cl_setup *s)
{
	return cl_mqtt_conf_sources(&s->conf.mqtt).n > 0;
}

static void check_format(struct cl_setup *s, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	if (s->conf.format) {
		s->format = cl_format_parse(s->conf.format);
		if (s->format == CL_FORMAT_GUESS) {
			(void)cm_fail(&why, CM_ECONFIG, "input.format is none of csv, ndjson, npy");
			cf_fault_at(file, "input.format", &why, faults, first);
		}
	} else if (s->conf.input) {
		s->format = cl_format_of_path(s->conf.input);
		if (s->format == CL_FORMAT_GUESS) {
			(void)cm_fail(
				&why, CM_ECONFIG, "input.path does not tell its format: set input.format");
			cf_fault_at(file, "input.path", &why, faults, first);
		}
	}
}

/* Check the keys that say how the input is written.  A key of another format than the input's is a fault,
 * because it has no effect and its author thinks that it has. */
static void check_form(struct cl_setup *s, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	const struct cl_conf *c = &s->conf;
	const char *key = c->csv.decimal_comma      ? "decimal_comma"
			  : c->csv.comment          ? "comment"
			  : c->csv.delimiter != ',' ? "delimiter"
						    : NULL;
	struct cm_err why;
	char dotted[40];

	if (key && c->input && s->format != CL_FORMAT_CSV) {
		(void)snprintf(dotted, sizeof dotted, "input.%s", key);
		(void)cm_fail(&why, CM_ECONFIG, "%s is of CSV, and the input has another format", dotted);
		cf_fault_at(file, dotted, &why, faults, first);
	}
	if (cl_csv_form_check(&c->csv, &key, &why) != CM_OK) {
		(void)snprintf(dotted, sizeof dotted, "input.%s", key);
		cf_fault_at(file, dotted, &why, faults, first);
	}
	if (c->map.list.n > 0 && s->format == CL_FORMAT_NPY) {
		(void)cm_fail(&why, CM_ECONFIG, "input.map is of CSV and JSON: an array has no fields");
		cf_fault_at(file, "input.map", &why, faults, first);
	}
	cl_map_check(&c->map, s->format == CL_FORMAT_CSV ? CL_MAP_CSV : CL_MAP_JSON, c->device_field, file,
		"input.map", faults, first);
}

enum cm_rc cl_setup_devices(
	const struct cl_setup *s, const struct cr_key *secret, struct cl_devices **out, struct cm_err *err)
{
	/* A list that an option names may be a pipe, because it is read once. */
	bool again = s->devices && (s->devices == s->conf.devices || s->devices == s->conf.mqtt.devices);
	enum cm_rc rc = again ? cl_readings_lasting(s->devices, err) : CM_OK;

	*out = NULL;
	return rc == CM_OK && s->devices ? cl_devices_load(s->devices, secret, s->conf.population, out, err)
					 : rc;
}

static void check_devices(struct cl_setup *s, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	static const struct cr_key any;
	const char *key = by_mqtt(s) ? "mqtt.devices" : "input.devices";
	struct cl_devices *devices = NULL;
	struct cm_err why;

	if (s->conf.labels && s->format != CL_FORMAT_NPY) {
		(void)cm_fail(&why, CM_ECONFIG, "input.labels is of input in a .npy");
		cf_fault_at(file, "input.labels", &why, faults, first);
	}
	if (s->conf.devices && !s->conf.device_field && s->format != CL_FORMAT_NPY) {
		(void)cm_fail(&why, CM_ECONFIG, "input.devices needs input.device_field: rows are numbered");
		cf_fault_at(file, key, &why, faults, first);
	}
	if (s->conf.population && cl_setup_devices(s, &any, &devices, &why) != CM_OK) {
		(void)cm_context(&why, "%s", key);
		cf_fault_at(file, key, &why, faults, first);
	}
	cl_devices_free(devices);
}

static void check_mqtt(struct cl_setup *s, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	cl_mqtt_conf_check(&s->conf.mqtt, file, faults, first);
	cl_mqtt_conf_check_list(&s->conf.mqtt, file, faults, first);
	if (!by_mqtt(s) || !s->conf.input)
		return;
	(void)cm_fail(&why, CM_ECONFIG, "readings come from input.path or by mqtt, not both");
	cf_fault_at(file, "mqtt", &why, faults, first);
}

/* Hash the configured programs: a round can ask for these and no others. */
static enum cm_rc adopt_programs(struct cl_setup *s, struct cm_err *err)
{
	const struct cl_program_allowed *allow = s->conf.programs.allow.item;

	s->program_hash = calloc(s->conf.programs.allow.n + 1, sizeof *s->program_hash);
	if (!s->program_hash)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < s->conf.programs.allow.n; i++)
		memcpy(s->program_hash[i], allow[i].hash, PR_HASH_LEN);
	s->policy.program = (const uint8_t(*)[PR_HASH_LEN])s->program_hash;
	s->policy.programs = s->conf.programs.allow.n;
	return CM_OK;
}

/* Any host that answers at an address of conf.shuffler must have a certificate with these roles. */
static struct nt_tls_conf tls_conf(const struct cl_setup *s)
{
	return (struct nt_tls_conf){
		.cert_file = s->conf.cert,
		.key_file = s->conf.key,
		.trust = { { CR_ROLE_SHUFFLER, s->conf.services_ca, s->conf.crl },
			{ CR_ROLE_INTAKE, s->conf.services_ca, s->conf.crl } },
	};
}

/* Check keys and certificates, as far as the file names them. */
static void check_keys(struct cl_setup *s, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	const struct cl_conf *c = &s->conf;
	const struct nt_tls_conf tls = tls_conf(s);
	struct cf_findings found = { file, faults, first };
	struct cm_err why;

	if (c->analyzer_key && cr_verifier_load(c->analyzer_key, &s->analyzer, &why) != CM_OK)
		cf_finding_of(&found, "analyzer_key", &why);
	if (c->shuffler_key && cr_verifier_load(c->shuffler_key, &s->shuffler, &why) != CM_OK)
		cf_finding_of(&found, "shuffler_key", &why);
	if (s->analyzer && s->shuffler && cr_verifier_is(s->shuffler, s->analyzer)) {
		(void)cm_fail(&why, CM_ECONFIG,
			"this is the key of analyzer_key, too: each has its own, shuffler-sign.pub");
		cf_finding_of(&found, "shuffler_key", &why);
	}
	if (c->analyzer_key && cr_pin_check(c->analyzer_key, CR_ROLE_ANALYZER, &why) != CM_OK)
		cf_finding_of(&found, "analyzer_key", &why);
	if (c->shuffler_key && cr_pin_check(c->shuffler_key, CR_ROLE_SHUFFLER, &why) != CM_OK)
		cf_finding_of(&found, "shuffler_key", &why);
	nt_tls_faults(&tls, cf_finding_of, &found);
}

/* Check each address of the shuffler.  An address that is listed twice is a fault, because it adds no
 * alternative. */
static void check_shuffler(
	const struct cf_strings *shuffler, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct nt_addr split;
	struct cm_err why;

	for (size_t i = 0; i < shuffler->n; i++) {
		const char *address = shuffler->item[i];
		enum cm_rc rc = nt_addr_split(address, &split, &why);

		for (size_t j = 0; rc == CM_OK && j < i; j++)
			if (strcmp(shuffler->item[j], address) == 0)
				rc = cm_fail(&why, CM_ECONFIG, "shuffler: '%.100s' stands twice", address);
		if (rc != CM_OK)
			cf_fault_at(file, "shuffler", &why, faults, first);
	}
}

/* Check the addresses and the population's name. */
static void check_names(
	const struct cl_conf *c, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	check_shuffler(&c->shuffler, file, faults, first);
	if (c->http && *c->http != '\0' && nt_http_check_address(c->http, c->http_anywhere, &why) != CM_OK)
		cf_fault_at(file, "http", &why, faults, first);
	if (c->population && !rd_is_name(c->population)) {
		(void)cm_fail(&why, CM_ECONFIG, "population is not a name (of a-z, 0-9 and ._-)");
		cf_fault_at(file, "population", &why, faults, first);
	}
}

/* A policy is for the population of the configuration. */
static void check_population(const struct cl_setup *s, const struct cl_policy *policy,
	const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	if (!s->conf.population || strcmp(policy->shared.population, s->conf.population) == 0)
		return;
	(void)cm_fail(&why, CM_ECONFIG, "population is not '%.80s', as in %.100s, but '%.80s'",
		s->conf.population, s->path, policy->shared.population);
	cf_fault_at(file, "population", &why, faults, first);
}

/* The policy's faults are printed with the policy's own line numbers. */
static void check_policy(struct cl_setup *s, const struct cf_file *conf, FILE *faults, struct cm_err *first)
{
	const struct cl_conf *c = &s->conf;
	struct cf_file *file;
	struct cm_err why;

	if (!c->policy || cf_absent_at(conf, "policy", c->policy, faults, first))
		return;
	if (cl_policy_load(c->policy, &s->policy, &file, faults, &why) != CM_OK) {
		cf_finding(&why, faults, first);
	} else {
		check_population(s, &s->policy, file, faults, first);
	}
	s->policy.shared.file = file; /* a rehearsal names the lines of this file */
}

enum cm_rc cl_setup_policy(const struct cl_setup *s, struct cl_policy *out, struct cm_err *err)
{
	struct cf_file *file;
	enum cm_rc rc = cl_policy_load(s->conf.policy, out, &file, NULL, err);

	out->shared.file = file;
	if (rc == CM_OK) {
		err->code = CM_OK;
		check_population(s, out, file, NULL, err);
		rc = err->code;
	}
	if (rc != CM_OK) {
		cl_policy_free(out);
		return rc;
	}
	memcpy(out->device_field, s->policy.device_field, sizeof out->device_field);
	out->program = s->policy.program;
	out->programs = s->policy.programs;
	return CM_OK;
}

void cl_setup_changes_wait(const struct cl_setup *s)
{
	cf_changes_wait(s->path, cl_conf_rows, &s->conf, sizeof s->conf);
}

void cl_setup_device_field(struct cl_setup *s, const char *device_field, enum cl_format format)
{
	enum cl_map_of of = format == CL_FORMAT_CSV ? CL_MAP_CSV : CL_MAP_JSON;
	size_t n = 0;

	s->policy.device_field[n++] = device_field;
	if (device_field && cl_map_other_name(&s->conf.map, of, device_field, s->device_name))
		s->policy.device_field[n++] = s->device_name;
	s->policy.device_field[n] = NULL;
}

/* Tell the policy which fields name devices. */
static void name_device_fields(struct cl_setup *s)
{
	const struct cl_mqtt_sources sources = cl_mqtt_conf_sources(&s->conf.mqtt);
	size_t n = 0;

	_Static_assert(CL_DEVICE_FIELDS_MAX >= CL_MQTT_SOURCES_MAX, "each source may have one");
	if (sources.n == 0)
		cl_setup_device_field(s, s->conf.device_field, s->format);
	for (size_t i = 0; i < sources.n; i++)
		if (sources.item[i].form.device_field)
			s->policy.device_field[n++] = sources.item[i].form.device_field;
}

enum cm_rc cl_setup_load(const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err)
{
	struct cm_err first = { .code = CM_OK };
	const struct cf_file *file;
	enum cm_rc rc;

	*out = (struct cl_setup){ .path = path };
	rc = cf_load(path, cl_conf_rows, &out->conf, &out->file, faults, err);
	file = out->file;
	if (rc != CM_OK)
		first = *err;
	check_names(&out->conf, file, faults, &first);
	check_format(out, file, faults, &first);
	/* These checks look at several keys together, so each of them must have been read. */
	if (rc == CM_OK) {
		check_form(out, file, faults, &first);
		check_mqtt(out, file, faults, &first);
		cl_program_conf_check(&out->conf.programs, file, faults, &first);
	}
	out->devices = by_mqtt(out) ? out->conf.mqtt.devices : out->conf.devices;
	check_devices(out, file, faults, &first);
	check_keys(out, file, faults, &first);
	check_policy(out, file, faults, &first);
	name_device_fields(out);
	if (first.code == CM_OK)
		return adopt_programs(out, err);
	*err = first;
	/* A missing configuration ends a verb like any missing input file. */
	return rc == CM_ENOINPUT ? rc : cf_blamed(err);
}

enum cm_rc cl_setup_load_mqtt(const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err)
{
	struct cm_err first = { .code = CM_OK }, why;
	enum cm_rc rc;

	*out = (struct cl_setup){ 0 };
	rc = cf_load(path, cl_conf_rows, &out->conf, &out->file, faults, err);
	if (rc != CM_OK)
		return rc;
	cl_mqtt_conf_check(&out->conf.mqtt, out->file, faults, &first);
	if (!by_mqtt(out)) {
		(void)cm_fail(&why, CM_ECONFIG,
			"no broker to listen to: mqtt.topics or mqtt.sources say what is of interest");
		cf_fault_at(out->file, "mqtt", &why, faults, &first);
	}
	*err = first;
	return first.code == CM_OK ? CM_OK : cf_blamed(err);
}

bool cl_setup_shows(const struct cl_setup *s)
{
	return s->conf.show_readings || !CM_CHECKED("client.silent");
}

void cl_setup_fini(struct cl_setup *s)
{
	cr_verifier_free(s->analyzer);
	cr_verifier_free(s->shuffler);
	cl_policy_free(&s->policy);
	free(s->program_hash);
	cf_file_free(s->file);
	cf_free(cl_conf_rows, &s->conf);
}

struct cr_files cl_setup_files(const struct cl_setup *s)
{
	return (struct cr_files){ .path = { [CR_OWN] = s->conf.cert,
					  [CR_SERVICES_CA] = s->conf.services_ca,
					  [CR_SERVICES_CRL] = s->conf.crl } };
}

enum cm_rc cl_setup_tls(const struct cl_setup *s, struct nt_tls_ctx **out, struct cm_err *err)
{
	const struct nt_tls_conf conf = tls_conf(s);

	return nt_tls_ctx_new(&conf, out, err);
}

static void say_file(void *user, enum cr_file which, const struct cm_err *why)
{
	cf_finding_of(user, cr_file_keys[which], why);
}

void cl_setup_check_files(const struct cl_setup *s, FILE *faults, struct cm_err *first)
{
	const struct cr_files files = cl_setup_files(s);
	struct cf_findings found = { s->file, faults, first };

	cr_files_check(&files, CR_ROLE_CLIENT, cm_clock_wall_ms() / 1000, say_file, &found);
}
