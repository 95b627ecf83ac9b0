/* tool_demo_files.c (tool_demo_private.h) - writes the files of a deployment on loopback: plan,
 * certificates, configurations. */
#include <stdio.h>

#include "cm_file.h"
#include "cr_pki.h"
#include "pl_load.h"
#include "tool_demo_private.h"

const char *const tool_demo_party_name[DEMO_PARTIES] = { "shuffler", "analyzer", "client", "client-2",
	"client-3", "client-4", "client-5", "client-6", "client-7", "client-8", "client-9", "client-10",
	"client-11", "client-12", "client-13", "client-14", "client-15", "client-16" };

/* The built-in plan: two rounds fit its budget and the third does not. */
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

/* Write the plan into `asked` as it is asked, and read it into d->plan. */
static enum cm_rc take_plan(
	struct demo *d, const char *name, struct cm_buf *given, struct cm_buf *asked, struct cm_err *err)
{
	enum cm_rc rc = pl_plan_parse(given->data, given->len, name, stderr, &d->plan, err);

	if (rc != CM_OK || d->recurrences == 0)
		return rc == CM_OK && cm_buf_put(asked, given->data, given->len) != CM_OK
			       ? cm_fail(err, CM_EINTERNAL, "out of memory")
			       : rc;
	pl_plan_fini(&d->plan);
	rc = tool_demo_recur((const char *)given->data, given->len, d->recurrences, asked, err);
	return rc == CM_OK ? pl_plan_parse(asked->data, asked->len, name, stderr, &d->plan, err) : rc;
}

enum cm_rc tool_demo_plan(struct demo *d, const char *path, struct cm_err *err)
{
	struct cm_buf given, asked;
	enum cm_rc rc = CM_OK;

	cm_buf_init(&given, PL_FILE_MAX);
	cm_buf_init(&asked, (size_t)2 * PL_FILE_MAX);
	if (path)
		rc = cm_file_read(path, PL_FILE_MAX, &given, err);
	else if (cm_buf_put(&given, own_plan, sizeof own_plan - 1) != CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = take_plan(d, path ? path : "the built-in plan", &given, &asked, err);
	if (rc == CM_OK)
		rc = put(d, "plan.conf", asked.data, asked.len, err);
	cm_buf_fini(&given);
	cm_buf_fini(&asked);
	return rc;
}

/* Quote a text for libconfig; the plan's names have no control characters. */
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

/* The smallest batch that a round guarantees to a device; if classes are apart, this is the least of any
 * class. */
static uint64_t least_batch(const struct pl_round *r)
{
	uint64_t least = r->min_reports;

	for (uint32_t i = 0; r->randomizer.row->classes_apart && i < r->randomizer.shuffler.tags; i++)
		if (r->randomizer.shuffler.tag_least[i] < least)
			least = r->randomizer.shuffler.tag_least[i];
	return least;
}

/* The smallest batch of all rounds, which a policy must accept; *target is the largest target. */
static uint64_t smallest_batch(const struct demo *d, uint64_t *target)
{
	uint64_t batch = UINT64_MAX;

	*target = 1;
	for (size_t i = 0; i < d->plan.rounds; i++) {
		const struct pl_round *r = &d->plan.round[i];

		batch = least_batch(r) < batch ? least_batch(r) : batch;
		*target = r->target > *target ? r->target : *target;
	}
	return batch;
}

static enum cm_rc write_shuffler_policy(const struct demo *d, const char *population, struct cm_err *err)
{
	uint64_t target, batch = smallest_batch(d, &target);

	return write_conf(d, "shuffler-policy.conf", err,
		"population = \"%s\";\nmax_epsilon = %.17g;\ndelta = %.17g;\nmin_batch = %llu;\n"
		"max_epsilon0 = \"inf\";\nmax_target = %llu;\nmax_window = \"366d\";\naccept_adaptive = "
		"true;\nhonest_fraction = %.17g;\ncolluders = %llu;\nmax_share = 1.0;\n",
		population, d->plan.epsilon, d->plan.delta, (unsigned long long)batch,
		(unsigned long long)target, d->plan.honest_fraction, (unsigned long long)d->plan.colluders);
}

/* Client k answers in the class that is number k from the top: the first client accepts any local
 * guarantee. */
static enum cm_rc write_client_policy(
	const struct demo *d, unsigned k, const char *file, const char *population, struct cm_err *err)
{
	uint64_t target, batch = smallest_batch(d, &target);
	char most[40] = "\"inf\"";

	if (k > 0)
		(void)snprintf(most, sizeof most, "%.17g", d->class_epsilon0[d->clients - 1 - k]);
	return write_conf(d, file, err,
		"population = \"%s\";\nmax_epsilon = %.17g;\ndelta = %.17g;\nmin_batch = %llu;\n"
		"max_epsilon0 = %s;\naccept_shuffler_dummies = true;\naccept_adaptive = true;\n"
		"honest_fraction = %.17g;\ncolluders = %llu;\n",
		population, d->plan.epsilon, d->plan.delta, (unsigned long long)batch, most,
		d->plan.honest_fraction, (unsigned long long)d->plan.colluders);
}

/* Write the members of `input` that follow its path. */
static void input_text(const struct demo *d, const char *party, char out[700])
{
	char name[512];
	size_t n = 0;

	*out = '\0';
	if (d->device_field) {
		quoted(d->device_field, name, sizeof name);
		n = (size_t)snprintf(out, 700, " device_field = \"%s\";", name);
	}
	if (d->clients > 1)
		(void)snprintf(out + n, 700 - n, " devices = \"%s-devices.txt\";", party);
}

enum cm_rc tool_demo_client(const struct demo *d, unsigned k, struct cm_err *err)
{
	const char *party = tool_demo_party_name[DEMO_CLIENT + k];
	char dials[300], readings[2 * DEMO_PATH], input[700], population[2 * PR_TEXT_MAX + 4], http[32] = "";
	char path[DEMO_PATH], pki[DEMO_PATH], name[64];
	enum cm_rc rc;

	quoted(d->plan.population, population, sizeof population);
	quoted(d->readings, readings, sizeof readings);
	input_text(d, party, input);
	if (d->client_dials)
		quoted(d->client_dials, dials, sizeof dials);
	else
		(void)snprintf(dials, sizeof dials, "127.0.0.1:%u", d->port);
	if (k == 0)
		(void)snprintf(http, sizeof http, "127.0.0.1:%u", d->http[DEMO_CLIENT]);
	(void)snprintf(name, sizeof name, "pki/%s", party);
	rc = tool_demo_path(d, name, path, err);
	if (rc == CM_OK)
		rc = tool_demo_path(d, "pki", pki, err);
	if (rc == CM_OK && k > 0)
		rc = cr_pki_issue(
			pki, path, party, CR_ROLE_CLIENT, NULL, (uint32_t)d->devices, CR_PKI_DAYS, err);
	if (rc == CM_OK && k > 0)
		rc = cr_pki_outfit(pki, path, CR_ROLE_CLIENT, err);
	if (rc == CM_OK)
		rc = tool_demo_path(d, party, path, err);
	if (rc == CM_OK && k > 0)
		rc = cm_file_mkdir(path, err);
	(void)snprintf(name, sizeof name, "%s-policy.conf", party);
	if (rc == CM_OK)
		rc = write_client_policy(d, k, name, population, err);
	(void)snprintf(name, sizeof name, "%s.conf", party);
	if (rc != CM_OK)
		return rc;
	return write_conf(d, name, err,
		"shuffler = \"%s\";\nstate_dir = \"%s\";\nhttp = \"%s\";\npopulation = \"%s\";\n"
		"policy = \"%s-policy.conf\";\nanalyzer_key = \"pki/%s/analyzer-sign.pub\";\n"
		"shuffler_key = \"pki/%s/shuffler-sign.pub\";\ninput = { path = \"%s\";%s };\n"
		"prepare = \"100ms\";\n"
		"tls = {\n  cert = \"pki/%s/%s.crt\";\n  key = \"pki/%s/%s.key\";\n"
		"  services_ca = \"pki/%s/services-ca.crt\";\n"
		"  services_crl = \"pki/%s/services-ca.crl\";\n};\n",
		dials, party, http, population, party, party, party, readings, input, party, party, party,
		party, party, party);
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
			"plan = \"plan.conf\";\nsign = \"at-start\";\nsigning_key = \"pki/analyzer/analyzer-sign.key\";\n"
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
	for (int p = 0; rc == CM_OK && p <= DEMO_CLIENT; p++) {
		rc = tool_demo_path(d, tool_demo_party_name[p], path, err);
		if (rc == CM_OK)
			rc = cm_file_mkdir(path, err);
	}
	if (rc == CM_OK)
		rc = write_shuffler_policy(d, population, err);
	if (rc == CM_OK)
		rc = tool_demo_client(d, 0, err);
	return rc == CM_OK ? write_services(d, err) : rc;
}
