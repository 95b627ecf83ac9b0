/* test_tls_ctx.c - the files that TLS is made from: damaged, missing, open to others, and those of `pki
 * init`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "tls_ends.h"

/* ---- files ---- */

static void ctx_fails(const struct nt_tls_conf *conf, enum cm_rc rc, const char *path, const char *why)
{
	struct nt_tls_ctx *ctx;
	struct cm_err err = { .code = CM_OK };

	assert_int_equal(nt_tls_ctx_new(conf, &ctx, &err), rc);
	assert_null(ctx);
	if (!strstr(err.msg, path) || !strstr(err.msg, why) || strchr(err.msg, '\n'))
		fail_msg("wanted '%s' and '%s' in one line, got '%s'", path, why, err.msg);
}

static void a_missing_file_is_named(void **state)
{
	struct nt_tls_conf conf;

	(void)state;
	conf = server_conf("shuffler");
	conf.cert_file = file("nowhere", "crt");
	ctx_fails(&conf, CM_ENOINPUT, conf.cert_file, "No such file");
	conf = server_conf("shuffler");
	conf.key_file = file("nowhere", "key");
	ctx_fails(&conf, CM_ENOINPUT, conf.key_file, "no such file");
	conf = server_conf("shuffler");
	conf.trust[1].ca_file = file("nowhere", "ca");
	ctx_fails(&conf, CM_ENOINPUT, conf.trust[1].ca_file, "No such file");
	conf = server_conf("shuffler");
	conf.trust[0].crl_file = file("nowhere", "crl");
	ctx_fails(&conf, CM_ENOINPUT, conf.trust[0].crl_file, "No such file");
}

/* A daemon reads these on its loop when it is told to reload. */
static void a_pipe_is_refused_without_waiting(void **state)
{
	struct nt_tls_conf conf;

	(void)state;
	assert_int_equal(mkfifo(file("pipe", "pem"), 0600), 0);
	(void)alarm(300);
	conf = server_conf("shuffler");
	conf.cert_file = file("pipe", "pem");
	ctx_fails(&conf, CM_EDATA, conf.cert_file, "not a regular file");
	conf = server_conf("shuffler");
	conf.key_file = file("pipe", "pem");
	ctx_fails(&conf, CM_EPERM, conf.key_file, "not a regular file");
	conf = server_conf("shuffler");
	conf.trust[0].ca_file = file("pipe", "pem");
	ctx_fails(&conf, CM_EDATA, conf.trust[0].ca_file, "not a regular file");
	conf = server_conf("shuffler");
	conf.trust[0].crl_file = file("pipe", "pem");
	ctx_fails(&conf, CM_EDATA, conf.trust[0].crl_file, "not a regular file");
	(void)alarm(0);
}

static void a_file_of_garbage_is_named(void **state)
{
	struct nt_tls_conf conf;

	(void)state;
	certs_text(&certs, "garbage", "pem",
		"-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n");
	assert_int_equal(chmod(file("garbage", "pem"), 0600), 0);
	conf = server_conf("shuffler");
	conf.cert_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.cert_file, "not a PEM certificate");
	conf = server_conf("shuffler");
	conf.key_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.key_file, "not a PEM private key");
	conf = server_conf("shuffler");
	conf.trust[0].ca_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].ca_file, "not a file of PEM CA certificates");
	conf = server_conf("shuffler");
	conf.trust[0].crl_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].crl_file, "not a file of PEM revocation lists");
	/* A good certificate followed by a damaged one is not a good file. */
	certs_join(&certs, "half", "crt", file("clients", "crt"), file("garbage", "pem"));
	conf = server_conf("shuffler");
	conf.trust[0].ca_file = file("half", "crt");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].ca_file, "not a file of PEM CA certificates");
}

static void a_key_that_others_may_read_is_refused(void **state)
{
	static const mode_t mode[] = { 0604, 0640, 0644, 0602, 0666 };
	struct nt_tls_conf conf = server_conf("shuffler");

	(void)state;
	for (size_t i = 0; i < sizeof mode / sizeof mode[0]; i++) {
		assert_int_equal(chmod(conf.key_file, mode[i]), 0);
		ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	}
	assert_int_equal(chmod(conf.key_file, 0600), 0);
}

static uid_t us; /* what geteuid says; 0: the truth */

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

uid_t __wrap_geteuid(void)
{
	return us != 0 ? us : __real_geteuid();
}

static void a_key_of_another_user_is_refused(void **state)
{
	struct nt_tls_conf conf = server_conf("shuffler");
	struct nt_tls_ctx *ctx;
	struct cm_err err;

	(void)state;
	if (__real_geteuid() == 0) /* a file of root would be trusted for everybody */
		assert_int_equal(chown(conf.key_file, 4711, (gid_t)-1), 0);
	else
		us = __real_geteuid() + 1;
	ctx_fails(&conf, CM_EPERM, conf.key_file, "belongs to user");
	us = 0;
	assert_int_equal(chown(conf.key_file, geteuid(), (gid_t)-1), 0);
	if (nt_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	nt_tls_ctx_free(ctx);
}

static void a_passed_credential_may_be_read_through_an_access_list_and_no_further(void **state)
{
	struct nt_tls_conf conf = server_conf("shuffler");
	struct nt_tls_ctx *ctx;
	char folder[300];
	struct cm_err err;

	(void)state;
	(void)snprintf(folder, sizeof folder, "%s", conf.key_file);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
	assert_int_equal(chmod(conf.key_file, 0440), 0);
	if (nt_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	nt_tls_ctx_free(ctx);
	assert_int_equal(chmod(conf.key_file, 0444), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	assert_int_equal(chmod(conf.key_file, 0460), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	/* Only files in that folder count. */
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials", 1), 0);
	assert_int_equal(chmod(conf.key_file, 0440), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	assert_int_equal(chmod(conf.key_file, 0600), 0);
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void a_key_of_another_certificate_is_refused(void **state)
{
	struct nt_tls_conf conf = server_conf("shuffler");

	(void)state;
	conf.key_file = file("edge", "key");
	ctx_fails(&conf, CM_EPERM, conf.key_file, "does not belong to");
}

/* ---- the PKI that operators use ---- */

static void remove_tree(const char *dir)
{
	char command[256];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static void the_files_of_pki_init_work_together(void **state)
{
	char dir[] = "/tmp/tombola-pki-XXXXXX", pki[64], path[6][128];
	static const char *const name[] = { "shuffler/shuffler.crt", "shuffler/shuffler.key",
		"shuffler/clients-ca.crt", "shuffler/services-ca.crt", NULL, NULL };
	static const char *const party[] = { "client", "analyzer" };
	struct cm_err err = { .code = CM_OK };
	struct nt_tls_conf sc, cc;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(pki, sizeof pki, "%s/pki", dir);
	if (cr_pki_init(pki, "localhost", 1, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < 4; i++)
		(void)snprintf(path[i], sizeof path[i], "%s/%s", pki, name[i]);
	sc = (struct nt_tls_conf){ .server = true,
		.cert_file = path[0],
		.key_file = path[1],
		.trust = { { CR_ROLE_CLIENT, path[2], NULL }, { CR_ROLE_ANALYZER, path[3], NULL } } };
	for (size_t i = 0; i < 2; i++) {
		struct end c, s;

		(void)snprintf(path[4], sizeof path[4], "%s/%s/%s.crt", pki, party[i], party[i]);
		(void)snprintf(path[5], sizeof path[5], "%s/%s/%s.key", pki, party[i], party[i]);
		cc = (struct nt_tls_conf){ .cert_file = path[4],
			.key_file = path[5],
			.trust = { { CR_ROLE_SHUFFLER, path[3], NULL } } };
		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		if (s.rc != CM_OK || c.rc != CM_OK)
			fail_msg("%s: %s / %s", party[i], s.err.msg, c.err.msg);
		assert_string_equal(cr_role_name(nt_tls_peer(s.tls)->role), party[i]);
		end_fini(&c);
		end_fini(&s);
	}
	remove_tree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_pipe_is_refused_without_waiting),
		cmocka_unit_test(a_file_of_garbage_is_named),
		cmocka_unit_test(a_key_that_others_may_read_is_refused),
		cmocka_unit_test(a_key_of_another_user_is_refused),
		cmocka_unit_test(a_passed_credential_may_be_read_through_an_access_list_and_no_further),
		cmocka_unit_test(a_key_of_another_certificate_is_refused),
		cmocka_unit_test(the_files_of_pki_init_work_together),
	};

	return cmocka_run_group_tests(tests, ends_certs_make, ends_certs_drop);
}
