/* test_cl_program_file.c - scripts whose interpreter is missing, or would be missing in their cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cl_cell.h"
#include "cl_cell_root.h"
#include "cl_program_file.h"
#include "cr_hash.h"

static char script[] = "/tmp/tombola-script-XXXXXX";

/* Check a script with this interpreter; NULL: with itself, a file below /tmp that exists. */
static enum cm_rc open_with(const char *interpreter, int *fd, struct cm_err *err)
{
	uint8_t hash[CL_PROGRAM_HASH];
	char text[128];
	FILE *f = fopen(script, "w");
	bool timeless;

	assert_non_null(f);
	(void)snprintf(text, sizeof text, "#!%s -x\nnothing\n", interpreter ? interpreter : script);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	cr_sha256((const uint8_t *)text, strlen(text), hash);
	return cl_program_file_open(script, hash, fd, &timeless, err);
}

static int set_up(void **state)
{
	int fd = mkstemp(script);

	(void)state;
	return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(script);
}

static void a_script_without_its_interpreter_is_refused(void **state)
{
	struct cm_err err;
	int fd;

	(void)state;
	assert_int_equal(open_with("/nowhere/interpreter", &fd, &err), CM_EDATA);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.msg, script));
	assert_non_null(strstr(err.msg, "its first line names /nowhere/interpreter: No such file"));
	assert_int_equal(open_with("/bin/sh", &fd, &err), CM_OK);
	assert_int_equal(close(fd), 0);
}

/* Whether a root can be made for this program, in a process with mounts of its own.  2: there can be no such
 * process. */
static int rooted(int fd)
{
	uint32_t lacks = 0;
	pid_t pid = cl_cell_clone(&lacks);
	int status;

	if (pid == 0)
		_exit((lacks & CL_CELL_NAMESPACES) != 0 ? 2 : cl_cell_root(&fd, 1) ? 1 : 0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The folder /tmp is the root of the cell, so that what lies below it on the host is hidden. */
static void an_interpreter_that_the_cell_hides_makes_no_root(void **state)
{
	struct cm_err err;
	int fd;

	(void)state;
	assert_int_equal(open_with("/bin/sh", &fd, &err), CM_OK);
	if (rooted(fd) != 1) {
		print_message("a kernel that isolates in part\n");
		(void)close(fd);
		skip();
	}
	assert_int_equal(close(fd), 0);
	assert_int_equal(open_with(NULL, &fd, &err), CM_OK);
	assert_int_equal(rooted(fd), 0);
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_without_its_interpreter_is_refused),
		cmocka_unit_test(an_interpreter_that_the_cell_hides_makes_no_root),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
