/* sh_payload_files.c - stores payloads of rounds as files. */
#include "sh_payload_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"

#define PART ".part"
#define NAME (2 * (size_t)PR_HASH_LEN + sizeof PART)

static char *path_of(const char *dir, const uint8_t hash[PR_HASH_LEN], const char *suffix, struct cm_err *err)
{
	char name[NAME], *path;

	cm_hex(hash, PR_HASH_LEN, name);
	memcpy(name + 2 * (size_t)PR_HASH_LEN, suffix, strlen(suffix) + 1);
	path = cm_file_join(dir, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

static enum cm_rc fault(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
}

enum cm_rc sh_payload_file_add(const char *dir, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
	const void *bytes, size_t len, struct cm_err *err)
{
	char *path = path_of(dir, hash, PART, err);
	enum cm_rc rc = CM_OK;
	int fd;

	if (!path)
		return err->code;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* If the file is longer than it should be, an interrupted write left the rest. */
	if (fd < 0 || ftruncate(fd, (off_t)offset) != 0 || lseek(fd, 0, SEEK_END) != (off_t)offset ||
		!cm_file_put(fd, bytes, len))
		rc = fault(path, err);
	if (fd >= 0 && close(fd) != 0 && rc == CM_OK)
		rc = fault(path, err);
	free(path);
	return rc;
}

enum cm_rc sh_payload_file_finish(const char *dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	char *part = path_of(dir, hash, PART, err), *whole = part ? path_of(dir, hash, "", err) : NULL;
	enum cm_rc rc = whole ? CM_OK : err->code;
	int fd = whole ? open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

	if (rc == CM_OK && (fd < 0 || fsync(fd) != 0 || rename(part, whole) != 0))
		rc = fault(part, err);
	if (fd >= 0)
		(void)close(fd);
	if (rc == CM_OK)
		rc = cm_file_sync_dir(dir, err);
	free(part);
	free(whole);
	return rc;
}

static enum cm_rc read_from(const char *path, uint64_t offset, uint8_t *out, size_t len, struct cm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	enum cm_rc rc = CM_OK;
	size_t got = 0;

	if (fd < 0)
		return errno == ENOENT ? cm_fail(err, CM_ENOINPUT, "no such payload") : fault(path, err);
	while (rc == CM_OK && got < len) {
		ssize_t n = pread(fd, out + got, len - got, (off_t)(offset + got));

		if (n > 0)
			got += (size_t)n;
		else if (n == 0)
			rc = cm_fail(err, CM_ENOINPUT, "%s: is too short", path);
		else if (errno != EINTR)
			rc = fault(path, err);
	}
	(void)close(fd);
	return rc;
}

enum cm_rc sh_payload_file_read(const char *dir, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err)
{
	static const char *const suffix[] = { "", PART };
	enum cm_rc rc = CM_ENOINPUT;

	for (size_t i = 0; rc == CM_ENOINPUT && i < 2; i++) {
		char *path = path_of(dir, hash, suffix[i], err);

		rc = path ? read_from(path, offset, out, len, err) : err->code;
		free(path);
	}
	return rc;
}

enum cm_rc sh_payload_file_drop(const char *dir, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	static const char *const suffix[] = { "", PART };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < 2; i++) {
		char *path = path_of(dir, hash, suffix[i], err);

		if (!path)
			return err->code;
		if (unlink(path) != 0 && errno != ENOENT)
			rc = fault(path, err);
		free(path);
	}
	return rc == CM_OK ? cm_file_sync_dir(dir, err) : rc;
}

struct visit {
	const char *dir;
	sh_payload_fn *fn;
	void *user;
};

static enum cm_rc on_file(void *user, const char *file, struct cm_err *err)
{
	const struct visit *v = user;
	struct sh_payload p;
	struct stat st;
	char hex[2 * PR_HASH_LEN + 1];
	size_t n = strlen(file);

	if (n < sizeof hex - 1)
		return CM_OK;
	memcpy(hex, file, sizeof hex - 1);
	hex[sizeof hex - 1] = '\0';
	p.whole = n == sizeof hex - 1;
	if ((!p.whole && strcmp(file + sizeof hex - 1, PART) != 0) ||
		cm_unhex(hex, p.hash, sizeof p.hash) != CM_OK)
		return CM_OK;
	char *path = cm_file_join(v->dir, file);
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	int bad = lstat(path, &st);
	enum cm_rc rc = bad != 0 ? fault(path, err) : CM_OK;
	free(path);
	p.bytes = rc == CM_OK ? (uint64_t)st.st_size : 0;
	return rc == CM_OK ? v->fn(v->user, &p, err) : rc;
}

enum cm_rc sh_payload_file_each(const char *dir, sh_payload_fn *fn, void *user, struct cm_err *err)
{
	struct visit v = { dir, fn, user };

	return cm_file_each(dir, on_file, &v, err);
}
