/* sh_leaves.c - proves inclusion from the stored hashes of a sealed round, and erases them. */
#include "sh_leaves.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"
#include "sh_leaves_file.h"

#define HEADER_LEN 32u
#define HEX_LEN    ((size_t)2 * PR_ROUND_ID_LEN)
#define AAD_LEN    (PR_ROUND_ID_LEN + 3 * 8u)

static const char magic[8] = { 't', 'o', 'm', 'l', 'e', 'a', 'f', '1' };

/* ---- The file ---- */

void sh_leaves_layout(struct sh_leaves_file *f, uint64_t n)
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

enum cm_rc sh_page_write(const struct sh_leaves_file *f, uint64_t page, const void *bytes, struct cm_err *err)
{
	uint8_t aad[AAD_LEN], box[SH_BOX_LEN];
	struct cr_rng rng; /* the random generator of this thread */

	make_aad(f, page, aad);
	enum cm_rc rc = cr_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = cr_box_seal(&f->key, &rng, aad, sizeof aad, bytes, RD_SORT_PAGE_BYTES, box, err);
	return rc == CM_OK ? put_at(f->fd, box, sizeof box, place_of(page), err) : rc;
}

enum cm_rc sh_page_read(const struct sh_leaves_file *f, uint64_t page, void *bytes, struct cm_err *err)
{
	uint8_t aad[AAD_LEN], box[SH_BOX_LEN];

	make_aad(f, page, aad);
	enum cm_rc rc = get_at(f->fd, box, sizeof box, place_of(page), err);
	if (rc == CM_OK && cr_box_open(&f->key, aad, sizeof aad, box, sizeof box, bytes, err) != CM_OK)
		rc = cm_fail(err, CM_EDATA, "leaves: a page is damaged");
	return rc;
}

enum cm_rc sh_header_write(const struct sh_leaves_file *f, struct cm_err *err)
{
	uint8_t header[HEADER_LEN] = { 0 };

	memcpy(header, magic, sizeof magic);
	cm_put_le64(header + 8, f->n);
	cm_put_le64(header + 16, (uint64_t)f->sealed_ms);
	return put_at(f->fd, header, sizeof header, 0, err);
}

/* CM_EDATA: the header is not valid. */
static enum cm_rc read_header(struct sh_leaves_file *f, struct cm_err *err)
{
	uint8_t header[HEADER_LEN];
	enum cm_rc rc = get_at(f->fd, header, sizeof header, 0, err);

	if (rc != CM_OK)
		return rc;
	uint64_t n = cm_get_le64(header + 8);
	if (memcmp(header, magic, sizeof magic) != 0 || n == 0 || n >= UINT64_C(1) << RD_TREE_DEPTH_MAX)
		return cm_fail(err, CM_EDATA, "leaves: the file's header is damaged");
	f->sealed_ms = (int64_t)cm_get_le64(header + 16);
	sh_leaves_layout(f, n);
	return CM_OK;
}

char *sh_leaves_path(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
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

void sh_leaves_key_name(const uint8_t round_id[PR_ROUND_ID_LEN], char out[SH_LEAVES_NAME_LEN])
{
	cm_hex(round_id, PR_ROUND_ID_LEN, out);
	(void)snprintf(out + HEX_LEN, SH_LEAVES_NAME_LEN - HEX_LEN, "-leaves");
}

/* ---- Proving ---- */

struct sh_leaves {
	struct sh_leaves_file file;
	/* 1 + the number of the page of each level that is in memory; 0: there is none */
	uint64_t loaded[SH_LEVELS_MAX];
	uint8_t page[SH_LEVELS_MAX][RD_SORT_PAGE][PR_HASH_LEN];
};

static enum cm_rc open_file(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_leaves_file *f, struct cm_err *err)
{
	char *path = place->dir ? sh_leaves_path(place, round_id, ".leaves", err) : NULL;

	memcpy(f->round_id, round_id, PR_ROUND_ID_LEN);
	f->fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	enum cm_rc rc = f->fd >= 0 ? read_header(f, err)
			: !path || errno == ENOENT
				? cm_fail(err, CM_ENOINPUT, "no leaves of this round are kept")
				: cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

enum cm_rc sh_leaves_open(const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct sh_leaves **out, struct cm_err *err)
{
	struct sh_leaves *l = calloc(1, sizeof *l);
	char name[SH_LEAVES_NAME_LEN];

	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = open_file(place, round_id, &l->file, err);
	sh_leaves_key_name(round_id, name);
	if (rc == CM_OK)
		rc = cr_keyfile_load(place->dir, name, &l->file.key, err);
	if (rc != CM_OK) {
		sh_leaves_close(l);
		return rc;
	}
	*out = l;
	return CM_OK;
}

void sh_leaves_close(struct sh_leaves *l)
{
	if (!l)
		return;
	if (l->file.fd >= 0)
		(void)close(l->file.fd);
	cr_key_fini(&l->file.key);
	free(l);
}

uint64_t sh_leaves_count(const struct sh_leaves *l)
{
	return l->file.n;
}

static enum cm_rc load(struct sh_leaves *l, unsigned level, uint64_t page, struct cm_err *err)
{
	if (l->loaded[level] == page + 1)
		return CM_OK;
	l->loaded[level] = 0;
	enum cm_rc rc = sh_page_read(&l->file, l->file.base[level] + page, l->page[level], err);
	if (rc == CM_OK)
		l->loaded[level] = page + 1;
	return rc;
}

/* Count the leaves below `hash`: find the page by binary search, then the place within it. */
static enum cm_rc find(
	struct sh_leaves *l, const uint8_t hash[PR_HASH_LEN], uint64_t *place, struct cm_err *err)
{
	uint64_t low = 0, high = (l->file.n + RD_SORT_PAGE - 1) >> SH_PAGE_BITS;

	/* Invariant: page `low` begins below the hash or is the first; page `high` does not begin below it,
	 * or is past the last. */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		enum cm_rc rc = load(l, 0, middle, err);
		if (rc != CM_OK)
			return rc;
		if (memcmp(l->page[0][0], hash, PR_HASH_LEN) < 0)
			low = middle;
		else
			high = middle;
	}
	enum cm_rc rc = load(l, 0, low, err);
	for (*place = low << SH_PAGE_BITS; rc == CM_OK && *place < l->file.n; ++*place)
		if (*place >> SH_PAGE_BITS != low ||
			memcmp(l->page[0][*place % RD_SORT_PAGE], hash, PR_HASH_LEN) >= 0)
			break;
	return rc;
}

/* Read a leaf and its path. */
static enum cm_rc read_leaf(
	struct sh_leaves *l, uint64_t index, uint8_t *hash, uint8_t *path, struct cm_err *err)
{
	uint8_t node[RD_SORT_PAGE][PR_HASH_LEN];

	for (unsigned level = 0; level < l->file.levels; level++, index >>= SH_PAGE_BITS) {
		uint64_t page = index >> SH_PAGE_BITS, left = l->file.count[level] - (page << SH_PAGE_BITS);
		uint64_t n = left < RD_SORT_PAGE ? left : RD_SORT_PAGE, at = index % RD_SORT_PAGE;
		enum cm_rc rc = load(l, level, page, err);
		if (rc != CM_OK)
			return rc;
		if (level == 0)
			memcpy(hash, l->page[0][at], PR_HASH_LEN);
		for (uint64_t i = 0; i < n; i++)
			if (level == 0)
				rd_tree_leaf(l->page[0][i], PR_HASH_LEN, node[i]);
			else
				memcpy(node[i], l->page[level][i], PR_HASH_LEN);
		rd_tree_path(node, n, at, (uint8_t(*)[PR_HASH_LEN])path);
		path += (size_t)rd_tree_path_len(at, n) * PR_HASH_LEN;
	}
	return CM_OK;
}

enum cm_rc sh_leaves_prove(
	struct sh_leaves *l, const uint8_t hash[PR_HASH_LEN], uint8_t *entry, struct cm_err *err)
{
	struct rd_tree_entry e = rd_entry_at(entry, l->file.n);
	uint64_t place;

	memset(entry, 0, rd_entry_len(l->file.n));
	enum cm_rc rc = find(l, hash, &place, err);
	if (rc != CM_OK)
		return rc;
	cm_put_le64(e.place, place);
	*e.kind = RD_FOUND_OUT;
	if (place < l->file.n) {
		rc = read_leaf(l, place, e.second, e.second_path, err);
		if (rc == CM_OK && memcmp(e.second, hash, PR_HASH_LEN) == 0) {
			size_t half = (size_t)(e.second - e.first);
			*e.kind = RD_FOUND_IN;
			memcpy(e.first, e.second, half);
			memset(e.second, 0, half);
			return CM_OK;
		}
	}
	return rc == CM_OK && place > 0 ? read_leaf(l, place - 1, e.first, e.first_path, err) : rc;
}

/* ---- Erasing ---- */

enum cm_rc sh_leaves_erase(
	const struct sh_leaves_place *place, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char name[SH_LEAVES_NAME_LEN];

	if (!place->dir)
		return CM_OK;
	char *path = sh_leaves_path(place, round_id, ".leaves", err);
	if (!path)
		return err->code;
	sh_leaves_key_name(round_id, name);
	enum cm_rc rc = cr_keyfile_erase(place->dir, name, err);
	if (rc == CM_OK && unlink(path) != 0 && errno != ENOENT)
		rc = cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
	free(path);
	return rc == CM_OK ? cm_file_sync_dir(place->dir, err) : rc;
}

struct each {
	const struct sh_leaves_place *place;
	sh_leaves_fn *fn;
	void *user;
};

static enum cm_rc on_file(void *user, const char *file, struct cm_err *err)
{
	const struct each *e = user;
	uint8_t round_id[PR_ROUND_ID_LEN];
	char name[2 * PR_ROUND_ID_LEN + 1];
	struct sh_leaves_file f = { .fd = -1 };

	if (strlen(file) < sizeof name - 1 || strcmp(file + sizeof name - 1, ".leaves") != 0)
		return CM_OK;
	memcpy(name, file, sizeof name - 1);
	name[sizeof name - 1] = '\0';
	if (cm_unhex(name, round_id, sizeof round_id) != CM_OK)
		return CM_OK;
	if (open_file(e->place, round_id, &f, err) != CM_OK)
		f.sealed_ms = 0;
	if (f.fd >= 0)
		(void)close(f.fd);
	return e->fn(e->user, round_id, f.sealed_ms, err);
}

enum cm_rc sh_leaves_each(
	const struct sh_leaves_place *place, sh_leaves_fn *fn, void *user, struct cm_err *err)
{
	struct each e = { place, fn, user };

	return place->dir ? cm_file_each(place->dir, on_file, &e, err) : CM_OK;
}
