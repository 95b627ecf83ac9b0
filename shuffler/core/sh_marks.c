/* sh_marks.c - marks of rounds beside their keys: ID.sealed, which is empty, and ID.stored, a number. */
#include "sh_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"

#define SEALED ".sealed"
#define STORED ".stored"
#define HEX    ((size_t)2 * PR_ROUND_ID_LEN)
/* The number and its complement, in one sector of the disk: a write of it is there or not. */
#define NUMBER_LEN 16u
#define TRIES      1200 /* to open a mark, 50 ms apart */

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

enum cm_rc sh_mark_stored(
	const char *key_dir, const uint8_t round_id[PR_ROUND_ID_LEN], uint64_t devices, struct cm_err *err)
{
	char *path = mark_of(key_dir, round_id, STORED, err);
	uint8_t number[NUMBER_LEN] = { 0 };
	enum cm_rc rc = CM_OK;

	if (!path)
		return err->code;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	/* Strangers may hold all descriptors for a while.  What is stored waits for one: ending would lose
	 * the round's time, and acknowledging without the mark would not be noticed as a loss. */
	for (int i = 0; fd < 0 && (errno == EMFILE || errno == ENFILE) && i < TRIES; i++) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (fd < 0)
		rc = cm_fail(err, errno == ENOENT ? CM_ENOINPUT : CM_EIO, "%s: %s", path, strerror(errno));
	/* The lock is kept over the fdatasync: a higher number that is read here is durable. */
	else if (flock(fd, LOCK_EX) != 0 || pread(fd, number, sizeof number, 0) < 0)
		rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	if (rc == CM_OK && !(is_number(number) && cm_get_le64(number) >= devices)) {
		put_number(devices, number);
		if (pwrite(fd, number, sizeof number, 0) != (ssize_t)sizeof number || fdatasync(fd) != 0)
			rc = cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	}
	if (fd >= 0)
		(void)close(fd);
	free(path);
	return rc;
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
