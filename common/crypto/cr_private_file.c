/* cr_private_file.c - creates, reads and destroys files that other users must not read. */
#define _GNU_SOURCE /* declares mkostemp */
#include "cr_private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_file.h"
#include "cm_owned.h"

/* Write all bytes.  fchmod sets the mode, so that the umask does not decide who may read. */
static bool put_whole(int fd, const void *bytes, size_t n, unsigned mode)
{
	return cm_file_put(fd, bytes, n) && fchmod(fd, (mode_t)mode) == 0 && fsync(fd) == 0;
}

/* Write under another name first, so that a process that dies here leaves no partial key under the real
 * name. */
enum cm_rc cr_private_create(const char *path, const void *bytes, size_t n, unsigned mode, struct cm_err *err)
{
	char *temp = cm_file_temp(path);
	enum cm_rc rc = CM_OK;
	bool linked = false;
	int fd;

	if (!temp)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0 || !put_whole(fd, bytes, n, mode))
		rc = cm_fail(err, CM_ECREATE, "%s: cannot write: %s", path, strerror(errno));
	else if (link(temp, path) != 0)
		rc = cm_fail(err, CM_ECREATE, "%s: cannot create: %s", path, strerror(errno));
	else
		linked = true;
	if (fd >= 0) {
		(void)close(fd);
		if (unlink(temp) != 0 && rc == CM_OK)
			rc = cm_fail(err, CM_ECREATE, "%s: cannot remove: %s", temp, strerror(errno));
	}
	if (rc == CM_OK && cm_file_sync_parent(path, err) != CM_OK)
		rc = err->code;
	if (rc != CM_OK && linked)
		(void)unlink(path);
	free(temp);
	return rc;
}

/* Read up to max + 1 bytes.  Returns how many, or -1. */
static ssize_t read_up_to(int fd, uint8_t *out, size_t max)
{
	size_t n = 0;
	uint8_t beyond;

	for (;;) {
		ssize_t got = n < max ? read(fd, out + n, max - n) : read(fd, &beyond, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0 || n == max)
			return (ssize_t)(n + (size_t)got);
		n += (size_t)got;
	}
}

/* The mode bits that a secret file must not have.  systemd lets a service read its credentials through an
 * access list, whose mask shows as the group's right to read; the folder of credentials is closed to
 * others.  Kubernetes gives a secret to root and to the group of the one user of a container. */
static mode_t forbidden(const char *path, int fd, const struct stat *st)
{
	const char *given = getenv("CREDENTIALS_DIRECTORY");
	size_t n = given ? strlen(given) : 0;
	bool credential = n > 1 && strncmp(path, given, n) == 0 && path[n] == '/';
	bool mounted = st->st_uid == 0 && st->st_gid == getegid() && cm_owned_vouched(fd);

	return credential || mounted ? 037 : 077;
}

enum cm_rc cr_private_read(
	const char *path, enum cr_kind kind, uint8_t *out, size_t max, size_t *n, struct cm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum cm_rc rc = CM_OK;
	struct stat st;
	ssize_t got;

	if (fd < 0 && errno == ENOENT && strncmp(path, "credential:", 11) == 0)
		return cm_fail(
			err, CM_ENOINPUT, "%s: only the service manager passes it, to the service", path);
	if (fd < 0)
		return errno == ENOENT   ? cm_fail(err, CM_ENOINPUT, "%s: no such file", path)
		       : errno == EACCES ? cm_file_fail(err, CM_EPERM, path, "cannot open")
					 : cm_fail(err, CM_EIO, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0)
		rc = cm_fail(err, CM_EIO, "%s: cannot stat: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = cm_fail(err, CM_EDATA, "%s: not a regular file", path);
	else if (kind == CR_SECRET && (st.st_mode & forbidden(path, fd, &st)) != 0)
		rc = cm_fail(err, CM_EPERM, "%s: a secret that others may use (mode %04o): chmod 600 it",
			path, (unsigned)(st.st_mode & 07777));
	else if (kind != CR_ANYBODYS)
		rc = cm_owned_check(path, fd, err);
	if (rc != CM_OK)
		goto out;
	got = read_up_to(fd, out, max);
	if (got < 0)
		rc = cm_fail(err, CM_EIO, "%s: cannot read: %s", path, strerror(errno));
	else if ((size_t)got > max)
		rc = cm_fail(err, CM_EDATA, "%s: longer than %zu bytes", path, max);
	else
		*n = (size_t)got;
out:
	(void)close(fd);
	return rc;
}

static int overwrite(int fd)
{
	static const uint8_t zeros[4096];
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	for (off_t left = st.st_size; left > 0;) {
		size_t n = left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros;

		if (!cm_file_put(fd, zeros, n))
			return -1;
		left -= (off_t)n;
	}
	return fsync(fd);
}

enum cm_rc cr_private_destroy(const char *path, struct cm_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int failed;

	if (fd < 0 && errno == ENOENT)
		return CM_OK;
	if (fd < 0)
		return cm_fail(err, CM_EIO, "%s: cannot open to erase: %s", path, strerror(errno));
	failed = overwrite(fd) != 0;
	if (failed)
		(void)cm_fail(err, CM_EIO, "%s: cannot overwrite: %s", path, strerror(errno));
	(void)close(fd);
	/* Unlink even if the overwrite failed: an unlinked key is better than one that still has a name. */
	if (unlink(path) != 0 && errno != ENOENT && !failed) {
		failed = 1;
		(void)cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
	}
	return failed ? err->code : CM_OK;
}

char *cr_private_path(const char *dir, const char *name, const char *suffix)
{
	size_t n = strlen(dir) + 1 + strlen(name) + strlen(suffix) + 1;
	char *path = malloc(n);

	if (path)
		(void)snprintf(path, n, "%s/%s%s", dir, name, suffix);
	return path;
}
