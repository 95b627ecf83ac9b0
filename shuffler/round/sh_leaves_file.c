/* sh_leaves_file.c - reads and writes the file of a round's leaves. */
#include "sh_leaves_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"

#define HEADER_LEN 32u
#define HEX_LEN    ((size_t)2 * PR_ROUND_ID_LEN)
#define AAD_LEN    (PR_ROUND_ID_LEN + 3 * 8u)

static const char magic[8] = { 't', 'o', 'm', 'l', 'e', 'a', 'f', '1' };

void sh_leaves_file_layout(struct sh_leaves_file *f, uint64_t n)
{
	uint64_t page = 0;

	f->n = n;
	f->levels = 0;
	do {
		f->count[f->levels] = n;
		f->base[f->levels++] = page;
		n = (n + RD_SORT_PAGE - 1) >> SH_PAGE_BITS;
		page += n;
	} while (n > 1 && f->levels < SH_LEVELS_MAX);
}

static void make_aad(const struct sh_leaves_file *f, uint64_t page, uint8_t aad[AAD_LEN])
{
	memcpy(aad, f->round_id, PR_ROUND_ID_LEN);
	cm_put_le64(aad + PR_ROUND_ID_LEN, f->n);
	cm_put_le64(aad + PR_ROUND_ID_LEN + 8, (uint64_t)f->sealed_ms);
	cm_put_le64(aad + PR_ROUND_ID_LEN + 16, page);
}

static off_t place_of(uint64_t page)
{
	return (off_t)(HEADER_LEN + page * SH_BOX_LEN);
}

static enum cm_rc put_at(int fd, const uint8_t *bytes, size_t len, off_t at, struct cm_err *err)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, bytes, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return cm_fail(
				err, CM_EIO, "leaves: cannot write: %s", strerror(n < 0 ? errno : ENOSPC));
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return CM_OK;
}

static enum cm_rc get_at(int fd, uint8_t *bytes, size_t len, off_t at, struct cm_err *err)
{
	while (len > 0) {
		ssize_t n = pread(fd, bytes, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cm_fail(err, CM_EIO, "leaves: cannot read: %s", strerror(errno));
		if (n == 0)
			return cm_fail(err, CM_EDATA, "leaves: the file is cut short");
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return CM_OK;
}

enum cm_rc sh_leaves_file_write(
	const struct sh_leaves_file *f, uint64_t page, const void *bytes, struct cm_err *err)
{
	uint8_t aad[AAD_LEN], box[SH_BOX_LEN];
	struct cr_rng rng; /* the random generator of this thread */

	make_aad(f, page, aad);
	enum cm_rc rc = cr_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = cr_box_seal(&f->key, &rng, aad, sizeof aad, bytes, RD_SORT_PAGE_BYTES, box, err);
	return rc == CM_OK ? put_at(f->fd, box, sizeof box, place_of(page), err) : rc;
}

enum cm_rc sh_leaves_file_read(const struct sh_leaves_file *f, uint64_t page, void *bytes, struct cm_err *err)
{
	uint8_t aad[AAD_LEN], box[SH_BOX_LEN];

	make_aad(f, page, aad);
	enum cm_rc rc = get_at(f->fd, box, sizeof box, place_of(page), err);
	if (rc == CM_OK && cr_box_open(&f->key, aad, sizeof aad, box, sizeof box, bytes, err) != CM_OK)
		rc = cm_fail(err, CM_EDATA, "leaves: a page is damaged");
	return rc;
}

enum cm_rc sh_leaves_file_begin(const struct sh_leaves_file *f, struct cm_err *err)
{
	uint8_t header[HEADER_LEN] = { 0 };

	memcpy(header, magic, sizeof magic);
	cm_put_le64(header + 8, f->n);
	cm_put_le64(header + 16, (uint64_t)f->sealed_ms);
	return put_at(f->fd, header, sizeof header, 0, err);
}

/* CM_EDATA: the header is not valid. */
enum cm_rc sh_leaves_file_open(struct sh_leaves_file *f, struct cm_err *err)
{
	uint8_t header[HEADER_LEN];
	enum cm_rc rc = get_at(f->fd, header, sizeof header, 0, err);

	if (rc != CM_OK)
		return rc;
	uint64_t n = cm_get_le64(header + 8);
	if (memcmp(header, magic, sizeof magic) != 0 || n == 0 || n >= UINT64_C(1) << RD_TREE_DEPTH_MAX)
		return cm_fail(err, CM_EDATA, "leaves: the file's header is damaged");
	f->sealed_ms = (int64_t)cm_get_le64(header + 16);
	sh_leaves_file_layout(f, n);
	return CM_OK;
}

char *sh_leaves_file_path(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	const char *suffix, struct cm_err *err)
{
	char name[SH_LEAVES_NAME_LEN];

	cm_hex(round_id, PR_ROUND_ID_LEN, name);
	(void)snprintf(name + HEX_LEN, sizeof name - HEX_LEN, "%s", suffix);
	char *path = cm_file_join(place->dir, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

void sh_leaves_file_key(const uint8_t round_id[PR_ROUND_ID_LEN], char out[SH_LEAVES_NAME_LEN])
{
	cm_hex(round_id, PR_ROUND_ID_LEN, out);
	(void)snprintf(out + HEX_LEN, SH_LEAVES_NAME_LEN - HEX_LEN, "-leaves");
}
