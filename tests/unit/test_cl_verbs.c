/* test_cl_verbs.c - tombola-client as a user meets it without a shuffler: help, faults as file:line, exit
 * codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/tombola-verbs-XXXXXX";
static char output[32768]; /* output of the last command, both streams */

static int run(const char *arguments)
{
	char command[1024];
	size_t n;
	FILE *f;
	int status;

	(void)snprintf(command, sizeof command, "cd %s && " CLIENT " %s 2>&1", dir, arguments);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(output, 1, sizeof output - 1, f);
	output[n] = '\0';
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(const char *arguments, int code, const char *text)
{
	int got = run(arguments);

	if (got != code || !strstr(output, text))
		print_error("tombola-client %s: exit %d, not %d, or without '%s':\n%s\n", arguments, got,
			code, text, output);
	assert_int_equal(got, code);
	assert_non_null(strstr(output, text));
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Write a whole configuration with `more` behind it. */
static void configure(const char *more)
{
	char text[2048];

	(void)snprintf(text, sizeof text,
		"shuffler = \"127.0.0.1:1\";\nstate_dir = \"state\";\npopulation = \"p\";\n"
		"policy = \"policy.conf\";\nanalyzer_key = \"pki/client/analyzer-sign.pub\";\n"
		"shuffler_key = \"pki/client/shuffler-sign.pub\";\n"
		"tls = { cert = \"pki/client/client.crt\"; key = \"pki/client/client.key\";\n"
		"  services_ca = \"pki/client/services-ca.crt\"; };\n%s\n",
		more);
	put("client.conf", text);
}

static int make(void **state)
{
	char command[256];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(
		command, sizeof command, TOMBOLA " pki init %s/pki --hosts localhost >%s/log 2>&1", dir, dir);
	if (system(command) != 0)
		return -1;
	put("policy.conf", "population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;\n"
			   "honest_fraction = 1.0; colluders = 0; min_batch = 100;\n");
	put("readings.csv", "device,field\na,1\n");
	return 0;
}

static int unmake(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command) == 0 ? 0 : -1;
}

static void every_verb_has_help_and_the_program_a_version(void **state)
{
	static const char *const verb[] = { "run", "send", "encode", "status", "check", "check-config",
		"config-sample" };

	(void)state;
	expect("--version", 0, "tombola-client ");
	expect("--help", 0, "Takes part in rounds");
	for (size_t i = 0; i < sizeof verb / sizeof verb[0]; i++) {
		char arguments[64];

		(void)snprintf(arguments, sizeof arguments, "%s --help", verb[i]);
		expect(arguments, 0, verb[i]);
	}
}

static void bad_usage_is_64(void **state)
{
	(void)state;
	configure("");
	expect("", 64, "Usage");
	expect("frobnicate", 64, "frobnicate");
	expect("-c client.conf send", 64, "send");
	expect("-c client.conf send readings.csv --limit 0", 64, "--limit");
	expect("-c client.conf send readings.csv --wait 3x", 64, "--wait");
	expect("-c client.conf send readings.csv --wait 60", 64, "--wait: '60' is no duration");
	expect("-c client.conf send readings.csv --wait 0s", 64, "--wait");
	expect("-c client.conf send readings.csv --wait 8d", 64, "--wait");
	expect("-c client.conf send readings.csv --format xml", 64, "--format");
	expect("-c client.conf send policy.conf", 64, "tells no format");
	expect("-c client.conf send - --format csv --rounds 2 </dev/null", 64, "--rounds needs a file");
	expect("-c client.conf encode readings.csv", 64, "--dry-run");
}

static void missing_files_are_66(void **state)
{
	(void)state;
	configure("");
	expect("-c nothing.conf run", 66, "nothing.conf");
	expect("-c client.conf send nothing.csv", 66, "nothing.csv: No such file");
	expect("-c client.conf status", 66, "client.db");
}

static void configuration_faults_are_78_and_name_their_lines(void **state)
{
	(void)state;
	configure("");
	expect("-c client.conf check-config", 0, "valid");
	expect("-c client.conf run", 78, "needs input.path");
	configure("conections = 2;\nframe_devices = 0;");
	expect("-c client.conf check-config", 78, "client.conf:9: unknown key 'conections'");
	assert_non_null(strstr(output, "client.conf:10: "));
	configure("input = { path = \"x\"; };");
	expect("-c client.conf check-config", 78, "client.conf:9: input.path does not tell its format");
	put("policy.conf", "population = \"q\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;\n"
			   "honest_fraction = 1.0; colluders = 0; min_batch = 100;\n");
	configure("");
	expect("-c client.conf check-config", 78, "policy.conf:1: population is not 'p'");
	put("policy.conf", "population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;\n"
			   "honest_fraction = 1.0; colluders = 0;");
	expect("-c client.conf check-config", 78, "min_batch");
	assert_null(strstr(output, "tombola-client:")); /* each fault is said once */
	configure("conections = 2;");
	expect("-c client.conf check-config", 78, "min_batch");
	assert_non_null(strstr(output, "conections"));
	put("policy.conf",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;\n"
		"honest_fraction = 1.0; colluders = 0; min_batch = 100; protocols = [ \"grrr\" ];\n");
	configure("http = \"8.8.8.8:80\";");
	expect("-c client.conf check-config", 78, "policy.conf:2: no protocol is called 'grrr'");
	assert_non_null(strstr(output, "client.conf:9: HTTP address '8.8.8.8:80' is not a loopback"));
	put("policy.conf", "population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;\n"
			   "honest_fraction = 1.0; colluders = 0; min_batch = 100;\n");
}

static void a_shuffler_that_is_not_there_is_69(void **state)
{
	(void)state;
	configure("");
	expect("-c client.conf send readings.csv --wait 500ms", 69, "127.0.0.1:1: cannot connect");
	assert_null(strstr(output, "\"connected\""));
	expect("-c client.conf encode --dry-run readings.csv --wait 300ms", 69, "cannot connect");
}

static void check_speaks_to_monitoring(void **state)
{
	(void)state;
	configure("http = \"\";");
	expect("-c client.conf check", 0, "OK ");
	configure("http = \"127.0.0.1:1\";");
	expect("-c client.conf check", 2, "CRITICAL ");
	expect("-c client.conf check --json", 2, "\"status\":\"CRITICAL\"");
	configure("http = \"\";");
	expect("-c client.conf check --warn-cert 91d", 1, "WARNING ");
	expect("-c client.conf check --warn-spent 50%", 0, "certificate 89 d left");
	expect("-c client.conf check --warn-spent 50x", 64, "--warn-spent");
}

static void the_samples_name_every_key(void **state)
{
	static const char *const key[] = { "shuffler", "state_dir", "population", "analyzer_key",
		"shuffler_key", "policy", "services_ca", "services_crl", "device_field", "connections",
		"frame_devices", "spread", "http" };

	(void)state;
	for (size_t i = 0; i < sizeof key / sizeof key[0]; i++)
		expect("config-sample", 0, key[i]);
	expect("config-sample policy", 0, "max_epsilon0");
	expect("config-sample other", 64, "config-sample");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_has_help_and_the_program_a_version),
		cmocka_unit_test(bad_usage_is_64),
		cmocka_unit_test(missing_files_are_66),
		cmocka_unit_test(configuration_faults_are_78_and_name_their_lines),
		cmocka_unit_test(a_shuffler_that_is_not_there_is_69),
		cmocka_unit_test(check_speaks_to_monitoring),
		cmocka_unit_test(the_samples_name_every_key),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
