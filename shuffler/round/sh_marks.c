/* sh_marks.c - keeps the marks of rounds beside their keys: ID.sealed, which is empty, and ID.stored, which
 * has a number. */
#include "sh_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"

#define SEALED ".sealed"
#define STORED ".stored"
#define HEX    ((size_t)2 * PR_ROUND_ID_LEN)
/* Bytes of the number and its complement.  They are in one sector of the disk, so a write of them is
 * complete or did not happen. */
#define NUMBER_LEN 16u

static char *mark_of(
	const char *key_dir, const uint8_t *round_id, const char ending[sizeof SEALED], struct cm_err *err)
{
	char name[HEX + sizeof SEALED];

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	memcpy(name + HEX, ending, sizeof SEALED);
	char *path = cm_file_join(key_dir, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

/* ---- Sealed ---- */

enum cm_rc sh_mark_sealed(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, SEALED, err);

	if (!path)
		return err->code;
	enum cm_rc rc = cm_file_write(path, "", 0, 0600, err);
	free(path);
	return rc;
}

enum cm_rc sh_mark_check_open(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, SEALED, err);
	struct stat st;

	if (!path)
		return err->code;
	bool there = stat(path, &st) == 0;
	enum cm_rc rc = CM_OK;
	if (!there && errno != ENOENT)
		rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	else if (there)
		rc = cm_fail(err, CM_EDATA,
			"it was sealed, and the state has it as open: the state is an older copy, or its database "
			"lost commits");
	free(path);
	return rc;
}

/* ---- Stored ---- */

static void put_number(uint64_t devices, uint8_t out[NUMBER_LEN])
{
	cm_put_le64(out, devices);
	cm_put_le64(out + 8, ~devices);
}

static bool is_number(const uint8_t bytes[NUMBER_LEN])
{
	return cm_get_le64(bytes) == ~cm_get_le64(bytes + 8);
}

enum cm_rc sh_mark_begin(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t devices, struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, STORED, err);
	uint8_t number[NUMBER_LEN];

	if (!path)
		return err->code;
	put_number(devices, number);
	enum cm_rc rc = cm_file_write(path, number, sizeof number, 0600, err);
	free(path);
	return rc;
}

/* An open mark; nobody else writes its file. */
struct sh_mark {
	/* for `number` and the file; it is held during the fdatasync, so a higher number that is found here
	 * is durable */
	pthread_mutex_t lock;
	uint64_t number;
	unsigned holds; /* used only by the thread of the core */
	int fd;
	char path[];
};

enum cm_rc sh_mark_open(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct sh_mark **out,
	struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, STORED, err);
	struct sh_mark *m = path ? calloc(1, sizeof *m + strlen(path) + 1) : NULL;
	uint8_t number[NUMBER_LEN] = { 0 };
	enum cm_rc rc = CM_OK;

	if (!m) {
		free(path);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	memcpy(m->path, path, strlen(path) + 1);
	free(path);
	(void)pthread_mutex_init(&m->lock, NULL); /* without attributes this cannot fail */
	m->holds = 1;
	m->fd = open(m->path, O_RDWR | O_CLOEXEC);
	if (m->fd < 0)
		rc = cm_fail(err, errno == ENOENT ? CM_ENOINPUT : CM_EIO, "%s: %s", m->path, strerror(errno));
	else if (pread(m->fd, number, sizeof number, 0) != (ssize_t)sizeof number || !is_number(number))
		rc = cm_fail(err, CM_EDATA, "%s: is damaged", m->path);
	if (rc != CM_OK) {
		sh_mark_free(m);
		return rc;
	}
	m->number = cm_get_le64(number);
	*out = m;
	return CM_OK;
}

static enum cm_rc write_number(struct sh_mark *m, uint64_t devices, struct cm_err *err)
{
	uint8_t number[NUMBER_LEN];
	struct stat st;

	if (fstat(m->fd, &st) == 0 && st.st_nlink == 0)
		return cm_fail(err, CM_ENOINPUT, "%s: it was deleted", m->path);
	put_number(devices, number);
	if (pwrite(m->fd, number, sizeof number, 0) != (ssize_t)sizeof number || fdatasync(m->fd) != 0)
		return cm_fail(err, CM_EIO, "%s: %s", m->path, strerror(errno));
	m->number = devices;
	return CM_OK;
}

enum cm_rc sh_mark_raise(struct sh_mark *m, uint64_t devices, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	(void)pthread_mutex_lock(&m->lock);
	if (devices > m->number)
		rc = write_number(m, devices, err);
	(void)pthread_mutex_unlock(&m->lock);
	return rc;
}

struct sh_mark *sh_mark_hold(struct sh_mark *m)
{
	m->holds++;
	return m;
}

void sh_mark_free(struct sh_mark *m)
{
	if (!m || --m->holds > 0)
		return;
	if (m->fd >= 0)
		(void)close(m->fd);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

enum cm_rc sh_mark_read(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], bool *there,
	uint64_t *devices, struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, STORED, err);
	struct cm_buf b;
	struct stat st;

	*there = false;
	*devices = 0;
	if (!path)
		return err->code;
	if (stat(path, &st) != 0 && errno == ENOENT) {
		free(path);
		return CM_OK;
	}
	cm_buf_init(&b, NUMBER_LEN);
	enum cm_rc rc = cm_file_read(path, NUMBER_LEN, &b, err);
	if (rc == CM_OK && (b.len != NUMBER_LEN || !is_number(b.data)))
		rc = cm_fail(err, CM_EDATA, "%s: is damaged", path);
	if (rc == CM_OK) {
		*there = true;
		*devices = cm_get_le64(b.data);
	}
	cm_buf_fini(&b);
	free(path);
	return rc;
}

static enum cm_rc forget(
	const char *key_dir, const uint8_t *round_id, const char ending[sizeof SEALED], struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, ending, err);

	if (!path)
		return err->code;
	enum cm_rc rc = unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR
				? CM_OK
				: cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

enum cm_rc sh_marks_forget(const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	enum cm_rc rc = forget(key_dir, round_id, SEALED, err);

	return rc == CM_OK ? forget(key_dir, round_id, STORED, err) : rc;
}
