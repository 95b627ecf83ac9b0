/* cm_owned.c - judges who can change a file: by its owner and mode, and by those of each step of the path
 * that leads to it. */
#define _GNU_SOURCE /* declares O_PATH and fgetpwent_r */
#include "cm_owned.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cm_log.h"

#define LINKS_MAX 40u /* most symbolic links in one path, the kernel's own limit */

static bool is_trusted(uid_t user)
{
	return user == geteuid() || user == 0;
}

#define LINE 16384u /* the longest line of /etc/passwd and /etc/group that is understood */

/* Does /etc/passwd have users that match (`group` or `name`), and are all of them trusted?  Reads the file
 * itself: a library of the name service would open sockets, which a confined daemon may not. */
static bool users_trusted(gid_t group, const char *name)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd user, *u = NULL;
	bool good = true, some = false;
	char text[LINE];
	int end = 0;

	if (!f)
		return false;
	while (good && (end = fgetpwent_r(f, &user, text, sizeof text, &u)) == 0) {
		if (name ? strcmp(u->pw_name, name) != 0 : u->pw_gid != group)
			continue;
		good = is_trusted(u->pw_uid);
		some = true;
	}
	(void)fclose(f);
	return good && some && end == ENOENT;
}

/* Are all users of a group trusted: its members, and those whose first group it is? */
static bool group_trusted(gid_t group)
{
	FILE *f = fopen("/etc/group", "re");
	bool good = users_trusted(group, NULL), found = false;
	struct group entry, *g = NULL;
	char text[LINE];
	int end = 0;

	while (f && good && (end = fgetgrent_r(f, &entry, text, sizeof text, &g)) == 0) {
		if (g->gr_gid != group)
			continue;
		found = true;
		for (char **name = g->gr_mem; good && *name; name++)
			good = users_trusted(0, *name);
	}
	if (f)
		(void)fclose(f);
	return good && found && end == ENOENT;
}

/* With an access list, the mode bits of the group stand for all whom the list names. */
static bool has_list(int fd)
{
	char name[32];

	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return getxattr(name, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

static bool others_write(int fd, const struct stat *st)
{
	if ((st->st_mode & S_IWOTH) != 0)
		return true;
	return (st->st_mode & S_IWGRP) != 0 && (!group_trusted(st->st_gid) || has_list(fd));
}

bool cm_owned_vouched(int fd)
{
	const char *said = getenv("TOMBOLA_TRUST_MOUNTS");
	struct statvfs mount;

	return said && strcmp(said, "read-only") == 0 && fstatvfs(fd, &mount) == 0 &&
	       (mount.f_flag & ST_RDONLY) != 0;
}

static const char *kind_of(const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? "folder" : S_ISLNK(st->st_mode) ? "link" : "file";
}

/* Judge the file that is open as fd and called `name`; `way` says what it leads to, or is "". */
static enum cm_rc judge(int fd, const struct stat *st, const char *name, const char *way, struct cm_err *err)
{
	bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
	unsigned long us = geteuid();

	if (cm_owned_vouched(fd))
		return CM_OK;
	if (CM_CHECKED("file.owner") && !is_trusted(st->st_uid))
		return cm_fail(err, CM_EPERM,
			"%s: belongs to user %lu, not to us (user %lu) or root: chown it%s%s", name,
			(unsigned long)st->st_uid, us,
			us != 0 ? "" : ", or run this as that user, if the daemon does", way);
	if (!CM_CHECKED("file.others_write") || S_ISLNK(st->st_mode) || sticky || !others_write(fd, st))
		return CM_OK;
	return cm_fail(err, CM_EPERM, "%s: others may write to this %s (mode %04o): chmod %s it%s", name,
		kind_of(st), (unsigned)(st->st_mode & 07777), (st->st_mode & S_IWOTH) != 0 ? "go-w" : "g-w",
		way);
}

/* A path from the root folder to a file, followed step by step. */
struct way {
	const char *wanted;
	int at;                  /* the folder that was reached, open with O_PATH */
	char name[PATH_MAX];     /* the name of that folder */
	char rest[2 * PATH_MAX]; /* the steps of the path that are not taken yet */
	unsigned links;
};

/* Judge a step.  The message calls the file that was asked for by the name that was given, and says of any
 * other step what it leads to. */
static enum cm_rc judge_step(const struct way *w, int fd, const struct stat *st, struct cm_err *err)
{
	bool last = w->rest[strspn(w->rest, "/")] == '\0';
	char way[192];

	if (last && w->links == 0)
		return judge(fd, st, w->wanted, "", err);
	(void)snprintf(way, sizeof way, " (%.150s lies behind it)", w->wanted);
	return judge(fd, st, w->name, way, err);
}

static enum cm_rc lost(const struct way *w, struct cm_err *err)
{
	int e = errno;

	return cm_fail(err, e == ENOENT ? CM_ENOINPUT : CM_EIO,
		"%s: cannot be followed to see who may write to it: %s", w->wanted, strerror(e));
}

/* Start at the root folder. */
static enum cm_rc restart(struct way *w, struct cm_err *err)
{
	struct stat st;

	if (w->at >= 0)
		(void)close(w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(w->name, sizeof w->name, "/");
	if (w->at < 0 || fstat(w->at, &st) != 0)
		return lost(w, err);
	return judge_step(w, w->at, &st, err);
}

/* Put the target of a link, which is open as fd, before the steps still to follow. */
static enum cm_rc follow(struct way *w, int fd, struct cm_err *err)
{
	char target[PATH_MAX], rest[2 * PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
	int len;

	if (n >= 0 && ++w->links > LINKS_MAX)
		errno = ELOOP;
	if (n < 0 || w->links > LINKS_MAX)
		return lost(w, err);
	target[n] = '\0';
	(void)snprintf(rest, sizeof rest, "%s", w->rest);
	len = snprintf(w->rest, sizeof w->rest, "%s/%s", target, rest);
	if (len < 0 || (size_t)len >= sizeof w->rest) {
		errno = ENAMETOOLONG;
		return lost(w, err);
	}
	return target[0] == '/' ? restart(w, err) : CM_OK;
}

/* Take the name of the next step; false at the end. */
static bool next(struct way *w, char step[NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

	if (n == 0)
		return false;
	(void)snprintf(step, NAME_MAX + 1, "%.*s", (int)n, w->rest + skip);
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
	return true;
}

/* Go one step: to `step` in the folder that was reached.  A file that is not the last step ends the
 * path. */
static enum cm_rc go(struct way *w, const char *step, struct cm_err *err)
{
	int fd = openat(w->at, step, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	size_t had = strlen(w->name);
	enum cm_rc rc;
	struct stat st;
	int len = snprintf(w->name + had, sizeof w->name - had, "%s%s", had > 1 ? "/" : "", step);

	if (len < 0 || (size_t)len >= sizeof w->name - had)
		errno = ENAMETOOLONG;
	if (fd < 0 || fstat(fd, &st) != 0 || (size_t)len >= sizeof w->name - had) {
		rc = lost(w, err);
	} else if ((rc = judge_step(w, fd, &st, err)) != CM_OK) {
		;
	} else if (S_ISLNK(st.st_mode)) {
		w->name[had] = '\0';
		rc = follow(w, fd, err);
	} else {
		(void)close(w->at);
		w->at = fd;
		return CM_OK;
	}
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* Judge every step to path; *fd is then what it leads to, opened with O_PATH. */
static enum cm_rc walk(const char *path, int *fd, struct cm_err *err)
{
	struct way w = { .wanted = path, .at = -1 };
	char step[NAME_MAX + 1], here[PATH_MAX] = "";
	enum cm_rc rc;
	int len;

	*fd = -1;
	if (path[0] != '/' && !getcwd(here, sizeof here))
		return lost(&w, err);
	len = snprintf(w.rest, sizeof w.rest, "%s/%s", here, path);
	if (len < 0 || (size_t)len >= sizeof w.rest) {
		errno = ENAMETOOLONG;
		return lost(&w, err);
	}
	rc = restart(&w, err);
	while (rc == CM_OK && next(&w, step))
		rc = go(&w, step, err);
	if (rc == CM_OK)
		*fd = w.at;
	else if (w.at >= 0)
		(void)close(w.at);
	return rc;
}

enum cm_rc cm_owned_check(const char *path, int fd, struct cm_err *err)
{
	struct stat opened, found;
	enum cm_rc rc;
	int end;

	rc = walk(path, &end, err);
	if (rc != CM_OK)
		return rc;
	if (fstat(fd, &opened) != 0 || fstat(end, &found) != 0)
		rc = cm_fail(err, CM_EIO, "%s: cannot stat: %s", path, strerror(errno));
	else if (opened.st_dev != found.st_dev || opened.st_ino != found.st_ino)
		rc = cm_fail(err, CM_ELATER, "%s: was exchanged while it was read: try again", path);
	(void)close(end);
	return rc;
}

enum cm_rc cm_owned_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err)
{
	return cm_file_read_judged(path, max, cm_owned_check, b, err);
}

enum cm_rc cm_owned_path(const char *path, struct cm_err *err)
{
	int end;
	enum cm_rc rc = walk(path, &end, err);

	if (rc == CM_OK)
		(void)close(end);
	return rc;
}

/* We make a state folder 0700, so even a group of our own must not have access. */
static enum cm_rc judge_state(const char *dir, const struct stat *st, struct cm_err *err)
{
	if (CM_CHECKED("file.folder_mode") && (st->st_mode & 022) != 0)
		return cm_fail(err, CM_EPERM,
			"%s: a state folder that others may write to (mode %04o): chmod 700 it", dir,
			(unsigned)(st->st_mode & 07777));
	if ((st->st_mode & 055) != 0)
		cm_log(CM_LOG_WARN, "the state folder can be looked into by others: chmod 700 it",
			CM_S("state_dir", dir));
	return cm_owned_path(dir, err);
}

/* Judge an entry of a state folder, and everything below it.  What is in a folder of root was put there by
 * root.  The target of a link is judged with the path to it. */
static enum cm_rc judge_entry(void *user, const char *name, struct cm_err *err)
{
	char *path = cm_file_join(user, name);
	int fd = path ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	enum cm_rc rc = path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	struct stat st;

	/* A temporary file may have been removed by now. */
	bool there = fd >= 0 && fstat(fd, &st) == 0;
	if (there)
		rc = judge(fd, &st, path, "", err);
	if (fd >= 0)
		(void)close(fd);
	if (rc == CM_OK && there && S_ISLNK(st.st_mode))
		rc = cm_owned_path(path, err);
	if (rc == CM_ENOINPUT)
		rc = CM_OK; /* a link that leads nowhere */
	if (rc == CM_OK && there && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		rc = cm_file_each(path, judge_entry, path, err);
	free(path);
	return rc;
}

enum cm_rc cm_owned_state(const char *dir, struct cm_err *err)
{
	char *folder;
	enum cm_rc rc;
	struct stat st;

	if (stat(dir, &st) == 0) {
		if (!S_ISDIR(st.st_mode))
			return cm_fail(err, CM_ECREATE, "%s: exists and is not a folder", dir);
		rc = judge_state(dir, &st, err);
		return rc == CM_OK ? cm_file_each(dir, judge_entry, (void *)(uintptr_t)dir, err) : rc;
	}
	if (errno != ENOENT)
		return cm_fail(err, CM_ECREATE, "%s: cannot look at the folder: %s", dir, strerror(errno));
	folder = cm_file_folder(dir);
	if (!folder)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cm_owned_path(folder, err);
	free(folder);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}
