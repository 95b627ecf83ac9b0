/* test_conf_files.c - configuration as files: paths, credentials, includes, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cf_conf.h"
#include "cm_file.h"
#include "conf_rows.h"

struct folder {
	char path[64];
};

static void write_text(const struct folder *f, const char *name, const char *text)
{
	char *path = cm_file_join(f->path, name);
	struct cm_err err = { 0 };

	assert_non_null(path);
	assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	free(path);
}

static enum cm_rc load(const struct folder *f, struct conf *c, struct cm_err *err)
{
	char *path = cm_file_join(f->path, "main.conf");
	enum cm_rc rc;

	assert_non_null(path);
	memset(c, 0, sizeof *c);
	rc = cf_load(path, rows, c, NULL, NULL, err);
	free(path);
	return rc;
}

static int make_folder(void **state)
{
	struct folder *f = malloc(sizeof *f);

	if (!f)
		return -1;
	(void)snprintf(f->path, sizeof f->path, "/tmp/test_conf.XXXXXX");
	*state = f;
	return mkdtemp(f->path) ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;
	char command[128];
	int rc;

	(void)snprintf(command, sizeof command, "rm -r -- %s", f->path);
	rc = system(command);
	free(f);
	return rc;
}

static void a_missing_file_names_the_sample(void **state)
{
	struct conf c;
	struct cm_err err = { 0 };

	assert_int_equal(load(*state, &c, &err), CM_ENOINPUT);
	assert_non_null(strstr(err.msg, "/main.conf: cannot open: No such file"));
	assert_non_null(strstr(err.msg, "config-sample"));
	cf_free(rows, &c);
}

static void relative_paths_are_taken_from_the_files_folder(void **state)
{
	struct folder *f = *state;
	char want[128];
	struct conf c;
	struct cm_err err = { 0 };

	write_text(f, "main.conf", "min_batch = 1\nplan = \"sub/plan.conf\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	(void)snprintf(want, sizeof want, "%s/sub/plan.conf", f->path);
	assert_string_equal(c.plan, want);
	cf_free(rows, &c);
}

static void a_credential_is_a_file_that_the_service_manager_passes(void **state)
{
	struct folder *f = *state;
	struct conf c;
	struct cm_err err = { 0 };

	(void)unsetenv("CREDENTIALS_DIRECTORY");
	write_text(f, "main.conf", "min_batch = 1\nplan = \"credential:plan\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.plan, "credential:plan");
	cf_free(rows, &c);
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials/a.service", 1), 0);
	write_text(f, "main.conf", "min_batch = 1\nplan = \"credential:plan\"\nlisten = \"credential:plan\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.plan, "/run/credentials/a.service/plan");
	assert_string_equal(c.listen, "credential:plan"); /* no path */
	cf_free(rows, &c);
	REFUSED("min_batch = 1\nplan = \"credential:\"", "b.cfg:2: credential:NAME expected for 'plan'");
	REFUSED("min_batch = 1\nplan = \"credential:../a\"", "b.cfg:2: credential:NAME expected for 'plan'");
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void faults_in_an_included_file_name_that_file(void **state)
{
	struct folder *f = *state;
	char want[256];
	struct conf c;
	struct cm_err err = { 0 };

	write_text(f, "main.conf", "@include \"more.conf\"\nmin_batch = 1");
	write_text(f, "more.conf", "# comment\nlisten = 1");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	(void)snprintf(want, sizeof want, "%s/more.conf:2: string expected for 'listen'", f->path);
	assert_string_equal(err.msg, want);
	cf_free(rows, &c);
	write_text(f, "more.conf", "\n\nlisten = ]");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	(void)snprintf(want, sizeof want, "%s/more.conf:3: syntax error at or before 'listen'", f->path);
	assert_string_equal(err.msg, want);
	write_text(f, "more.conf", "listen = \"here\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.listen, "here");
	cf_free(rows, &c);
}

static void an_include_that_is_no_file_or_never_ends_is_refused(void **state)
{
	struct folder *f = *state;
	struct conf c;
	struct cm_err err = { 0 };
	char fifo[128];

	write_text(f, "main.conf", "min_batch = 1\n@include \"none.conf\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf:2: "));
	assert_non_null(strstr(err.msg, "none.conf: cannot open"));
	write_text(f, "main.conf", "min_batch = 1\n  @include \".\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "not a regular file"));
	(void)snprintf(fifo, sizeof fifo, "%s/fifo", f->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	write_text(f, "main.conf", "min_batch = 1\n@include \"fifo\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "not a regular file"));
	write_text(f, "main.conf", "@include \"main.conf\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "too many includes (at most 64 files, 8 deep)"));
	write_text(f, "main.conf", "@include main.conf");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf:1: @include wants one file name"));
}

static void a_binary_file_is_refused(void **state)
{
	struct folder *f = *state;
	char *path = cm_file_join(f->path, "main.conf");
	struct conf c;
	struct cm_err err = { 0 };

	assert_int_equal(cm_file_write(path, "min_batch = 1\0x", 15, 0600, &err), CM_OK);
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf: not a text file"));
	free(path);
}

static void what_is_named_and_not_there_is_the_configurations_fault(void **state)
{
	static const struct {
		enum cm_rc before, after;
	} want[] = { { CM_OK, CM_OK }, { CM_ENOINPUT, CM_ECONFIG }, { CM_EDATA, CM_ECONFIG },
		{ CM_EPERM, CM_EPERM }, { CM_EINTERNAL, CM_EINTERNAL } };

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct cm_err err = { .code = want[i].before };

		assert_int_equal(cf_blamed(&err), want[i].after);
		assert_int_equal(err.code, want[i].after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_named_and_not_there_is_the_configurations_fault),
		cmocka_unit_test_setup_teardown(a_missing_file_names_the_sample, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			relative_paths_are_taken_from_the_files_folder, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_credential_is_a_file_that_the_service_manager_passes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			faults_in_an_included_file_name_that_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			an_include_that_is_no_file_or_never_ends_is_refused, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_binary_file_is_refused, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
