/* an_scratch.c - stores encrypted pages in files without names. */
#define _GNU_SOURCE /* declares mkostemp */
#include "an_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"
#include "cr_aead.h"

struct file {
	const struct an_scratch *in;
	pthread_mutex_t lock; /* held while the file is created */
	struct cr_key key;
	int fd; /* -1 if nothing was put yet */
};

struct an_scratch {
	const char *dir;
	atomic_bool stopped;
	struct file file[AN_SPILLS];
	struct rd_spill spill[AN_SPILLS];
};

static enum cm_rc fail(const struct file *f, enum cm_rc code, const char *what, struct cm_err *err)
{
	char text[128];
	int e = errno;

	return cm_fail(err, code, "%s: %s the room that a large batch needs beside memory: %s", f->in->dir,
		what, strerror_r(e, text, sizeof text));
}

/* Create a file and remove its name at once; the next start sweeps a file that a kill left in between. */
static enum cm_rc create(struct file *f, struct cm_err *err)
{
	char *path = cm_file_join(f->in->dir, "batch"), *temp = path ? cm_file_temp(path) : NULL;
	enum cm_rc rc = CM_OK;

	if (!temp)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK && (f->fd = mkostemp(temp, O_CLOEXEC)) < 0)
		rc = fail(f, CM_ECREATE, "cannot create", err);
	if (rc == CM_OK && unlink(temp) != 0)
		rc = fail(f, CM_EIO, "cannot unlink", err);
	free(temp);
	free(path);
	return rc;
}

/* Create the file and its key once, whichever thread puts the first page. */
static enum cm_rc make(struct file *f, const struct cr_rng *rng, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	(void)pthread_mutex_lock(&f->lock);
	if (f->fd < 0) {
		rng->fill(rng->ctx, f->key.bytes, sizeof f->key.bytes);
		rc = create(f, err);
	}
	(void)pthread_mutex_unlock(&f->lock);
	return rc;
}

/* Prepare to put or read a page: fill in what both need, or fail. */
static enum cm_rc begin(const struct file *f, uint64_t page, size_t box_len, uint8_t aad[8], uint8_t **box,
	struct cm_err *err)
{
	*box = NULL;
	if (atomic_load(&f->in->stopped))
		return cm_fail(err, CM_ELATER, "stopped while a batch was opened");
	cm_put_le64(aad, page);
	*box = malloc(box_len);
	return *box ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

static enum cm_rc put(void *ctx, uint64_t page, const void *bytes, size_t len, struct cm_err *err)
{
	struct file *f = ctx;
	size_t left = len + CR_BOX_OVERHEAD;
	off_t at = (off_t)(page * left);
	uint8_t *box, aad[8];
	struct cr_rng rng;
	enum cm_rc rc = begin(f, page, left, aad, &box, err);
	const uint8_t *from = box;

	/* The generator belongs to the calling thread. */
	if (rc == CM_OK)
		rc = cr_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = make(f, &rng, err);
	if (rc == CM_OK)
		rc = cr_box_seal(&f->key, &rng, aad, sizeof aad, bytes, len, box, err);
	while (rc == CM_OK && left > 0) {
		ssize_t n = pwrite(f->fd, from, left, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : ENOSPC;
			rc = fail(f, CM_EIO, "cannot write", err);
			break;
		}
		from += n;
		at += n;
		left -= (size_t)n;
	}
	free(box);
	return rc;
}

static enum cm_rc get(void *ctx, uint64_t page, void *bytes, size_t len, struct cm_err *err)
{
	const struct file *f = ctx;
	size_t box_len = len + CR_BOX_OVERHEAD, got = 0;
	uint8_t *box, aad[8];
	enum cm_rc rc = begin(f, page, box_len, aad, &box, err);

	while (rc == CM_OK && got < box_len) {
		ssize_t n = pread(f->fd, box + got, box_len - got, (off_t)(page * box_len + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			rc = fail(f, CM_EIO, "cannot read", err);
			break;
		}
		got += (size_t)n;
	}
	if (rc == CM_OK && cr_box_open(&f->key, aad, sizeof aad, box, box_len, bytes, err) != CM_OK) {
		errno = EIO;
		rc = fail(f, CM_EIO, "cannot read", err);
	}
	free(box);
	return rc;
}

enum cm_rc an_scratch_new(const char *dir, struct an_scratch **out, struct cm_err *err)
{
	struct an_scratch *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->dir = dir;
	for (size_t i = 0; i < AN_SPILLS; i++) {
		s->file[i] = (struct file){ .in = s, .fd = -1 };
		(void)pthread_mutex_init(&s->file[i].lock, NULL);
		s->spill[i] = (struct rd_spill){ &s->file[i], put, get };
	}
	*out = s;
	return CM_OK;
}

void an_scratch_free(struct an_scratch *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < AN_SPILLS; i++) {
		if (s->file[i].fd >= 0)
			(void)close(s->file[i].fd);
		cr_key_fini(&s->file[i].key);
		(void)pthread_mutex_destroy(&s->file[i].lock);
	}
	free(s);
}

const struct rd_spill *an_scratch_spills(const struct an_scratch *s)
{
	return s->spill;
}

void an_scratch_stop(struct an_scratch *s)
{
	if (s)
		atomic_store(&s->stopped, true);
}
