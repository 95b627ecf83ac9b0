/* test_pki_verbs.c - the verbs of `tombola pki` and their exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];

/* Exit code of `tombola ARGS` run in the test's directory; output goes to files out and err there. */
static int run(const char *args)
{
	char command[1024];
	int status;

	(void)snprintf(command, sizeof command, "cd '%s' && '%s' %s >out 2>err", root, TOMBOLA, args);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int exists(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static size_t count_lines(const char *name)
{
	char path[256];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	f = fopen(path, "r");
	assert_non_null(f);
	for (int c; (c = fgetc(f)) != EOF;)
		n += c == '\n';
	assert_int_equal(fclose(f), 0);
	return n;
}

static int contains(const char *name, const char *words)
{
	char path[256], text[4096] = "";
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s", root, name);
	f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	assert_int_equal(fclose(f), 0);
	return strstr(text, words) != NULL;
}

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof root, "/tmp/tombola-verbs-XXXXXX");
	return mkdtemp(root) && run("pki init d --devices 5") == 0 ? 0 : -1;
}

static int drop_root(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -r '%s'", root);
	return system(command);
}

static void wrong_command_lines_exit_64(void **state)
{
	static const char *const lines[] = { "", "pki", "pki nonsense", "pki init", "pki init e f",
		"pki init e --devices 0", "pki init e --devices x", "pki init e --devices 10000001",
		"pki init e --hosts 'a b'", "pki issue d x", "pki issue d x --role king",
		"pki issue d --role client", "pki issue d x --role client --days 0",
		"pki issue d x --role client --days 4000", "pki issue d x --role analyzer --devices 2",
		"pki issue d x --role client --hosts h", "pki show", "pki needs-renewal",
		"pki needs-renewal d/client/client.crt --within 3x",
		"pki needs-renewal d/client/client.crt --within d", "pki revoke d",
		"pki revoke d d/ca-clients/ca.crt", "pki renew d", "pki renew d d/ca-clients/ca.crt",
		"pki request x", "pki request --role client", "pki request x --role king",
		"pki request ../x --role client", "pki sign d", "pki sign d x.csr",
		"pki sign d x.csr --role king", "pki sign d x.csr --role client --devices 0",
		"pki sign d x.csr --role client --days 4000", "pki sign d x.csr --role client --hosts h",
		"pki sign d x.csr --role analyzer --devices 2", "pki renew d d/client/client.crt --days 0",
		"pki renew d d/client/client.crt --days 4000" };

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (run(lines[i]) != 64)
			fail_msg("not 64: tombola %s", lines[i]);
	assert_false(exists("e"));
	assert_false(exists("d/x"));
}

static void faults_have_their_own_codes_and_one_line(void **state)
{
	(void)state;
	assert_int_equal(run("pki init d"), 73);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki show nothing"), 66);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki show d/client/client.key"), 65);
	assert_int_equal(run("pki issue nothing x --role client"), 66);
	assert_int_equal(run("pki init other"), 0);
	assert_int_equal(run("pki revoke d other/client/client.crt"), 77);
	assert_int_equal(count_lines("err"), 1);
}

static void needs_renewal_answers_by_exit_code(void **state)
{
	(void)state;
	assert_int_equal(run("pki needs-renewal d/client/client.crt"), 1);
	assert_int_equal(run("pki needs-renewal d/client/client.crt --within 89d"), 1);
	assert_int_equal(run("pki needs-renewal d/client/client.crt --within 91d"), 0);
	assert_int_equal(run("pki needs-renewal --within 2190h d/client/client.crt"), 0);
	assert_int_equal(run("pki needs-renewal d/nothing"), 2);
	assert_int_equal(run("pki needs-renewal d/client/client.key"), 65);
}

static void an_issued_party_has_what_it_needs(void **state)
{
	(void)state;
	assert_int_equal(run("pki issue d gw-1 --role client --devices 7"), 0);
	assert_true(exists("d/gw-1/gw-1.key") && exists("d/gw-1/services-ca.crt") &&
		    exists("d/gw-1/analyzer-sign.pub") && exists("d/gw-1/shuffler-sign.pub"));
	assert_int_equal(run("pki issue d gw-1 --role client"), 73);
	assert_int_equal(run("pki issue d s2 --role shuffler --hosts s2.example --out elsewhere"), 0);
	assert_true(exists("elsewhere/s2.crt") && exists("elsewhere/clients-ca.crt"));
	assert_false(exists("d/s2"));
	assert_int_equal(run("pki revoke d d/gw-1/gw-1.crt"), 0);
	assert_true(exists("d/shuffler/clients-ca.crl"));
}

static void a_renewed_certificate_is_beside_the_old_one_or_where_it_is_said(void **state)
{
	(void)state;
	assert_int_equal(run("pki issue d gw-2 --role client --devices 7"), 0);
	assert_int_equal(run("pki renew d d/gw-2/gw-2.crt"), 0);
	assert_true(exists("d/gw-2/gw-2-renewed.crt"));
	assert_false(exists("d/gw-2/gw-2-renewed.key"));
	assert_int_equal(run("pki needs-renewal d/gw-2/gw-2-renewed.crt --within 91d"), 0);
	/* A certificate is not written twice to one place, and never over the old one. */
	assert_int_equal(run("pki renew d d/gw-2/gw-2.crt"), 73);
	assert_int_equal(run("pki renew d d/gw-2/gw-2.crt --out d/gw-2/gw-2.crt"), 73);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki renew d d/gw-2/gw-2.crt --days 200 --out again"), 0);
	assert_int_equal(run("pki needs-renewal again --within 199d"), 1);
	assert_int_equal(run("pki renew d again"), 0);
	assert_true(exists("again-renewed.crt"));
	assert_int_equal(run("pki revoke d d/gw-2/gw-2.crt"), 0);
	assert_true(contains("out", "gw-2.crt: revoked, with 3 others of its key;"));
	assert_int_equal(run("pki renew d again --out other.crt"), 77);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki renew d nothing"), 66);
	assert_int_equal(run("pki renew d d/gw-2/gw-2.key"), 65);
	assert_false(exists("other.crt") || exists("nothing-renewed.crt"));
}

static void requests_are_signed_by_the_folder_and_refusals_are_said(void **state)
{
	char path[256];
	int fd;

	(void)state;
	for (const char *name = "gw-b\0gw-a\0gw-c\0"; *name != '\0'; name += strlen(name) + 1) {
		char line[64];

		(void)snprintf(line, sizeof line, "pki request %s --role client --out asked", name);
		assert_int_equal(run(line), 0);
	}
	assert_true(contains("out", "asked/gw-c.key stays here") &&
		    contains("out", "pki sign DIR gw-c.csr --role client"));
	assert_int_equal(run("pki request gw-b --role client --out asked"), 73);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki request gw-d --role analyzer --out asked"), 0);
	assert_true(exists("asked/analyzer-sign.key") && exists("asked/analyzer-sign.pub"));
	/* One refusal, and three certificates with what their parties need. */
	assert_int_equal(run("pki sign d asked --role client --devices 3 --out given"), 77);
	assert_int_equal(count_lines("err"), 1);
	assert_true(contains("err", "asked/gw-d.csr: it asks for role analyzer, and --role says client"));
	assert_int_equal(count_lines("out"), 4);
	assert_true(contains("out", "given/gw-a.crt: client for 90 days\ngiven/gw-b.crt: client for 90 days\n"
				    "given/gw-c.crt: client for 90 days\n3 signed, 1 refused\n"));
	assert_true(exists("given/services-ca.crt") && exists("given/shuffler-sign.pub"));
	assert_false(exists("given/gw-d.crt") || exists("given/gw-a.key"));
	/* It is written beside the request, if there is no folder to set up; and not a second time. */
	assert_int_equal(run("pki sign d asked/gw-d.csr --role analyzer"), 0);
	assert_true(exists("asked/gw-d.crt"));
	assert_false(exists("asked/services-ca.crt"));
	assert_int_equal(run("pki sign d asked/gw-d.csr asked --role client"), 77);
	assert_int_equal(count_lines("err"), 5);
	assert_int_equal(run("pki revoke d given/gw-a.crt"), 0);
	assert_int_equal(run("pki sign d nothing.csr --role client"), 66);
	assert_int_equal(run("pki sign d d --role client"), 66);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(run("pki sign nothing asked --role client"), 66);
	/* One process at a time: another has the lock. */
	(void)snprintf(path, sizeof path, "%s/d/ca-clients/lock", root);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(run("pki sign d asked --role client"), 75);
	assert_int_equal(count_lines("err"), 1);
	assert_int_equal(close(fd), 0);
}

static void show_speaks_json(void **state)
{
	char path[256];
	json_error_t why;
	json_t *doc;

	(void)state;
	assert_int_equal(run("pki show --json d/client/client.crt"), 0);
	(void)snprintf(path, sizeof path, "%s/out", root);
	doc = json_load_file(path, 0, &why);
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "schema")), "tombola.certificate/1");
	assert_string_equal(json_string_value(json_object_get(doc, "role")), "client");
	assert_int_equal(json_integer_value(json_object_get(doc, "devices")), 5);
	assert_true(json_is_false(json_object_get(doc, "ca")));
	assert_string_equal(json_string_value(json_object_get(doc, "hosts")), "");
	json_decref(doc);
	assert_int_equal(run("pki show d/analyzer/analyzer.crt"), 0);
	assert_int_equal(run("version"), 0);
	assert_int_equal(run("--version"), 0);
	assert_int_equal(run("--help"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_command_lines_exit_64),
		cmocka_unit_test(faults_have_their_own_codes_and_one_line),
		cmocka_unit_test(needs_renewal_answers_by_exit_code),
		cmocka_unit_test(an_issued_party_has_what_it_needs),
		cmocka_unit_test(a_renewed_certificate_is_beside_the_old_one_or_where_it_is_said),
		cmocka_unit_test(requests_are_signed_by_the_folder_and_refusals_are_said),
		cmocka_unit_test(show_speaks_json),
	};

	return cmocka_run_group_tests(tests, make_root, drop_root);
}
