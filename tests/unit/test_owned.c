/* test_owned.c - who can change a file: owner, mode, folders above, links, sticky folders, groups. */
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_file.h"
#include "cm_lock.h"
#include "cm_owned.h"
#include "cr_private_file.h"

#define ANOTHER 4712u

static char dir[64];
static uid_t us;        /* what geteuid says; 0: the truth */
static char group[256]; /* what stands in /etc/group; "": the real file */
static char users[256]; /* the same for /etc/passwd */
static bool read_only;  /* every mount */

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __real_fstatvfs64(int fd, struct statvfs *out);
int __wrap_fstatvfs64(int fd, struct statvfs *out);

uid_t __wrap_geteuid(void)
{
	return us != 0 ? us : __real_geteuid();
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	if (*group && strcmp(path, "/etc/group") == 0)
		return fmemopen(group, strlen(group), "r");
	if (*users && strcmp(path, "/etc/passwd") == 0)
		return fmemopen(users, strlen(users), "r");
	return __real_fopen64(path, mode);
}

int __wrap_fstatvfs64(int fd, struct statvfs *out)
{
	int rc = __real_fstatvfs64(fd, out);

	if (rc == 0 && read_only)
		out->f_flag |= ST_RDONLY;
	return rc;
}

static const char *in_dir(const char *name)
{
	static char path[4][160];
	static unsigned i;

	i = (i + 1) % 4;
	(void)snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
	return path[i];
}

static void make(const char *name, mode_t mode)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, "x", 1) == 1 && fchmod(fd, mode) == 0);
	assert_int_equal(close(fd), 0);
}

static int begin(void **state)
{
	(void)state;
	us = 0;
	*group = *users = '\0';
	read_only = false;
	(void)unsetenv("TOMBOLA_TRUST_MOUNTS");
	(void)snprintf(dir, sizeof dir, "/tmp/test_owned.XXXXXX");
	if (!mkdtemp(dir) || mkdir(in_dir("a"), 0755) != 0 || mkdir(in_dir("a/b"), 0755) != 0)
		return -1;
	make("a/b/f", 0644);
	return 0;
}

static int end(void **state)
{
	char command[96];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf -- %s", dir);
	return system(command);
}

/* The result of a check through `path`: CM_OK, or what is wrong. */
static enum cm_rc look(const char *path, char said[320])
{
	struct cm_err err = { 0 };
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, 16);
	rc = cm_owned_read(path, 16, &b, &err);
	/* The check of a name alone says the same. */
	if (rc != CM_ENOINPUT)
		assert_int_equal(cm_owned_path(path, &err), rc);
	(void)snprintf(said, 320, "%s", rc == CM_OK ? "" : err.msg);
	cm_buf_fini(&b);
	return rc;
}

static void the_file_and_every_folder_above_it_are_judged(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} bad[] = { { "a/b/f", 0666 }, { "a/b/f", 0602 }, { "a/b", 0777 }, { "a", 0757 }, { "", 0702 } };
	char said[320], wanted[512];

	(void)state;
	assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct stat st;
		char *path = strdup(*bad[i].name ? in_dir(bad[i].name) : dir);

		assert_true(path && stat(path, &st) == 0 && chmod(path, bad[i].mode) == 0);
		assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
		(void)snprintf(wanted, sizeof wanted,
			"%s: others may write to this %s (mode %04o): chmod go-w it", path,
			i < 2 ? "file" : "folder", (unsigned)bad[i].mode);
		assert_memory_equal(said, wanted, strlen(wanted));
		assert_int_equal(strstr(said, "lies behind it") != NULL, i >= 2);
		/* In a folder with the sticky bit nobody else can exchange our files. */
		if (i >= 2) {
			assert_int_equal(chmod(path, bad[i].mode | S_ISVTX), 0);
			assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
		}
		assert_int_equal(chmod(path, st.st_mode & 07777), 0);
		free(path);
	}
	assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
}

static void it_belongs_to_us_or_root(void **state)
{
	char said[320], wanted[256];

	(void)state;
	if (__real_geteuid() != 0)
		skip();
	us = 4711; /* files of root are trusted, too */
	assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
	for (unsigned i = 0; i < 4; i++) {
		char *path = strdup(i == 0   ? in_dir("a/b/f")
				    : i == 1 ? in_dir("a/b")
				    : i == 2 ? in_dir("a")
					     : dir);

		assert_non_null(path);
		assert_int_equal(chown(path, us, (gid_t)-1), 0);
		assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
		assert_int_equal(chown(path, ANOTHER, (gid_t)-1), 0);
		assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
		(void)snprintf(wanted, sizeof wanted,
			"%s: belongs to user 4712, not to us (user 4711) or root: chown it", path);
		assert_memory_equal(said, wanted, strlen(wanted));
		/* A sticky folder of another user is not like /tmp: its owner can rename everything in it. */
		if (i > 0) {
			assert_int_equal(chmod(path, 01777), 0);
			assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
			assert_int_equal(chmod(path, 0755), 0);
		}
		assert_int_equal(chown(path, 0, (gid_t)-1), 0);
		free(path);
	}
	/* Root itself may run a check for a daemon of another user. */
	us = 0;
	assert_int_equal(chown(in_dir("a/b/f"), ANOTHER, (gid_t)-1), 0);
	assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
	assert_non_null(strstr(said, "or run this as that user, if the daemon does"));
}

static void links_are_judged_at_both_ends(void **state)
{
	char said[320];

	(void)state;
	assert_int_equal(mkdir(in_dir("links"), 0755), 0);
	assert_int_equal(symlink(in_dir("a/b/f"), in_dir("links/whole")), 0);
	assert_int_equal(symlink("../a/../a/b", in_dir("links/folder")), 0);
	assert_int_equal(symlink("whole", in_dir("links/twice")), 0);
	assert_int_equal(symlink("round", in_dir("links/round")), 0);
	for (unsigned i = 0; i < 3; i++) {
		char *path = strdup(in_dir(i == 0   ? "links/whole"
					   : i == 1 ? "links/folder/f"
						    : "links/twice"));

		assert_non_null(path);
		assert_int_equal(look(path, said), CM_OK);
		/* Both folders count: where the link stands, and where it leads. */
		assert_int_equal(chmod(in_dir("links"), 0777), 0);
		assert_int_equal(look(path, said), CM_EPERM);
		assert_non_null(strstr(said, "/links: others may write to this folder (mode 0777)"));
		assert_non_null(strstr(said, path));
		assert_int_equal(chmod(in_dir("links"), 0755), 0);
		assert_int_equal(chmod(in_dir("a"), 0777), 0);
		assert_int_equal(look(path, said), CM_EPERM);
		assert_non_null(strstr(said, "/a: others may write to this folder"));
		assert_int_equal(chmod(in_dir("a"), 0755), 0);
		assert_int_equal(chmod(in_dir("a/b/f"), 0666), 0);
		assert_int_equal(look(path, said), CM_EPERM);
		assert_non_null(strstr(said, "/a/b/f: others may write to this file"));
		assert_int_equal(chmod(in_dir("a/b/f"), 0644), 0);
		free(path);
	}
	assert_int_not_equal(look(in_dir("links/round"), said), CM_OK);
	/* In /tmp everybody may place a link to a file of ours. */
	if (__real_geteuid() == 0) {
		assert_int_equal(chmod(in_dir("links"), 01777), 0);
		assert_int_equal(look(in_dir("links/whole"), said), CM_OK);
		assert_int_equal(lchown(in_dir("links/whole"), ANOTHER, (gid_t)-1), 0);
		assert_int_equal(look(in_dir("links/whole"), said), CM_EPERM);
		assert_non_null(strstr(said, "/links/whole: belongs to user 4712"));
	}
}

static void what_was_opened_is_what_is_judged(void **state)
{
	int fd = open(in_dir("a/b/f"), O_RDONLY | O_CLOEXEC);
	struct cm_err err = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(cm_owned_check(in_dir("a/b/f"), fd, &err), CM_OK);
	make("a/b/new", 0644);
	assert_int_equal(rename(in_dir("a/b/new"), in_dir("a/b/f")), 0);
	assert_int_equal(cm_owned_check(in_dir("a/b/f"), fd, &err), CM_ELATER);
	assert_int_equal(close(fd), 0);
}

static void names_are_taken_from_the_working_folder(void **state)
{
	char said[320];

	(void)state;
	assert_int_equal(chdir(in_dir("a/b")), 0);
	assert_int_equal(look("f", said), CM_OK);
	assert_int_equal(look("../b/./f", said), CM_OK);
	assert_int_equal(chmod("f", 0646), 0);
	assert_int_equal(look("f", said), CM_EPERM);
	assert_string_equal(said, "f: others may write to this file (mode 0646): chmod go-w it");
	assert_int_equal(chmod("f", 0644), 0);
	assert_int_equal(chmod(in_dir("a"), 0777), 0);
	assert_int_equal(look("f", said), CM_EPERM);
	assert_non_null(strstr(
		said, "/a: others may write to this folder (mode 0777): chmod go-w it (f lies behind it)"));
	assert_int_equal(chdir("/"), 0);
}

/* A group may write if it has no members but us and root, like the groups that Debian gives each user. */
static void a_group_of_our_own_may_write(void **state)
{
	static const struct {
		const char *users, *group;
		int good;
	} row[] = {
		{ "root:x:0:0::/:\nus:x:4711:4711::/:\n", "us:x:4711:\n", 1 },
		{ "root:x:0:0::/:\nus:x:4711:4711::/:\n", "us:x:4711:us,root\n", 1 },
		{ "us:x:4711:100::/:\n", "team:x:4711:us\n", 0 }, /* nobody's first group */
		{ "us:x:4711:4711::/:\nb:x:5:5::/:\n", "us:x:4711:b\n", 0 },
		{ "us:x:4711:4711::/:\n", "us:x:4711:stranger\n", 0 }, /* who may come from elsewhere */
		{ "us:x:4711:4711::/:\nb:x:5:4711::/:\n", "us:x:4711:\n", 0 },
		{ "root:x:0:0::/:\nus:x:4711:4711::/:\n", "other:x:4712:\n", 0 },
		{ "us:x:4711:4711::/:\n", "us:x:4711:\nalso:x:4711:b\n", 0 },
		{ "root:x:0:0::/:\n", "us:x:4711:\n", 0 },
	};
	char said[320];

	(void)state;
	if (__real_geteuid() != 0)
		skip();
	us = 4711;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		(void)snprintf(users, sizeof users, "%s", row[i].users);
		(void)snprintf(group, sizeof group, "%s", row[i].group);
		for (unsigned folder = 0; folder < 2; folder++) {
			const char *name = folder ? "a" : "a/b/f";
			mode_t mode = folder ? 0775 : 0664;

			assert_int_equal(chown(in_dir(name), us, us), 0);
			assert_int_equal(chmod(in_dir(name), mode), 0);
			assert_int_equal(look(in_dir("a/b/f"), said), row[i].good ? CM_OK : CM_EPERM);
			assert_true(row[i].good || strstr(said, "): chmod g-w it"));
			/* Users outside the group never count as members. */
			assert_int_equal(chmod(in_dir(name), mode | 2), 0);
			assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
			assert_int_equal(chown(in_dir(name), 0, 0), 0);
			assert_int_equal(chmod(in_dir(name), folder ? 0755 : 0644), 0);
		}
	}
}

/* user::rw- user:4712:rw- group::r-- mask::rw- other::r--, as setfacl -m u:4712:rw writes it. */
static void an_access_list_gives_the_groups_bits_to_others(void **state)
{
	static const uint8_t list[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 0x68, 0x12, 0,
		0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255,
		255, 255 };
	char said[320];

	(void)state;
	(void)snprintf(users, sizeof users, "root:x:0:0::/:\nus:x:%u:%u::/:\n", (unsigned)getuid(),
		(unsigned)getgid());
	(void)snprintf(group, sizeof group, "us:x:%u:\n", (unsigned)getgid());
	assert_int_equal(chmod(in_dir("a/b/f"), 0664), 0);
	assert_int_equal(look(in_dir("a/b/f"), said), CM_OK);
	if (setxattr(in_dir("a/b/f"), "system.posix_acl_access", list, sizeof list, 0) != 0)
		skip();
	assert_int_equal(look(in_dir("a/b/f"), said), CM_EPERM);
}

static void a_read_only_mount_counts_where_somebody_says_so(void **state)
{
	char said[320];

	(void)state;
	assert_int_equal(chmod(in_dir("a/b/f"), 0666), 0);
	assert_int_equal(chmod(in_dir("a"), 0777), 0);
	for (unsigned i = 0; i < 6; i++) {
		read_only = i % 2 == 1;
		if (i >= 2)
			assert_int_equal(setenv("TOMBOLA_TRUST_MOUNTS", i < 4 ? "yes" : "read-only", 1), 0);
		assert_int_equal(look(in_dir("a/b/f"), said), i == 5 ? CM_OK : CM_EPERM);
	}
}

/* A secret as Kubernetes mounts it: root's, with the right to read for the group of the container's user. */
static void a_mounted_secret_may_be_its_own_groups(void **state)
{
	static const struct {
		mode_t mode;
		bool read_only, said, own_group, good;
	} row[] = {
		{ 0440, true, true, true, true },
		{ 0440, false, true, true, false },
		{ 0440, true, false, true, false },
		{ 0440, true, true, false, false },
		{ 0444, true, true, true, false },
		{ 0460, true, true, true, false },
		{ 0400, false, false, true, true },
	};
	uint8_t out[16];
	struct cm_err err;
	size_t n;

	(void)state;
	if (getuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		assert_int_equal(chown(in_dir("a/b/f"), 0, row[i].own_group ? getegid() : getegid() + 1), 0);
		assert_int_equal(chmod(in_dir("a/b/f"), row[i].mode), 0);
		read_only = row[i].read_only;
		if (row[i].said)
			assert_int_equal(setenv("TOMBOLA_TRUST_MOUNTS", "read-only", 1), 0);
		else
			assert_int_equal(unsetenv("TOMBOLA_TRUST_MOUNTS"), 0);
		assert_int_equal(cr_private_read(in_dir("a/b/f"), CR_SECRET, out, sizeof out, &n, &err),
			row[i].good ? CM_OK : CM_EPERM);
	}
}

static void a_state_folder_is_judged_with_what_is_above_and_in_it(void **state)
{
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(cm_owned_state(in_dir("a/none"), &err), CM_OK);
	assert_int_equal(cm_owned_state(in_dir("a/b/f"), &err), CM_ECREATE);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_OK);
	assert_int_equal(mkdir(in_dir("a/b/keys"), 0777), 0);
	assert_int_equal(chmod(in_dir("a/b/keys"), 0777), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "/a/b/keys: others may write to this folder (mode 0777)"));
	assert_int_equal(chmod(in_dir("a/b/keys"), 0700), 0);
	assert_int_equal(chmod(in_dir("a/b/f"), 0606), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_EPERM);
	assert_int_equal(chmod(in_dir("a/b/f"), 0600), 0);
	/* So is what lies deeper, and what a link in it leads to. */
	make("a/b/keys/k", 0602);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "/a/b/keys/k: others may write to this file (mode 0602)"));
	assert_int_equal(chmod(in_dir("a/b/keys/k"), 0600), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_OK);
	assert_int_equal(mkdir(in_dir("a/open"), 0777), 0);
	assert_int_equal(chmod(in_dir("a/open"), 0777), 0);
	assert_int_equal(symlink("../../open", in_dir("a/b/keys/rounds")), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "/open: others may write to this folder (mode 0777)"));
	assert_int_equal(rmdir(in_dir("a/open")), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_OK); /* it leads nowhere */
	/* Whoever may write to a folder above can put another file in its place, even before it exists. */
	assert_int_equal(chmod(in_dir("a"), 0777), 0);
	assert_int_equal(cm_owned_state(in_dir("a/b"), &err), CM_EPERM);
	assert_int_equal(cm_owned_state(in_dir("a/none"), &err), CM_EPERM);
	assert_int_equal(cm_lock_take(in_dir("a/b"), NULL, &err), CM_EPERM);
	assert_int_equal(chmod(in_dir("a"), 0755), 0);
	assert_int_equal(cm_lock_take(in_dir("a/b"), NULL, &err), CM_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_file_and_every_folder_above_it_are_judged),
		TEST(it_belongs_to_us_or_root),
		TEST(links_are_judged_at_both_ends),
		TEST(what_was_opened_is_what_is_judged),
		TEST(names_are_taken_from_the_working_folder),
		TEST(a_group_of_our_own_may_write),
		TEST(an_access_list_gives_the_groups_bits_to_others),
		TEST(a_read_only_mount_counts_where_somebody_says_so),
		TEST(a_mounted_secret_may_be_its_own_groups),
		TEST(a_state_folder_is_judged_with_what_is_above_and_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
