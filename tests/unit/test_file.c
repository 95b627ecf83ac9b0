/* test_file.c - whole files: bounded reading, atomic replacement, locks. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_file.h"
#include "cm_lock.h"
#include "cm_owned.h"

static char dir[64];

static int syncs;
static bool die_at_sync;
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	syncs++;
	if (die_at_sync)
		(void)raise(SIGKILL);
	return __real_fsync(fd);
}

static const char *in_dir(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof dir, "/tmp/test_file.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[96];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf -- %s", dir);
	return system(command);
}

static void a_file_reads_back_as_written(void **state)
{
	static uint8_t bytes[200000];
	struct cm_err err = { 0 };
	struct cm_buf b;
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	cm_buf_init(&b, sizeof bytes);
	assert_int_equal(cm_file_write(in_dir("a"), bytes, sizeof bytes, 0640, &err), CM_OK);
	assert_int_equal(cm_file_read(in_dir("a"), sizeof bytes, &b, &err), CM_OK);
	assert_int_equal(b.len, sizeof bytes);
	assert_memory_equal(b.data, bytes, sizeof bytes);
	assert_int_equal(stat(in_dir("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	cm_buf_fini(&b);
}

static void replacing_leaves_no_other_file_behind(void **state)
{
	struct cm_err err = { 0 };
	struct cm_buf b;

	(void)state;
	assert_int_equal(cm_file_write(in_dir("a"), "old", 3, 0600, &err), CM_OK);
	assert_int_equal(cm_file_write(in_dir("a"), "newer", 5, 0600, &err), CM_OK);
	cm_buf_init(&b, 100);
	assert_int_equal(cm_file_read(in_dir("a"), 100, &b, &err), CM_OK);
	assert_int_equal(b.len, 5);
	cm_buf_fini(&b);
	assert_int_equal(unlink(in_dir("a")), 0);
	/* Only an empty folder can be removed. */
	assert_int_equal(rmdir(dir), 0);
}

static void a_write_that_fails_leaves_the_old_file_and_no_other(void **state)
{
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
	assert_int_equal(cm_file_write(in_dir("sub"), "x", 1, 0600, &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, in_dir("sub")));
	assert_int_equal(rmdir(in_dir("sub")), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(cm_file_write(in_dir("none/a"), "x", 1, 0600, &err), CM_ECREATE);
}

static void kill_in_the_middle_of_a_write(void)
{
	struct cm_err err = { 0 };
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		die_at_sync = true;
		_exit(cm_file_write(in_dir("a"), "newer", 5, 0600, &err) == CM_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void what_a_killed_writer_left_is_swept_and_nothing_else(void **state)
{
	const char *others[] = { "ledger.backup", "a", "x.tmp-12345", "x.tmp-1234567" };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(cm_file_write(in_dir(others[i]), "old", 3, 0600, &err), CM_OK);
	kill_in_the_middle_of_a_write();
	assert_int_not_equal(rmdir(dir), 0);
	assert_int_equal(cm_file_sweep(dir, &err), CM_OK);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(unlink(in_dir(others[i])), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(cm_file_sweep(dir, &err), CM_OK);
}

struct seen {
	size_t n, stop; /* entries so far; at which to stop */
	unsigned names; /* a bit for each of "a", ".b", "c" */
};

static enum cm_rc see(void *user, const char *name, struct cm_err *err)
{
	struct seen *s = user;

	s->n++;
	s->names |= strcmp(name, "a") == 0    ? 1u
		    : strcmp(name, ".b") == 0 ? 2u
		    : strcmp(name, "c") == 0  ? 4u
					      : 8u;
	return s->n == s->stop ? cm_fail(err, CM_EBUDGET, "enough") : CM_OK;
}

static void each_entry_is_seen_once_until_one_ends_it(void **state)
{
	static const char *const names[] = { "a", ".b", "c" };
	struct seen all = { 0 }, some = { .stop = 2 }, none = { 0 };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cm_file_write(in_dir(names[i]), "x", 1, 0600, &err), CM_OK);
	assert_int_equal(cm_file_each(dir, see, &all, &err), CM_OK);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.names, 7);
	assert_int_equal(cm_file_each(dir, see, &some, &err), CM_EBUDGET);
	assert_int_equal(some.n, 2);
	assert_int_equal(cm_file_each(in_dir("d"), see, &none, &err), CM_OK);
	assert_int_equal(cm_file_each(in_dir("a"), see, &none, &err), CM_EIO);
	assert_non_null(strstr(err.msg, in_dir("a")));
	assert_int_equal(none.n, 0);
}

static void a_file_of_exactly_the_maximum_is_read_and_one_more_byte_refused(void **state)
{
	struct cm_err err = { 0 };
	struct cm_buf b;

	(void)state;
	assert_int_equal(cm_file_write(in_dir("a"), "12345", 5, 0600, &err), CM_OK);
	cm_buf_init(&b, 100);
	assert_int_equal(cm_file_read(in_dir("a"), 5, &b, &err), CM_OK);
	assert_int_equal(b.len, 5);
	assert_int_equal(cm_file_read(in_dir("a"), 4, &b, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "longer than 4 bytes"));
	assert_int_equal(cm_file_write(in_dir("e"), "", 0, 0600, &err), CM_OK);
	cm_buf_drop(&b, b.len);
	assert_int_equal(cm_file_read(in_dir("e"), 0, &b, &err), CM_OK);
	assert_int_equal(b.len, 0);
	cm_buf_fini(&b);
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
	struct cm_err err = { 0 };
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 100);
	assert_int_equal(cm_file_read(in_dir("none"), 100, &b, &err), CM_ENOINPUT);
	assert_non_null(strstr(err.msg, in_dir("none")));
	assert_int_equal(cm_file_read(dir, 100, &b, &err), CM_EDATA);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(cm_file_read(in_dir("fifo"), 100, &b, &err), CM_EDATA);
	assert_int_equal(cm_file_read("/dev/zero", 100, &b, &err), CM_EDATA);
	cm_buf_fini(&b);
}

static void a_folder_is_made_once_and_only_below_one_that_exists(void **state)
{
	struct cm_err err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(cm_file_mkdir(in_dir("d"), &err), CM_OK);
	assert_int_equal(stat(in_dir("d"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* An earlier process may have been killed after making the folder and before syncing its parent. */
	syncs = 0;
	assert_int_equal(cm_file_mkdir(in_dir("d"), &err), CM_OK);
	assert_int_equal(syncs, 1);
	assert_int_equal(cm_file_mkdir(in_dir("x/y"), &err), CM_ECREATE);
	assert_int_equal(cm_file_write(in_dir("f"), "", 0, 0600, &err), CM_OK);
	assert_int_equal(cm_file_mkdir(in_dir("f"), &err), CM_ECREATE);
	assert_int_equal(cm_file_sync_dir(in_dir("none"), &err), CM_EIO);
}

static void joining_puts_exactly_one_slash(void **state)
{
	char *a = cm_file_join("/a", "b"), *b = cm_file_join("/a/", "b"), *c = cm_file_join("/", "b");

	(void)state;
	assert_string_equal(a, "/a/b");
	assert_string_equal(b, "/a/b");
	assert_string_equal(c, "/b");
	free(a);
	free(b);
	free(c);
}

static uid_t us; /* what geteuid says; 0: the truth */

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

uid_t __wrap_geteuid(void)
{
	return us != 0 ? us : __real_geteuid();
}

static void a_state_folder_is_ours_alone_or_roots(void **state)
{
	char *path = strdup(in_dir("state"));
	struct cm_err err = { 0 };

	(void)state;
	assert_non_null(path);
	assert_int_equal(mkdir(path, 0700), 0);
	/* Make the folder another user's: root gives it away, other users pretend to be somebody else. */
	us = __real_geteuid() == 0 ? 0 : __real_geteuid() + 1;
	if (us == 0)
		assert_int_equal(chown(path, 4712, (gid_t)-1), 0);
	assert_int_equal(cm_lock_take(path, NULL, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "belongs to user"));
	us = 0;
	assert_int_equal(chown(path, geteuid(), (gid_t)-1), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(chmod(path, i ? 0702 : 0720), 0);
		assert_int_equal(cm_lock_take(path, NULL, &err), CM_EPERM);
		assert_non_null(strstr(err.msg, "others may write to"));
	}
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(cm_lock_take(path, NULL, &err), CM_OK);
	assert_int_equal(mkfifo(in_dir("no-folder"), 0600), 0);
	assert_int_equal(cm_owned_state(in_dir("no-folder"), &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "not a folder"));
	free(path);
}

static void a_second_process_is_told_who_has_the_folder(void **state)
{
	struct cm_err err = { 0 };
	int status;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* A process that ends frees its lock: the folder is free again. */
		_exit(cm_lock_take(dir, NULL, &err) == CM_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(cm_lock_take(dir, NULL, &err), CM_OK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool told = cm_lock_take(dir, NULL, &err) == CM_ELATER &&
			    strstr(err.msg, "another test_file") && strstr(err.msg, dir);

		_exit(told ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* The lock holds even if somebody removed its file as left over. */
	assert_int_equal(unlink(in_dir("lock")), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(cm_lock_take(dir, NULL, &err) == CM_ELATER && strstr(err.msg, dir) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(cm_lock_take(in_dir("none"), NULL, &err), CM_ECREATE);
	/* The process that has it may take it again, and has it still. */
	assert_int_equal(cm_lock_take(dir, NULL, &err), CM_OK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(cm_lock_take(dir, NULL, &err) == CM_ELATER ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int locked_as(const char *party)
{
	struct cm_err err = { 0 };
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit((int)cm_lock_take(dir, party, &err));
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

/* Two parties may not use one folder, even one after the other; a lock file without contents stops nobody. */
static void a_folder_has_one_party(void **state)
{
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(cm_lock_check(dir, "client", &err), CM_OK);
	assert_int_equal(locked_as("analyzer"), CM_OK);
	assert_int_equal(locked_as("client"), CM_ECONFIG);
	assert_int_equal(locked_as("analyzer"), CM_OK);
	assert_int_equal(cm_lock_check(dir, "analyzer", &err), CM_OK);
	assert_int_equal(cm_lock_check(dir, "client", &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "state folder of the analyzer: each party needs its own"));
	assert_int_equal(
		cm_file_write(in_dir("lock"), "tombola-analyzer (process 1)", 28, 0600, &err), CM_OK);
	assert_int_equal(locked_as("client"), CM_OK);
	assert_int_equal(unlink(in_dir("lock")), 0);
	assert_int_equal(locked_as("shuffler"), CM_OK);
}

static void a_full_disk_does_not_keep_the_lock_from_being_taken(void **state)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct cm_err err = { 0 };
	int status;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &none) != 0)
			_exit(2);
		_exit(cm_lock_take(dir, NULL, &err) == CM_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A file that cannot be opened for want of descriptors is there: a later start may read it. */
static void want_of_descriptors_is_no_missing_file(void **state)
{
	struct rlimit before, none;
	struct cm_err err = { 0 };
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 10);
	assert_int_equal(cm_file_write(in_dir("there"), "x", 1, 0600, &err), CM_OK);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	enum cm_rc rc = cm_file_read(in_dir("there"), 10, &b, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, CM_EINTERNAL);
	assert_int_equal(cm_file_open_code(ENOMEM), CM_EINTERNAL);
	assert_int_equal(cm_file_open_code(EACCES), CM_EPERM);
	assert_int_equal(cm_file_open_code(ENOENT), CM_ENOINPUT);
	cm_buf_fini(&b);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(a_file_reads_back_as_written),
		IN_DIR(replacing_leaves_no_other_file_behind),
		IN_DIR(a_write_that_fails_leaves_the_old_file_and_no_other),
		IN_DIR(what_a_killed_writer_left_is_swept_and_nothing_else),
		IN_DIR(each_entry_is_seen_once_until_one_ends_it),
		IN_DIR(a_file_of_exactly_the_maximum_is_read_and_one_more_byte_refused),
		IN_DIR(what_is_no_regular_file_is_refused_without_waiting),
		IN_DIR(a_folder_is_made_once_and_only_below_one_that_exists),
		IN_DIR(joining_puts_exactly_one_slash),
		IN_DIR(a_state_folder_is_ours_alone_or_roots),
		IN_DIR(a_folder_has_one_party),
		IN_DIR(a_second_process_is_told_who_has_the_folder),
		IN_DIR(a_full_disk_does_not_keep_the_lock_from_being_taken),
		IN_DIR(want_of_descriptors_is_no_missing_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
