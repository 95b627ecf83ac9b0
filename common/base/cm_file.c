/* cm_file.c - reads and writes whole files, durably. */
#define _GNU_SOURCE /* declares mkostemp */
#include "cm_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536u
#define TEMP      ".tmp-" /* names of temporary files begin so; six characters follow */

enum cm_rc cm_file_fail(struct cm_err *err, enum cm_rc code, const char *path, const char *what)
{
	char text[128];
	int e = errno;

	if (e == ENOMEM)
		code = CM_EINTERNAL;
	if (e == EACCES) /* mostly a key or a certificate that was copied as root */
		return cm_fail(err, code,
			"%s: %s: we are user %lu, who may not: chown it, and the folder that it is in", path,
			what, (unsigned long)geteuid());
	return cm_fail(err, code, "%s: %s: %s", path, what, strerror_r(e, text, sizeof text));
}

enum cm_rc cm_file_open_code(int e)
{
	if (e == ENOMEM || e == EMFILE || e == ENFILE)
		return CM_EINTERNAL;
	return e == EACCES || e == EPERM ? CM_EPERM : CM_ENOINPUT;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t got;

	do {
		got = read(fd, p, n);
	} while (got < 0 && errno == EINTR);
	return got;
}

enum cm_rc cm_file_read_judged(
	const char *path, size_t max, cm_file_judge_fn *judge, struct cm_buf *b, struct cm_err *err)
{
	/* O_NONBLOCK: opening a FIFO must not wait; it is refused below. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	enum cm_rc rc = CM_OK;
	size_t total = 0;
	struct stat st;

	if (fd < 0)
		return cm_file_fail(err, cm_file_open_code(errno), path, "cannot open");
	if (fstat(fd, &st) != 0) {
		rc = cm_file_fail(err, CM_EIO, path, "cannot stat");
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = cm_fail(err, CM_EDATA, "%s: not a regular file", path);
		goto out;
	}
	if (judge && (rc = judge(path, fd, err)) != CM_OK)
		goto out;
	for (;;) {
		/* At the maximum read one byte more, to notice a longer file without trusting st_size. */
		size_t left = max - total, step = left == 0 ? 1 : left < READ_STEP ? left : READ_STEP;
		uint8_t beyond = 0, *at = left == 0 ? &beyond : cm_buf_room(b, step);
		ssize_t got;

		if (!at) {
			rc = cm_fail(err, CM_EINTERNAL, "%s: no room for it in memory", path);
			goto out;
		}
		got = read_some(fd, at, step);
		if (got < 0) {
			rc = cm_file_fail(err, CM_EIO, path, "cannot read");
			goto out;
		}
		if (got == 0)
			break;
		if (left == 0) {
			rc = cm_fail(err, CM_EDATA, "%s: longer than %zu bytes", path, max);
			goto out;
		}
		b->len += (size_t)got;
		total += (size_t)got;
	}
out:
	(void)close(fd);
	return rc;
}

enum cm_rc cm_file_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err)
{
	return cm_file_read_judged(path, max, NULL, b, err);
}

bool cm_file_put(int fd, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

char *cm_file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

enum cm_rc cm_file_sync_dir(const char *path, struct cm_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum cm_rc rc = CM_OK;

	if (fd < 0)
		return cm_file_fail(err, CM_EIO, path, "cannot open");
	/* EINVAL: the file system does not support fsync of folders (some FUSE ones). */
	if (fsync(fd) != 0 && errno != EINVAL)
		rc = cm_file_fail(err, CM_EIO, path, "cannot sync");
	(void)close(fd);
	return rc;
}

enum cm_rc cm_file_sync_parent(const char *path, struct cm_err *err)
{
	char *dir = cm_file_folder(path);
	enum cm_rc rc;

	if (!dir)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	rc = cm_file_sync_dir(dir, err);
	free(dir);
	return rc;
}

char *cm_file_temp(const char *path)
{
	size_t len = strlen(path) + sizeof TEMP "XXXXXX";
	char *temp = malloc(len);

	if (temp)
		(void)snprintf(temp, len, "%s" TEMP "XXXXXX", path);
	return temp;
}

enum cm_rc cm_file_write(const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err)
{
	char *temp = cm_file_temp(path);
	enum cm_rc rc = CM_OK;
	int fd = -1;

	if (!temp)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		rc = cm_file_fail(err, CM_ECREATE, path, "cannot create");
		goto out;
	}
	if (fchmod(fd, (mode_t)mode) != 0 || !cm_file_put(fd, bytes, n) || fsync(fd) != 0) {
		rc = cm_file_fail(err, CM_EIO, path, "cannot write");
		goto out;
	}
	if (rename(temp, path) != 0) {
		rc = cm_file_fail(err, CM_ECREATE, path, "cannot replace");
		goto out;
	}
	free(temp);
	temp = NULL;
	rc = cm_file_sync_parent(path, err);
out:
	if (fd >= 0) {
		(void)close(fd);
		if (temp)
			(void)unlink(temp);
	}
	free(temp);
	return rc;
}

enum cm_rc cm_file_each(const char *dir, cm_file_entry_fn *fn, void *user, struct cm_err *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	enum cm_rc rc = CM_OK;

	if (!d)
		return errno == ENOENT ? CM_OK : cm_file_fail(err, CM_EIO, dir, "cannot open");
	while (rc == CM_OK && (errno = 0, e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = fn(user, e->d_name, err);
	if (rc == CM_OK && errno != 0)
		rc = cm_file_fail(err, CM_EIO, dir, "cannot read");
	(void)closedir(d);
	return rc;
}

static enum cm_rc sweep_one(void *user, const char *name, struct cm_err *err)
{
	const char *folder = user, *temp = strstr(name, TEMP);
	enum cm_rc rc = CM_OK;
	char *path;

	if (!temp || strlen(temp) != sizeof TEMP + 5)
		return CM_OK;
	path = cm_file_join(folder, name);
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (unlink(path) != 0)
		rc = cm_file_fail(err, CM_EIO, path, "cannot remove an unfinished file");
	free(path);
	return rc;
}

enum cm_rc cm_file_sweep(const char *path, struct cm_err *err)
{
	return cm_file_each(path, sweep_one, (void *)path, err);
}

enum cm_rc cm_file_mkdir(const char *path, struct cm_err *err)
{
	bool made = mkdir(path, 0700) == 0;
	enum cm_rc rc;
	struct stat st;

	if (!made) {
		if (errno != EEXIST)
			return cm_file_fail(err, CM_ECREATE, path, "cannot create the folder");
		if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
			return cm_fail(err, CM_ECREATE, "%s: exists and is not a folder", path);
	}
	/* Sync even if it existed: its creator may have been killed before doing so.  If the operator made
	 * the folder, its parent may be unreadable for this process, which is no error. */
	rc = cm_file_sync_parent(path, err);
	return made ? rc : CM_OK;
}

char *cm_file_join(const char *dir, const char *name)
{
	size_t nd = strlen(dir), len;
	char *out;

	if (!cm_size_add(nd, strlen(name), &len) || !cm_size_add(len, 2, &len))
		return NULL;
	out = malloc(len);
	if (out)
		(void)snprintf(out, len, "%s%s%s", dir, nd > 0 && dir[nd - 1] == '/' ? "" : "/", name);
	return out;
}
