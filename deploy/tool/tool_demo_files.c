/* tool_demo_files.c - the files of a deployment on loopback: plan, certificates, configurations. */
#include <stdio.h>
#include <string.h>

#include "cm_file.h"
#include "cr_pki.h"
#include "pl_load.h"
#include "tool_demo_private.h"

const char *const tool_demo_party_name[DEMO_PARTIES] = { "shuffler", "client", "analyzer" };

/* Two rounds that fit and one that does not. */
static const char own_plan[] =
	"# The plan of `tombola demo`; its parameters are fixed before the first answer.\n"
	"name = \"demo\";\n"
	"population = \"demo\";\n"
	"budget = { epsilon = 1.0; delta = 1e-6; unit = \"device\"; };\n"
	"rounds = (\n"
	"  { query = \"state\"; type = \"histogram\"; protocol = \"grr\";\n"
	"    field = \"state\"; values = [ \"idle\", \"running\", \"fault\" ];\n"
	"    epsilon0 = 3.5; min_reports = 2000; target = 2000; window = \"2m\"; },\n"
	"  { query = \"celsius\"; type = \"mean\"; protocol = \"levels\";\n"
	"    field = \"celsius\"; range = [ -10.0, 40.0 ]; levels = 9;\n"
	"    epsilon0 = 2.0; min_reports = 2000; target = 2000; window = \"2m\"; },\n"
	"  { query = \"state-again\"; type = \"histogram\"; protocol = \"grr\";\n"
	"    field = \"state\"; values = [ \"idle\", \"running\", \"fault\" ];\n"
	"    epsilon0 = 3.5; min_reports = 2000; target = 2000; window = \"2m\"; }\n"
	");\n";

enum cm_rc tool_demo_path(const struct demo *d, const char *name, char out[DEMO_PATH], struct cm_err *err)
{
	int n = snprintf(out, DEMO_PATH, "%s/%s", d->dir, name);

	return n > 0 && n < DEMO_PATH ? CM_OK : cm_fail(err, CM_EUSAGE, "--dir: the path is too long");
}

/* Writes text to DIR/NAME. */
static enum cm_rc put(const struct demo *d, const char *name, const void *bytes, size_t n, struct cm_err *err)
{
	char path[DEMO_PATH];
	enum cm_rc rc = tool_demo_path(d, name, path, err);

	return rc != CM_OK ? rc : cm_file_write(path, bytes, n, 0600, err);
}

CM_CHECK static enum cm_rc write_conf(
	const struct demo *d, const char *name, struct cm_err *err, const char *fmt, ...) CM_PRINTF(4, 5);
static enum cm_rc write_conf(const struct demo *d, const char *name, struct cm_err *err, const char *fmt, ...)
{
	char text[4096];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof text)
		return cm_fail(err, CM_EUSAGE, "%s: a name in it is too long", name);
	return put(d, name, text, (size_t)n, err);
}

enum cm_rc tool_demo_plan(struct demo *d, const char *path, struct cm_err *err)
{
	struct cm_buf bytes;
	enum cm_rc rc = CM_OK;

	cm_buf_init(&bytes, PL_FILE_MAX);
	if (path)
		rc = cm_file_read(path, PL_FILE_MAX, &bytes, err);
	else
		rc = cm_buf_put(&bytes, own_plan, sizeof own_plan - 1) == CM_OK
			     ? CM_OK
			     : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = pl_plan_parse(
			bytes.data, bytes.len, path ? path : "the built-in plan", stderr, &d->plan, err);
	if (rc == CM_OK)
		rc = put(d, "plan.conf", bytes.data, bytes.len, err);
	cm_buf_fini(&bytes);
	return rc;
}

/* A string of libconfig; the plan's names hold no control characters. */
static void quoted(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text != '\0' && n + 3 < size; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n] = '\0';
}

uint64_t tool_demo_wanted(const struct pl_plan *p)
{
	uint64_t most = 1;

	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		uint64_t wants = r->target <= DEMO_DEVICES_MAX ? r->target : r->min_reports;

		most = wants > most ? wants : most;
	}
	return most;
}

/* The smallest batch that a round guarantees to a device: of its own class where classes are apart. */
static uint64_t least_batch(const struct pl_round *r)
{
	uint64_t least = r->min_reports;

	for (uint32_t i = 0; r->randomizer.row->classes_apart && i < r->randomizer.shuffler.tags; i++)
		if (r->randomizer.shuffler.tag_least[i] < least)
			least = r->randomizer.shuffler.tag_least[i];
	return least;
}

static enum cm_rc write_policies(const struct demo *d, const char *population, struct cm_err *err)
{
	uint64_t batch = UINT64_MAX, target = 1;
	enum cm_rc rc;

	for (size_t i = 0; i < d->plan.rounds; i++) {
		const struct pl_round *r = &d->plan.round[i];

		batch = least_batch(r) < batch ? least_batch(r) : batch;
		target = r->target > target ? r->target : target;
	}
	rc = write_conf(d, "shuffler-policy.conf", err,
		"population = \"%s\";\nmax_epsilon = %.17g;\ndelta = %.17g;\nmin_batch = %llu;\n"
		"max_epsilon0 = \"inf\";\nmax_target = %llu;\nmax_window = \"366d\";\naccept_adaptive = "
		"true;\nhonest_fraction = %.17g;\ncolluders = %llu;\nmax_share = 1.0;\n",
		population, d->plan.epsilon, d->plan.delta, (unsigned long long)batch,
		(unsigned long long)target, d->plan.honest_fraction, (unsigned long long)d->plan.colluders);
	if (rc == CM_OK)
		rc = write_conf(d, "client-policy.conf", err,
			"population = \"%s\";\nmax_epsilon = %.17g;\ndelta = %.17g;\nmin_batch = %llu;\n"
			"max_epsilon0 = \"inf\";\naccept_shuffler_dummies = true;\naccept_adaptive = true;\n"
			"honest_fraction = %.17g;\ncolluders = %llu;\n",
			population, d->plan.epsilon, d->plan.delta, (unsigned long long)batch,
			d->plan.honest_fraction, (unsigned long long)d->plan.colluders);
	return rc;
}

static enum cm_rc write_client(const struct demo *d, const char *population, struct cm_err *err)
{
	char dials[300], readings[2 * DEMO_PATH], field[600] = "";

	quoted(d->readings, readings, sizeof readings);
	if (d->device_field) {
		char name[512];

		quoted(d->device_field, name, sizeof name);
		(void)snprintf(field, sizeof field, " device_field = \"%s\";", name);
	}
	if (d->client_dials)
		quoted(d->client_dials, dials, sizeof dials);
	else
		(void)snprintf(dials, sizeof dials, "127.0.0.1:%u", d->port);
	return write_conf(d, "client.conf", err,
		"shuffler = \"%s\";\nstate_dir = \"client\";\nhttp = \"127.0.0.1:%u\";\npopulation = "
		"\"%s\";\n"
		"policy = \"client-policy.conf\";\nanalyzer_key = \"pki/client/analyzer-sign.pub\";\n"
		"shuffler_key = \"pki/client/shuffler-sign.pub\";\ninput = { path = \"%s\";%s };\n"
		"prepare = \"100ms\";\n"
		"tls = {\n  cert = \"pki/client/client.crt\";\n  key = \"pki/client/client.key\";\n"
		"  services_ca = \"pki/client/services-ca.crt\";\n"
		"  services_crl = \"pki/client/services-ca.crl\";\n};\n",
		dials, d->http[DEMO_CLIENT], population, readings, field);
}

static enum cm_rc write_services(const struct demo *d, struct cm_err *err)
{
	enum cm_rc rc = write_conf(d, "shuffler.conf", err,
		"listen = \"127.0.0.1:%u\";\nstate_dir = \"shuffler\";\nhttp = \"127.0.0.1:%u\";\n"
		"policy = \"shuffler-policy.conf\";\nsigning_key = \"pki/shuffler/shuffler-sign.key\";\n"
		"analyzer_key = \"pki/shuffler/analyzer-sign.pub\";\n"
		"tls = {\n  cert = \"pki/shuffler/shuffler.crt\";\n  key = \"pki/shuffler/shuffler.key\";\n"
		"  services_ca = \"pki/shuffler/services-ca.crt\";\n"
		"  clients_ca = \"pki/shuffler/clients-ca.crt\";\n"
		"  services_crl = \"pki/shuffler/services-ca.crl\";\n"
		"  clients_crl = \"pki/shuffler/clients-ca.crl\";\n};\n",
		d->port, d->http[DEMO_SHUFFLER]);

	if (rc == CM_OK)
		rc = write_conf(d, "analyzer.conf", err,
			"shuffler = \"127.0.0.1:%u\";\nstate_dir = \"analyzer\";\nhttp = \"127.0.0.1:%u\";\n"
			"plan = \"plan.conf\";\nsigning_key = \"pki/analyzer/analyzer-sign.key\";\n"
			"shuffler_key = \"pki/analyzer/shuffler-sign.pub\";\n"
			"tls = {\n  cert = \"pki/analyzer/analyzer.crt\";\n"
			"  key = \"pki/analyzer/analyzer.key\";\n"
			"  services_ca = \"pki/analyzer/services-ca.crt\";\n"
			"  services_crl = \"pki/analyzer/services-ca.crl\";\n};\n",
			d->port, d->http[DEMO_ANALYZER]);
	return rc;
}

enum cm_rc tool_demo_deploy(const struct demo *d, struct cm_err *err)
{
	char path[DEMO_PATH], population[2 * PR_TEXT_MAX + 4];
	enum cm_rc rc = tool_demo_path(d, "pki", path, err);

	quoted(d->plan.population, population, sizeof population);
	if (rc == CM_OK)
		rc = cr_pki_init(path, "localhost,127.0.0.1", (uint32_t)d->devices, err);
	for (int p = 0; rc == CM_OK && p < DEMO_PARTIES; p++) {
		rc = tool_demo_path(d, tool_demo_party_name[p], path, err);
		if (rc == CM_OK)
			rc = cm_file_mkdir(path, err);
	}
	if (rc == CM_OK)
		rc = write_policies(d, population, err);
	if (rc == CM_OK)
		rc = write_client(d, population, err);
	return rc == CM_OK ? write_services(d, err) : rc;
}
